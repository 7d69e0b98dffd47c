#include "base/result.h"

namespace kollect::base {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kRetryable:
      return "retryable";
    case ErrorKind::kTerminal:
      return "terminal";
    case ErrorKind::kConfiguration:
      return "configuration";
    case ErrorKind::kDenied:
      return "denied";
    case ErrorKind::kNotFound:
      return "not-found";
    case ErrorKind::kConflict:
      return "conflict";
    case ErrorKind::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

Error Error::with_prefix(std::string_view prefix) const {
  return {kind, reason, std::string(prefix) + ": " + message};
}

namespace {
Error make(ErrorKind kind, std::string&& message, std::string&& reason) {
  return {kind, std::move(reason), std::move(message)};
}
}  // namespace

Error retryable(std::string message, std::string reason) {
  return make(ErrorKind::kRetryable, std::move(message), std::move(reason));
}
Error terminal(std::string message, std::string reason) {
  return make(ErrorKind::kTerminal, std::move(message), std::move(reason));
}
Error configuration(std::string message, std::string reason) {
  return make(ErrorKind::kConfiguration, std::move(message), std::move(reason));
}
Error denied(std::string message, std::string reason) {
  return make(ErrorKind::kDenied, std::move(message), std::move(reason));
}
Error not_found(std::string message, std::string reason) {
  return make(ErrorKind::kNotFound, std::move(message), std::move(reason));
}
Error conflict(std::string message, std::string reason) {
  return make(ErrorKind::kConflict, std::move(message), std::move(reason));
}
Error cancelled(std::string message, std::string reason) {
  return make(ErrorKind::kCancelled, std::move(message), std::move(reason));
}

}  // namespace kollect::base
