#include "readstore/book.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"

namespace kollect::readstore {

namespace {

/// Some hundred bytes each.
constexpr std::size_t kMostGroups = 400'000;

std::string inventory_key(const readapi::InventoryState& inventory) {
  return fmt::format("{}\n{}\n{}", inventory.cluster, inventory.ns, inventory.name);
}

std::string token_of(const readapi::InventoryState& inventory) {
  return fmt::format("{}\n{}\n{}\n{}", inventory.generation, inventory.checksum, inventory.rows,
                     inventory.exported_at);
}

std::string digest(std::string_view text) {
  const base::Hash128 hash = base::xxh3_128(text);
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

base::WallTime time_or_zero(std::string_view text) {
  return base::parse_rfc3339(text).value_or(base::WallTime{});
}

base::Result<Stand> counted_stand(Session& session, const Dialect& dialect) {
  Query query(dialect.postgres());
  query.add(fmt::format(
      "SELECT cluster, inventory_namespace, inventory_name, count(*), {} FROM {} GROUP BY 1, 2, 3 "
      "ORDER BY {}, {}, {}",
      dialect.postgres() ? "to_char(max(exported_at) AT TIME ZONE 'UTC', "
                           "'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
                         : "max(exported_at)",
      session.tables().rows, dialect.ordered(Field::kCluster),
      dialect.ordered(Field::kInventoryNamespace), dialect.ordered(Field::kInventory)));
  KL_ASSIGN(const auto rows, session.ask(query, true));
  Stand out;
  while (true) {
    KL_ASSIGN(const bool more, rows->next());
    if (!more) return out;
    out.inventories.push_back({.cluster = std::string(rows->text(0)),
                               .ns = std::string(rows->text(1)),
                               .name = std::string(rows->text(2)),
                               .rows = rows->number(3),
                               .exported_at = std::string(rows->text(4)),
                               .generation = 0,
                               .checksum = {}});
  }
}

base::Result<Stand> exported_stand(Session& session, const Dialect& dialect) {
  Query query(dialect.postgres());
  query.add(fmt::format(
      "SELECT cluster, inventory_namespace, inventory_name, item_count, {}, generation, checksum "
      "FROM {} ORDER BY {}, {}, {}",
      dialect.time("exported_at"), session.tables().exports, dialect.ordered(Field::kCluster),
      dialect.ordered(Field::kInventoryNamespace), dialect.ordered(Field::kInventory)));
  KL_ASSIGN(const auto rows, session.ask(query, true));
  Stand out;
  while (true) {
    KL_ASSIGN(const bool more, rows->next());
    if (!more) return out;
    readapi::InventoryState inventory{.cluster = std::string(rows->text(0)),
                                      .ns = std::string(rows->text(1)),
                                      .name = std::string(rows->text(2)),
                                      .rows = rows->number(3),
                                      .exported_at = std::string(rows->text(4)),
                                      .generation = 0,
                                      .checksum = std::string(rows->text(6))};
    const std::string_view generation = rows->text(5);
    std::from_chars(generation.data(), generation.data() + generation.size(), inventory.generation);
    out.inventories.push_back(std::move(inventory));
  }
}

}  // namespace

base::Result<Stand> read_stand(Session& session, const Dialect& dialect) {
  KL_ASSIGN(Stand out, session.tables().exports.empty() ? counted_stand(session, dialect)
                                                        : exported_stand(session, dialect));
  std::string all;
  for (readapi::InventoryState& inventory : out.inventories) {
    all += inventory_key(inventory) + "\n" + token_of(inventory) + "\n";
    const base::WallTime at = time_or_zero(inventory.exported_at);
    out.updated_at = std::max(out.updated_at, at);
    inventory.exported_at = base::format_rfc3339(at);
  }
  out.state = digest(all);
  return out;
}

/// One look per inventory, along the key.
base::Result<bool> TallyBook::exports_tell_all(Session& session, const Dialect& dialect,
                                               const Stand& stand) {
  std::array<std::string, 3> last;
  for (bool first = true;; first = false) {
    Query query(dialect.postgres());
    query.add(fmt::format("SELECT cluster, inventory_namespace, inventory_name FROM {}",
                          session.tables().rows));
    if (!first) {
      query.add(" WHERE (cluster, inventory_namespace, inventory_name) > (");
      query.add(query.bind(last[0]) + ", " + query.bind(last[1]) + ", " + query.bind(last[2]) +
                ")");
    }
    query.add(" ORDER BY cluster, inventory_namespace, inventory_name LIMIT 1");
    KL_ASSIGN(const auto rows, session.ask(query, true));
    KL_ASSIGN(const bool found, rows->next());
    if (!found) return true;
    for (int i = 0; i < 3; ++i) last[static_cast<std::size_t>(i)] = rows->text(i);
    const bool told =
        std::any_of(stand.inventories.begin(), stand.inventories.end(), [&](const auto& inventory) {
          return inventory.cluster == last[0] && inventory.ns == last[1] &&
                 inventory.name == last[2];
        });
    if (!told) return false;
  }
}

namespace {

base::Result<std::shared_ptr<const InventoryTally>> tally_of(
    Session& session, const Dialect& dialect, const readapi::InventoryState& inventory) {
  const Tables& tables = session.tables();
  Query query(dialect.postgres());
  query.add("SELECT ");
  for (const Field field : {Field::kTargetNamespace, Field::kTarget, Field::kNamespace,
                            Field::kGroup, Field::kVersion, Field::kKind}) {
    query.add(dialect.value(field) + ", ");
  }
  query.add(fmt::format("count(*) FROM {}", tables.rows));
  // Plain comparisons: the key of the table has them.
  query.add(fmt::format(" WHERE cluster = {}", query.bind(inventory.cluster)));
  query.add(fmt::format(" AND inventory_namespace = {}", query.bind(inventory.ns)));
  query.add(fmt::format(" AND inventory_name = {}", query.bind(inventory.name)));
  query.add(" GROUP BY 1, 2, 3, 4, 5, 6");
  KL_ASSIGN(const auto rows, session.ask(query, true));
  auto out = std::make_shared<InventoryTally>();
  while (true) {
    KL_ASSIGN(const bool more, rows->next());
    if (!more) break;
    out->add({inventory.cluster, inventory.ns, inventory.name, rows->text(0), rows->text(1),
              rows->text(2), rows->text(3), rows->text(4), rows->text(5)},
             rows->number(6));
  }
  out->sort();
  return std::shared_ptr<const InventoryTally>(std::move(out));
}

}  // namespace

base::Result<bool> TallyBook::renew(Session& session, const Dialect& dialect, const Stand& stand) {
  KL_ASSIGN(const bool all, exports_tell_all(session, dialect, stand));
  if (!all) return false;
  std::map<std::string, Entry> next;
  std::size_t groups = 0;
  for (const readapi::InventoryState& inventory : stand.inventories) {
    const std::string key = inventory_key(inventory);
    const std::string token = token_of(inventory);
    const auto found = entries_.find(key);
    Entry entry = found != entries_.end() && found->second.token == token
                      ? found->second
                      : Entry{.token = token, .tally = nullptr};
    if (!entry.tally) {
      KL_ASSIGN(entry.tally, tally_of(session, dialect, inventory));
    }
    groups += entry.tally->groups().size();
    if (groups > kMostGroups) return false;
    next.emplace(key, std::move(entry));
  }
  entries_ = std::move(next);
  std::vector<std::shared_ptr<const InventoryTally>> tallies;
  for (const readapi::InventoryState& inventory : stand.inventories) {
    tallies.push_back(entries_.at(inventory_key(inventory)).tally);
  }
  current_ = std::make_shared<const Tally>(std::move(tallies));
  return true;
}

base::Result<std::shared_ptr<const Tally>> TallyBook::at(Session& session, const Dialect& dialect,
                                                         const Stand& stand) {
  if (session.tables().exports.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (stand.state == state_) return current_;
  KL_ASSIGN(const bool usable, renew(session, dialect, stand));
  if (!usable) {
    entries_.clear();
    current_ = nullptr;
  }
  state_ = stand.state;
  return current_;
}

std::optional<Counted> CountCache::find(const std::string& state, const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (state != state_) return std::nullopt;
  const auto found = places_.find(key);
  if (found == places_.end()) return std::nullopt;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->second;
}

void CountCache::forget(Order::iterator place) {
  groups_ -= groups_of(place->second);
  places_.erase(place->first);
  order_.erase(place);
}

void CountCache::keep(const std::string& state, const std::string& key, Counted counted) {
  const std::lock_guard lock(mutex_);
  if (state != state_) {
    order_.clear();
    places_.clear();
    groups_ = 0;
    state_ = state;
  }
  if (const auto known = places_.find(key); known != places_.end()) forget(known->second);
  groups_ += groups_of(counted);
  order_.emplace_front(key, std::move(counted));
  places_.emplace(key, order_.begin());
  while (order_.size() > kMost || (groups_ > kMostGroups && order_.size() > 1)) {
    forget(std::prev(order_.end()));
  }
}

}  // namespace kollect::readstore
