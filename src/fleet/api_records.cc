// Routes of records, tombstones and the audit trail.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json/write.h"
#include "fleet/api.h"
#include "fleet/api_call.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

/// Where the next page of a list is (RFC 8288): the same query behind the last record.
std::string next_page(const Call& call, const std::string& last) {
  std::string query;
  for (const auto& [name, value] : call.request.parameters()) {
    if (name == "cursor" || name == "offset") continue;
    query += base::percent_encode(name) + "=" + base::percent_encode(value) + "&";
  }
  return fmt::format("<{}?{}cursor={}>; rel=\"next\"", call.request.path, query,
                     base::percent_encode(last));
}

}  // namespace

Outcome<http::Answer> Api::create(const Call& call) {
  FLEET_ASSIGN(const Value body, call.body());
  FLEET_ASSIGN(const Kept kept, fleet_.create_record(call.family, body, call.actor));
  tell(call, kept.record);
  return written(call.family, kept);
}

Outcome<http::Answer> Api::list(const Call& call) {
  FLEET_ASSIGN(ListQuery query, call.list_query());
  const auto filter = [&](const char* key) {
    if (auto wanted = call.parameter(key)) query.equal[key] = *std::move(wanted);
  };
  if (call.family == Family::kCluster) {
    filter("cluster_dns");
    filter("environment");
  }
  if (call.family == Family::kComponent) filter("component_version");
  const Page page = fleet_.list(call.family, query);
  std::string out = "[";
  for (const Value& record : page.records) {
    if (out.size() > 1) out += ',';
    base::json::append_compact(out, record);
  }
  http::Answer answer = http::Answer::json(200, out + "]");
  if (page.next) answer.headers.emplace_back("Link", next_page(call, *page.next));
  return answer;
}

Outcome<http::Answer> Api::show(const Call& call) {
  FLEET_ASSIGN(const Record record, fleet_.get(call.family, call.id));
  return shown_record(call, call.family, record);
}

Outcome<http::Answer> Api::update(const Call& call) {
  FLEET_ASSIGN(const auto expected, call.expected());
  FLEET_ASSIGN(const Value body, call.body());
  FLEET_ASSIGN(const Kept kept,
               call.method == "PUT"
                   ? fleet_.update(call.family, call.id, body, expected, call.actor)
                   : fleet_.merge(call.family, call.id, body, expected, call.actor));
  tell(call, kept.record);
  return written(call.family, kept);
}

Outcome<http::Answer> Api::remove(const Call& call) {
  FLEET_ASSIGN(const auto expected, call.expected());
  FLEET_ASSIGN(const bool force, call.flag("force"));
  FLEET_ASSIGN(const Kept kept, fleet_.remove(call.family, call.id, force, expected, call.actor));
  tell(call, kept.record);
  return shown_json(shown(call.family, kept.record.data));
}

namespace {

/// With what its cluster has heard of its end. Polls from before it belong to another death.
Value with_polls(const Tombstone& tombstone, const PollNotes& notes) {
  const auto found = notes.dead.find(tombstone.dns);
  PollCount seen = found == notes.dead.end() ? PollCount{} : found->second;
  if (seen.last < tombstone.at) seen = {};
  Value out = to_value(tombstone);
  out.as_object().set("polls", seen.count);
  out.as_object().set("last_poll",
                      seen.count > 0 ? Value(base::format_rfc3339_seconds(seen.last)) : Value());
  return out;
}

}  // namespace

Outcome<http::Answer> Api::tombstones(const Call&) {
  const PollNotes notes = fleet_.polls(polls_);
  Array list;
  for (const Tombstone& tombstone : fleet_.tombstones()) {
    list.push_back(with_polls(tombstone, notes));
  }
  return shown_json(Value(std::move(list)));
}

Outcome<http::Answer> Api::unknown_polls(const Call&) {
  const PollNotes notes = fleet_.polls(polls_);
  Array list;
  for (const auto& [name, seen] : notes.unknown) {
    Object one;
    one.set("cluster_dns", name);
    one.set("polls", seen.count);
    one.set("first_poll", base::format_rfc3339_seconds(seen.first));
    one.set("last_poll", base::format_rfc3339_seconds(seen.last));
    list.emplace_back(std::move(one));
  }
  Object out;
  out.set("unknown", std::move(list));
  out.set("other_polls", notes.others);
  return shown_json(Value(std::move(out)));
}

Outcome<http::Answer> Api::drop_tombstone(const Call& call) {
  FLEET_ASSIGN(const Tombstone dropped, fleet_.drop_tombstone(call.id, call.actor));
  const PollNotes notes = fleet_.polls(polls_);
  return shown_json(with_polls(dropped, notes));
}

Outcome<http::Answer> Api::audit(const Call& call) {
  const auto text = [&](const char* name) { return call.parameter(name).value_or(""); };
  AuditQuery query{
      .family = text("family"), .id = text("id"), .actor = text("actor"), .batch = text("batch")};
  for (const auto& [name, time] :
       {std::pair("since", &query.since), std::pair("until", &query.until)}) {
    const auto said = call.parameter(name);
    if (!said) continue;
    const auto parsed = base::parse_rfc3339(*said);
    if (!parsed)
      return bad_request(fmt::format("{}: must be a time as in 2026-01-31T10:00:00Z", name));
    *time = *parsed;
  }
  constexpr std::uint64_t kMost = 1000;
  FLEET_ASSIGN(const auto limit, call.number("limit"));
  FLEET_ASSIGN(const auto cursor, call.number("cursor"));
  query.limit = std::min(limit.value_or(query.limit), kMost);
  if (cursor) query.before = static_cast<std::int64_t>(std::min<std::uint64_t>(*cursor, INT64_MAX));
  FLEET_ASSIGN(Array entries, fleet_.audit(query));
  Object out;
  const bool more = !entries.empty() && entries.size() == query.limit;
  out.set("cursor", more ? *entries.back().find("seq") : Value());
  out.set("entries", std::move(entries));
  return shown_json(Value(std::move(out)));
}

void Api::tell_refusal(const Call& call, int status) const {
  constexpr std::size_t kMaxPath = 512;
  const bool about_tokens = status == 401 || status == 403;
  if (log_ == nullptr || status < 400 || (call.reads() && !about_tokens)) return;
  log_->warn("refused", {{"status", std::to_string(status)},
                         {"actor", call.actor.name},
                         {"method", call.request.method},
                         {"path", call.request.path.substr(0, kMaxPath)},
                         {"request_id", call.actor.request_id},
                         {"source", call.actor.source}});
}

}  // namespace kollect::fleet
