// Polls that are worth a look: of clusters that were deleted, and of names that nobody registered
// (spec: fleet-api 15.18). Other polls leave no trace here.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace kollect::fleet {

struct PollCount {
  std::uint64_t count = 0;
  base::WallTime first = {};
  base::WallTime last = {};

  /// Nothing when `more` counts nothing.
  void add(const PollCount& more);
};

/// By DNS name.
struct PollNotes {
  std::map<std::string, PollCount> dead;
  std::map<std::string, PollCount> unknown;
  std::uint64_t others = 0;  ///< of names that found no place

  [[nodiscard]] bool empty() const { return dead.empty() && unknown.empty() && others == 0; }
  void add(const PollNotes& more);
};
/// Of very many unknown names no more than these are told apart.
inline constexpr std::size_t kMostUnknownNames = 1000;

/// What one process has seen and has not given to the store. Thread-safe, bounded.
class Polls {
 public:
  void see_dead(const std::string& dns, base::WallTime now);
  void see_unknown(const std::string& dns, base::WallTime now);

  [[nodiscard]] PollNotes notes() const;
  /// Takes them away; add() puts them back when the store would not have them.
  PollNotes take();
  void add(const PollNotes& notes);

 private:
  mutable std::mutex mutex_;
  PollNotes notes_;
};

}  // namespace kollect::fleet
