// Functions with names that profiles must show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

namespace kollect::profiling::testing {

inline constexpr std::size_t kHoarded = 64;
inline constexpr std::size_t kHoardedBytes = std::size_t{4} << 20U;  ///< each

/// Allocates kHoarded times.
[[gnu::noinline]] inline std::vector<std::unique_ptr<char[]>> hoard_memory() {
  std::vector<std::unique_ptr<char[]>> all;
  for (std::size_t i = 0; i < kHoarded; ++i) {
    all.push_back(std::make_unique_for_overwrite<char[]>(kHoardedBytes));
  }
  return all;
}

/// Runs in small steps until told to stop.
[[gnu::noinline]] inline std::uint64_t burn_time(const std::function<bool()>& stop) {
  std::uint64_t value = 1;
  while (!stop()) {
    for (int i = 0; i < 100'000; ++i) {
      value = value * 6364136223846793005U + 1442695040888963407U;
      asm volatile("" : "+r"(value));
    }
  }
  return value;
}

}  // namespace kollect::profiling::testing
