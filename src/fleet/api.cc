#include "fleet/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::size_t kMaxBody = 2U << 20U;
constexpr std::string_view kFluxPath = "/api/v2/flux/clusters";
/// Segments of the path of the fleet list, and of a cluster's polls.
constexpr std::size_t kListDepth = 4;
constexpr std::size_t kClusterDepth = 6;

http::Answer refused(const Problem& problem) {
  Object body;
  body.set("error", problem.code);
  body.set("message", problem.message);
  return http::Answer::json(problem.status, base::json::compact(Value(std::move(body))));
}

http::Answer refused(int status, const char* code, std::string message) {
  return refused(Problem{.status = status, .code = code, .message = std::move(message)});
}

http::Answer no_route() {
  return refused(404, "not_found", "there is no such path");
}

http::Answer not_allowed(const std::string& allow) {
  http::Answer answer = refused(405, "method_not_allowed", "this method is not for this path");
  if (!allow.empty()) answer.headers.emplace_back("Allow", allow);
  return answer;
}

/// Members of the query by name; a name twice counts as wrong where it matters.
Outcome<std::optional<std::uint64_t>> number_in(
    const std::multimap<std::string, std::string>& parameters, const std::string& name) {
  const auto [first, last] = parameters.equal_range(name);
  if (first == last) return std::optional<std::uint64_t>();
  if (std::next(first) != last) return bad_request(name + ": is there twice");
  const std::string& text = first->second;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return bad_request(name + ": must be a whole number from 0 on");
  }
  return std::optional(value);
}

bool is_json(std::string_view media) {
  const std::string type = base::to_lower(base::trim(media.substr(0, media.find(';'))));
  if (!type.starts_with("application/")) return false;
  const std::string_view rest = std::string_view(type).substr(12);
  return rest == "json" || (rest.ends_with("+json") && rest.size() > 5);
}

Outcome<Value> body_of(const http::ServerRequest& request) {
  if (!is_json(request.header("content-type").value_or(""))) {
    return problem(415, "validation_error", "Content-Type must be application/json");
  }
  if (request.body.size() > kMaxBody) {
    return problem(
        413, "payload_too_large",
        fmt::format("a body has at most {} bytes, not {}", kMaxBody, request.body.size()));
  }
  const auto document = base::json::Document::parse_borrowed(request.body);
  if (!document) return bad_request("the body is no JSON: " + document.error().message);
  if (has_repeated_members(document->root())) return bad_shape("the body has a member twice");
  return base::json::to_value(document->root());
}

std::string etag_of(std::uint64_t version) {
  return fmt::format("\"{}\"", version);
}

http::Answer shown_record(Family family, const Record& record) {
  http::Answer answer = http::Answer::json(200, base::json::compact(shown(family, record.data)));
  answer.headers.emplace_back("ETag", etag_of(record.version));
  return answer;
}

/// Text of a Warning header (RFC 9111 5.5 of old): printable ASCII, quotes and backslashes escaped.
std::string warning_of(std::string_view text) {
  constexpr std::size_t kMost = 400;
  std::string out = "299 - \"";
  for (const char c : text.substr(0, kMost)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out + '"';
}

void add_warnings(http::Answer& answer, const std::vector<std::string>& warnings) {
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(kMost, warnings.size()); ++i) {
    answer.headers.emplace_back("Warning", warning_of(warnings[i]));
  }
  if (warnings.size() <= kMost) return;
  answer.headers.emplace_back("Warning",
                              warning_of(fmt::format("{} more", warnings.size() - kMost)));
}

/// After a write.
http::Answer written(Family family, const Kept& kept) {
  http::Answer answer = shown_record(family, kept.record);
  add_warnings(answer, kept.warnings);
  return answer;
}

/// The entity tags of If-Match and If-None-Match (RFC 9110 13.1).
std::vector<std::string> tags_of(std::string_view header) {
  std::vector<std::string> tags;
  for (const std::string_view part : base::split(header, ',')) {
    std::string_view tag = base::trim(part);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (!tag.empty()) tags.emplace_back(tag);
  }
  return tags;
}

