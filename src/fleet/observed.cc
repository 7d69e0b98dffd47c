#include "fleet/observed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json/document.h"
#include "base/strings.h"
#include "dbfile/database.h"
#include "fleet/postgres_text.h"
#include "pgsql/dsn.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

/// Names of deploy/fleet/drift.
constexpr std::string_view kTargets[] = {"fleet-helm-releases",    "fleet-kustomizations",
                                         "fleet-oci-repositories", "fleet-helm-repositories",
                                         "fleet-namespaces",       "fleet-role-bindings"};
constexpr auto kBusy = std::chrono::seconds(5);
constexpr auto kConnecting = std::chrono::seconds(10);

std::optional<base::WallTime> time_of(std::string_view text) {
  const auto time = base::parse_rfc3339(text);
  return time ? std::optional(*time) : std::nullopt;
}

/// Passes over the inventories of clusters.
class Passes {
 public:
  void add_cluster(std::string_view cluster) { clusters_[std::string(cluster)]; }
  void add(std::string_view cluster, std::string_view inventory, std::string_view at) {
    Times& times = clusters_[std::string(cluster)];
    const auto time = time_of(at);
    if (!time) return;
    auto& place = inventory == kFleetInventory ? times.whole : times.parts;
    place = place ? std::min(*place, *time) : *time;
  }
  [[nodiscard]] std::vector<ObservedCluster> clusters() const {
    std::vector<ObservedCluster> out;
    for (const auto& [name, times] : clusters_) {
      out.push_back({.name = name,
                     .seen = times.whole ? times.whole : times.parts,
                     .gathered = times.whole.has_value()});
    }
    return out;
  }

 private:
  struct Times {
    std::optional<base::WallTime> whole;
    std::optional<base::WallTime> parts;
  };
  std::map<std::string, Times> clusters_;
};

class SqliteObserved final : public Observed {
 public:
  explicit SqliteObserved(dbfile::Database database) : database_(std::move(database)) {}
  static base::Result<std::unique_ptr<Observed>> open(const base::Context& context,
                                                      const ObservedSettings& settings) {
    KL_ASSIGN(auto database,
              dbfile::Database::open_for_reading(std::string(settings.url.reveal()), kBusy));
    auto out = std::make_unique<SqliteObserved>(std::move(database));
    out->database_.watch(&context);
    KL_ASSIGN(auto transaction,
              dbfile::Transaction::begin(out->database_, dbfile::Transaction::Mode::kRead));
    out->transaction_.emplace(std::move(transaction));
    out->table_ = settings.table;
    KL_ASSIGN(const bool there, out->has_table(settings.table));
    if (!there) return base::not_found(fmt::format("there is no table {}", settings.table));
    return out;
  }

  base::Result<std::vector<ObservedCluster>> clusters() override {
    Passes passes;
    KL_ASSIGN(auto names,
              prepared(fmt::format("SELECT DISTINCT cluster FROM {} WHERE target_name IN ({})",
                                   dbfile::quote_name(table_), marks(std::size(kTargets))),
                       {}));
    KL_TRY(each(names, [&] { passes.add_cluster(names.text(0)); }));
    KL_ASSIGN(const bool has_passes, has_table(table_ + "_exports"));
    if (!has_passes) return passes.clusters();
    KL_ASSIGN(auto times, prepared(fmt::format("SELECT cluster, inventory_name, exported_at FROM "
                                               "{} WHERE inventory_name IN ({}, '{}')",
                                               dbfile::quote_name(table_ + "_exports"),
                                               marks(std::size(kTargets)), kFleetInventory),
                                   {}));
    KL_TRY(each(times, [&] { passes.add(times.text(0), times.text(1), times.text(2)); }));
    return passes.clusters();
  }

