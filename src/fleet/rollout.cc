#include "fleet/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/clock.h"
#include "fleet/diff.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::size_t kMembers = 1'000'000;
constexpr std::uint64_t kMade = 1;    ///< version of the entry that a rollout begins with
constexpr std::uint64_t kUndone = 2;  ///< and of the one that says it is undone

/// Sorts by time, and is nobody else's.
std::string new_id(base::WallTime now) {
  std::string time = base::format_rfc3339_seconds(now);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  std::random_device random;
  return fmt::format("r{}-{:08x}", time, static_cast<std::uint32_t>(random()));
}

Change entry_of(const std::string& id, std::optional<Value> before, Value after,
                std::string batch) {
  return {.id = id,
          .before = std::move(before),
          .after = std::move(after),
          .batch = std::move(batch),
          .about = Change::About::kRollout};
}

/// How many records: {"created", "changed", "deleted"}.
void count(Object& out, const std::vector<Change>& changes) {
  for (const std::string_view action : {"created", "changed", "deleted"}) {
    out.set(std::string(action), std::ranges::count(changes, action, action_of));
  }
}

Value reach_of(const std::map<std::string, std::size_t>& reach) {
  Object out;
  std::size_t sum = 0;
  Object by;
  for (const auto& [environment, number] : reach) {
    sum += number;
    by.set(environment, static_cast<std::int64_t>(number));
  }
  out.set("clusters", static_cast<std::int64_t>(sum));
  out.set("by_environment", std::move(by));
  return out;
}

/// What is the same for all rollouts: the write, its record, its answer.
struct Rollout {
  Object described;  ///< "kind", "note", ...
  bool dry_run = false;
  Touches touches = {};
  std::function<std::vector<Change>(const std::string& id)> more = {};  ///< entries of the trail

  Outcome<Value> run(Fleet& fleet, const Actor& actor,
                     const std::function<Outcome<>(Draft& draft)>& edit) {
    const std::string id = new_id(fleet.now());
    WriteOptions options{.batch = id, .dry_run = dry_run};
    options.entries = [&](const std::vector<Change>& changes) {
      Object record = described;
      count(record, changes);
      Change entry = entry_of(id, {}, Value(std::move(record)), id);
      entry.version = kMade;
      std::vector<Change> entries = {std::move(entry)};
      if (more) std::ranges::move(more(id), std::back_inserter(entries));
      return entries;
    };
    FLEET_ASSIGN(const Written written, fleet.write(actor, options, [&](Draft& draft) -> Outcome<> {
      FLEET_TRY(edit(draft));
      described.set("reaches", reach_of(draft.reach()));
      return {};
    }));
    Object out;
    out.set("id", dry_run || written.changes.empty() ? Value() : Value(id));
    out.set("dry_run", dry_run);
    for (auto& [key, value] : described) out.set(key, value);
    count(out, written.changes);
    Array results = results_of(touches, written.changes);
    out.set("unchanged", std::ranges::count_if(results, [](const Value& one) {
              return one.text("action") == "unchanged";
            }));
    out.set("results", std::move(results));
    Array warnings;
    for (const std::string& one : written.warnings) warnings.emplace_back(one);
    out.set("warnings", std::move(warnings));
    return Value(std::move(out));
  }
};

/// The newest entry of a rollout: null when there is none.
Outcome<Value> newest(Fleet& fleet, const std::string& id) {
  AuditQuery query{.family = "rollouts", .id = id, .actor = {}};
  query.limit = 1;
  FLEET_ASSIGN(Array entries, fleet.audit(query));
  return entries.empty() ? Value() : std::move(entries.front());
}

/// A rollout as it is shown: what its newest entry describes, when and by whom it was made.
Value shown_rollout(const Value& made, const Value& newest) {
  Object out;
  out.set("id", made.text("id"));
  out.set("at", made.text("at"));
  out.set("by", made.text("actor"));
  if (const Value* described = newest.find("after");
      described != nullptr && described->is_object()) {
    for (const auto& [key, value] : described->as_object()) out.set(key, value);
  }
  return out;
}

}  // namespace

Outcome<Value> run_rollout(Fleet& fleet, const Value& body, const Actor& actor) {
  if (!body.is_object()) return bad_shape("the body must be an object");
  Rollout rollout;
  const Value* dry_run = body.find("dry_run");
  if (dry_run != nullptr && !dry_run->is_bool()) return bad_shape("dry_run: must be true or false");
  rollout.dry_run = dry_run != nullptr && dry_run->as_bool();
  const Value* note = body.find("note");
  if (note != nullptr && !note->is_string()) return bad_shape("note: must be a text");
  rollout.described.set("kind", body.text("kind"));
  if (note != nullptr) rollout.described.set("note", *note);
  return rollout.run(fleet, actor, [&](Draft& draft) -> Outcome<> {
    FLEET_ASSIGN(const Value operations, operations_of(draft, body));
    // Those of a batch may be long, and the trail has what they did.
    if (body.text("kind") != "batch") rollout.described.set("operations", operations);
    return run_operations(draft, operations, rollout.touches);
  });
}

