#include "exporter/exporter.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "exporter/line.h"

namespace kollect::exporter {

/// Waits until the sink is free, and has it until the end.
class SharedSink::Turn {
 public:
  Turn(SharedSink& shared, bool changes, std::optional<std::stop_source> give_way)
      : shared_(shared) {
    {
      const std::scoped_lock lock(shared_.turns_mutex_);
      shared_.changes_waiting_ += changes ? 1 : 0;
      if (changes && shared_.running_) shared_.running_->request_stop();
    }
    shared_.mutex_.lock();
    const std::scoped_lock lock(shared_.turns_mutex_);
    shared_.changes_waiting_ -= changes ? 1 : 0;
    shared_.running_ = std::move(give_way);
    if (shared_.running_ && shared_.changes_waiting_ > 0) shared_.running_->request_stop();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    {
      const std::scoped_lock lock(shared_.turns_mutex_);
      shared_.running_.reset();
    }
    shared_.mutex_.unlock();
  }

 private:
  SharedSink& shared_;
};

base::Result<sinks::ExportReport> SharedSink::apply(const base::Context& context,
                                                    const sinks::Pass& pass,
                                                    std::optional<std::stop_source> give_way) {
  const Turn turn(*this, pass.changes != nullptr, std::move(give_way));
  KL_TRY(context.check());  // the wait for the others may have used up the time
  return sink_->apply(context, pass);
}

/// An inventory at work.
struct Entry {
  InventoryPlan plan;
  std::vector<std::shared_ptr<Line>> lines;  ///< as plan.bindings
  std::shared_ptr<const inventory::Tally> tally;
};

struct Exporter::Impl {
  Impl(inventory::RowStore& row_store, const base::Clock& the_clock, const base::Logger* logger,
       ExporterOptions the_options)
      : store(row_store), clock(the_clock), log(logger), options(std::move(the_options)) {
    if (options.seed == 0) options.seed = std::random_device{}();
    random.seed(options.seed);
  }

  void loop(const std::stop_token& stop);
  void work(const std::stop_token& stop);
  void take_signals(base::SteadyTime now);
  base::SteadyTime look_at_all(base::SteadyTime now);
  void begin_pass(const std::shared_ptr<Line>& line, Why why);
  void run_pass(const std::shared_ptr<Line>& line);
  std::shared_ptr<Line> make_line(const InventoryPlan& plan, const Binding& binding);
  std::shared_ptr<Breaker> breaker_of(const std::string& sink_key);
  void configure(Line& line, const InventoryPlan& plan, const Binding& binding);
  void forget_unused_breakers();
  /// Part of a binding's identity: when what is kept changes everything is compared.
  static std::string kept_text(const InventoryPlan& plan);

  inventory::RowStore& store;
  const base::Clock& clock;
  const base::Logger* log;
  ExporterOptions options;

  mutable std::mutex mutex;         ///< of everything below but what a running pass owns
  std::condition_variable wake;     ///< the loop
  std::condition_variable work_in;  ///< the workers
  std::condition_variable ended;    ///< a pass ended
  std::minstd_rand random;
  std::map<sinks::InventoryId, std::unique_ptr<Entry>> entries;
  std::map<std::string, std::weak_ptr<Breaker>> breakers;
  std::deque<std::shared_ptr<Line>> queue;
  LookCounts looks;
  LookCounts cluster_looks;
  std::uint64_t holds = 0;
  std::map<inventory::Owner, std::uint64_t> held_at;  ///< the last hold() for each
  std::function<void(const sinks::InventoryId&)> listener;
  base::SteadyTime started_at{};
  bool nudged = false;
  bool stopping = false;

  std::mutex signal_mutex;  ///< of these two; held for moments only
  std::set<inventory::Owner> touched;
  bool listening = true;  ///< the loop sleeps and wants to hear of the first signal

