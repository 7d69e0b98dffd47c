#include "serve/fleet_proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/context.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::serve {

namespace {

constexpr std::array<std::string_view, 9> kCollections = {
    "clusters",   "platform_components", "namespaces", "rolebindings", "rollouts",
    "tombstones", "unknown_polls",       "audit",      "drift"};
constexpr std::string_view kPolls = "api/v2/flux/clusters";
constexpr std::size_t kMostBytes = 32U << 20U;
constexpr auto kLongest = std::chrono::seconds(30);
constexpr auto kConnecting = std::chrono::seconds(5);

http::Answer error_answer(int status, std::string_view reason, std::string_view message) {
  std::string body =
      fmt::format(R"({{"error":{{"code":{},"reason":"{}","message":)", status, reason);
  base::json::append_string(body, message);
  return http::Answer::json(status, body + "}}\n");
}

http::Answer passed_on(const http::Response& response) {
  http::Answer answer;
  answer.status = response.status;
  for (const std::string_view name :
       {"content-type", "etag", "link", "last-modified", "cache-control", "retry-after"}) {
    if (const auto value = response.header(name)) answer.headers.emplace_back(name, *value);
  }
  answer.body = response.body;
  return answer;
}

}  // namespace

bool is_fleet_read(std::string_view path) {
  const auto decoded = base::percent_decode(path);
  if (!decoded || !decoded->starts_with('/')) return false;
  const std::string_view below = std::string_view(*decoded).substr(1);
  const auto parts = base::split(below, '/');
  if (std::ranges::any_of(parts, [](std::string_view part) {
        return part.empty() || part == "." || part == "..";
      })) {
    return false;
  }
  return below == kPolls || below.starts_with(std::string(kPolls) + "/") ||
         std::ranges::find(kCollections, parts.front()) != kCollections.end();
}

void FleetProxy::handle(const std::shared_ptr<const http::ServerRequest>& request,
                        http::Reply reply) {
  if (!is_fleet_read(request->path)) {
    reply.send(error_answer(404, "NotFound", "the fleet API has nothing to read there"));
    return;
  }
  http::Request out;
  out.method = "GET";  // of a HEAD the server sends the head alone
  std::string_view base_url = settings_.url;
  while (base_url.ends_with('/')) base_url.remove_suffix(1);
  out.url = fmt::format("{}{}{}{}", base_url, request->path, request->query.empty() ? "" : "?",
                        request->query);
  for (const std::string_view name : {"accept", "if-none-match"}) {
    if (const auto value = request->header(name)) {
      out.headers.emplace_back(name, std::string(*value));
    }
  }
  out.bearer_token = settings_.token;
  out.connect_timeout = kConnecting;
  out.max_body_bytes = kMostBytes;
  const auto shared = std::make_shared<http::Reply>(std::move(reply));
  client_.start(base::Context(clock_, {}).with_timeout(kLongest), std::move(out),
                [this, shared](base::Result<http::Response> response) {
                  if (response) {
                    if (response->status == 401 || response->status == 403) {
                      // Its refusal is about our token, not about the client's.
                      log_.error("the fleet API refuses the token of --fleet-token-file");
                      shared->send(error_answer(502, "FleetRefused",
                                                "the fleet API refuses this server's token"));
                      return;
                    }
                    shared->send(passed_on(*response));
                    return;
                  }
                  log_.warn("the fleet API does not answer", {{"error", response.error().message}});
                  shared->send(error_answer(502, "FleetUnavailable",
                                            "the fleet API does not answer; look at its server"));
                });
}

}  // namespace kollect::serve
