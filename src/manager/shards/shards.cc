#include "manager/shards/shards.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kube/reflector.h"
#include "manager/leader/elector.h"
#include "manager/leader/lease.h"
#include "manager/shards/assignment.h"
#include "manager/shards/roster.h"

namespace kollect::manager {
namespace {

/// For all leases that are given up at the end; those that the server does not take back in time
/// run out by themselves.
constexpr base::Duration kReleaseLimit = std::chrono::seconds(5);
/// While a part waits for a fresh look at the cluster.
constexpr base::Duration kLookForFresh = std::chrono::milliseconds(50);
/// Replicas that may take part for each part: those that stand by are known in time, and the place
/// of one that died is not waited for.
constexpr std::size_t kPlaces = 2;

/// A lease that this process holds or stands in line for, once: a lost one is claimed anew.
struct Claim {
  std::shared_ptr<Fence> fence;
  std::unique_ptr<Elector> elector;
  [[nodiscard]] bool leads() const {
    return elector->status().state == Election::State::kLeading && fence->stands();
  }
  [[nodiscard]] bool lost() const {
    const Election::State state = elector->status().state;
    return fence->fallen() || state == Election::State::kLost ||
           state == Election::State::kReleased;
  }
};

}  // namespace

struct Shards::Impl {
  Impl(kube::Client& the_client, const base::Clock& the_clock, const base::Logger* logger,
       ShardOptions the_options)
      : client(the_client),
        clock(the_clock),
        log(logger),
        options(std::move(the_options)),
        shut(std::make_shared<Fence>(clock)),
        roster(clock, options.id,
               [this](const std::string& lease, const auto& record) { seen(lease, record); }),
        // Renewals are heard of all the time, our own among them.
        watch(client, {.resource = lease_resource(), .ns = options.ns}, roster, gate, clock,
              nullptr, {.silence = options.times.renew_deadline}),
        fences(options.parts, shut),
        parts(options.parts) {}

  struct Part {
    std::shared_ptr<Claim> claim;
    std::function<bool()> fresh;  ///< set once the part is ours
    bool open = false;
    std::uint64_t order = 0;  ///< among those that we have got
  };

  [[nodiscard]] std::string shard_name(std::size_t n) const {
    return fmt::format("{}-shard-{}", options.id, n);
  }
  [[nodiscard]] std::string member_name(std::size_t n) const {
    return fmt::format("{}-member-{}", options.id, n);
  }
  /// All replicas with this number of parts are one holder.
  [[nodiscard]] std::string common_identity() const {
    return fmt::format("replicas-of-{}-shards", options.parts);
  }

  void wake();
  void seen(const std::string& lease, const std::optional<LeaseRecord>& record);
  std::shared_ptr<Claim> make_claim(const std::string& lease, const std::string& identity,
                                    const ElectionTimes& times, std::shared_ptr<const Fence> outer);
  void drop(const std::string& lease, std::shared_ptr<Claim>& claim, base::Duration limit);
  void run(const std::stop_token& stop);
  void look();
  void look_at_common();
  void look_at_membership();
  void look_at_parts();
  [[nodiscard]] std::optional<std::size_t> free_place() const;
  std::set<std::size_t> parts_wanted();
  bool settled();
  void close_parts(const std::set<std::size_t>& which, base::Duration grace, base::Duration limit);
  void watch_changed(const kube::ReflectorStatus& status);
  [[nodiscard]] std::set<std::string> members() const;
  [[nodiscard]] std::vector<std::string> holders() const;
  void publish();

  kube::Client& client;
  const base::Clock& clock;
  const base::Logger* log;
  const ShardOptions options;
  ShardHooks hooks;
  const std::shared_ptr<const Fence> shut;

  kube::ListGate gate{1};
  Roster roster;
  kube::Reflector watch;

  std::mutex wake_mutex;
  std::condition_variable_any changed;
  bool woken = false;
  std::mutex claims_mutex;
  std::map<std::string, std::weak_ptr<Claim>> claims;  ///< by lease; for news of the watch

  mutable std::mutex public_mutex;
  std::vector<std::shared_ptr<const Fence>> fences;
  ShardStatus shown;
  std::string watch_error;

  // Of the thread that decides.
  std::shared_ptr<Claim> common;
  std::shared_ptr<Claim> membership;
  std::size_t member_place = 0;
  std::optional<base::SteadyTime> member_since;
  std::vector<Part> parts;
  bool opening = false;  ///< a part waits for a fresh look
  std::uint64_t got = 0;

