// Stacks of what was allocated and of what is still there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "profiling/profile_format.h"

// Sanitizers have a malloc of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KOLLECT_OWN_MALLOC 0
#endif
#endif
#ifndef KOLLECT_OWN_MALLOC
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define KOLLECT_OWN_MALLOC 0
#else
#define KOLLECT_OWN_MALLOC 1
#endif
#endif

namespace kollect::profiling {

/// Whether this program can sample its heap.
inline constexpr bool kHeapSampling = KOLLECT_OWN_MALLOC == 1;

/// From now to the end of the process about one allocation per `kHeapPeriod` bytes is kept with its
/// stack: each byte has the same chance, so that big and frequent ones are met most. Before it is
/// called malloc and free pay for one look at a flag. Calls after the first do nothing.
/// Thread-safe. Error: terminal (not kHeapSampling).
base::Result<> start_heap_sampling();

/// What was seen since then, as estimates of the whole: objects and bytes that were allocated, and
/// of these what has not been freed. Thread-safe. Error: terminal (not started).
base::Result<Profile> heap_profile(const base::Clock& clock);

inline constexpr std::size_t kHeapPeriod = std::size_t{512} << 10U;

}  // namespace kollect::profiling
