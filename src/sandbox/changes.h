// Generated objects that change, by a rate or when told.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "sandbox/store.h"
#include "sandbox/writer.h"

namespace kollect::sandbox {

/// Changes follow the seed: the same number of changes gives the same objects. Every fiftieth
/// deletes an object, the fiftieth after that brings it back. Thread-safe.
class Changes {
 public:
  Changes(Store& store, Writer& writer, std::uint64_t seed)
      : store_(store), writer_(writer), random_(seed) {}
  ~Changes() { stop(); }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  /// Objects of `resource` (made by Store::add_generated) take part.
  void add(const std::string& resource, std::uint32_t count);
  void make(std::uint64_t changes);
  /// Makes so many in a second, on a thread of its own, until stop().
  void start(const base::Clock& clock, double per_second);
  void stop();

 private:
  struct Set {
    std::string resource;
    std::uint32_t count = 0;
    std::uint64_t made = 0;
    std::uint32_t away = UINT32_MAX;  ///< the deleted one
  };
  void make_one();

  Store& store_;
  Writer& writer_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<Set> sets_;
  std::uint64_t total_ = 0;
  std::jthread thread_;
};

}  // namespace kollect::sandbox
