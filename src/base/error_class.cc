#include "base/error_class.h"

namespace kollect::base {

std::string_view error_class(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kDenied:
      return "forbidden";
    case ErrorKind::kTerminal:
    case ErrorKind::kConfiguration:
    case ErrorKind::kNotFound:
      return "terminal";
    case ErrorKind::kRetryable:
    case ErrorKind::kConflict:
    case ErrorKind::kCancelled:
      break;
  }
  return "transient";
}

}  // namespace kollect::base