/// If-None-Match: the client has what it asks for.
/// `?dependencies=enabled` of a poll for components.
Outcome<bool> trims_dependencies(const http::ServerRequest& request) {
  const auto parameters = request.parameters();
  const auto found = parameters.find("dependencies");
  if (found == parameters.end() || found->second == "all") return false;
  if (found->second != "enabled") return bad_request("dependencies: must be all or enabled");
  return true;
}

bool knows(const http::ServerRequest& request, const std::string& etag) {
  const auto known = tags_of(request.header("if-none-match").value_or(""));
  return std::ranges::find(known, etag) != known.end();
}

}  // namespace

/// A request with its path taken apart.
struct Api::Call {
  const http::ServerRequest& request;
  std::string method;  ///< HEAD counts as GET
  std::vector<std::string> segments;
  Actor actor;
  Family family = Family::kCluster;
  std::string id = {};

  [[nodiscard]] bool reads() const { return method == "GET" || method == "OPTIONS"; }
  [[nodiscard]] bool polls() const {
    return request.path == kFluxPath || request.path.starts_with(std::string(kFluxPath) + "/");
  }
  [[nodiscard]] Need need() const {
    if (!reads()) return {.role = Role::kWriter};
    if (segments == std::vector<std::string>{"audit"}) return {.role = Role::kAuditor};
    if (polls() && segments.size() == kClusterDepth) {
      return {.role = Role::kReader, .cluster_dns = segments[kListDepth]};
    }
    return {.role = Role::kReader};
  }
  /// The version of If-Match; none: any.
  [[nodiscard]] Outcome<std::optional<std::uint64_t>> expected() const {
    const auto header = request.header("if-match");
    if (!header || base::trim(*header) == "*") return std::optional<std::uint64_t>();
    const auto tags = tags_of(*header);
    std::uint64_t version = 0;
    if (tags.size() == 1 && tags[0].size() > 2) {
      const std::string_view text = std::string_view(tags[0]).substr(1, tags[0].size() - 2);
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
      if (error == std::errc() && end == text.data() + text.size()) return std::optional(version);
    }
    return bad_request("If-Match: must be the ETag of the record");
  }
};

http::Answer Api::answer(const http::ServerRequest& request) {
  const std::string& path = request.path;
  const bool head = request.method == "HEAD";
  Call call{
      .request = request, .method = head ? "GET" : request.method, .segments = {}, .actor = {}};
  if (path == "/health" || path == "/ready" || path == "/openapi.yaml") {
    if (call.method != "GET") return not_allowed("GET,HEAD");
    if (path == "/ready" && leaving_) return refused(503, "store_error", "the service is ending");
    if (path == "/ready" && fleet_.trouble()) {
      return refused(503, "store_error", "the store does not answer");
    }
    if (path != "/openapi.yaml") return http::Answer::json(200, R"({"status":"ok"})");
    http::Answer answer = http::Answer::text(200, options_.open_api);
    for (auto& [name, value] : answer.headers) {
      if (base::to_lower(name) == "content-type") value = "application/yaml";
    }
    return answer;
  }
  http::Answer answer = admit(call);
  tell_refusal(call, answer.status);
  return answer;
}

