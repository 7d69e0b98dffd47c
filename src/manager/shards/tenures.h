// Which parts of the work are done here, and who is at it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string_view>
#include <vector>

#include "manager/workers.h"

namespace kollect::manager {

/// A part is open while this process works on its objects; between close() and the next open()
/// nobody is at it for certain. All are closed at first. Thread-safe.
class Tenures {
 public:
  explicit Tenures(std::size_t parts) : parts_(parts > 0 ? parts : 1) {}
  Tenures(const Tenures&) = delete;
  Tenures& operator=(const Tenures&) = delete;

  /// Somebody at work on a part, until destroyed.
  class Visit {
   public:
    Visit(Visit&& other) noexcept : tenures_(other.tenures_), part_(other.part_) {
      other.tenures_ = nullptr;
    }
    Visit& operator=(Visit&&) = delete;
    ~Visit() {
      if (tenures_ != nullptr) tenures_->leave(part_);
    }
    /// Asks to end: the part is being closed.
    [[nodiscard]] std::stop_token stop() const;

   private:
    friend class Tenures;
    Visit(Tenures& tenures, std::size_t part) : tenures_(&tenures), part_(part) {}
    Tenures* tenures_;
    std::size_t part_;
  };

  /// None: the namespace's part is not open.
  std::optional<Visit> enter(std::string_view ns);
  [[nodiscard]] bool is_open(std::string_view ns) const;
  [[nodiscard]] std::size_t part_of(std::string_view ns) const;
  void open(std::size_t part);
  /// Nobody enters any more; who is at it is asked to end, and waited for.
  void close(const std::set<std::size_t>& parts);

 private:
  struct Part {
    bool open = false;
    std::size_t inside = 0;
    std::stop_source stop = {};
  };
  void leave(std::size_t part);

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::vector<Part> parts_;
};

/// Looks at keys of open parts, each cancelled when its part is closed; others are left alone.
/// `tenures` must outlive it.
Workers::Look within(Tenures& tenures, Workers::Look look);

}  // namespace kollect::manager
