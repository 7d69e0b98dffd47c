// Failures as a Kubernetes API server tells them: metav1.Status.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/value.h"
#include "http/server.h"

namespace kollect::sandbox {

/// One entry of details.causes.
struct Cause {
  std::string reason;   ///< "FieldValueRequired", ...
  std::string field;    ///< "spec.replicas"
  std::string message;  ///< "Required value"
};

/// A Status with status "Failure". Texts and reasons are those of kube-apiserver, since clients
/// look at them.
struct Status {
  int code = 500;
  std::string reason;
  std::string message;
  std::string group;  ///< of details; all four may be empty
  std::string kind;   ///< resource name, or kind for invalid objects
  std::string name;
  std::vector<Cause> causes;
  int retry_after = 0;         ///< seconds; 0: none
  std::string continue_token;  ///< of an expired list

  [[nodiscard]] base::json::Value to_value() const;
  [[nodiscard]] http::Answer to_answer() const;
};

template <class T = void>
using Outcome = std::expected<T, Status>;

/// "deployments.apps", "pods".
std::string qualified(std::string_view plural, std::string_view group);

Status bad_request(std::string message);
Status not_found(std::string_view group, std::string_view plural, std::string_view name);
Status already_exists(std::string_view group, std::string_view plural, std::string_view name);
/// `why` empty: the object has been modified.
Status conflict(std::string_view group, std::string_view plural, std::string_view name,
                std::string_view why = {});
/// 422 with the causes joined into the message.
Status invalid(std::string_view group, std::string_view kind, std::string_view name,
               std::vector<Cause> causes);
Status forbidden(std::string_view group, std::string_view plural, std::string_view name,
                 std::string_view why);
Status expired(std::string message);
Status method_not_allowed();
Status unsupported_media(std::string_view accepted);

}  // namespace kollect::sandbox

/// SB_TRY(expr), SB_ASSIGN(auto x, expr): as KL_TRY and KL_ASSIGN, for Outcome.
#define SB_CONCAT_INNER(a, b) a##b
#define SB_CONCAT(a, b) SB_CONCAT_INNER(a, b)
#define SB_TRY(...)                                          \
  do {                                                       \
    if (auto sb_outcome = (__VA_ARGS__); !sb_outcome) {      \
      return std::unexpected(std::move(sb_outcome.error())); \
    }                                                        \
  } while (false)
#define SB_ASSIGN(lhs, ...) SB_ASSIGN_INNER(SB_CONCAT(sb_value_, __COUNTER__), lhs, __VA_ARGS__)
#define SB_ASSIGN_INNER(tmp, lhs, ...)                      \
  auto tmp = (__VA_ARGS__);                                 \
  if (!tmp) return std::unexpected(std::move(tmp.error())); \
  lhs = std::move(*tmp)
