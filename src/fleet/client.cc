#include "fleet/client.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

/// Texts of `Warning: 299 - "..."`.
std::vector<std::string> warnings_of(const http::Response& response) {
  std::vector<std::string> out;
  const auto [first, last] = response.headers.equal_range("warning");
  for (auto header = first; header != last; ++header) {
    const std::string& line = header->second;
    const std::size_t begin = line.find('"');
    std::string text;
    for (std::size_t i = begin == std::string::npos ? 0 : begin + 1;
         i < line.size() && line[i] != '"'; ++i) {
      if (line[i] == '\\' && i + 1 < line.size()) ++i;
      text += line[i];
    }
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace

std::string FleetClient::path_of(Family family, std::string_view id) {
  std::string path = "/" + std::string(collection_of(family));
  if (!id.empty()) path += "/" + base::percent_encode(id);
  return path;
}

base::Result<Told> FleetClient::call(const base::Context& context, const std::string& method,
                                     const std::string& path, const std::optional<Value>& body,
                                     const std::string& if_match) {
  http::Request request;
  request.method = method;
  request.url = options_.url + path;
  request.headers.emplace_back("Accept", "application/json");
  request.bearer_token = method == "GET" ? options_.read_token : options_.write_token;
  if (body) {
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = base::json::compact(*body);
  }
  if (!if_match.empty()) request.headers.emplace_back("If-Match", if_match);
  KL_ASSIGN(const http::Response response, http_.fetch(context, request));
  const auto document = base::json::Document::parse(response.body);
  Value value = document ? base::json::to_value(document->root()) : Value();
  constexpr int kFirstError = 300;
  if (response.status < kFirstError) {
    if (!document) return base::terminal(fmt::format("{} {}: the answer is no JSON", method, path));
    return Told{.value = std::move(value),
                .etag = response.header("etag").value_or(""),
                .warnings = warnings_of(response)};
  }
  const std::string_view words = value.text("message");
  const std::string text =
      fmt::format("{} {}: {}{}{}", method, path, response.status, words.empty() ? "" : ": ", words);
  constexpr int kMissing = 404;
  constexpr int kStale = 412;
  if (response.status == kStale) return base::conflict(text, "stale");
  if (response.status == kMissing) return base::not_found(text, "not_found");
  return base::terminal(text, std::string(value.text("error")));
}

base::Result<Told> FleetClient::edit(
    const base::Context& context, Family family, const std::string& id, const std::string& if_match,
    const std::function<base::Result<Value>(const Value& record)>& edit) {
  constexpr int kTries = 10;
  for (int attempt = 1;; ++attempt) {
    KL_ASSIGN(const Told before, call(context, "GET", path_of(family, id)));
    KL_ASSIGN(const Value body, edit(before.value));
    auto after = call(context, "PATCH", path_of(family, id), body,
                      if_match.empty() ? before.etag : if_match);
    if (after) return after;
    if (after.error().reason != "stale" || !if_match.empty() || attempt == kTries) {
      return after.error();
    }
  }
}

}  // namespace kollect::fleet
