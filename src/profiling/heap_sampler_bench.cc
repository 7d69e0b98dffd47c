// What the program's malloc costs beside that of libc; the order of the benchmarks counts, sampling
// has no end.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "profiling/heap_sampler.h"

extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
}

namespace kollect::profiling {
namespace {

// Three sizes in turn, a hundred alive at a time, as rows and their texts come and go.
constexpr std::array<std::size_t, 3> kSizes = {24, 80, 400};

template <class Make, class End>
void pairs(benchmark::State& state, Make make, End end) {
  std::array<void*, 100> alive{};
  std::size_t i = 0;
  for (auto _ : state) {
    void*& slot = alive[i % alive.size()];
    end(slot);
    slot = make(kSizes[i % kSizes.size()]);
    benchmark::DoNotOptimize(slot);
    ++i;
  }
  for (void* one : alive) end(one);
}

void libc_alone(benchmark::State& state) {
  pairs(state, __libc_malloc, __libc_free);
}
void sampling_off(benchmark::State& state) {
  pairs(state, std::malloc, std::free);
}
void sampling_on(benchmark::State& state) {
  (void)start_heap_sampling();
  pairs(state, std::malloc, std::free);
}

BENCHMARK(libc_alone);
BENCHMARK(sampling_off);
BENCHMARK(sampling_on);

}  // namespace
}  // namespace kollect::profiling
