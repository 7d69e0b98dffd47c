// `kollect extract`: one profile tried on objects (spec: pipeline 15).
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "base/result.h"
#include "extract/program.h"
#include "pipeline/cli_names.h"

namespace kollect::pipeline {

struct ExtractOptions {
  /// One of the two. A manifest of a KollectProfile, whose annotations decide the guards; or the
  /// spec alone, whose author is the user, so both opt-ins count as given.
  std::string profile;
  std::string profile_spec;
  std::vector<std::string> inputs;  ///< files, folders, "-"; not used by --live
  bool explain = false;             ///< what each attribute yielded, its cost and time
  bool table = false;               ///< columns instead of JSON lines
  std::optional<std::uint64_t> limit;
  std::string cluster;  ///< value of `cluster` in CEL
  extract::Options extract;
};

/// A profile ready to be tried, and where its results go. Not thread-safe.
class ExtractSession {
 public:
  /// Reads and compiles the profile. A path that does not compile is no error here: it is shown per
  /// object, as run-time errors are. Errors (configuration): no such file, not a profile. `out` is
  /// not owned.
  static base::Result<ExtractSession> create(const ExtractOptions& options, std::FILE* out,
                                             std::FILE* err);
  ExtractSession(ExtractSession&&) noexcept;
  ExtractSession& operator=(ExtractSession&&) noexcept;
  ~ExtractSession();

  /// Kind that the profile is for; what --live lists.
  [[nodiscard]] const api::GroupVersionKind& kind() const;
  /// An expression of the profile asks for the labels of namespaces.
  [[nodiscard]] bool wants_namespaces() const;
  /// Extracts one object and prints its line. False when the limit is reached: no more are wanted.
  bool object(base::json::View object,
              const std::map<std::string, std::string>* namespace_labels = nullptr);
  /// Prints what is held back (the table). Exit code: 0, or 1 when an object failed.
  int finish();

 private:
  struct Impl;
  explicit ExtractSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The whole command on files, folders and stdin. Exit code 0, 1 (an object failed or could not be
/// read), 2.
int run_extract(const Invocation& invocation, const ExtractOptions& options);

}  // namespace kollect::pipeline
