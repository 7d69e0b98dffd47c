// Failures as values: Error, Result<T> and the two macros that pass errors on.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace kollect::base {

/// What a caller can do about an error. Rooms map their library's errors to these once, at their
/// edge.
enum class ErrorKind {
  kRetryable,      ///< passing: network, time limit, 429, 5xx
  kTerminal,       ///< will fail again until something else changes
  kConfiguration,  ///< the user's input is wrong; the message says what to change
  kDenied,         ///< no right to do it (401, 403)
  kNotFound,       ///< the named thing does not exist
  kConflict,       ///< somebody else changed it first
  kCancelled,      ///< the caller gave up or the deadline passed
};

/// Lower-case name of a kind ("retryable", "terminal", ...).
std::string_view to_string(ErrorKind kind);

/// A failure. `reason` is a machine token that users meet in conditions and summaries (for example
/// "unreachable", "gvk-not-found"), possibly empty; `message` is one line that says what happened
/// and what to do. Neither may hold secret values.
struct Error {
  ErrorKind kind = ErrorKind::kTerminal;
  std::string reason;
  std::string message;

  /// The same error with "prefix: " before its message.
  [[nodiscard]] Error with_prefix(std::string_view prefix) const;
};

Error retryable(std::string message, std::string reason = {});
Error terminal(std::string message, std::string reason = {});
Error configuration(std::string message, std::string reason = {});
Error denied(std::string message, std::string reason = {});
Error not_found(std::string message, std::string reason = {});
Error conflict(std::string message, std::string reason = {});
Error cancelled(std::string message, std::string reason = {});

/// A value or an Error. Use as std::expected; returning an Error works without wrapping.
template <class T = void>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
  Result(Error error)  // NOLINT(google-explicit-constructor): `return error;` is the point
      : std::expected<T, Error>(std::unexpect, std::move(error)) {}
};

}  // namespace kollect::base

#define KL_CONCAT_INNER(a, b) a##b
#define KL_CONCAT(a, b) KL_CONCAT_INNER(a, b)

/// KL_TRY(expr): returns the error of `expr` from the enclosing function, if it has one.
/// The argument may hold lambdas that use these macros: every use has a variable of its own.
#define KL_TRY(...) KL_TRY_INNER(KL_CONCAT(kl_result_, __COUNTER__), __VA_ARGS__)
#define KL_TRY_INNER(tmp, ...)                               \
  do {                                                       \
    if (auto tmp = (__VA_ARGS__); !tmp.has_value()) {        \
      return ::kollect::base::Error(std::move(tmp.error())); \
    }                                                        \
  } while (false)

/// KL_ASSIGN(auto x, expr): x = value of `expr`, or returns its error from the enclosing function.
#define KL_ASSIGN(lhs, ...) KL_ASSIGN_INNER(KL_CONCAT(kl_value_, __COUNTER__), lhs, __VA_ARGS__)
#define KL_ASSIGN_INNER(tmp, lhs, ...)                     \
  auto tmp = (__VA_ARGS__);                                \
  if (!tmp.has_value()) {                                  \
    return ::kollect::base::Error(std::move(tmp.error())); \
  }                                                        \
  lhs = std::move(*tmp)
