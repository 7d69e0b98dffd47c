// Objects for `kollect extract`, each as it stands in its file: nothing is added, merged or judged.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "base/result.h"

namespace kollect::pipeline {

struct ObjectReceiver {
  /// False: no more are wanted. The view dies with the call.
  std::function<bool(base::json::View object)> on_object;
  /// Something that could not be read, with file and line; reading goes on.
  std::function<void(const std::string& message)> on_problem;
};

/// Reads files, folders (recursively: .yaml, .yml, .json, .ndjson, .jsonl, in byte order) and "-"
/// (`stdin_text`). YAML streams, JSON, a JSON document per line, and Lists, whose elements get the
/// list's type when they have none. Error (configuration): a missing or unreadable file or folder.
base::Result<> read_objects(const std::vector<std::string>& paths, std::string_view stdin_text,
                            const ObjectReceiver& receiver);

}  // namespace kollect::pipeline
