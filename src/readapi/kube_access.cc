#include "readapi/kube_access.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"

namespace kollect::readapi {
namespace {

constexpr const char* kGroup = "kollect.dev";
constexpr std::size_t kMostAddresses = 4096;
constexpr base::Duration kShortestRecheck = std::chrono::seconds(15);

/// Texts are told apart by their lengths: no two questions have one key.
std::string key_of(const std::string& token, const Wish& wish) {
  std::string text;
  for (const std::string* part : {&token, &wish.verb, &wish.resource, &wish.ns, &wish.name}) {
    text += fmt::format("{}:", part->size());
    text += *part;
  }
  return base::sha256_hex(text);
}

/// Without the port.
std::string address_of(const std::string& peer) {
  return peer.substr(0, peer.rfind(':'));
}

std::string what(const Wish& wish) {
  std::string text = fmt::format("{} {}", wish.verb, wish.resource);
  if (!wish.name.empty()) text += " " + wish.name;
  text += wish.ns.empty() ? " in all namespaces" : " in the namespace " + wish.ns;
  return text;
}

Verdict unknown() {
  return {.kind = Verdict::Kind::kUnauthenticated,
          .message = "the token is not valid here: expired, deleted, or made for another audience"};
}

}  // namespace

KubeAccess::KubeAccess(kube::Client& client, const base::Clock& clock, const base::Logger* log,
                       KubeAccessOptions options)
    : reviews_(client), clock_(clock), log_(log), options_(std::move(options)) {}

base::Duration KubeAccess::recheck() const {
  return options_.keep > base::Duration::zero() ? options_.keep : kShortestRecheck;
}

bool KubeAccess::take(const std::string& peer) {
  const base::SteadyTime now = clock_.steady_now();
  if (buckets_.size() >= kMostAddresses) {
    std::erase_if(buckets_, [&](const auto& item) {
      return now - item.second.at > std::chrono::seconds(10);
    });
    if (buckets_.size() >= kMostAddresses) buckets_.clear();
  }
  const auto [it, fresh] =
      buckets_.try_emplace(address_of(peer), Bucket{.tokens = options_.burst, .at = now});
  Bucket& bucket = it->second;
  if (!fresh) {
    const double seconds = std::chrono::duration<double>(now - bucket.at).count();
    bucket.tokens = std::min(options_.burst, bucket.tokens + seconds * options_.rate);
    bucket.at = now;
  }
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

Verdict KubeAccess::decide(const base::Context& context, const Caller& caller, const Wish& wish) {
  if (caller.authorization.empty()) {
    return {.kind = Verdict::Kind::kUnauthenticated,
            .message = "a bearer token of the cluster is needed: Authorization: Bearer TOKEN"};
  }
  const std::string token = bearer_token(caller.authorization);
  if (token.empty()) {
    return {.kind = Verdict::Kind::kUnauthenticated,
            .message = "the Authorization header must be: Bearer TOKEN"};
  }
  const std::string key = key_of(token, wish);
  {
    std::unique_lock lock(mutex_);
    // Whoever asks the same at the same time waits for the answer.
    while (true) {
      if (auto kept = decisions_.find(key, clock_.steady_now())) return *kept;
      if (asking_.insert(key).second) break;
      done_.wait(lock);
    }
    if (!take(caller.peer)) {
      asking_.erase(key);
      done_.notify_all();
      return {.kind = Verdict::Kind::kTooMany,
              .message = "this address asks for too many new decisions; try again in a second"};
    }
  }
  const std::string token_key = base::sha256_hex(token);
  Verdict verdict = ask(context, token, token_key, key, caller, wish);
  const std::scoped_lock lock(mutex_);
  asking_.erase(key);
  done_.notify_all();
  return verdict;
}

Verdict KubeAccess::ask(const base::Context& context, const std::string& token,
                        const std::string& token_key, const std::string& key,
                        const Caller& /*caller*/, const Wish& wish) {
  const base::Context within = context.with_timeout(options_.ask_limit);
  const base::SteadyTime now = clock_.steady_now();
  std::optional<kube::Identity> who;
  {
    const std::scoped_lock lock(mutex_);
    who = identities_.find(token_key, now);
  }
  if (!who) {
    auto reviewed = reviews_.token(within, token, options_.audiences);
    if (!reviewed) {
      if (log_ != nullptr) {
        log_->warn("tokens cannot be reviewed", {{"error", reviewed.error().message}});
      }
      return {.kind = Verdict::Kind::kUnavailable,
              .message = "the API server does not say whose token this is; try again"};
    }
    if (!reviewed->known) return unknown();
    who = std::move(*reviewed);
  }
  Verdict verdict{.user = who->name()};
  if (!wish.verb.empty()) {
    const auto may = reviews_.may(within, *who,
                                  {.verb = wish.verb,
                                   .group = kGroup,
                                   .resource = wish.resource,
                                   .ns = wish.ns,
                                   .name = wish.name});
    if (!may) {
      if (log_ != nullptr) {
        log_->warn("rights cannot be reviewed", {{"error", may.error().message}});
      }
      return {.kind = Verdict::Kind::kFailed, .message = "the access review failed"};
    }
    if (!*may) {
      verdict.kind = Verdict::Kind::kForbidden;
      verdict.message = what(wish) + " is not allowed";
      if (wish.ns.empty() && wish.name.empty()) {
        verdict.message += "; with ?namespace=NAME only that namespace is asked for";
      }
    }
  }
  if (options_.keep > base::Duration::zero()) {
    const std::scoped_lock lock(mutex_);
    const base::SteadyTime until = now + options_.keep;
    decisions_.keep(key, verdict, now, until, options_.most_kept);
    // A token that goes on being used is reviewed again all the same.
    if (!identities_.find(token_key, now)) {
      identities_.keep(token_key, std::move(*who), now, until, options_.most_kept);
    }
  }
  return verdict;
}

}  // namespace kollect::readapi