  std::jthread decider;
};

void Shards::Impl::wake() {
  {
    const std::scoped_lock lock(wake_mutex);
    woken = true;
  }
  changed.notify_all();
}

void Shards::Impl::seen(const std::string& lease, const std::optional<LeaseRecord>& record) {
  std::shared_ptr<Claim> claim;
  {
    const std::scoped_lock lock(claims_mutex);
    if (const auto it = claims.find(lease); it != claims.end()) claim = it->second.lock();
  }
  if (claim) claim->elector->observed(record, clock.steady_now());
  wake();
}

void Shards::Impl::watch_changed(const kube::ReflectorStatus& status) {
  const std::string error = status.error ? status.error->message : std::string();
  {
    const std::scoped_lock lock(public_mutex);
    if (std::exchange(watch_error, error) == error) return;
  }
  if (log != nullptr && !error.empty()) log->warn("leases cannot be watched", {{"error", error}});
  wake();
}

std::shared_ptr<Claim> Shards::Impl::make_claim(const std::string& lease,
                                                const std::string& identity,
                                                const ElectionTimes& times,
                                                std::shared_ptr<const Fence> outer) {
  auto claim = std::make_shared<Claim>();
  claim->fence = std::make_shared<Fence>(clock, std::move(outer));
  claim->elector = std::make_unique<Elector>(
      client, clock, log,
      ElectorOptions{
          .ns = options.ns, .name = lease, .identity = identity, .times = times, .watch = false},
      *claim->fence);
  // The holder's time runs since its last renewal was seen, not since somebody wants the lease.
  if (const auto known = roster.find(lease)) {
    claim->elector->observed(known->record, known->since);
  }
  {
    const std::scoped_lock lock(claims_mutex);
    claims[lease] = claim;
  }
  claim->elector->start([this] { wake(); }, [this](const std::string& /*why*/) { wake(); },
                        [this, fence = claim->fence.get()] {
                          if (fence->busy()) hooks.last_resort();
                        });
  return claim;
}

/// Gives the lease up when it is held; zero limit: only ends.
void Shards::Impl::drop(const std::string& lease, std::shared_ptr<Claim>& claim,
                        base::Duration limit) {
  if (!claim) return;
  {
    const std::scoped_lock lock(claims_mutex);
    claims.erase(lease);
  }
  if (limit > base::Duration::zero()) claim->elector->release(limit);
  claim->fence->fall();
  claim.reset();
}

void Shards::Impl::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      const std::scoped_lock lock(wake_mutex);
      woken = false;
    }
    look();
    publish();
    std::unique_lock lock(wake_mutex);
    const base::Duration pause = opening ? kLookForFresh : options.times.retry;
    changed.wait_for(lock, stop, clock.real_time(pause), [&] { return woken; });
  }
}

void Shards::Impl::look() {
  opening = false;
  if (!roster.known()) return;
  look_at_common();
  look_at_membership();
  look_at_parts();
}

void Shards::Impl::look_at_common() {
  if (common && common->lost()) {
    std::set<std::size_t> all;
    for (std::size_t n = 0; n < parts.size(); ++n) all.insert(n);
    close_parts(all, base::Duration::zero(), base::Duration::zero());
    drop(options.id, common, base::Duration::zero());
  }
  if (common) return;
  // Many renew it, so each may do so less often.
  ElectionTimes times = options.times;
  times.retry = std::max<base::Duration>(times.retry, times.renew_deadline / 4);
  common = make_claim(options.id, common_identity(), times, nullptr);
}

void Shards::Impl::look_at_membership() {
  if (membership) {
    const std::string holder = roster.holder(member_name(member_place));
    const bool taken = !membership->leads() && !holder.empty() && holder != options.identity;
    if (!membership->lost() && !taken) return;
    drop(member_name(member_place), membership,
         membership->lost() ? base::Duration::zero() : kReleaseLimit);
  }
  if (!common->leads()) return;
  const auto place = free_place();
  if (!place) return;
  member_place = *place;
  membership = make_claim(member_name(*place), options.identity, options.times, common->fence);
}

/// That of a replica which is not heard of comes last: its time has to run out first.
std::optional<std::size_t> Shards::Impl::free_place() const {
  std::optional<std::size_t> silent;
  for (std::size_t n = 0; n < kPlaces * options.parts; ++n) {
    const auto seen = roster.find(member_name(n));
    if (!seen || seen->record.holder.empty() || seen->record.holder == options.identity) return n;
    if (!silent && roster.holder(member_name(n)).empty()) silent = n;
  }
  return silent;
}

std::set<std::string> Shards::Impl::members() const {
  std::set<std::string> found;
  for (std::size_t n = 0; n < kPlaces * options.parts; ++n) {
    const std::string holder = roster.holder(member_name(n));
    if (!holder.empty() && holder != options.identity) found.insert(holder);
  }
  if (membership && membership->leads()) found.insert(options.identity);
  return found;
}

std::vector<std::string> Shards::Impl::holders() const {
  std::vector<std::string> found;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const std::string holder = roster.holder(shard_name(n));
    const bool ours = parts[n].claim && parts[n].claim->leads();
    found.push_back(ours ? options.identity : holder == options.identity ? std::string() : holder);
  }
  return found;
}

std::set<std::size_t> Shards::Impl::parts_wanted() {
  std::map<std::uint64_t, std::size_t> held;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    if (!parts[n].claim || !parts[n].claim->leads()) continue;
    if (parts[n].order == 0) parts[n].order = ++got;
    held[parts[n].order] = n;
  }
  std::vector<std::size_t> by_age;
  for (const auto& [order, n] : held) by_age.push_back(n);
  return parts_to_have(assign(members(), holders()), options.identity, by_age);
}