http::Answer Api::admit(Call& call) {
  const std::string& path = call.request.path;
  call.actor = {.name = {},
                .request_id = fmt::format("{}", ++requests_),
                .source = call.request.peer,
                .method = call.request.method,
                .path = path};
  if (!options_.crud && !call.reads()) {
    return not_allowed(path.starts_with(kFluxPath) ? "GET,HEAD" : "");
  }
  bool readable = true;
  const std::string_view below = std::string_view(path).substr(path.starts_with('/') ? 1 : 0);
  for (const std::string_view part : base::split(below, '/')) {
    auto decoded = base::percent_decode(part);
    readable = readable && decoded && base::is_valid_utf8(*decoded);
    call.segments.push_back(std::move(decoded).value_or(""));
  }
  const auto tokens = tokens_.current();
  const Verdict verdict = tokens->judge(call.request, call.need());
  call.actor.name = verdict.name;
  if (verdict.status == 403) return refused(403, "forbidden", "the token is not for this");
  if (verdict.status != 200) {
    http::Answer answer = refused(401, "unauthorized", "a valid token is needed");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  if (!readable) return refused(bad_request("the path cannot be read").error());
  return serve(call);
}

http::Answer Api::serve(const Call& call) {
  if (call.polls()) return flux(call);
  if (!options_.crud) return no_route();
  return crud(call);
}

http::Answer Api::flux(const Call& call) {
  std::optional<Route> route;
  std::string dns;
  if (call.segments.size() == kListDepth) route = Route::kClusters;
  if (call.segments.size() == kClusterDepth) {
    dns = call.segments[kListDepth];
    const std::string& what = call.segments[kListDepth + 1];
    if (what == "platform-components") route = Route::kComponents;
    if (what == "namespaces") route = Route::kNamespaces;
    if (what == "rolebindings") route = Route::kRoleBindings;
  }
  if (!route) return no_route();
  if (call.method != "GET") return not_allowed("GET,HEAD");
  if (*route == Route::kComponents && !call.request.query.empty()) {
    const auto trimmed = trims_dependencies(call.request);
    if (!trimmed) return refused(trimmed.error());
    if (*trimmed) route = Route::kTrimmedComponents;
  }
  const auto ready = fleet_.answer(*route, dns);
  if (!ready) return refused(ready.error());
  const bool unchanged = knows(call.request, (*ready)->etag);
  http::Answer answer = http::Answer::json(unchanged ? 304 : 200, unchanged ? "" : (*ready)->body);
  answer.headers.emplace_back("ETag", (*ready)->etag);
  if (fleet_.trouble()) {
    answer.headers.emplace_back("Warning", "110 - \"the store does not answer\"");
  }
  return answer;
}

http::Answer Api::crud(const Call& call) {
  const bool about_tombstones = call.segments[0] == "tombstones" && call.segments.size() <= 2;
  if (about_tombstones || (call.segments[0] == "audit" && call.segments.size() == 1)) {
    auto outcome = about_tombstones ? tombstones(call) : audit(call);
    return outcome ? *std::move(outcome) : refused(outcome.error());
  }
  std::optional<Family> family;
  for (const Family one : kAllFamilies) {
    if (!call.segments.empty() && call.segments[0] == collection_of(one)) family = one;
  }
  if (!family || call.segments.size() > 2 ||
      (call.segments.size() == 2 && call.segments[1].empty())) {
    return no_route();
  }
  Call known = call;
  known.family = *family;
  if (call.segments.size() == 2) known.id = call.segments[1];
  auto outcome = call.segments.size() == 1 ? collection(known) : item(known);
  return outcome ? *std::move(outcome) : refused(outcome.error());
}

Outcome<http::Answer> Api::collection(const Call& call) {
  if (call.method == "POST") {
    FLEET_ASSIGN(const Value body, body_of(call.request));
    FLEET_ASSIGN(const Kept kept, fleet_.create_record(call.family, body, call.actor));
    tell(call, kept.record);
    return written(call.family, kept);
  }
  if (call.method != "GET") return not_allowed("GET,HEAD,POST");
  const auto parameters = call.request.parameters();
  ListQuery query;
  FLEET_ASSIGN(const auto offset, number_in(parameters, "offset"));
  FLEET_ASSIGN(query.limit, number_in(parameters, "limit"));
  query.offset = offset.value_or(0);
  const auto filter = [&](const char* key) {
    if (const auto found = parameters.find(key); found != parameters.end()) {
      query.equal[key] = found->second;
    }
  };
  if (call.family == Family::kCluster) {
    filter("cluster_dns");
    filter("environment");
  }
  if (call.family == Family::kComponent) filter("component_version");
  std::string out = "[";
  for (const Value& record : fleet_.list(call.family, query)) {
    if (out.size() > 1) out += ',';
    base::json::append_compact(out, record);
  }
  return http::Answer::json(200, out + "]");
}

Outcome<http::Answer> Api::item(const Call& call) {
  if (call.method == "GET") {
    FLEET_ASSIGN(const Record record, fleet_.get(call.family, call.id));
    http::Answer answer = shown_record(call.family, record);
    if (knows(call.request, etag_of(record.version))) {
      answer.status = 304;
      answer.body.clear();
    }
    return answer;
  }
  FLEET_ASSIGN(const auto expected, call.expected());
  if (call.method == "PUT" || call.method == "PATCH") {
    FLEET_ASSIGN(const Value body, body_of(call.request));
    FLEET_ASSIGN(const Kept kept,
                 call.method == "PUT"
                     ? fleet_.update(call.family, call.id, body, expected, call.actor)
                     : fleet_.merge(call.family, call.id, body, expected, call.actor));
    tell(call, kept.record);
    return written(call.family, kept);
  }
  if (call.method == "DELETE") {
    const auto parameters = call.request.parameters();
    const auto force = parameters.find("force");
    FLEET_ASSIGN(
        const Kept kept,
        fleet_.remove(call.family, call.id, force != parameters.end() && force->second == "true",
                      expected, call.actor));
    tell(call, kept.record);
    return http::Answer::json(200, base::json::compact(shown(call.family, kept.record.data)));
  }
  return not_allowed("GET,HEAD,PUT,PATCH,DELETE");
}

Outcome<http::Answer> Api::tombstones(const Call& call) {
  if (call.segments.size() == 2) {
    if (call.method != "DELETE") return not_allowed("DELETE");
    FLEET_ASSIGN(const Tombstone dropped, fleet_.drop_tombstone(call.segments[1], call.actor));
    return http::Answer::json(200, base::json::compact(to_value(dropped)));
  }
  if (call.method != "GET") return not_allowed("GET,HEAD");
  Array list;
  for (const Tombstone& tombstone : fleet_.tombstones()) list.push_back(to_value(tombstone));
  return http::Answer::json(200, base::json::compact(Value(std::move(list))));
}

Outcome<http::Answer> Api::audit(const Call& call) {
  if (call.method != "GET") return not_allowed("GET,HEAD");
  const auto parameters = call.request.parameters();
  const auto text = [&](const char* name) {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string() : found->second;
  };
  AuditQuery query{
      .family = text("family"), .id = text("id"), .actor = text("actor"), .batch = text("batch")};
  for (const auto& [name, time] :
       {std::pair("since", &query.since), std::pair("until", &query.until)}) {
    if (text(name).empty()) continue;
    const auto parsed = base::parse_rfc3339(text(name));
    if (!parsed)
      return bad_request(fmt::format("{}: must be a time as in 2026-01-31T10:00:00Z", name));
    *time = *parsed;
  }
  constexpr std::uint64_t kMost = 1000;
  FLEET_ASSIGN(const auto limit, number_in(parameters, "limit"));
  FLEET_ASSIGN(const auto cursor, number_in(parameters, "cursor"));
  query.limit = std::min(limit.value_or(query.limit), kMost);
  if (cursor) query.before = static_cast<std::int64_t>(std::min<std::uint64_t>(*cursor, INT64_MAX));
  FLEET_ASSIGN(Array entries, fleet_.audit(query));
  Object out;
  const bool more = !entries.empty() && entries.size() == query.limit;
  out.set("cursor", more ? *entries.back().find("seq") : Value());
  out.set("entries", std::move(entries));
  return http::Answer::json(200, base::json::compact(Value(std::move(out))));
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

void Api::tell(const Call& call, const Record& record) const {
  if (log_ == nullptr) return;
  log_->info("changed", {{"actor", call.actor.name},
                         {"method", call.request.method},
                         {"family", std::string(collection_of(call.family))},
                         {"id", std::string(record.data.text("id"))},
                         {"version", std::to_string(record.version)},
                         {"source", call.actor.source}});
}

}  // namespace kollect::fleet
