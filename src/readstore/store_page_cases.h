// The cases of the contract that are about pages of rows. Only for store_contract_cases.h.
#pragma once

#include <array>
#include <random>

#include "readstore/indexes.h"
#include "readstore/page_queries.h"
#include "readstore/store_fixture.h"

namespace kollect::readstore::contract {

inline void StoreContract::make_indexes() const {
  const auto statements = index_statements(world_->postgres(), {.schema = "",
                                                                .table = "inventory",
                                                                .attributes = {"replicas", "tier"},
                                                                .history = true,
                                                                .search = !world_->postgres()});
  ASSERT_TRUE(statements.has_value());
  for (const std::string& statement : *statements) world_->run(statement);
}

inline std::vector<RowFilter> filters() {
  std::vector<RowFilter> out = {
      {},
      {.cluster = "eu-1"},
      {.cluster = "us-\"2\""},
      {.cluster = "nowhere"},
      {.inventory_namespace = "harbor"},
      {.inventory_namespace = "cluster", .inventory = "all"},
      {.ns = "quay"},
      {.ns = "yard"},
      {.ns = "harbor"},
      {.target = "ships"},
      {.group = "apps"},
      {.version = "v1", .kind = "Service"},
      {.kind = "Deployment"},
      {.name = "per%cent"},
      {.name = "quo'te"},
      {.name = "Ünïcode"},
      {.uid = "uid-037"},
      {.cluster = "eu-1", .ns = "dock-b", .kind = "Deployment", .name = "UPPER"},
      {.search = "upper"},
      {.search = "ploy"},
      {.search = "DOCK"},
      {.search = "t%c"},
      {.search = "r_s"},
      {.search = "quo'te"},
      {.search = "\"silver\""},
      {.search = "gold"},
      {.search = "reg/ships:1.2"},
      {.search = "true"},
      {.search = "\\"},
      {.search = "nothing has this"},
      {.kind = "Service", .search = "gold"},
  };
  const auto with = [&](std::vector<std::pair<std::string, std::string>> attributes,
                        const std::string& kind = "") {
    RowFilter filter;
    filter.kind = kind;
    filter.attributes = std::move(attributes);
    out.push_back(std::move(filter));
  };
  with({{"tier", "Gold"}});
  with({{"tier", "it's \"silver\""}});
  with({{"tier", "gold"}});
  with({{"replicas", "3"}});
  with({{"replicas", "3"}, {"tier", "Gold"}}, "Service");
  with({{"flag", "true"}});
  with({{"flag", "1"}});
  with({{"images", "[\"reg/ships:1.0\",\"side\"]"}});
  with({{"images", "side"}});
  with({{"no such", "x"}});
  with({{"odd \" ' \\ name", "x"}});
  with({{"tier", "null"}});
  return out;
}

/// Limits so small that every way of reading pages is gone over some rows.
inline std::vector<PageLimits> small_limits() {
  return {
      {},
      {.sortable = 3, .whole = 5, .deep = 2, .walk = 40, .times = 2, .bounded = 4, .countable = 0},
      {.sortable = 1,
       .whole = 1000,
       .deep = 1,
       .places = 6,
       .walk = 6,
       .bounded = 1,
       .countable = 0},
      {.sortable = 0,
       .whole = 2,
       .deep = 0,
       .places = 0,
       .times = 1,
       .bounded = 10,
       .countable = 50}};
}

/// Requests at random: filters of one to three columns of a row that is there, sometimes searches,
/// sights, orders and windows.
class RandomRequests {
 public:
  explicit RandomRequests(const std::vector<Placed>& rows) : rows_(rows) {}
  RowRequest next() {
    RowRequest out;
    const Placed& one = rows_[pick(rows_.size())];
    for (std::size_t i = pick(4); i > 0; --i) ask(out.filter, one);
    if (pick(4) == 0) {
      out.sight.clusters = std::vector<std::string>{pick(3) == 0 ? "eu-1" : one.cluster};
    }
    if (pick(4) == 0) out.sight.namespaces = std::vector<std::string>{"harbor"};
    static constexpr std::array kOrders = {"",     "",           "cluster", "name",
                                           "kind", "exportedAt", "uid",     "attributes.replicas"};
    out.order = {kOrders[pick(kOrders.size())], pick(2) == 0};
    out.offset = pick(2) == 0 ? 0 : pick(rows_.size() + 10);
    out.limit = pick(6) == 0 ? 0 : 1 + pick(30);
    out.bounded = pick(2) == 0;
    return out;
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  void ask(RowFilter& filter, const Placed& one) {
    static constexpr std::array kTexts = {"gold", "o", "dock", "reg/ships", "er", "true", "quay"};
    switch (pick(10)) {
      case 0:
        filter.cluster = one.cluster;
        break;
      case 1:
        filter.inventory_namespace = one.inventory_namespace;
        break;
      case 2:
        filter.ns = pick(2) == 0 ? one.row.ns : one.row.target_namespace;
        break;
      case 3:
        filter.target = one.row.target;
        break;
      case 4:
        filter.kind = one.row.kind;
        break;
      case 5:
        filter.name = one.row.name;
        break;
      case 6:
        filter.attributes.emplace_back("tier", attribute_text(one.row, "tier"));
        break;
      case 7:
        filter.attributes.emplace_back("replicas", attribute_text(one.row, "replicas"));
        break;
      default:
        filter.search = kTexts[pick(kTexts.size())];
        break;
    }
  }
  const std::vector<Placed>& rows_;
  std::mt19937 random_{20231114};
};

/// Every filter with some of the orders and windows, each time others.
TEST_P(StoreContract, PagesAreWhatTheFilterSays) {
  const auto rows = fleet_rows();
  write(rows, 0);
  const std::vector<std::string> columns = {"",     "name", "namespace",
                                            "kind", "uid",  "attributes.replicas"};
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> windows = {
      {0, 7}, {5, 20}, {0, 0}, {143, 10}, {9999, 10}};
  std::size_t turn = 0;
  for (const PageLimits& limits : small_limits()) {
    const auto source = open(limits);
    for (const RowFilter& filter : filters()) {
      for (int i = 0; i < 7; ++i, ++turn) {
        const auto& [offset, limit] = windows[(turn / 2 + turn) % windows.size()];
        RowRequest request;
        request.filter = filter;
        request.order = {columns[turn % columns.size()], turn / columns.size() % 2 == 1};
        request.offset = offset;
        request.limit = limit;
        const Page want = expected(rows, request);
        const Page got = read(*source, request);
        ASSERT_EQ(got.lines, want.lines) << key_of(filter, {}) << " by " << request.order.by << " "
                                         << request.order.descending << " " << offset;
        ASSERT_EQ(got.total, want.total) << key_of(filter, {});
      }
    }
  }
}

/// Rows of one export, then of several.
TEST_P(StoreContract, RandomPagesAreWhatAPlainScanGives) {
  auto rows = fleet_rows();
  RandomRequests requests(rows);
  int told = 0;
  for (const int second : {0, 10, 20, 30}) {
    for (std::size_t i = 0; second > 0 && i < rows.size(); i += static_cast<std::size_t>(second)) {
      rows[i].row.attributes = fmt::format(R"({{"replicas":{},"tier":"Gold"}})", second % 7);
      rows[i].changed = second;
    }
    write(rows, second);
    for (const PageLimits& limits : small_limits()) {
      const auto source = open(limits);
      for (int i = 0; i < 40; ++i) {
        const RowRequest request = requests.next();
        told += expect_page(*source, rows, request, limits);
      }
    }
  }
  EXPECT_GT(told, 0);
}

/// Every order and some windows of searches that many rows match, the total of each bounded.
TEST_P(StoreContract, PagesOfBroadSearchesAreWhatAPlainScanGives) {
  auto rows = fleet_rows();
  write(rows, 0);
  for (std::size_t i = 0; i < rows.size(); i += 7) rows[i].row.attributes = R"({"tier":"Gold"})";
  for (std::size_t i = 0; i < rows.size(); i += 7) rows[i].changed = 10;
  write(rows, 10);
  const std::vector<RowFilter> filters = {{.search = "o"},
                                          {.search = "gold"},
                                          {.kind = "Service", .search = "er"},
                                          {.cluster = "eu-1", .search = "o"},
                                          {.name = "UPPER", .search = "true"}};
  int told = 0;
  for (PageLimits limits : small_limits()) {
    limits.countable = 0;
    const auto source = open(limits);
    for (const RowFilter& filter : filters) {
      for (const char* by : {"", "name", "exportedAt", "kind"}) {
        for (const auto& [offset, limit] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                 {0, 1}, {0, 5}, {4, 3}, {30, 2}}) {
          RowRequest request{.filter = filter, .offset = offset, .limit = limit, .bounded = true};
          request.order = {by, offset > 0};
          told += expect_page(*source, rows, request, limits);
        }
      }
    }
  }
  EXPECT_GT(told, 50);
}

/// The bounded total of a broad search, and the exact one after it.
TEST_P(StoreContract, ATotalMayBeBounded) {
  const auto rows = fleet_rows();
  write(rows, 0);
  const auto source = open({.sortable = 3, .bounded = 10, .countable = 143});
  RowRequest request{.filter = {.search = "o"}, .limit = 5, .bounded = true};
  Page got = read(*source, request);
  EXPECT_TRUE(got.at_least);
  EXPECT_EQ(got.total, 10U);
  request.offset = 20;
  got = read(*source, request);
  EXPECT_TRUE(got.at_least);
  EXPECT_EQ(got.total, 26U);
  EXPECT_EQ(got.lines, expected(rows, request).lines);
  request.bounded = false;
  got = read(*source, request);
  EXPECT_FALSE(got.at_least);
  EXPECT_EQ(got.total, expected(rows, request).total);
  request.bounded = true;  // now that it is known
  EXPECT_FALSE(read(*source, request).at_least);
  request.filter.search = "UPPER";
  request.offset = 0;
  for (const char* ns : {"", "quay"}) {  // among all rows, and among so few that they are counted
    request.filter.ns = ns;
    got = read(*source, request);
    EXPECT_EQ(got.at_least, request.filter.ns.empty());
    EXPECT_EQ(got.total, got.at_least ? 10U : expected(rows, request).total);
    EXPECT_EQ(got.lines, expected(rows, request).lines);
  }
}

/// The plan of a statement, line by line.
inline std::string plan_of(Session& session, bool postgres, const Query& query) {
  std::string out;
  const auto rows = session.ask(query.after(postgres ? "EXPLAIN " : "EXPLAIN QUERY PLAN "), true);
  if (!rows) return rows.error().message;
  while ((*rows)->next().value_or(false)) {
    out += std::string((*rows)->text(postgres ? 0 : 3)) + "\n";
  }
  return out;
}

/// PostgreSQL takes an index where that pays: many rows, of which each value of "tier" has few.
inline void grow_postgres(World& world) {
  world.run(
      "INSERT INTO inventory (cluster, inventory_namespace, inventory_name, target_name, "
      "source_uid, resource_namespace, exported_at, payload) SELECT cluster, inventory_namespace, "
      "inventory_name, target_name, source_uid || '-' || n, resource_namespace, exported_at, "
      "jsonb_set(payload, '{attributes,tier}', to_jsonb('tier ' || n)) FROM inventory, "
      "generate_series(1, 200) AS n");
}

/// What decides over pages of large tables: that the statements fit the documented indexes, and
/// that none is asked for that is not there.
TEST_P(StoreContract, StatementsOfPagesFitTheIndexes) {
  write(fleet_rows(), 0);
  const bool postgres = world_->postgres();
  if (postgres) grow_postgres(*world_);
  if (GetParam().indexed) make_indexes();
  const auto session = world_->place()->open(context_).value();
  const auto plan = [&](const Query& query) { return plan_of(*session, postgres, query); };
  using ::testing::HasSubstr;
  using ::testing::Not;
  const RowRequest request{.filter = {.search = "gold"}, .limit = 10};
  const PageQueries search(postgres, session->tables(), request, {});
  const Column name{Field::kName, {}};
  const Column time{Field::kExportedAt, {}};
  const Column kind{Field::kKind, {}};
  for (const Column* by : std::vector<const Column*>{nullptr, &name, &time, &kind}) {
    EXPECT_EQ(search.can_walk(by), GetParam().indexed && by != &kind);
    EXPECT_THAT(plan(search.plain(by)), Not(HasSubstr("no such index")));
  }
  if (!GetParam().indexed) return;
  for (const auto& [query, index] :
       std::vector<std::pair<Query, std::string>>{{search.walk(nullptr, 100), "_by_place"},
                                                  {search.walk(&name, 100), "_by_name"},
                                                  {search.walk(&time, 100), "_by_export"},
                                                  {search.times(9), "_by_export"}}) {
    const std::string text = plan(query);
    EXPECT_THAT(text, HasSubstr("inventory" + index)) << query.sql();
    EXPECT_THAT(text, Not(HasSubstr(postgres ? "Seq Scan" : "RIGHT PART"))) << query.sql();
  }
  RowRequest by_attribute{.filter = {}, .limit = 10};
  by_attribute.filter.attributes = {{"tier", postgres ? "tier 7" : "Gold"}};
  const PageQueries attribute(postgres, session->tables(), by_attribute, {});
  for (const Query& query : {attribute.plain(nullptr), attribute.count_by_place(5)}) {
    EXPECT_THAT(plan(query), HasSubstr("inventory_by_attribute_tier")) << query.sql();
  }
  if (!postgres) {
    EXPECT_THAT(plan(search.first_found({Field::kCluster, {}}, 100)), HasSubstr("VIRTUAL TABLE"));
  }
}

}  // namespace kollect::readstore::contract
