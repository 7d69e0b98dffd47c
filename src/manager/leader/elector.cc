#include "manager/leader/elector.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "kube/reflector.h"
#include "manager/leader/lease.h"

namespace kollect::manager {

std::string new_identity() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::random_device random;
  return fmt::format("{}_{:08x}{:08x}", name.data(), random(), random());
}

struct Elector::Impl final : kube::ObjectReceiver {
  Impl(kube::Client& client, const base::Clock& the_clock, const base::Logger* logger,
       ElectorOptions the_options, Fence& the_fence)
      : clock(the_clock),
        log(logger),
        options(std::move(the_options)),
        fence(the_fence),
        lease(client, options.ns, options.name),
        election(options.identity, options.times,
                 options.seed != 0 ? options.seed : std::random_device{}()),
        watch(client,
              {.resource = lease_resource(),
               .ns = options.ns,
               .field_selector = "metadata.name=" + options.name},
              *this, gate, clock, nullptr) {}

  void begin_list() override { listed = false; }
  void object(base::json::View object) override {
    listed = true;
    seen(lease_record(base::json::to_value(object)));
  }
  void deleted(base::json::View /*object*/) override { seen(std::nullopt); }
  void end_list() override {
    if (!listed) seen(std::nullopt);
  }
  void seen(const std::optional<LeaseRecord>& record) { seen(record, clock.steady_now()); }
  void seen(const std::optional<LeaseRecord>& record, base::SteadyTime when);

  void run();
  void guard(const std::stop_token& stop);
  base::Result<LeaseRecord> perform(const Election::Move& move);
  void note(const base::Result<LeaseRecord>& answer);
  void tell(Election::State before);
  void end();

  const base::Clock& clock;
  const base::Logger* log;
  const ElectorOptions options;
  Fence& fence;
  Lease lease;
  std::function<void()> leads;
  std::function<void(const std::string&)> lost;
  std::function<void()> last_resort;

  mutable std::mutex mutex;
  std::condition_variable_any changed;
  Election election;
  std::string error;
  bool woken = false;
  bool ended = false;  ///< run() has

  std::stop_source stop;
  bool listed = false;  ///< of the watch's thread
  kube::ListGate gate{1};
  kube::Reflector watch;
  std::jthread guardian;
  std::jthread runner;
};

void Elector::Impl::seen(const std::optional<LeaseRecord>& record, base::SteadyTime when) {
  {
    const std::scoped_lock lock(mutex);
    election.observed(record, when);
    woken = true;
  }
  changed.notify_all();
}

base::Result<LeaseRecord> Elector::Impl::perform(const Election::Move& move) {
  // A connection that is dead must not use up the time in which another one would do.
  base::Duration limit =
      std::max<base::Duration>(options.times.retry, options.times.renew_deadline / 4);
  const base::SteadyTime until = fence.until();
  if (until != base::SteadyTime::min()) limit = std::min(limit, until - clock.steady_now());
  const base::Context context = base::Context(clock, stop.get_token()).with_timeout(limit);
  if (move.ask == Election::Ask::kRead) return lease.read(context);
  if (move.ask == Election::Ask::kCreate) return lease.create(context, move.record);
  return lease.update(context, move.record);
}

void Elector::Impl::note(const base::Result<LeaseRecord>& answer) {
  const bool fine = answer || answer.error().kind == base::ErrorKind::kNotFound ||
                    answer.error().kind == base::ErrorKind::kConflict;
  const std::string now = fine ? std::string() : answer.error().message;
  if (log != nullptr && !now.empty() && error.empty() && !stop.stop_requested()) {
    log->warn("the lease cannot be asked for or renewed", {{"error", now}});
  }
  error = now;
}

/// With the mutex held.
void Elector::Impl::tell(Election::State before) {
  const Election::State state = election.state();
  if (state == Election::State::kLeading) fence.extend(election.until());
  if (state == before) return;
  if (log != nullptr) {
    log->info("leader election", {{"state", std::string(to_string(state))},
                                  {"identity", options.identity},
                                  {"lease", options.ns + "/" + options.name},
                                  {"holder", election.holder()}});
  }
}

