// Polls whose answer is ready, on the short way.
#include "fleet/api.h"
#include "fleet/api_call.h"

namespace kollect::fleet {

namespace {

struct Poll {
  Route route = Route::kClusters;
  std::string_view dns = {};
};

/// Of a path as Flux sends it, with nothing that has to be decoded.
std::optional<Poll> poll_of(std::string_view path) {
  if (!path.starts_with(kFluxPath) || path.find('%') != std::string_view::npos) return {};
  path.remove_prefix(kFluxPath.size());
  if (path.empty()) return Poll{};
  if (path.front() != '/') return {};
  path.remove_prefix(1);
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view what = path.substr(slash + 1);
  Poll poll{.dns = path.substr(0, slash)};
  if (what == "platform-components") {
    poll.route = Route::kComponents;
  } else if (what == "namespaces") {
    poll.route = Route::kNamespaces;
  } else if (what == "rolebindings") {
    poll.route = Route::kRoleBindings;
  } else {
    return {};
  }
  return poll;
}

}  // namespace

http::PreparedAnswer Api::quick(const http::RequestView& request) {
  // A process whose workers all wait for the store is alive: a probe must not wait with them.
  if (request.path == "/health") {
    if (watch_.meter != nullptr) watch_.meter->count(kHealth, well_.status(), {});
    return well_;
  }
  const auto poll = poll_of(request.path);
  const auto authorization = request.header("authorization");
  if (!poll || !request.query.empty() || !authorization) return {};
  const auto began = clock_.steady_now();
  Need need{.role = Role::kReader};
  if (poll->route != Route::kClusters) need.cluster_dns = poll->dns;
  if (tokens_.current()->judge(*authorization, need).status != 200) return {};
  auto answer = fleet_.answer_at_hand(poll->route, poll->dns,
                                      {.accept_encoding = request.header("accept-encoding"),
                                       .if_none_match = request.header("if-none-match")});
  if (answer && watch_.meter != nullptr) {
    watch_.meter->count(counted(poll->route), answer.status(), clock_.steady_now() - began);
  }
  return answer;
}

}  // namespace kollect::fleet
