// The rows of a running operator.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "inventory/row_store.h"
#include "readapi/feed.h"
#include "readapi/live/live_set.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// An inventory as its object says.
struct LiveInventory {
  bool cluster = false;
  std::string ns;  ///< "" for a cluster inventory
  std::string name;
  std::string exported_at;
  std::int64_t generation = 0;
  std::string checksum;
  std::uint64_t rows = 0;
  std::function<bool(const inventory::Owner&)> wanted;  ///< pure: whose rows it has
  std::string wanted_key;                               ///< names `wanted`
  inventory::RowChoice choice = inventory::RowChoice::kAll;
};

/// Some owners.
struct LiveOwners {
  std::function<bool(const inventory::Owner&)> wanted;  ///< pure
  std::string key;                                      ///< names `wanted`
};

/// Which inventories there are. Thread-safe.
class LiveInventories {
 public:
  virtual ~LiveInventories() = default;
  [[nodiscard]] virtual std::vector<LiveInventory> all() const = 0;
  [[nodiscard]] virtual std::optional<LiveInventory> find(bool cluster, const std::string& ns,
                                                          const std::string& name) const = 0;
  /// Only rows of these owners are shown at all; none: those of all.
  [[nodiscard]] virtual std::optional<LiveOwners> limit() const { return std::nullopt; }
};

struct LiveOptions {
  /// With at most so many rows every question sees the newest state; with more a sorted set is used
  /// for a while.
  std::size_t small = 20000;
  base::Duration pace = std::chrono::seconds(1);
  /// A set that nobody asked for so long is given up when rows change: it keeps old ones in memory.
  base::Duration idle = std::chrono::minutes(1);
};

/// Rows are sorted once per state of the store, and what a filter chooses is found once; pages are
/// cut from that. Making a set costs about a second with a million rows: it is made at
/// most once in three times as long. Thread-safe.
class LiveSource final : public Source, public Feed {
 public:
  /// References must outlive it.
  LiveSource(inventory::RowStore& store, const LiveInventories& inventories,
             const base::Clock& clock, LiveOptions options = {});
  ~LiveSource() override;
  /// Rows of this owner were touched (wire it to RowStore::on_change). Quick.
  void rows_changed(const inventory::Owner& owner);

  // Source
  [[nodiscard]] Abilities abilities() const override;
  base::Result<std::unique_ptr<RowCursor>> rows(const base::Context& context,
                                                const RowRequest& request) override;
  base::Result<std::vector<Group>> groups(const base::Context& context,
                                          const GroupRequest& request) override;
  base::Result<std::vector<InventoryState>> inventories(const base::Context& context,
                                                        const Sight& sight) override;
  base::Result<ChangePage> changes(const base::Context& context,
                                   const ChangeRequest& request) override;
  base::Result<std::vector<RowVersion>> versions(const base::Context& context,
                                                 const RowFilter& object,
                                                 const Sight& sight) override;
  base::Result<std::string> state(const base::Context& context) override;

  // Feed
  bool on_news(std::function<void()> news) override;
  base::Result<> open(const base::Context& context) override;
  base::Result<bool> poll(const base::Context& context,
                          const std::function<void(const RowNews&)>& tell) override;
  void close() override;
  [[nodiscard]] base::Result<std::function<bool(const RowNews&)>> rows_of(
      const RowFilter& filter) const override;
  [[nodiscard]] bool tells_rows() const override { return true; }

 private:
  /// Which owners' rows a filter may be about; and how to choose among them.
  struct Owners {
    std::function<bool(const inventory::Owner&)> wanted;  ///< empty: all
    std::string key;                                      ///< names it
    inventory::RowChoice choice = inventory::RowChoice::kAll;
  };
  [[nodiscard]] base::Result<Owners> owners_of(const RowFilter& filter) const;
  std::shared_ptr<const LiveSet> current();
  [[nodiscard]] std::shared_ptr<const LiveSet> fresh_enough();
  /// Null: all rows as they stand.
  base::Result<std::shared_ptr<const Places>> select(const base::Context& context,
                                                     const LiveSet& set, const RowFilter& filter,
                                                     const Sight& sight, const Order& order) const;
  [[nodiscard]] std::string state_of(std::uint64_t changes) const;

  inventory::RowStore& store_;
  const LiveInventories& inventories_;
  const base::Clock& clock_;
  const LiveOptions options_;
  const std::string epoch_;
  std::atomic<std::uint64_t> changes_ = 0;
  std::atomic<base::SteadyTime> used_{base::SteadyTime{}};

  std::atomic<bool> holds_set_ = false;

  std::mutex build_mutex_;  ///< before the next one
  std::mutex mutex_;
  std::shared_ptr<const LiveSet> set_;
  std::uint64_t set_changes_ = 0;  ///< of the set
  base::SteadyTime set_made_{};
  base::Duration set_cost_{};

  std::mutex news_mutex_;
  std::function<void()> news_;
  std::unique_ptr<inventory::Reader> targets_;  ///< of the feed
  std::unique_ptr<inventory::Reader> cluster_targets_;
};

}  // namespace kollect::readapi