  base::Result<> rows(std::span<const std::string> clusters,
                      const std::function<void(const ObservedRow& row)>& visit) override {
    KL_ASSIGN(auto rows,
              prepared(fmt::format("SELECT cluster, inventory_name, target_name, source_uid, "
                                   "payload, exported_at FROM {}"
                                   " WHERE target_name IN ({}) AND cluster IN ({})"
                                   " ORDER BY cluster, inventory_name, target_name, source_uid",
                                   dbfile::quote_name(table_), marks(std::size(kTargets)),
                                   marks(clusters.size())),
                       clusters));
    return each(rows, [&] {
      visit({.cluster = rows.text(0),
             .inventory = rows.text(1),
             .target = rows.text(2),
             .uid = rows.text(3),
             .payload = rows.text(4),
             .since = rows.text(5)});
    });
  }

 private:
  static std::string marks(std::size_t count) {
    return base::join(std::vector<std::string>(count, "?"), ", ");
  }
  template <class Visit>
  static base::Result<> each(dbfile::Statement& statement, const Visit& visit) {
    while (true) {
      KL_ASSIGN(const bool more, statement.step());
      if (!more) return {};
      visit();
    }
  }
  base::Result<dbfile::Statement> prepared(const std::string& sql,
                                           std::span<const std::string> clusters) {
    KL_ASSIGN(auto statement, database_.prepare(sql));
    int index = 0;
    for (const std::string_view target : kTargets) statement.bind(++index, target);
    for (const std::string& cluster : clusters) statement.bind(++index, cluster);
    return statement;
  }
  base::Result<bool> has_table(const std::string& name) {
    KL_ASSIGN(auto statement,
              database_.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1"));
    statement.bind(1, name);
    return statement.step();
  }

  dbfile::Database database_;
  std::optional<dbfile::Transaction> transaction_;
  std::string table_;
};

std::string array_text(std::span<const std::string> texts) {
  ArrayText out;
  for (const std::string& one : texts) out.add(one);
  return out.text();
}

class PostgresObserved final : public Observed {
 public:
  PostgresObserved(const base::Context& context, pgsql::Connection session)
      : context_(context), session_(std::move(session)) {}

