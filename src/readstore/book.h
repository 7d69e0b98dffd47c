// What is kept between requests: the state of the exports, the tally, counts of filters.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "readstore/session.h"
#include "readstore/tally.h"

namespace kollect::readstore {

/// The table as one session sees it.
struct Stand {
  std::string state;
  base::WallTime updated_at{};
  std::vector<readapi::InventoryState> inventories;  ///< in canonical order
};

/// Reads the table of exports, or where there is none counts the rows.
base::Result<Stand> read_stand(Session& session, const Dialect& dialect);

/// The tally of a state. Inventories that were not exported since are not read again. Thread-safe.
class TallyBook {
 public:
  /// None: the exports do not tell of every inventory, or there are too many groups; then the
  /// table itself has to be asked.
  base::Result<std::shared_ptr<const Tally>> at(Session& session, const Dialect& dialect,
                                                const Stand& stand);

 private:
  struct Entry {
    std::string token;  ///< of the last export
    std::shared_ptr<const InventoryTally> tally;
  };
  base::Result<bool> exports_tell_all(Session& session, const Dialect& dialect, const Stand& stand);
  base::Result<bool> renew(Session& session, const Dialect& dialect, const Stand& stand);

  std::mutex mutex_;
  std::string state_;
  std::map<std::string, Entry> entries_;  ///< by cluster, namespace and name
  std::shared_ptr<const Tally> current_;
};

/// How many rows a filter leaves.
struct Counted {
  std::uint64_t rows = 0;
  bool at_least = false;  ///< nobody counted further
  /// By the first `fields` columns of a place, so that deep pages need not pass all rows before
  /// them; none: not counted so.
  std::shared_ptr<const InventoryTally> places = nullptr;
  std::size_t fields = 0;
};

/// What is known of filters for one state. Bounded. Thread-safe.
class CountCache {
 public:
  [[nodiscard]] std::optional<Counted> find(const std::string& state, const std::string& key);
  /// Instead of what was known of it.
  void keep(const std::string& state, const std::string& key, Counted counted);

 private:
  static constexpr std::size_t kMost = 4096;
  static constexpr std::size_t kMostGroups = 100'000;        ///< of all filters
  using Order = std::list<std::pair<std::string, Counted>>;  ///< last used first

  static std::size_t groups_of(const Counted& counted) {
    return counted.places ? counted.places->groups().size() : 0;
  }
  void forget(Order::iterator place);

  std::mutex mutex_;
  std::string state_;
  Order order_;
  std::size_t groups_ = 0;
  std::unordered_map<std::string, Order::iterator> places_;
};

}  // namespace kollect::readstore
