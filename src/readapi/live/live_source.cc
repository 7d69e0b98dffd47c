#include "readapi/live/live_source.h"

#include <algorithm>
#include <random>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "readapi/item.h"
#include "readapi/live/live_select.h"

namespace kollect::readapi {
namespace {

using inventory::Owner;
using inventory::OwnerClass;

/// A set is made at most once in so many times its cost.
constexpr int kCostFactor = 3;
/// More groups than these are no groups.
constexpr std::size_t kMostGroups = 100000;

std::string new_epoch() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

bool of_targets(const Owner& owner) {
  return owner.owner_class == OwnerClass::kTarget;
}

bool of_cluster_targets(const Owner& owner) {
  return owner.owner_class == OwnerClass::kClusterTarget;
}

/// Copies a row, so that it stays good until the next one.
class LiveCursor final : public RowCursor {
 public:
  LiveCursor(std::shared_ptr<const LiveSet> set, std::shared_ptr<const Places> places,
             const RowRequest& request)
      : set_(std::move(set)), places_(std::move(places)) {
    at_ = std::min<std::uint64_t>(request.offset, total());
    end_ =
        request.limit == 0 ? total() : at_ + std::min<std::uint64_t>(request.limit, total() - at_);
  }

  [[nodiscard]] std::uint64_t total() const override {
    return places_ ? places_->size() : set_->size();
  }
  [[nodiscard]] std::string state() const override { return set_->state(); }
  [[nodiscard]] base::WallTime updated_at() const override { return set_->at(); }
  base::Result<std::optional<SourceRow>> next() override {
    if (at_ == end_) return std::optional<SourceRow>();
    const auto index = static_cast<std::size_t>(at_++);
    KL_TRY(set_->visit(places_ ? (*places_)[index] : index,
                       [this](const inventory::RowView& row) -> base::Result<> {
                         keep(row);
                         return {};
                       }));
    return std::optional(row_);
  }

 private:
  void keep(const inventory::RowView& row) {
    text_.clear();
    text_.reserve(inventory::text_bytes(row));
    row_.row = inventory::copy_row(row, text_);
  }