  static base::Result<std::unique_ptr<Observed>> open(const base::Context& context,
                                                      const ObservedSettings& settings) {
    pgsql::DsnOptions dsn;
    dsn.dsn = settings.url;
    dsn.application_name = "kollect-fleet";
    dsn.connect_timeout = kConnecting;
    dsn.defaults = {{"tcp_user_timeout", "10000"}};
    KL_ASSIGN(auto session, pgsql::connect(context.with_timeout(kConnecting), dsn));
    session.set_where("the inventory");
    auto out = std::make_unique<PostgresObserved>(context, std::move(session));
    KL_TRY(
        out->session_.run(context, "reading", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
    out->table_ = qualified(settings, "");
    KL_ASSIGN(const bool there, out->has_table(out->table_));
    if (!there) return base::not_found(fmt::format("there is no table {}", settings.table));
    const std::string exports = qualified(settings, "_exports");
    KL_ASSIGN(const bool has_passes, out->has_table(exports));
    if (has_passes) out->exports_ = exports;
    return out;
  }

  base::Result<std::vector<ObservedCluster>> clusters() override {
    const std::vector<std::string> targets = {
        array_text(std::vector<std::string>(std::begin(kTargets), std::end(kTargets)))};
    Passes passes;
    KL_ASSIGN(const auto names, session_.query(context_, "reading",
                                               fmt::format("SELECT DISTINCT cluster FROM {} "
                                                           "WHERE target_name = ANY($1::text[])",
                                                           table_),
                                               targets));
    for (int i = 0; i < names.rows(); ++i) passes.add_cluster(names.field(i, 0));
    if (exports_.empty()) return passes.clusters();
    KL_ASSIGN(const auto times,
              session_.query(context_, "reading",
                             fmt::format("SELECT cluster, inventory_name, {} FROM {} WHERE "
                                         "inventory_name = ANY($1::text[] || '{}'::text)",
                                         kTime, exports_, kFleetInventory),
                             targets));
    for (int i = 0; i < times.rows(); ++i) {
      passes.add(times.field(i, 0), times.field(i, 1), times.field(i, 2));
    }
    return passes.clusters();
  }

  base::Result<> rows(std::span<const std::string> clusters,
                      const std::function<void(const ObservedRow& row)>& visit) override {
    KL_ASSIGN(const auto rows,
              session_.query(
                  context_, "reading",
                  fmt::format("SELECT cluster, inventory_name, target_name, source_uid, "
                              "payload::text, {} FROM {} WHERE "
                              "cluster = ANY($2::text[]) AND target_name = ANY($1::text[]) "
                              "ORDER BY cluster, inventory_name, target_name, source_uid",
                              kTime, table_),
                  {array_text(std::vector<std::string>(std::begin(kTargets), std::end(kTargets))),
                   array_text(clusters)}));
    for (int i = 0; i < rows.rows(); ++i) {
      visit({.cluster = rows.field(i, 0),
             .inventory = rows.field(i, 1),
             .target = rows.field(i, 2),
             .uid = rows.field(i, 3),
             .payload = rows.field(i, 4),
             .since = rows.field(i, 5)});
    }
    return {};
  }

 private:
  static constexpr std::string_view kTime =
      "to_char(exported_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";

  static std::string qualified(const ObservedSettings& settings, const std::string& suffix) {
    const std::string table = pgsql::quote_name(settings.table + suffix);
    return settings.schema.empty() ? table : pgsql::quote_name(settings.schema) + "." + table;
  }
  base::Result<bool> has_table(const std::string& quoted) {
    KL_ASSIGN(const auto answer,
              session_.query(context_, "reading", "SELECT to_regclass($1) IS NOT NULL", {quoted}));
    return answer.rows() == 1 && answer.field(0, 0) == "t";
  }

  const base::Context& context_;
  pgsql::Connection session_;
  std::string table_;
  std::string exports_;
};

}  // namespace

bool ObservedObject::is(std::string_view attribute) const {
  const Value* value = attributes.find(attribute);
  return value != nullptr && value->is_bool() && value->as_bool();
}

std::optional<ObservedObject> read_row(const ObservedRow& row) {
  const auto document = base::json::Document::parse_borrowed(row.payload);
  if (!document) return std::nullopt;
  const auto root = document->root();
  const auto attributes = root.find("attributes");
  ObservedObject out{.kind = std::string(root.text("kind")),
                     .ns = std::string(root.text("namespace")),
                     .name = std::string(root.text("name")),
                     .attributes = {},
                     .since = time_of(row.since)};
  if (out.kind.empty() || out.name.empty() || !attributes || !attributes->is_object()) {
    return std::nullopt;
  }
  out.attributes = base::json::to_value(*attributes);
  return out;
}

base::Result<ObservedSettings> read_observed_settings(const std::string& url,
                                                      const std::string& table) {
  constexpr std::string_view kSqlite = "sqlite://";
  ObservedSettings settings;
  settings.table = table.empty() ? "inventory" : table;
  if (url.starts_with("postgres://") || url.starts_with("postgresql://")) {
    settings.postgres = true;
    settings.url = base::Secret(url);
    const std::size_t dot = settings.table.find('.');
    if (dot != std::string::npos) {
      settings.schema = settings.table.substr(0, dot);
      settings.table.erase(0, dot + 1);
    }
    return settings;
  }
  const std::string file = url.substr(0, url.find('?'));
  if (!file.starts_with(kSqlite) || file.size() == kSqlite.size()) {
    return base::configuration(
        "INVENTORY_URL: must be sqlite:///absolute/path, sqlite://relative/path or "
        "postgres://user@host/database");
  }
  settings.url = base::Secret(file.substr(kSqlite.size()));
  return settings;
}

base::Result<std::unique_ptr<Observed>> look_at_inventory(const base::Context& context,
                                                          const ObservedSettings& settings) {
  return settings.postgres ? PostgresObserved::open(context, settings)
                           : SqliteObserved::open(context, settings);
}

}  // namespace kollect::fleet
