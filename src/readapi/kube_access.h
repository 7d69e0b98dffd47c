// Who may read, by the RBAC of a cluster (spec: runtime 13.5).
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "kube/reviews.h"
#include "readapi/access.h"

namespace kollect::readapi {

struct KubeAccessOptions {
  std::vector<std::string> audiences;  ///< of tokens; empty: the API server's own
  /// Decisions are kept for so long; 0: not.
  base::Duration keep = std::chrono::seconds(30);
  std::size_t most_kept = 4096;
  base::Duration ask_limit = std::chrono::seconds(10);
  /// Questions to the API server in a row for one client address, and how many a second after that.
  double burst = 100;
  double rate = 20;
};

/// Asks the API server who a bearer token is and whether that one may do it. Decisions are kept,
/// both ways, by hashes of what was asked; tokens that are not known are not. Equal questions at
/// one time are asked once. Thread-safe.
class KubeAccess final : public Authorizer {
 public:
  /// References must outlive it; `log` may be null.
  KubeAccess(kube::Client& client, const base::Clock& clock, const base::Logger* log,
             KubeAccessOptions options = {});

  [[nodiscard]] std::string_view mode() const override { return "kubernetes"; }
  Verdict decide(const base::Context& context, const Caller& caller, const Wish& wish) override;
  [[nodiscard]] base::Duration recheck() const override;

 private:
  /// Answers that are kept for a while, bounded: the oldest go.
  template <class T>
  struct Kept {
    struct Entry {
      T value;
      base::SteadyTime until;
    };
    std::map<std::string, Entry> entries;
    std::optional<T> find(const std::string& key, base::SteadyTime now) const {
      const auto it = entries.find(key);
      return it != entries.end() && it->second.until > now ? std::optional(it->second.value)
                                                           : std::nullopt;
    }
    void keep(const std::string& key, T value, base::SteadyTime now, base::SteadyTime until,
              std::size_t most) {
      if (entries.size() >= most) {
        std::erase_if(entries, [&](const auto& item) { return item.second.until <= now; });
      }
      if (entries.size() >= most) {
        entries.erase(std::ranges::min_element(entries, {},
                                               [](const auto& item) { return item.second.until; }));
      }
      entries.insert_or_assign(key, Entry{.value = std::move(value), .until = until});
    }
  };
  struct Bucket {
    double tokens = 0;
    base::SteadyTime at{};
  };

  Verdict ask(const base::Context& context, const std::string& token, const std::string& token_key,
              const std::string& key, const Caller& caller, const Wish& wish);
  /// Takes one question of the caller's address; false: it has none left.
  bool take(const std::string& peer);

  kube::Reviews reviews_;
  const base::Clock& clock_;
  const base::Logger* log_;
  const KubeAccessOptions options_;
  std::mutex mutex_;
  std::condition_variable_any done_;
  std::set<std::string> asking_;  ///< keys of questions under way
  Kept<Verdict> decisions_;
  Kept<kube::Identity> identities_;
  std::map<std::string, Bucket> buckets_;  ///< by address
};

}  // namespace kollect::readapi
