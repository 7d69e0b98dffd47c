// Routes of batches and rollouts, and of the way back to an earlier version of a record.
#include "base/json/write.h"
#include "fleet/api.h"
#include "fleet/api_call.h"
#include "fleet/rollout.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

/// A thousand clusters with everything they have.
constexpr std::size_t kMostBytes = 8U << 20U;

http::Answer ran(const Value& told) {
  http::Answer answer = shown_json(told);
  std::vector<std::string> warnings;
  for (const Value& one : told.find("warnings")->as_array()) warnings.push_back(one.as_string());
  add_warnings(answer, warnings);
  return answer;
}

}  // namespace

void Api::tell_rollout(const Call& call, const Value& told) const {
  if (log_ == nullptr || told.text("id").empty()) return;
  const auto number = [&](const char* name) { return base::json::compact(*told.find(name)); };
  log_->info("changed", {{"actor", call.actor.name},
                         {"method", call.request.method},
                         {"rollout", std::string(told.text("id"))},
                         {"kind", std::string(told.text("kind"))},
                         {"created", number("created")},
                         {"changed", number("changed")},
                         {"deleted", number("deleted")},
                         {"source", call.actor.source}});
}

Outcome<http::Answer> Api::batch(const Call& call) {
  FLEET_ASSIGN(Value body, call.body(kMostBytes));
  if (!body.is_object()) return bad_shape("the body must be an object");
  if (body.find("kind") != nullptr) return bad_shape("kind: is not known here");
  body.as_object().set("kind", "batch");
  FLEET_ASSIGN(const Value told, run_rollout(fleet_, body, call.actor));
  tell_rollout(call, told);
  return ran(told);
}

Outcome<http::Answer> Api::roll_out(const Call& call) {
  FLEET_ASSIGN(const Value body, call.body(kMostBytes));
  FLEET_ASSIGN(const Value told, run_rollout(fleet_, body, call.actor));
  tell_rollout(call, told);
  return ran(told);
}

Outcome<http::Answer> Api::rollouts(const Call& call) {
  constexpr std::uint64_t kUsual = 50;
  constexpr std::uint64_t kMost = 200;
  FLEET_ASSIGN(const auto limit, call.number("limit"));
  FLEET_ASSIGN(const auto cursor, call.number("cursor"));
  std::optional<std::int64_t> before;
  if (cursor) before = static_cast<std::int64_t>(std::min<std::uint64_t>(*cursor, INT64_MAX));
  FLEET_ASSIGN(const Value told,
               list_rollouts(fleet_, before, std::min(limit.value_or(kUsual), kMost)));
  return shown_json(told);
}

Outcome<http::Answer> Api::rollout(const Call& call) {
  FLEET_ASSIGN(const Value told, get_rollout(fleet_, call.id));
  return shown_json(told);
}

Outcome<http::Answer> Api::undo(const Call& call) {
  FLEET_ASSIGN(const bool dry_run, call.flag("dry_run"));
  FLEET_ASSIGN(const Value told, undo_rollout(fleet_, call.id, dry_run, call.actor));
  tell_rollout(call, told);
  return ran(told);
}

Outcome<http::Answer> Api::restore(const Call& call) {
  FLEET_ASSIGN(const auto expected, call.expected());
  FLEET_ASSIGN(const Value body, call.body());
  if (!body.is_object()) return bad_shape("the body must be an object");
  const Value* version = body.find("version");
  const Value* sequence = body.find("seq");
  const Value* said = version != nullptr ? version : sequence;
  if ((version == nullptr) == (sequence == nullptr) || !said->is_int() || said->as_int() < 1) {
    return bad_shape("the body needs version or seq, a number from 1 on");
  }
  const Earlier earlier{.by = version != nullptr ? Earlier::By::kVersion : Earlier::By::kSequence,
                        .number = said->as_int()};
  FLEET_ASSIGN(const Kept kept,
               restore_record(fleet_, call.family, call.id, earlier, expected, call.actor));
  tell(call, kept.record);
  return written(call.family, kept);
}

}  // namespace kollect::fleet
