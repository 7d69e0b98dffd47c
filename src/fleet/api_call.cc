#include "fleet/api_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::fleet {

using base::json::Object;
using base::json::Value;

namespace {

bool is_json(std::string_view media) {
  const std::string type = base::to_lower(base::trim(media.substr(0, media.find(';'))));
  if (!type.starts_with("application/")) return false;
  const std::string_view rest = std::string_view(type).substr(12);
  return rest == "json" || (rest.ends_with("+json") && rest.size() > 5);
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

}  // namespace

bool Call::polls() const {
  return request.path == kFluxPath || request.path.starts_with(std::string(kFluxPath) + "/");
}

Need Call::need() const {
  if (!reads()) return {.role = Role::kWriter};
  if (segments == std::vector<std::string>{"audit"}) return {.role = Role::kAuditor};
  if (polls() && segments.size() == kClusterDepth) {
    return {.role = Role::kReader, .cluster_dns = segments[kListDepth]};
  }
  return {.role = Role::kReader};
}

Outcome<std::optional<std::uint64_t>> Call::expected() const {
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

std::optional<std::string> Call::parameter(const std::string& name) const {
  const auto parameters = request.parameters();
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::nullopt : std::optional(found->second);
}

Outcome<std::optional<std::uint64_t>> Call::number(const std::string& name) const {
  const auto parameters = request.parameters();
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

Outcome<ListQuery> Call::list_query() const {
  ListQuery query;
  FLEET_ASSIGN(const auto offset, number("offset"));
  FLEET_ASSIGN(query.limit, number("limit"));
  query.offset = offset.value_or(0);
  query.after = parameter("cursor").value_or("");
  if (const auto shard = parameter("shard")) {
    ListQuery::Shard wanted;
    const char* end = shard->data() + shard->size();
    const auto index = std::from_chars(shard->data(), end, wanted.index);
    const bool slash = index.ec == std::errc() && index.ptr != end && *index.ptr == '/';
    const auto of = slash ? std::from_chars(index.ptr + 1, end, wanted.of) : index;
    if (!slash || of.ec != std::errc() || of.ptr != end || wanted.index >= wanted.of) {
      return bad_request("shard: must be I/N with I from 0 to N-1");
    }
    query.shard = wanted;
  }
  return query;
}

Outcome<bool> Call::flag(const std::string& name) const {
  const auto text = parameter(name);
  if (!text || text == "false") return false;
  if (text == "true") return true;
  return bad_request(name + ": must be true or false");
}

Outcome<Value> Call::body(std::size_t most_bytes) const {
  if (!is_json(request.header("content-type").value_or(""))) {
    return problem(415, "validation_error", "Content-Type must be application/json");
  }
  if (request.body.size() > most_bytes) {
    return problem(
        413, "payload_too_large",
        fmt::format("a body has at most {} bytes here, not {}", most_bytes, request.body.size()));
  }
  const auto document = base::json::Document::parse_borrowed(request.body);
  if (!document) return bad_request("the body is no JSON: " + document.error().message);
  if (has_repeated_members(document->root())) return bad_shape("the body has a member twice");
  return base::json::to_value(document->root());
}

bool Call::knows(const std::string& etag) const {
  const auto known = tags_of(request.header("if-none-match").value_or(""));
  return std::ranges::find(known, etag) != known.end();
}

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

http::Answer shown_json(const Value& value) {
  return http::Answer::json(200, base::json::compact(value));
}

std::string etag_of(std::uint64_t version) {
  return fmt::format("\"{}\"", version);
}

http::Answer shown_record(const Call& call, Family family, const Record& record) {
  const std::string etag = etag_of(record.version);
  http::Answer answer = shown_json(shown(family, record.data));
  answer.headers.emplace_back("ETag", etag);
  if (call.method == "GET" && call.knows(etag)) {
    answer.status = 304;
    answer.body.clear();
  }
  return answer;
}

http::Answer written(Family family, const Kept& kept) {
  http::Answer answer = shown_json(shown(family, kept.record.data));
  answer.headers.emplace_back("ETag", etag_of(kept.record.version));
  add_warnings(answer, kept.warnings);
  return answer;
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

}  // namespace kollect::fleet