void Elector::Impl::run() {
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    woken = false;
    const base::SteadyTime now = clock.steady_now();
    const Election::State before = election.state();
    const Election::Move move = election.next(now, clock.now());
    tell(before);
    if (election.state() == Election::State::kLost) fence.fall();
    changed.notify_all();
    if (move.ask == Election::Ask::kNothing) break;
    if (move.ask == Election::Ask::kWait) {
      changed.wait_for(lock, clock.real_time(move.when - now),
                       [&] { return woken || stop.stop_requested(); });
      continue;
    }
    lock.unlock();
    const auto answer = perform(move);
    lock.lock();
    note(answer);
    election.answered(move, answer, now, clock.steady_now());
    tell(before);
    if (before == Election::State::kStandby && election.state() == Election::State::kLeading &&
        !fence.fallen()) {
      changed.notify_all();
      lock.unlock();
      leads();
      lock.lock();
    }
  }
  const std::string why = election.why_lost();
  ended = true;
  lock.unlock();
  changed.notify_all();
  if (!why.empty()) lost(why);
}

void Elector::Impl::guard(const std::stop_token& token) {
  std::unique_lock lock(mutex);
  while (!token.stop_requested() && !fence.fallen()) {
    const base::SteadyTime until = fence.until();
    const auto moved = [&] { return fence.until() != until || fence.fallen(); };
    if (until == base::SteadyTime::min()) {
      changed.wait(lock, token, moved);
    } else {
      changed.wait_for(lock, token, clock.real_time(until - clock.steady_now()), moved);
    }
  }
  if (token.stop_requested()) return;
  fence.fall();
  if (election.state() == Election::State::kReleased) return;
  const base::Duration left = (options.times.lease - options.times.renew_deadline) / 2;
  changed.wait_for(lock, token, clock.real_time(left), [] { return false; });
  if (!token.stop_requested()) last_resort();
}

void Elector::Impl::end() {
  guardian.request_stop();
  stop.request_stop();
  changed.notify_all();
  watch.stop();
  if (runner.joinable()) runner.join();
  if (guardian.joinable()) guardian.join();
}

Elector::Elector(kube::Client& client, const base::Clock& clock, const base::Logger* log,
                 ElectorOptions options, Fence& fence)
    : impl_(std::make_unique<Impl>(client, clock, log, std::move(options), fence)) {}

Elector::~Elector() {
  impl_->end();
}

void Elector::start(std::function<void()> leads, std::function<void(const std::string&)> lost,
                    std::function<void()> last_resort) {
  impl_->leads = std::move(leads);
  impl_->lost = std::move(lost);
  impl_->last_resort = std::move(last_resort);
  if (impl_->options.watch) impl_->watch.start();
  impl_->guardian = std::jthread([this](const std::stop_token& stop) { impl_->guard(stop); });
  impl_->runner = std::jthread([this] { impl_->run(); });
}

void Elector::release(base::Duration limit) {
  impl_->guardian.request_stop();  // what ends in order needs no last resort
  {
    std::unique_lock lock(impl_->mutex);
    impl_->fence.fall();
    impl_->election.release(impl_->clock.steady_now());
    impl_->woken = true;
    impl_->changed.notify_all();
    impl_->changed.wait_for(lock, impl_->clock.real_time(limit), [&] { return impl_->ended; });
  }
  impl_->end();
}

void Elector::observed(const std::optional<LeaseRecord>& record, base::SteadyTime when) {
  impl_->seen(record, when);
}

ElectorStatus Elector::status() const {
  const std::scoped_lock lock(impl_->mutex);
  return {
      .state = impl_->election.state(), .holder = impl_->election.holder(), .error = impl_->error};
}

}  // namespace kollect::manager
