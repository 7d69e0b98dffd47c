#include "profiling/heap_sampler.h"

#include "profiling/stack.h"

#if KOLLECT_OWN_MALLOC
#include <malloc.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

// The functions behind malloc and its like; glibc has them for whoever stands before it.
extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace kollect::profiling {
namespace {

/// What was allocated at one place of the program.
struct Place {
  std::vector<std::uintptr_t> frames;
  // Estimates of the whole:
  double made = 0;
  double made_bytes = 0;
  double there = 0;
  double there_bytes = 0;
};

/// How many allocations, and how many bytes, one that was taken stands for.
struct Weight {
  double objects;
  double bytes;
};

Weight weight_of(std::size_t size) {
  const auto bytes = static_cast<double>(size);
  // The chance that one of its bytes is hit by an event that comes once in kHeapPeriod.
  const double chance = -std::expm1(-bytes / static_cast<double>(kHeapPeriod));
  return {.objects = 1 / chance, .bytes = bytes / chance};
}

struct Live {
  std::size_t place;
  std::size_t size;
};

/// All under its mutex, by threads that are marked as busy: their own allocations are not looked
/// at.
struct Record {
  std::mutex mutex;
  std::vector<Place> places;
  std::unordered_multimap<std::size_t, std::size_t> by_hash;  ///< of frames: place
  std::unordered_map<const void*, Live> live;
  base::WallTime began{};
};

constexpr std::size_t kMostPlaces = 16384;  ///< what comes then counts at the last one
constexpr std::size_t kFilter = std::size_t{1} << 17U;

// Malloc knows nothing but what is global.
constinit std::atomic<bool> g_on = false;
/// Made once and never ended: memory is freed until the very last.
constinit std::atomic<Record*> g_record = nullptr;
/// How many addresses of each hash are in `Record::live`: nearly every free ends here.
constinit std::array<std::atomic<std::uint16_t>, kFilter> g_filter{};
constinit std::atomic<std::uint64_t> g_seed = 0;

struct OfThread {
  bool busy = false;
  std::uint64_t random = 0;  ///< 0: none yet
  double left = 0;           ///< bytes to the next one that is taken
};
constinit thread_local OfThread t_thread;

/// The thread's own allocations are left alone as long as this lives.
class Busy {
 public:
  Busy() { t_thread.busy = true; }
  ~Busy() { t_thread.busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
};

std::uint64_t mixed(std::uint64_t value) {  // splitmix64
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

/// Of an exponential distribution: between events that do not know of each other.
double next_gap() {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
  if (t_thread.random == 0) t_thread.random = mixed(g_seed.fetch_add(kGolden) + kGolden);
  t_thread.random += kGolden;
  const double even = (static_cast<double>(mixed(t_thread.random) >> 11U) + 1) * 0x1p-53;
  return -std::log(even) * static_cast<double>(kHeapPeriod);
}

std::atomic<std::uint16_t>& filter_of(const void* address) {
  return g_filter[mixed(reinterpret_cast<std::uintptr_t>(address)) % kFilter];
}

std::size_t place_of(Record& record, const Stack& stack) {
  const std::span frames(stack.frames.data(), stack.depth);
  const std::size_t hash = std::hash<std::string_view>{}(
      {reinterpret_cast<const char*>(frames.data()), frames.size_bytes()});
  const auto [from, to] = record.by_hash.equal_range(hash);
  for (auto at = from; at != to; ++at) {
    if (std::ranges::equal(record.places[at->second].frames, frames)) return at->second;
  }
  if (record.places.size() == kMostPlaces) return kMostPlaces - 1;
  record.places.push_back({.frames = {frames.begin(), frames.end()}});
  record.by_hash.emplace(hash, record.places.size() - 1);
  return record.places.size() - 1;
}

void take_off(Record& record, const Live& live) {
  const Weight weight = weight_of(live.size);
  record.places[live.place].there -= weight.objects;
  record.places[live.place].there_bytes -= weight.bytes;
}

void take(const void* address, std::size_t size, std::uintptr_t caller) {
  Stack stack;
  walk_stack(caller, stack);
  Record& record = *g_record.load();
  const std::scoped_lock lock(record.mutex);
  const std::size_t place = place_of(record, stack);
  const Weight weight = weight_of(size);
  Place& seen = record.places[place];
  seen.made += weight.objects;
  seen.made_bytes += weight.bytes;
  seen.there += weight.objects;
  seen.there_bytes += weight.bytes;
  const auto [at, fresh] = record.live.try_emplace(address, Live{.place = place, .size = size});
  if (fresh) {
    filter_of(address).fetch_add(1);
  } else {  // freed behind our back
    take_off(record, at->second);
    at->second = {.place = place, .size = size};
  }
}

/// The way of one that is allocated while sampling is on.
[[gnu::noinline]] void made(const void* address, std::size_t size, const void* caller) {
  OfThread& thread = t_thread;
  if (address == nullptr || thread.busy) return;
  if (thread.random == 0) thread.left = next_gap();
  thread.left -= static_cast<double>(size);
  if (thread.left >= 0) return;
  const int kept = errno;
  const Busy busy;
  thread.left = next_gap();
  take(address, size, reinterpret_cast<std::uintptr_t>(caller));
  errno = kept;
}

/// The way of one that is freed, before it is.
[[gnu::noinline]] void gone(const void* address) {
  if (address == nullptr || t_thread.busy || filter_of(address).load() == 0) return;
  const int kept = errno;
  const Busy busy;
  Record& record = *g_record.load();
  const std::scoped_lock lock(record.mutex);
  if (const auto at = record.live.find(address); at != record.live.end()) {
    take_off(record, at->second);
    record.live.erase(at);
    filter_of(address).fetch_sub(1);
  }
  errno = kept;
}

bool is_on() {
  return g_on.load(std::memory_order_relaxed);
}

}  // namespace

base::Result<> start_heap_sampling() {
  prepare_to_walk();
  const Busy busy;
  auto record = std::make_unique<Record>();
  Record* none = nullptr;
  if (!g_record.compare_exchange_strong(none, record.get())) return {};
  (void)record.release();
  // The child of a fork has the mutex as it was, perhaps taken by a thread that it does not have.
  pthread_atfork(nullptr, nullptr, [] { g_on.store(false); });
  g_on.store(true);
  return {};
}

base::Result<Profile> heap_profile(const base::Clock& clock) {
  Record* record = g_record.load();
  if (record == nullptr) return base::terminal("the heap is not sampled");
  Profile profile{
      .types = {{"alloc_objects", "count"},
                {"alloc_space", "bytes"},
                {"inuse_objects", "count"},
                {"inuse_space", "bytes"}},
      .default_type = "inuse_space",
      .samples = {},
      .time = clock.now(),
      .period_type = {"space", "bytes"},
      .period = static_cast<std::int64_t>(kHeapPeriod),
      .drop_frames = R"((c|re)?alloc|malloc|aligned_alloc|posix_memalign|operator new.*)"};
  const Busy busy;
  const std::scoped_lock lock(record->mutex);
  for (const Place& place : record->places) {
    Sample sample{.stack = {.frames = {}, .depth = place.frames.size()},
                  .values = {std::llround(place.made), std::llround(place.made_bytes),
                             std::llround(place.there), std::llround(place.there_bytes)}};
    std::ranges::copy(place.frames, sample.stack.frames.begin());
    profile.samples.push_back(std::move(sample));
  }
  return profile;
}

}  // namespace kollect::profiling

// The program's malloc and its like, in place of those of libc ("Replacing malloc" in its manual).
// Memory is that of libc in any case, so what is not here (memalign, valloc) may be mixed with it.
using kollect::profiling::gone;
using kollect::profiling::is_on;
using kollect::profiling::made;

extern "C" {

void* malloc(std::size_t size) noexcept {
  if (!is_on()) [[likely]]
    return __libc_malloc(size);
  void* address = __libc_malloc(size);
  made(address, size, __builtin_return_address(0));
  return address;
}

void free(void* address) noexcept {
  if (is_on()) [[unlikely]]
    gone(address);
  __libc_free(address);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  void* address = __libc_calloc(count, size);
  if (is_on()) [[unlikely]]
    made(address, count * size, __builtin_return_address(0));
  return address;
}

void* realloc(void* old, std::size_t size) noexcept {
  // Before: as soon as it is freed another thread may get that address.
  if (is_on()) [[unlikely]]
    gone(old);
  void* address = __libc_realloc(old, size);
  if (is_on()) [[unlikely]]
    made(address, size, __builtin_return_address(0));
  return address;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  void* address = __libc_memalign(alignment, size);
  if (is_on()) [[unlikely]]
    made(address, size, __builtin_return_address(0));
  return address;
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
    return EINVAL;
  }
  void* address = __libc_memalign(alignment, size);
  if (address == nullptr) return ENOMEM;
  if (is_on()) [[unlikely]]
    made(address, size, __builtin_return_address(0));
  *result = address;
  return 0;
}

}  // extern "C"

#else

namespace kollect::profiling {

base::Result<> start_heap_sampling() {
  return base::terminal("this program was built without the sampling of its heap");
}

base::Result<Profile> heap_profile(const base::Clock& /*clock*/) {
  return base::terminal("the heap is not sampled: this program was built without that");
}

}  // namespace kollect::profiling

#endif