Outcome<Value> list_rollouts(Fleet& fleet, std::optional<std::int64_t> before, std::size_t limit) {
  AuditQuery query{.family = "rollouts", .id = {}, .actor = {}};
  query.before = before;
  query.limit = limit;
  FLEET_ASSIGN(const Array entries, fleet.audit(query));
  Array rollouts;
  for (const Value& entry : entries) {
    if (*entry.find("version") != Value(kMade)) continue;
    FLEET_ASSIGN(const Value now, newest(fleet, std::string(entry.text("id"))));
    rollouts.push_back(shown_rollout(entry, now));
  }
  Object out;
  const bool more = !entries.empty() && entries.size() == limit;
  out.set("cursor", more ? *entries.back().find("seq") : Value());
  out.set("rollouts", std::move(rollouts));
  return Value(std::move(out));
}

namespace {

/// All entries of a rollout, newest first; 404 when there is no such rollout.
Outcome<Array> entries_of(Fleet& fleet, const std::string& id) {
  AuditQuery query{.family = {}, .id = {}, .actor = {}, .batch = id};
  query.limit = kMembers;
  FLEET_ASSIGN(Array entries, fleet.audit(query));
  if (id.empty() || entries.empty()) return not_found(fmt::format("there is no rollout {}", id));
  return entries;
}

bool is_record(const Value& entry) {
  return std::ranges::any_of(
      kAllFamilies, [&](Family one) { return entry.text("family") == collection_of(one); });
}

Change change_in(const Value& entry) {
  const auto side = [&](const char* name) {
    const Value* value = entry.find(name);
    return value == nullptr || value->is_null() ? std::nullopt : std::optional(*value);
  };
  const Value* version = entry.find("version");
  return change_of_entry({.family = entry.text("family"),
                          .id = std::string(entry.text("id")),
                          .before = side("before"),
                          .after = side("after"),
                          .version = version != nullptr && version->is_int()
                                         ? static_cast<std::uint64_t>(version->as_int())
                                         : 0,
                          .actor = std::string(entry.text("actor")),
                          .at = entry.text("at")});
}

}  // namespace

Outcome<Value> get_rollout(Fleet& fleet, const std::string& id) {
  FLEET_ASSIGN(const Array entries, entries_of(fleet, id));
  FLEET_ASSIGN(const Value now, newest(fleet, id));
  Array members;
  const Value* made = nullptr;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->text("family") == "rollouts" && entry->text("id") == id) made = &*entry;
    if (!is_record(*entry)) continue;
    const Change change = change_in(*entry);
    Object member;
    member.set("seq", *entry->find("seq"));
    member.set("family", collection_of(change.family));
    member.set("id", change.id);
    member.set("action", action_of(change));
    member.set("version", change.version);
    if (change.before && change.after) {
      member.set("changes", to_value(differences(*change.before, *change.after)));
    }
    members.emplace_back(std::move(member));
  }
  if (made == nullptr) return not_found(fmt::format("there is no rollout {}", id));
  Value out = shown_rollout(*made, now);
  out.as_object().set("members", std::move(members));
  return out;
}

namespace {

/// Undoes changes on a draft.
class Undo {
 public:
  Undo(Draft& draft, Touches& touches) : draft_(draft), touches_(touches) {}

  Outcome<> run(const std::vector<Change>& changes) {
    // Definitions come back before clusters refer to them again, and go after.
    const auto each = [&](bool clusters, bool made) -> Outcome<> {
      for (const Change& change : changes) {
        if ((change.family == Family::kCluster) != clusters || !change.before != made) continue;
        FLEET_TRY(one(change));
      }
      return {};
    };
    FLEET_TRY(each(false, false));
    FLEET_TRY(each(true, false));
    FLEET_TRY(each(true, true));
    FLEET_TRY(each(false, true));
    if (later_.empty()) return {};
    constexpr std::size_t kNamed = 5;
    const std::size_t count = later_.size();
    later_.resize(std::min(count, kNamed));
    return conflict(fmt::format("changed again since ({}): {}{}", count, fmt::join(later_, "; "),
                                count > kNamed ? "; ..." : ""));
  }

