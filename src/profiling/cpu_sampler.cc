#include "profiling/cpu_sampler.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

namespace kollect::profiling {

/// Where handlers leave samples; nobody waits for anybody.
struct SampleRing {
  enum class State : std::uint8_t { kFree, kTaken, kFull };
  struct Slot {
    std::atomic<State> state = State::kFree;
    Stack stack;
  };
  std::array<Slot, CpuSampler::kRoom> slots;
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> lost = 0;
};

namespace {

// A handler of signals knows nothing but what is global.
constinit std::atomic<SampleRing*> g_ring = nullptr;
constinit std::atomic<int> g_handlers = 0;  ///< at work just now

std::uintptr_t interrupted_at(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine.pc;
#else
#error "where does this processor keep its program counter?"
#endif
}

void record(SampleRing& ring, const void* context) {
  SampleRing::Slot& slot =
      ring.slots[ring.next.fetch_add(1, std::memory_order_relaxed) % ring.slots.size()];
  auto free = SampleRing::State::kFree;
  if (!slot.state.compare_exchange_strong(free, SampleRing::State::kTaken,
                                          std::memory_order_acquire)) {
    ring.lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  walk_stack(interrupted_at(context), slot.stack);
  slot.state.store(SampleRing::State::kFull, std::memory_order_release);
}

void on_tick(int /*signal*/, siginfo_t* /*info*/, void* context) {
  const int kept = errno;
  g_handlers.fetch_add(1);
  if (SampleRing* ring = g_ring.load()) record(*ring, context);
  g_handlers.fetch_sub(1);
  errno = kept;
}

bool set_timer(base::Duration period) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(period).count();
  const timeval every{.tv_sec = 0, .tv_usec = static_cast<suseconds_t>(micros)};
  const itimerval timer{.it_interval = every, .it_value = every};
  return setitimer(ITIMER_PROF, &timer, nullptr) == 0;
}

/// The handler stays: a late signal without one would end the process.
bool set_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGPROF, &action, nullptr) == 0;
}

base::Error failed(const char* what) {
  return base::terminal(
      fmt::format("{}: {}", what, std::error_code(errno, std::generic_category()).message()));
}

}  // namespace

base::Result<std::unique_ptr<CpuSampler>> CpuSampler::start(const base::Clock& clock) {
  prepare_to_walk();
  auto ring = std::make_unique<SampleRing>();
  SampleRing* none = nullptr;
  if (!g_ring.compare_exchange_strong(none, ring.get())) {
    return base::conflict("a CPU profile is being taken; there is one at a time");
  }
  std::unique_ptr<CpuSampler> sampler(new CpuSampler(clock, std::move(ring)));
  if (!set_handler()) return failed("SIGPROF cannot be handled");
  if (!set_timer(kPeriod)) return failed("no timer for a CPU profile");
  return sampler;
}

CpuSampler::CpuSampler(const base::Clock& clock, std::unique_ptr<SampleRing> ring)
    : clock_(clock),
      began_(clock.now()),
      began_steady_(clock.steady_now()),
      ring_(std::move(ring)) {}

CpuSampler::~CpuSampler() {
  stop();
}

void CpuSampler::stop() {
  if (!running_) return;
  running_ = false;
  set_timer({});
  g_ring.store(nullptr);
  // Whoever saw the ring before that is still writing to it, for microseconds.
  while (g_handlers.load() != 0) std::this_thread::yield();
}

void CpuSampler::collect() {
  for (SampleRing::Slot& slot : ring_->slots) {
    if (slot.state.load(std::memory_order_acquire) != SampleRing::State::kFull) continue;
    const auto begin = slot.stack.frames.begin();
    const auto depth = static_cast<std::ptrdiff_t>(slot.stack.depth);
    ++counts_[std::vector<std::uintptr_t>(begin, begin + depth)];
    slot.state.store(SampleRing::State::kFree, std::memory_order_release);
  }
}

Profile CpuSampler::finish() {
  stop();
  collect();
  Profile profile{.types = {{"samples", "count"}, {"cpu", "nanoseconds"}},
                  .default_type = "cpu",
                  .samples = {},
                  .time = began_,
                  .duration = clock_.steady_now() - began_steady_,
                  .period_type = {"cpu", "nanoseconds"},
                  .period = kPeriod.count()};
  for (const auto& [frames, count] : counts_) {
    Sample sample{.stack = {.frames = {}, .depth = frames.size()},
                  .values = {count, count * kPeriod.count()}};
    std::ranges::copy(frames, sample.stack.frames.begin());
    profile.samples.push_back(std::move(sample));
  }
  if (const std::uint64_t lost = ring_->lost.load(); lost != 0) {
    profile.comment = fmt::format("{} samples found no room", lost);
  }
  return profile;
}

}  // namespace kollect::profiling
