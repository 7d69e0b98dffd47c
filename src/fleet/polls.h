// Polls that are worth a look: of clusters that were deleted, and of names that nobody registered
// (spec: fleet-api 15.18). Other polls leave no trace here.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/clock.h"

namespace kollect::fleet {

/// Thread-safe. Of this process, since its start. Memory is bounded: of very many unknown names the
/// later ones are counted together.
class Polls {
 public:
  struct Seen {
    std::uint64_t count = 0;
    base::WallTime first = {};
    base::WallTime last = {};
  };
  void see_deleted(const std::string& dns, base::WallTime now);
  void see_unknown(const std::string& dns, base::WallTime now);

  [[nodiscard]] Seen of_deleted(const std::string& dns) const;
  [[nodiscard]] std::map<std::string, Seen> unknown() const;
  /// Polls of names that found no place.
  [[nodiscard]] std::uint64_t uncounted() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Seen> deleted_;
  std::map<std::string, Seen> unknown_;
  std::uint64_t uncounted_ = 0;
};

}  // namespace kollect::fleet
