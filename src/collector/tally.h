// What goes wrong with the objects of one target and kind.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inventory/row_store.h"
#include "select/selection.h"

namespace kollect::collector {

/// Failing objects are kept as hashes: a profile that fits no object of a large kind must not cost
/// what the rows would have. Sweeps go along with those of the row store. Thread-safe.
class Tally {
 public:
  using Source = inventory::SourceId;
  struct Counts {
    std::size_t failures = 0;
    std::string last_failure;  ///< of an object that fails now
    std::uint64_t policy_errors = 0;
    std::string last_policy_error;
    std::map<std::string, std::uint64_t, std::less<>> mistyped;  ///< values, by attribute
    std::uint64_t prune_errors = 0;
  };

  static std::uint64_t hash(std::string_view text);

  /// The next three are true when counts() has changed.
  bool failed(std::uint64_t uid, std::uint64_t ns, Source source, std::string text);
  bool succeeded(std::uint64_t uid);
  bool end_sweep(Source source);
  void begin_sweep(Source source);
  void drop_source(Source source);
  void drop_namespaces(const std::set<std::uint64_t>& namespaces);

  void add(const select::PolicyErrors& errors);
  void add(const std::vector<std::string_view>& mistyped, std::uint32_t prune_errors);
  [[nodiscard]] Counts counts() const;

 private:
  struct Mark {
    std::uint64_t ns;
    Source source;
    std::uint32_t sweep;
  };
  template <class Stale>
  bool erase(const Stale& stale);
  void forget(std::uint64_t uid);

  mutable std::mutex mutex_;
  std::atomic<std::size_t> failures_ = 0;  ///< size of marks_, to be read without the lock
  std::unordered_map<std::uint64_t, Mark> marks_;
  std::map<Source, std::uint32_t> sweeps_;
  std::map<std::uint64_t, std::string> texts_;  ///< a few of them, by uid
  std::uint64_t last_ = 0;                      ///< uid of the newest text
  Counts counts_;
};

}  // namespace kollect::collector
