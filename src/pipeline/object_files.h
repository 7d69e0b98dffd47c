// Which files hold objects: what --manifests, --sample and `kollect extract` take.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kollect::pipeline {

/// A file as it is; of a folder all files below it that end in .yaml, .yml, .json, .ndjson or
/// .jsonl, in byte order. Error (configuration): no such file or folder, or it cannot be listed.
base::Result<std::vector<std::filesystem::path>> object_files(const std::string& path);

}  // namespace kollect::pipeline