  std::vector<std::jthread> threads;
};

std::shared_ptr<Breaker> Exporter::Impl::breaker_of(const std::string& sink_key) {
  std::weak_ptr<Breaker>& place = breakers[sink_key];
  auto breaker = place.lock();
  if (!breaker) {
    breaker = std::make_shared<Breaker>(options.breaker);
    place = breaker;
  }
  return breaker;
}

void Exporter::Impl::forget_unused_breakers() {
  std::erase_if(breakers, [](const auto& item) { return item.second.expired(); });
}

std::shared_ptr<Line> Exporter::Impl::make_line(const InventoryPlan& plan, const Binding& binding) {
  auto line = std::make_shared<Line>(options.schedule, random());
  line->inventory = plan.id;
  line->breaker = breaker_of(binding.sink_key);
  line->wanted_key = plan.wanted_key;
  line->reader = store.subscribe(plan.wanted, plan.choice);
  line->choice = plan.choice;
  return line;
}

std::string Exporter::Impl::kept_text(const InventoryPlan& plan) {
  std::string text = base::join(plan.keep_targets, ",");
  for (const std::string& part : sinks::texts_of(plan.keep_parts)) text += "," + part;
  return text;
}

// Rows that a target which could not be read had left behind are compared when it can be read
// again: the kept targets are part of the identity.
void Exporter::Impl::configure(Line& line, const InventoryPlan& plan, const Binding& binding) {
  const base::SteadyTime now = clock.steady_now();
  line.binding = binding;
  line.head = head_of(plan, binding);
  line.schedule.hold(plan.suspended || !plan.complete);
  line.schedule.configure(
      {.interval = binding.interval,
       .generation = plan.generation,
       .identity = fmt::format("{}\n{}\n{}\n{}", plan.uid, binding.sink_identity, plan.wanted_key,
                               kept_text(plan))},
      now);
  if (plan.spread_start && plan.complete && !line.spread && !binding.cluster.empty()) {
    const base::Duration most = std::min(options.start_spread, (now - started_at) / 2);
    if (most.count() > 0) {
      line.schedule.not_before(now + base::Duration(std::uniform_int_distribution<std::int64_t>(
                                         0, most.count())(random)));
    }
  }
  line.spread = line.spread || plan.complete;
  line.next_look = now;
}

void Exporter::Impl::take_signals(base::SteadyTime now) {
  std::set<inventory::Owner> owners;
  {
    const std::scoped_lock lock(signal_mutex);
    owners.swap(touched);
  }
  if (owners.empty()) return;
  for (const auto& [id, entry] : entries) {
    const auto& wanted = entry->plan.wanted;
    if (std::ranges::none_of(owners, [&](const auto& owner) { return wanted(owner); })) continue;
    for (const auto& line : entry->lines) {
      line->schedule.signal(now);
      line->next_look = now;
      if (line->schedule.running() && line->give_way) line->give_way->request_stop();
    }
  }
}

void Exporter::Impl::begin_pass(const std::shared_ptr<Line>& line, Why why) {
  line->why = why;
  line->began_with = line->schedule.settings();
  // With targets that cannot be read, rows that went from the store may still exist.
  line->differences = why == Why::kChange && line->schedule.confirmed() &&
                      line->head.keep_targets.empty() && line->choice == inventory::RowChoice::kAll;
  line->resumed = line->schedule.exported_once();
  line->give_way.reset();
  if (why == Why::kRefresh && line->schedule.may_give_way()) line->give_way.emplace();
  line->used = line->binding;
  line->used_head = line->head;
  line->schedule.begin();
  line->status.running = true;
  queue.push_back(line);
  work_in.notify_one();
}

base::SteadyTime Exporter::Impl::look_at_all(base::SteadyTime now) {
  base::SteadyTime next = base::SteadyTime::max();
  for (const auto& [id, entry] : entries) {
    for (const auto& line : entry->lines) {
      if (line->schedule.running() || stopping) continue;
      if (line->next_look > now) {
        next = std::min(next, line->next_look);
        continue;
      }
      const bool pending = line->reader->pending();
      LookCounts& counts = id.ns == "cluster" ? cluster_looks : looks;
      ++(pending ? counts.changed : counts.unchanged);
      const Schedule::Look look = line->schedule.look(now, pending, line->breaker->next_try(now));
      if (look.why != Why::kNone) {
        begin_pass(line, look.why);
        continue;
      }
      line->next_look = look.next.value_or(base::SteadyTime::max());
      next = std::min(next, line->next_look);
    }
  }
  return next;
}

void Exporter::Impl::loop(const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    nudged = false;
    const base::SteadyTime now = clock.steady_now();
    take_signals(now);
    const base::SteadyTime next = look_at_all(now);
    // Until the rows in motion have settled their signals are gathered, not answered one by one.
    const bool settling = next - now <= options.schedule.longest_wait && next > now;
    {
      const std::scoped_lock signals(signal_mutex);
      listening = !settling;
      if (listening && !touched.empty()) continue;
    }
    const auto woken = [&] { return nudged || stop.stop_requested(); };
    if (next == base::SteadyTime::max()) {
      wake.wait(lock, woken);
    } else {
      wake.wait_for(lock, clock.real_time(next - clock.steady_now()), woken);
    }
  }
}

void Exporter::Impl::work(const std::stop_token& stop) {
  while (true) {
    std::shared_ptr<Line> line;
    {
      std::unique_lock lock(mutex);
      work_in.wait(lock, [&] { return !queue.empty() || stop.stop_requested(); });
      if (queue.empty()) return;
      line = std::move(queue.front());
      queue.pop_front();
    }
    run_pass(line);
  }
}

