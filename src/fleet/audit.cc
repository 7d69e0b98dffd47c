// Tombstones and audit entries as JSON.
#include "fleet/fleet.h"

namespace kollect::fleet {

using base::json::Object;
using base::json::Value;

Value to_value(const Tombstone& tombstone) {
  Object out;
  out.set("cluster_dns", tombstone.dns);
  out.set("cluster", tombstone.cluster);
  out.set("deleted_at", base::format_rfc3339_seconds(tombstone.at));
  out.set("deleted_by", tombstone.actor);
  return out;
}

base::Result<Tombstone> tombstone_from(const Value& value) {
  const auto at = base::parse_rfc3339(value.text("deleted_at"));
  if (!at || value.text("cluster_dns").empty()) {
    return base::configuration("a tombstone needs cluster_dns and deleted_at");
  }
  return Tombstone{.dns = std::string(value.text("cluster_dns")),
                   .cluster = std::string(value.text("cluster")),
                   .actor = std::string(value.text("deleted_by")),
                   .at = *at};
}

std::string_view family_text(const Change& change) {
  switch (change.about) {
    case Change::About::kRecord:
      return collection_of(change.family);
    case Change::About::kTombstone:
      return "tombstones";
    case Change::About::kRollout:
      break;
  }
  return "rollouts";
}

Change change_of_entry(TrailEntry entry) {
  const std::string_view family = entry.family;
  Change change{.id = std::move(entry.id),
                .before = std::move(entry.before),
                .after = std::move(entry.after),
                .version = entry.version};
  if (family == "tombstones") change.about = Change::About::kTombstone;
  if (family == "rollouts") change.about = Change::About::kRollout;
  if (change.about != Change::About::kRecord) return change;
  for (const Family one : kAllFamilies) {
    if (family == collection_of(one)) change.family = one;
  }
  if (change.family != Family::kCluster) return change;
  if (change.after) {
    change.unearthed = std::string(change.after->text("cluster_dns"));
  } else if (change.before) {
    change.buried = Tombstone{.dns = std::string(change.before->text("cluster_dns")),
                              .cluster = change.id,
                              .actor = std::move(entry.actor),
                              .at = base::parse_rfc3339(entry.at).value_or(base::WallTime{})};
  }
  return change;
}

Value audit_entry(std::int64_t sequence, const Change& change) {
  Object out;
  out.set("seq", sequence);
  out.set("at", base::format_rfc3339(change.at));
  out.set("actor", change.actor.name);
  out.set("request_id", change.actor.request_id);
  out.set("source", change.actor.source);
  out.set("method", change.actor.method);
  out.set("path", change.actor.path);
  out.set("family", family_text(change));
  out.set("id", change.id);
  out.set("before", change.before ? *change.before : Value());
  out.set("after", change.after ? *change.after : Value());
  out.set("version", change.version);
  out.set("batch", change.batch.empty() ? Value() : Value(change.batch));
  return out;
}

}  // namespace kollect::fleet
