#include "fleet/client.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::fleet {

using base::json::Value;

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
    return Told{.value = std::move(value), .etag = response.header("etag").value_or("")};
  }
  const std::string_view words = value.text("message");
  const std::string text =
      fmt::format("{} {}: {}{}{}", method, path, response.status, words.empty() ? "" : ": ", words);
  constexpr int kMissing = 404;
  constexpr int kStale = 412;
  if (response.status == kStale) return base::Error{base::ErrorKind::kConflict, text, "stale"};
  if (response.status == kMissing) return base::not_found(text, "not_found");
  return base::terminal(text, std::string(value.text("error")));
}

base::Result<Value> FleetClient::edit(
    const base::Context& context, Family family, const std::string& id,
    const std::function<base::Result<Value>(const Value& record)>& edit) {
  constexpr int kTries = 10;
  for (int attempt = 1;; ++attempt) {
    KL_ASSIGN(const Told before, call(context, "GET", path_of(family, id)));
    KL_ASSIGN(const Value body, edit(before.value));
    auto after = call(context, "PUT", path_of(family, id), body, before.etag);
    if (after) return std::move(after->value);
    if (after.error().reason != "stale" || attempt == kTries) return after.error();
  }
}

}  // namespace kollect::fleet