  std::shared_ptr<const LiveSet> set_;
  std::shared_ptr<const Places> places_;
  std::uint64_t at_ = 0;
  std::uint64_t end_ = 0;
  std::string text_;
  SourceRow row_{};
};

base::Error no_history() {
  return base::configuration(
      "the operator knows the present alone; a database sink with history knows more: kollect "
      "serve",
      "NoHistory");
}

}  // namespace

LiveSource::LiveSource(inventory::RowStore& store, const LiveInventories& inventories,
                       const base::Clock& clock, LiveOptions options)
    : store_(store),
      inventories_(inventories),
      clock_(clock),
      options_(options),
      epoch_(new_epoch()) {}

LiveSource::~LiveSource() = default;

// ---- What changes

void LiveSource::rows_changed(const Owner& /*owner*/) {
  changes_.fetch_add(1, std::memory_order_acq_rel);
  {
    const std::scoped_lock lock(news_mutex_);
    if (news_) news_();
  }
  if (!holds_set_.load(std::memory_order_relaxed)) return;
  if (clock_.steady_now() - used_.load(std::memory_order_relaxed) < options_.idle) return;
  std::shared_ptr<const LiveSet> dropped;
  const std::scoped_lock lock(mutex_);
  dropped = std::move(set_);
  holds_set_.store(false, std::memory_order_relaxed);
}

std::string LiveSource::state_of(std::uint64_t changes) const {
  return fmt::format("{}-{}", epoch_, changes);
}

base::Result<std::string> LiveSource::state(const base::Context& /*context*/) {
  return state_of(changes_.load(std::memory_order_acquire));
}

Abilities LiveSource::abilities() const {
  return {.store = "operator", .history = false, .objects = true, .stream = true};
}

// ---- Sets

std::shared_ptr<const LiveSet> LiveSource::fresh_enough() {
  const base::SteadyTime now = clock_.steady_now();
  used_.store(now, std::memory_order_relaxed);
  const std::scoped_lock lock(mutex_);
  if (!set_) return nullptr;
  if (set_changes_ == changes_.load(std::memory_order_acquire)) return set_;
  if (set_->size() <= options_.small) return nullptr;
  return now - set_made_ < std::max(options_.pace, set_cost_ * kCostFactor) ? set_ : nullptr;
}

std::shared_ptr<const LiveSet> LiveSource::current() {
  if (auto set = fresh_enough()) return set;
  const std::scoped_lock build(build_mutex_);
  if (auto set = fresh_enough()) return set;  // somebody else has made it meanwhile
  const base::SteadyTime began = clock_.steady_now();
  const std::uint64_t changes = changes_.load(std::memory_order_acquire);
  // Readers only for a moment: the store remembers removed rows for them.
  const auto rows_of_class = [this](bool (*wanted)(const Owner&)) {
    return store_.subscribe(wanted)->snapshot().to_row_set();
  };
  auto set =
      std::make_shared<const LiveSet>(state_of(changes), clock_.now(), rows_of_class(of_targets),
                                      rows_of_class(of_cluster_targets));
  const std::scoped_lock lock(mutex_);
  set_ = set;
  holds_set_.store(true, std::memory_order_relaxed);
  set_changes_ = changes;
  set_made_ = clock_.steady_now();
  set_cost_ = set_made_ - began;
  return set;
}

// ---- Rows

base::Result<LiveSource::Owners> LiveSource::owners_of(const RowFilter& filter) const {
  if (filter.inventory.empty()) {
    Owners owners;
    if (auto limit = inventories_.limit()) {
      owners.wanted = std::move(limit->wanted);
      owners.key = std::move(limit->key);
    }
    if (filter.inventory_namespace.empty()) return owners;
    Owners within;
    within.key = "targets of " + filter.inventory_namespace + " " + owners.key;
    within.wanted = [ns = filter.inventory_namespace,
                     also = std::move(owners.wanted)](const Owner& owner) {
      return of_targets(owner) && owner.ns == ns && (!also || also(owner));
    };
    return within;
  }
  auto found = inventories_.find(filter.cluster_inventory,
                                 filter.cluster_inventory ? "" : filter.inventory_namespace,
                                 filter.inventory);
  if (!found) {
    return base::not_found(filter.cluster_inventory
                               ? fmt::format("there is no cluster inventory {}", filter.inventory)
                               : fmt::format("there is no inventory {} in the namespace {}",
                                             filter.inventory, filter.inventory_namespace));
  }
  return Owners{.wanted = std::move(found->wanted),
                .key = std::move(found->wanted_key),
                .choice = found->choice};
}

base::Result<std::shared_ptr<const Places>> LiveSource::select(const base::Context& context,
                                                               const LiveSet& set,
                                                               const RowFilter& filter,
                                                               const Sight& sight,
                                                               const Order& order) const {
  KL_ASSIGN(Owners owners, owners_of(filter));
  LiveQuery query{.filter = filter,
                  .sight = sight,
                  .order = order,
                  .wanted = std::move(owners.wanted),
                  .wanted_key = std::move(owners.key),
                  .choice = owners.choice};
  // The inventory is in the owners, and here all rows are of one cluster that has no name.
  query.filter.inventory.clear();
  query.filter.inventory_namespace.clear();
  query.filter.cluster_inventory = false;
  return select_rows(context, set, query);
}

base::Result<std::unique_ptr<RowCursor>> LiveSource::rows(const base::Context& context,
                                                          const RowRequest& request) {
  if (request.at) return no_history();
  const std::shared_ptr<const LiveSet> set = current();
  KL_ASSIGN(std::shared_ptr<const Places> places,
            select(context, *set, request.filter, request.sight, request.order));
  return std::unique_ptr<RowCursor>(std::make_unique<LiveCursor>(set, std::move(places), request));
}

base::Result<std::vector<Group>> LiveSource::groups(const base::Context& context,
                                                    const GroupRequest& request) {
  if (request.at) return no_history();
  const std::shared_ptr<const LiveSet> set = current();
  KL_ASSIGN(const std::shared_ptr<const Places> places,
            select(context, *set, request.filter, request.sight, Order{}));
  LiveCursor rows(set, places, RowRequest{.filter = {}, .sight = {}, .limit = 0});
  std::unordered_map<std::string, Group> groups;
  ColumnReader columns;
  std::string key;
  std::uint64_t seen = 0;
  while (true) {
    KL_ASSIGN(const std::optional<SourceRow> row, rows.next());
    if (!row) break;
    if (++seen % kCheckEvery == 0) KL_TRY(context.check());
    columns.at(*row);
    key.clear();
    for (const std::string& column : request.by) {
      key += columns.text(column);
      key += '\0';
    }
    auto it = groups.find(key);
    if (it == groups.end()) {
      if (groups.size() >= kMostGroups) {
        return base::configuration("by: there are too many different values", "TooManyGroups");
      }
      Group group;
      for (const std::string& column : request.by) group.values.emplace_back(columns.text(column));
      it = groups.emplace(key, std::move(group)).first;
    }
    ++it->second.rows;
  }
  std::vector<Group> sorted;
  sorted.reserve(groups.size());
  for (auto& [text, group] : groups) sorted.push_back(std::move(group));
  std::ranges::sort(sorted, [](const Group& a, const Group& b) {
    return a.rows != b.rows ? a.rows > b.rows : a.values < b.values;
  });
  if (sorted.size() > request.limit) sorted.resize(request.limit);
  return sorted;
}

base::Result<std::vector<InventoryState>> LiveSource::inventories(const base::Context& /*context*/,
                                                                  const Sight& sight) {
  std::vector<InventoryState> states;
  for (LiveInventory& one : inventories_.all()) {
    if (sight.namespaces && std::ranges::find(*sight.namespaces, one.ns) == sight.namespaces->end())
      continue;
    states.push_back({.cluster = {},
                      .ns = std::move(one.ns),
                      .name = std::move(one.name),
                      .rows = one.rows,
                      .exported_at = std::move(one.exported_at),
                      .generation = one.generation,
                      .checksum = std::move(one.checksum)});
  }
  return states;
}

base::Result<ChangePage> LiveSource::changes(const base::Context& /*context*/,
                                             const ChangeRequest& /*request*/) {
  return no_history();
}

base::Result<std::vector<RowVersion>> LiveSource::versions(const base::Context& /*context*/,
                                                           const RowFilter& /*object*/,
                                                           const Sight& /*sight*/) {
  return no_history();
}

// ---- Feed

bool LiveSource::on_news(std::function<void()> news) {
  const std::scoped_lock lock(news_mutex_);
  news_ = std::move(news);
  return true;
}

base::Result<> LiveSource::open(const base::Context& /*context*/) {
  targets_ = store_.subscribe(of_targets);
  cluster_targets_ = store_.subscribe(of_cluster_targets);
  for (inventory::Reader* reader : {targets_.get(), cluster_targets_.get()}) {
    reader->passed(reader->snapshot().version());
  }
  return {};
}

void LiveSource::close() {
  targets_.reset();
  cluster_targets_.reset();
}

base::Result<bool> LiveSource::poll(const base::Context& /*context*/,
                                    const std::function<void(const RowNews&)>& tell) {
  bool any = false;
  for (inventory::Reader* reader : {targets_.get(), cluster_targets_.get()}) {
    if (!reader->pending()) continue;
    const inventory::ChangeSet changes = reader->changes();
    any = any || !changes.empty();
    KL_TRY(changes.for_each([&](const inventory::RowChange& change) -> base::Result<> {
      tell({.removed = change.removed,
            .of_cluster_target = reader == cluster_targets_.get(),
            .row = {.cluster = {},
                    .inventory_namespace = {},
                    .inventory = {},
                    .exported_at = {},
                    .row = change.row}});
      return {};
    }));
    reader->passed(changes.to());
  }
  return any;
}

base::Result<std::function<bool(const RowNews&)>> LiveSource::rows_of(
    const RowFilter& filter) const {
  KL_ASSIGN(Owners owners, owners_of(filter));
  if (!owners.wanted) return std::function<bool(const RowNews&)>();
  return std::function<bool(const RowNews&)>([wanted =
                                                  std::move(owners.wanted)](const RowNews& news) {
    return wanted(
        {.owner_class = news.of_cluster_target ? OwnerClass::kClusterTarget : OwnerClass::kTarget,
         .ns = std::string(news.row.row.target_namespace),
         .name = std::string(news.row.row.target_name)});
  });
}

}  // namespace kollect::readapi
