#include "kube/discoverer.h"

#include <fmt/format.h>

#include <future>

#include "kube/api_error.h"

namespace kollect::kube {

namespace {
constexpr std::size_t kAtATime = 8;
}

base::Result<Discovery> Discoverer::run(const base::Context& context) {
  const base::Duration limit = sender_.options().discovery_timeout;
  auto done = read_all(context.with_timeout(limit));
  if (!done) {
    // Our own limit is the server's fault; only the caller's is a cancellation.
    if (done.error().kind == base::ErrorKind::kCancelled && context.check()) {
      return base::retryable(
          fmt::format("discovery: no answer within {}", base::format_duration(limit)), "timeout");
    }
    return done.error();
  }
  finish_discovery(discovery_);
  return std::move(discovery_);
}

base::Result<> Discoverer::read_all(const base::Context& context) {
  std::vector<GroupVersion> rest;
  KL_TRY(read_root(context, "/api", rest));
  KL_TRY(read_root(context, "/apis", rest));
  return read_classic(context, rest);
}

base::Result<> Discoverer::read_root(const base::Context& context, const std::string& path,
                                     std::vector<GroupVersion>& rest) {
  Call call;
  call.path = path;
  call.accept = aggregated_accept();
  KL_ASSIGN(http::Response response, sender_.send(context, call));
  if (response.status == 406) {
    call.accept = "application/json";
    KL_ASSIGN(response, sender_.send(context, call));
  }
  if (response.status != 200) {
    return sender_.refusal(context, "discovery " + path, response.status, response.body);
  }
  if (is_aggregated(response.header("content-type").value_or(""))) {
    return add_aggregated(discovery_, response.body);
  }
  KL_ASSIGN(auto versions, read_group_versions(discovery_, response.body));
  std::ranges::move(versions, std::back_inserter(rest));
  return {};
}

base::Result<> Discoverer::read_classic(const base::Context& context,
                                        const std::vector<GroupVersion>& rest) {
  for (std::size_t first = 0; first < rest.size(); first += kAtATime) {
    const std::size_t last = std::min(rest.size(), first + kAtATime);
    std::vector<std::future<base::Result<http::Response>>> answers;
    for (std::size_t i = first; i < last; ++i) {
      Call call;
      call.path = rest[i].path();
      // A dead extension API is one of many groups: it must not use up the time of all.
      call.retries = std::min(1U, sender_.options().retries);
      answers.push_back(std::async(std::launch::async,
                                   [this, &context, call] { return sender_.send(context, call); }));
    }
    base::Result<> outcome;
    for (std::size_t i = first; i < last; ++i) {
      auto taken = take(rest[i], answers[i - first].get());
      if (!taken && outcome) outcome = taken.error();
    }
    KL_TRY(std::move(outcome));
  }
  return {};
}

base::Result<> Discoverer::take(const GroupVersion& group_version,
                                base::Result<http::Response> answer) {
  if (!answer) {
    // The whole server is at stake, not one group.
    if (answer.error().kind == base::ErrorKind::kCancelled ||
        answer.error().reason == "unreachable") {
      return answer.error();
    }
    discovery_.failed_groups.emplace(group_version.group, answer.error());
    return {};
  }
  if (answer->status == 404) return {};  // gone since the list of groups was made
  if (answer->status == 401) {
    return error_of("discovery " + group_version.path(), answer->status, answer->body);
  }
  base::Result<> added;
  if (answer->status == 200) {
    added = add_resource_list(discovery_, group_version, answer->body);
  } else {
    added = error_of("discovery " + group_version.path(), answer->status, answer->body);
  }
  if (!added) discovery_.failed_groups.emplace(group_version.group, added.error());
  return {};
}

}  // namespace kollect::kube
