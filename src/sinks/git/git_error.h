// What git's texts mean, and what may be shown of them (spec: sinks 16.3, 16.4).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "sinks/git/endpoint.h"

namespace kollect::sinks::git {

enum class ErrorClass { kTransient, kAuthentication, kRefused, kNotFound };

/// Class of an error text. Unknown texts are transient.
ErrorClass classify(std::string_view text);
/// True for the two classes that wait for a change.
inline bool is_terminal(ErrorClass error_class) {
  return error_class != ErrorClass::kTransient;
}

/// True when the text says that the branch does not exist on the remote.
bool is_missing_branch(std::string_view text);
/// True when the text says that somebody else moved the branch first.
bool is_race(std::string_view text);

/// The lock file that the remote repository could not take because it is there already; empty when
/// the text speaks of none.
std::string lock_held(std::string_view text);

/// HTTP status that the text names, 0 when none.
int http_status(std::string_view text);

/// Turns a failed git call into an error: host, path, HTTP status and Secret named, everything
/// redacted.
struct ErrorContext {
  const Remote* remote = nullptr;
  const base::Redactor* redactor = nullptr;
  std::string secret_name;  ///< "namespace/name" of the Secret, may be empty
};
base::Error git_error(const ErrorContext& context, std::string_view doing, std::string_view text);

}  // namespace kollect::sinks::git