void Exporter::Impl::run_pass(const std::shared_ptr<Line>& line) {
  const auto rows = static_cast<std::int64_t>(line->reader->row_count());
  const base::Context context =
      base::Context(clock, line->stop.get_token())
          .with_timeout(options.pass_deadline + options.row_allowance * rows);
  const base::SteadyTime began = clock.steady_now();
  const base::WallTime exported_at = clock.now();
  std::optional<PassResult> result;
  if (line->breaker->try_enter(began)) result = line->pass(context, exported_at);
  {
    const std::scoped_lock lock(mutex);
    const base::SteadyTime now = clock.steady_now();
    if (log != nullptr && result) log_warnings(*log, *line, *result);
    const bool was_closed = line->breaker->closed();
    settle(*line, result, began, now, exported_at);
    line->next_look = now;
    nudged = true;
    if (log != nullptr && result) log_outcome(*log, *line, *result, now - began);
    if (log != nullptr && line->breaker->closed() != was_closed) log_breaker(*log, *line);
  }
  wake.notify_all();
  if (result && listener) listener(line->inventory);
  {
    const std::scoped_lock lock(mutex);
    line->status.running = false;
  }
  ended.notify_all();
}

Exporter::Exporter(inventory::RowStore& store, const base::Clock& clock, const base::Logger* log,
                   ExporterOptions options)
    : impl_(std::make_unique<Impl>(store, clock, log, std::move(options))) {}

Exporter::~Exporter() {
  stop();
}

void Exporter::start() {
  impl_->started_at = impl_->clock.steady_now();
  impl_->threads.emplace_back([this](const std::stop_token& stop) { impl_->loop(stop); });
  for (std::size_t i = 0; i < std::max<std::size_t>(impl_->options.threads, 1); ++i) {
    impl_->threads.emplace_back([this](const std::stop_token& stop) { impl_->work(stop); });
  }
}

void Exporter::drain(base::Duration limit) {
  std::unique_lock lock(impl_->mutex);
  impl_->stopping = true;
  for (const auto& line : impl_->queue) line->status.running = false;
  impl_->queue.clear();
  impl_->ended.wait_for(lock, limit, [&] {
    return std::ranges::none_of(impl_->entries, [](const auto& item) {
      return std::ranges::any_of(item.second->lines,
                                 [](const auto& line) { return line->status.running; });
    });
  });
}

void Exporter::stop() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->queue.clear();
    for (const auto& [id, entry] : impl_->entries) {
      for (const auto& line : entry->lines) line->stop.request_stop();
    }
    for (auto& thread : impl_->threads) thread.request_stop();
  }
  impl_->wake.notify_all();
  impl_->work_in.notify_all();
  impl_->threads.clear();  // joins
}

void Exporter::set(InventoryPlan plan) {
  {
    const std::scoped_lock lock(impl_->mutex);
    if (impl_->stopping) return;
    std::unique_ptr<Entry>& entry = impl_->entries[plan.id];
    if (!entry) entry = std::make_unique<Entry>();
    if (!entry->tally || entry->plan.wanted_key != plan.wanted_key) {
      entry->tally = impl_->store.tally(plan.wanted, plan.choice);
    }
    const bool held = std::ranges::any_of(impl_->held_at, [&](const auto& one) {
      return one.second > plan.as_of && plan.wanted(one.first);
    });
    std::vector<std::shared_ptr<Line>> lines;
    for (const Binding& binding : plan.bindings) {
      const auto before = std::ranges::find_if(entry->lines, [&](const auto& line) {
        return line && line->binding.name == binding.name &&
               line->binding.sink_key == binding.sink_key;
      });
      std::shared_ptr<Line> line;
      if (before == entry->lines.end()) {
        line = impl_->make_line(plan, binding);
      } else if ((*before)->wanted_key == plan.wanted_key) {
        line = std::move(*before);
      } else {
        line = impl_->make_line(plan, binding);
        line->follow(**before);
      }
      impl_->configure(*line, plan, binding);
      if (held) line->schedule.hold(true);
      lines.push_back(std::move(line));
    }
    for (const auto& unused : entry->lines) {
      if (unused) unused->stop.request_stop();
    }
    entry->lines = std::move(lines);
    entry->plan = std::move(plan);
    impl_->forget_unused_breakers();
    impl_->nudged = true;
  }
  impl_->wake.notify_all();
}

void Exporter::remove(const sinks::InventoryId& id) {
  leave([&](const sinks::InventoryId& one) { return one == id; }, base::Duration::zero());
}

