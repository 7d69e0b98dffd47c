#include "readapi/problems.h"

namespace kollect::readapi {
namespace {

/// None: the condition says nothing bad.
std::optional<int> rank_of(const base::json::Value& condition) {
  const std::string_view type = condition.text("type");
  const bool is_true = condition.text("status") == "True";
  const bool is_false = condition.text("status") == "False";
  if (condition.text("reason") == "Suspended") return std::nullopt;
  if (type == "Stalled" && is_true) return 0;
  if (type == "Degraded" && is_true) return 0;
  if (type == "SinkReachable" && is_false) return 1;
  if ((type == "Synced" || type == "Verified") && is_false &&
      condition.text("reason") != "Debounced") {
    return 2;
  }
  if (type == "Ready" && is_false) return 3;
  return std::nullopt;
}

}  // namespace

std::optional<Problem> problem_of(const base::json::Value& status) {
  const base::json::Value* conditions = status.find("conditions");
  if (conditions == nullptr || !conditions->is_array()) return std::nullopt;
  std::optional<Problem> worst;
  for (const base::json::Value& one : conditions->as_array()) {
    const auto rank = rank_of(one);
    if (!rank || (worst && worst->rank <= *rank)) continue;
    worst = Problem{.rank = *rank,
                    .since = std::string(one.text("lastTransitionTime")),
                    .kind = std::string(status.text("kind")),
                    .ns = std::string(status.text("namespace")),
                    .name = std::string(status.text("name")),
                    .type = std::string(one.text("type")),
                    .reason = std::string(one.text("reason")),
                    .message = std::string(one.text("message"))};
  }
  return worst;
}

base::json::Value Problem::json() const {
  base::json::Object out;
  out.set("kind", kind);
  out.set("namespace", ns);
  out.set("name", name);
  out.set("type", type);
  out.set("reason", reason);
  out.set("message", message);
  out.set("since", since);
  return out;
}

}  // namespace kollect::readapi
