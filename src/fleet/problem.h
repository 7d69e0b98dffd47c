// Why a request to the fleet API is refused.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace kollect::fleet {

/// An error answer: status, code and text of the envelope {"error": code, "message": text}.
struct Problem {
  int status = 500;
  std::string code = "internal_error";
  std::string message;
};

template <class T = void>
using Outcome = std::expected<T, Problem>;

inline std::unexpected<Problem> problem(int status, const char* code, std::string message) {
  return std::unexpected(Problem{.status = status, .code = code, .message = std::move(message)});
}
/// 400: an id, a reference or a parameter that cannot be.
inline std::unexpected<Problem> bad_request(std::string message) {
  return problem(400, "validation_error", std::move(message));
}
/// 422: a body of the wrong shape.
inline std::unexpected<Problem> bad_shape(std::string message) {
  return problem(422, "validation_error", std::move(message));
}
inline std::unexpected<Problem> not_found(std::string message) {
  return problem(404, "not_found", std::move(message));
}
inline std::unexpected<Problem> conflict(std::string message) {
  return problem(409, "conflict", std::move(message));
}

// Gives the problem of `expression` on, or names its value.
#define FLEET_JOIN_(a, b) a##b
#define FLEET_JOIN(a, b) FLEET_JOIN_(a, b)
#define FLEET_TRY(expression) \
  if (auto fleet_done = (expression); !fleet_done) return std::unexpected(fleet_done.error())
#define FLEET_ASSIGN(name, expression)                                    \
  auto FLEET_JOIN(fleet_outcome_, __LINE__) = (expression);               \
  if (!FLEET_JOIN(fleet_outcome_, __LINE__))                              \
    return std::unexpected(FLEET_JOIN(fleet_outcome_, __LINE__).error()); \
  name = *std::move(FLEET_JOIN(fleet_outcome_, __LINE__))

}  // namespace kollect::fleet