 private:
  Outcome<> one(const Change& change) {
    const Value* now = draft_.find(change.family, change.id);
    touches_.add(change.family, change.id, 0);
    const std::string name = fmt::format("{} {}", noun_of(change.family), change.id);
    if (!change.before) {
      if (now == nullptr) return late(name + " is deleted");
      if (change.after != *now) return late(name);
      return draft_.remove(change.family, change.id, false);
    }
    if (!change.after) {
      if (now != nullptr) return late(name + " is there again");
      return draft_.put(change.family, change.id, *change.before);
    }
    if (now == nullptr) return late(name + " is deleted");
    if (*now == *change.after) return draft_.put(change.family, change.id, *change.before);
    Value back = *now;
    for (const Difference& difference : differences(*change.before, *change.after)) {
      const Value* is = value_at(*now, difference.path);
      if (is != nullptr ? *is != difference.after : !difference.after.is_null()) {
        FLEET_TRY(late(fmt::format("{} {}", name, fmt::join(difference.path, "/"))));
      }
      set_at(back, difference.path, difference.before);
    }
    if (!later_.empty()) return {};
    return draft_.put(change.family, change.id, std::move(back));
  }
  Outcome<> late(std::string what) {
    later_.push_back(std::move(what));
    return {};
  }

  Draft& draft_;
  Touches& touches_;
  std::vector<std::string> later_;
};

}  // namespace

Outcome<Value> undo_rollout(Fleet& fleet, const std::string& id, bool dry_run, const Actor& actor) {
  FLEET_ASSIGN(const Array entries, entries_of(fleet, id));
  FLEET_ASSIGN(const Value now, newest(fleet, id));
  const Value* described = now.find("after");
  if (described == nullptr || !described->is_object()) {
    return not_found(fmt::format("there is no rollout {}", id));
  }
  if (const Value* by = described->find("undone_by")) {
    return conflict(fmt::format("rollout {} is undone already, by {}", id, by->as_string()));
  }
  std::vector<Change> changes;
  for (const Value& entry : entries) {
    if (is_record(entry)) changes.push_back(change_in(entry));
  }
  Rollout rollout;
  rollout.dry_run = dry_run;
  rollout.described.set("kind", "undo");
  rollout.described.set("undoes", id);
  rollout.more = [&](const std::string& undo) {
    Value marked = *described;
    marked.as_object().set("undone_by", undo);
    Change entry = entry_of(id, *described, std::move(marked), undo);
    entry.version = kUndone;
    return std::vector<Change>{std::move(entry)};
  };
  return rollout.run(fleet, actor,
                     [&](Draft& draft) { return Undo(draft, rollout.touches).run(changes); });
}

namespace {

/// The state that `earlier` means, in entries of one record, newest first.
std::optional<Value> state_in(const Array& entries, const Earlier& earlier) {
  for (const Value& entry : entries) {
    const Change change = change_in(entry);
    if (earlier.by == Earlier::By::kSequence) {
      if (*entry.find("seq") != Value(earlier.number)) continue;
      return change.after ? change.after : change.before;
    }
    const auto wanted = static_cast<std::uint64_t>(earlier.number);
    if (change.after && change.version == wanted) return change.after;
    // What was there before the first entry, or was deleted.
    const std::uint64_t old = change.after ? change.version - 1 : change.version;
    if (change.before && old == wanted) return change.before;
  }
  return std::nullopt;
}

}  // namespace

Outcome<Kept> restore_record(Fleet& fleet, Family family, const std::string& id,
                             const Earlier& earlier, std::optional<std::uint64_t> if_match,
                             const Actor& actor) {
  AuditQuery query{.family = std::string(collection_of(family)), .id = id, .actor = {}};
  query.limit = kMembers;
  const bool by_sequence = earlier.by == Earlier::By::kSequence;
  if (by_sequence && earlier.number < INT64_MAX) {
    query.limit = 1;
    query.before = earlier.number + 1;
  }
  FLEET_ASSIGN(const Array entries, fleet.audit(query));
  auto state = state_in(entries, earlier);
  if (!state) {
    return not_found(by_sequence ? fmt::format("entry {} of the trail is not about {} {}",
                                               earlier.number, noun_of(family), id)
                                 : fmt::format("the trail does not know version {} of {} {}",
                                               earlier.number, noun_of(family), id));
  }
  const Value record = *std::move(state);
  return fleet.write_one(family, actor, [&](Draft& draft) -> Outcome<std::string> {
    FLEET_TRY(draft.put(family, id, record, if_match));
    return id;
  });
}

}  // namespace kollect::fleet