std::vector<sinks::InventoryId> Exporter::leave(
    const std::function<bool(const sinks::InventoryId&)>& goes, base::Duration grace) {
  std::unique_lock lock(impl_->mutex);
  std::vector<sinks::InventoryId> gone;
  std::vector<std::unique_ptr<Entry>> entries;
  for (auto it = impl_->entries.begin(); it != impl_->entries.end();) {
    if (!goes(it->first)) {
      ++it;
      continue;
    }
    gone.push_back(it->first);
    entries.push_back(std::move(it->second));
    it = impl_->entries.erase(it);
  }
  std::erase_if(impl_->queue, [&](const auto& line) {
    if (!goes(line->inventory)) return false;
    line->status.running = false;
    return true;
  });
  const auto ended = [&] {
    return std::ranges::none_of(entries, [](const auto& entry) {
      return std::ranges::any_of(entry->lines,
                                 [](const auto& line) { return line->status.running; });
    });
  };
  if (grace > base::Duration::zero()) impl_->ended.wait_for(lock, grace, ended);
  for (const auto& entry : entries) {
    for (const auto& line : entry->lines) line->stop.request_stop();
  }
  impl_->ended.wait(lock, ended);
  return gone;
}

std::uint64_t Exporter::holds() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->holds;
}

void Exporter::hold(const inventory::Owner& owner) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->held_at[owner] = ++impl_->holds;
  for (const auto& [id, entry] : impl_->entries) {
    if (!entry->plan.wanted(owner)) continue;
    for (const auto& line : entry->lines) line->schedule.hold(true);
  }
  const base::SteadyTime now = impl_->clock.steady_now();
  std::erase_if(impl_->queue, [&](const auto& line) {
    if (!line->schedule.held()) return false;
    line->schedule.abandoned();
    line->schedule.signal(now);  // what it was about to export is news still
    line->status.running = false;
    return true;
  });
  impl_->ended.notify_all();
}

void Exporter::rows_changed(const inventory::Owner& owner) {
  {
    const std::scoped_lock lock(impl_->signal_mutex);
    if (!impl_->touched.insert(owner).second || !impl_->listening) return;
    impl_->listening = false;
  }
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->nudged = true;
  }
  impl_->wake.notify_all();
}

std::optional<InventoryStatus> Exporter::status(const sinks::InventoryId& id) const {
  const std::scoped_lock lock(impl_->mutex);
  const auto it = impl_->entries.find(id);
  if (it == impl_->entries.end()) return std::nullopt;
  const base::SteadyTime now = impl_->clock.steady_now();
  InventoryStatus status{.suspended = it->second->plan.suspended,
                         .rows = it->second->tally->row_count(),
                         .bindings = {}};
  for (const auto& line : it->second->lines) status.bindings.push_back(line->status_at(now));
  return status;
}

std::map<std::string, Breaker::State> Exporter::breakers() const {
  const std::scoped_lock lock(impl_->mutex);
  const base::SteadyTime now = impl_->clock.steady_now();
  std::map<std::string, Breaker::State> states;
  for (const auto& [sink, place] : impl_->breakers) {
    if (const auto breaker = place.lock()) states[sink] = breaker->state(now);
  }
  return states;
}

LookCounts Exporter::looks(bool cluster) const {
  const std::scoped_lock lock(impl_->mutex);
  return cluster ? impl_->cluster_looks : impl_->looks;
}

std::vector<inventory::Shard> Exporter::shards(const sinks::InventoryId& id) const {
  std::shared_ptr<const inventory::Tally> tally;
  {
    const std::scoped_lock lock(impl_->mutex);
    if (const auto it = impl_->entries.find(id); it != impl_->entries.end()) {
      tally = it->second->tally;
    }
  }
  return tally ? tally->shards() : std::vector<inventory::Shard>();
}

void Exporter::on_outcome(std::function<void(const sinks::InventoryId&)> listener) {
  impl_->listener = std::move(listener);
}

base::Result<> Exporter::clean(const base::Context& context, const InventoryPlan& plan,
                               const Binding& binding) const {
  KL_ASSIGN(const std::shared_ptr<SharedSink> sink, binding.open(context));
  const auto nothing = impl_->store.subscribe([](const inventory::Owner&) { return false; });
  const inventory::Snapshot rows = nothing->snapshot();
  sinks::Pass pass{.head = head_of(plan, binding),
                   .rows = &rows,
                   .changes = nullptr,
                   .row_count = 0,
                   .set_hash = rows.set_hash()};
  pass.head.keep_targets.clear();
  pass.head.keep_parts.clear();
  pass.head.exported_at = impl_->clock.now();
  KL_TRY(sink->apply(context, pass, std::nullopt));
  return {};
}

}  // namespace kollect::exporter