/// Replicas that start together shall not take everything first and give it up then.
bool Shards::Impl::settled() {
  const base::SteadyTime now = clock.steady_now();
  if (!membership || !membership->leads()) {
    member_since.reset();
    return false;
  }
  if (!member_since) member_since = now;
  return now >= *member_since + options.times.retry;
}

void Shards::Impl::look_at_parts() {
  const std::set<std::size_t> wanted = parts_wanted();
  const bool may_take = settled();
  std::set<std::size_t> lost;
  std::set<std::size_t> leaving;
  std::function<bool()> fresh;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    Part& part = parts[n];
    const bool wants = wanted.contains(n);
    if (!part.claim) {
      if (!wants || !may_take) continue;
      part.claim = make_claim(shard_name(n), options.identity, options.times, common->fence);
      const std::scoped_lock lock(public_mutex);
      fences[n] = part.claim->fence;
    } else if (part.claim->lost()) {
      lost.insert(n);
    } else if (!wants) {
      leaving.insert(n);
    } else if (part.claim->leads() && !part.open) {
      if (!part.fresh && !fresh) fresh = hooks.refresh();
      if (!part.fresh) part.fresh = fresh;
      part.open = part.fresh();
      if (part.open) hooks.open(n);
      opening = opening || !part.open;
    }
  }
  close_parts(lost, base::Duration::zero(), base::Duration::zero());
  close_parts(leaving, options.drain, kReleaseLimit);
}

/// Leases that are still held are given up, as far as the server takes them back within the limit.
void Shards::Impl::close_parts(const std::set<std::size_t>& which, base::Duration grace,
                               base::Duration limit) {
  std::set<std::size_t> open;
  for (const std::size_t n : which) {
    if (parts[n].open) open.insert(n);
  }
  if (!open.empty()) hooks.close(open, grace);
  const base::SteadyTime until = clock.steady_now() + limit;
  for (const std::size_t n : which) {
    {
      const std::scoped_lock lock(public_mutex);
      fences[n] = shut;
    }
    drop(shard_name(n), parts[n].claim, until - clock.steady_now());
    parts[n] = {};
  }
  if (!which.empty()) wake();
}

void Shards::Impl::publish() {
  ShardStatus now{.parts = parts.size()};
  for (std::size_t n = 0; n < parts.size(); ++n) {
    if (parts[n].open && parts[n].claim->leads()) now.held.insert(n);
  }
  now.members = members().size();
  now.member = membership && membership->leads();
  const std::string holder = roster.holder(options.id);
  if (holder != common_identity()) now.blocked_by = holder;
  const std::scoped_lock lock(public_mutex);
  now.error = watch_error;
  if (log != nullptr && now.held != shown.held) {
    log->info("parts of the work", {{"held", fmt::format("{}", fmt::join(now.held, " "))},
                                    {"of", std::to_string(now.parts)},
                                    {"replicas", std::to_string(now.members)}});
  }
  shown = std::move(now);
}

Shards::Shards(kube::Client& client, const base::Clock& clock, const base::Logger* log,
               ShardOptions options)
    : impl_(std::make_unique<Impl>(client, clock, log, std::move(options))) {}

Shards::~Shards() {
  impl_->decider = {};
  impl_->watch.stop();
  for (std::size_t n = 0; n < impl_->parts.size(); ++n) {
    impl_->drop(impl_->shard_name(n), impl_->parts[n].claim, base::Duration::zero());
  }
  impl_->drop(impl_->member_name(impl_->member_place), impl_->membership, base::Duration::zero());
  impl_->drop(impl_->options.id, impl_->common, base::Duration::zero());
}

void Shards::start(ShardHooks hooks) {
  impl_->hooks = std::move(hooks);
  impl_->watch.start([this](const kube::ReflectorStatus& status) { impl_->watch_changed(status); });
  impl_->decider = std::jthread([this](const std::stop_token& stop) { impl_->run(stop); });
}

void Shards::stop() {
  Impl& impl = *impl_;
  impl.decider = {};  // joins
  std::set<std::size_t> all;
  for (std::size_t n = 0; n < impl.parts.size(); ++n) all.insert(n);
  std::set<std::string> others = impl.members();
  others.erase(impl.options.identity);
  impl.close_parts(all, impl.options.drain, kReleaseLimit);
  const base::SteadyTime until = impl.clock.steady_now() + kReleaseLimit;
  impl.drop(impl.member_name(impl.member_place), impl.membership, until - impl.clock.steady_now());
  // The last one leaves the common lease to whoever works in another way.
  impl.drop(impl.options.id, impl.common,
            others.empty() ? until - impl.clock.steady_now() : base::Duration::zero());
  impl.publish();
}

std::shared_ptr<const Fence> Shards::of(std::string_view ns) const {
  const std::size_t part = part_of(ns, impl_->options.parts);
  const std::scoped_lock lock(impl_->public_mutex);
  return impl_->fences[part];
}

ShardStatus Shards::status() const {
  const std::scoped_lock lock(impl_->public_mutex);
  return impl_->shown;
}

}  // namespace kollect::manager
