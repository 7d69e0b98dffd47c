#include "fleet/sqlite_keeper.h"

#include <fmt/format.h>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "fleet/seed.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

constexpr auto kBusy = std::chrono::seconds(5);

constexpr std::string_view kSchema = R"sql(
CREATE TABLE IF NOT EXISTS clusters (id TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS components (id TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS namespaces (id TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rolebindings (id TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS fleet_versions (
  family TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (family, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fleet_tombstones (cluster_dns TEXT PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS fleet_audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, at_us INTEGER NOT NULL, actor TEXT NOT NULL, request_id TEXT NOT NULL,
  source TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL, family TEXT NOT NULL, id TEXT NOT NULL,
  before TEXT, after TEXT, version INTEGER NOT NULL, batch TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS fleet_audit_of ON fleet_audit (family, id);
CREATE TABLE IF NOT EXISTS fleet_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
)sql";

std::string table_of(Family family) {
  return family == Family::kComponent ? "components" : std::string(collection_of(family));
}

/// Since 1970: text of times does not sort.
std::int64_t microseconds(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

base::Result<Value> value_in(std::string_view text) {
  const auto document = base::json::Document::parse(text);
  if (!document) return document.error();
  return base::json::to_value(document->root());
}

/// Of an audit entry; none: the column is null, or cannot be read.
std::optional<Value> record_at(const dbfile::Statement& row, int column) {
  if (row.type(column) == dbfile::Statement::Type::kNull) return std::nullopt;
  auto value = value_in(row.text(column));
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

}  // namespace

base::Result<SqliteUrl> parse_sqlite_url(const std::string& url) {
  constexpr std::string_view kScheme = "sqlite://";
  if (!url.starts_with(kScheme)) {
    return base::configuration(
        "DATABASE_URL: must be sqlite://relative/path, sqlite:///absolute/path or "
        "postgres://user@host/database");
  }
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const std::size_t mark = rest.find('?');
  SqliteUrl out{.file = std::string(rest.substr(0, mark))};
  if (out.file.empty()) return base::configuration("DATABASE_URL: names no file");
  if (mark != std::string_view::npos) {
    for (const std::string_view part : base::split(rest.substr(mark + 1), '&')) {
      if (part == "mode=rwc") out.create = true;
    }
  }
  return out;
}

base::Result<std::unique_ptr<SqliteKeeper>> SqliteKeeper::open(const std::filesystem::path& file,
                                                               bool create) {
  std::error_code error;
  if (!create && !std::filesystem::exists(file, error)) {
    return base::not_found(
        fmt::format("there is no file {}; mode=rwc in DATABASE_URL makes it", file.string()));
  }
  KL_ASSIGN(auto database, dbfile::Database::open(file, dbfile::Database::Mode::kReadWrite, kBusy));
  KL_TRY(database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"));
  auto keeper = std::unique_ptr<SqliteKeeper>(
      new SqliteKeeper(std::move(database), file.string() + ".polls"));
  KL_ASSIGN(auto transaction,
            dbfile::Transaction::begin(keeper->database_, dbfile::Transaction::Mode::kWrite));
  KL_TRY(keeper->database_.execute(kSchema));
  KL_TRY(keeper->add_batch_column());
  KL_TRY(transaction.commit());
  return keeper;
}

base::Result<> SqliteKeeper::add_batch_column() {
  KL_ASSIGN(const std::int64_t there,
            number("SELECT count(*) FROM pragma_table_info('fleet_audit') WHERE name = 'batch'"));
  if (there == 0) {
    KL_TRY(database_.execute("ALTER TABLE fleet_audit ADD COLUMN batch TEXT NOT NULL DEFAULT ''"));
  }
  return database_.execute(
      "CREATE INDEX IF NOT EXISTS fleet_audit_batch ON fleet_audit (batch) WHERE batch <> ''");
}

base::Result<dbfile::Statement*> SqliteKeeper::prepared(const std::string& query) {
  auto known = statements_.find(query);
  if (known == statements_.end()) {
    KL_ASSIGN(auto made, database_.prepare(query));
    known = statements_.emplace(query, std::move(made)).first;
  }
  return &known->second;
}

base::Result<bool> SqliteKeeper::is_new() {
  KL_ASSIGN(auto statement,
            database_.prepare("SELECT (SELECT count(*) FROM fleet_meta WHERE key = 'seeded') + "
                              "(SELECT count(*) FROM clusters)"));
  KL_ASSIGN(const bool row, statement.step());
  return row && statement.integer(0) == 0;
}

base::Result<> SqliteKeeper::seed(const Content& content) {
  KL_ASSIGN(auto transaction,
            dbfile::Transaction::begin(database_, dbfile::Transaction::Mode::kWrite));
  for (const Family family : kAllFamilies) {
    KL_ASSIGN(auto insert,
              database_.prepare(fmt::format("INSERT OR IGNORE INTO {} (id, data) VALUES (?, ?)",
                                            table_of(family))));
    for (const auto& [id, record] : content.records.at(static_cast<std::size_t>(family))) {
      const std::string text = base::json::compact(to_storage(family, record.data));
      insert.bind(1, id).bind(2, text);
      KL_TRY(insert.run());
    }
  }
  KL_TRY(database_.execute("INSERT OR REPLACE INTO fleet_meta VALUES ('seeded', 'yes')"));
  return transaction.commit();
}

base::Result<Content> SqliteKeeper::load(const base::Logger* log) {
  KL_ASSIGN(seen_version_, number("PRAGMA data_version"));
  KL_ASSIGN(auto transaction,
            dbfile::Transaction::begin(database_, dbfile::Transaction::Mode::kRead));
  KL_ASSIGN(seen_entry_, number("SELECT coalesce(max(seq), 0) FROM fleet_audit"));
  KL_ASSIGN(Content content, this->content(log));
  KL_TRY(transaction.commit());
  return content;
}

base::Result<std::int64_t> SqliteKeeper::number(std::string_view query) {
  KL_ASSIGN(auto statement, database_.prepare(query));
  KL_ASSIGN(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

base::Result<Content> SqliteKeeper::content(const base::Logger* log) {
  Content content;
  for (const Family family : kAllFamilies) {
    KL_ASSIGN(auto rows, database_.prepare(fmt::format(
                             "SELECT t.id, t.data, coalesce(v.version, 1) FROM {} t LEFT JOIN "
                             "fleet_versions v ON v.family = ? AND v.id = t.id",
                             table_of(family))));
    rows.bind(1, collection_of(family));
    while (true) {
      KL_ASSIGN(const bool row, rows.step());
      if (!row) break;
      const std::string id(rows.text(0));
      const auto stored = value_in(rows.text(1));
      auto record = stored ? from_storage(family, *stored) : base::Result<Value>(stored.error());
      if (!record) {
        if (log != nullptr) {
          log->error("a record cannot be read and is left out",
                     {{"family", std::string(collection_of(family))},
                      {"id", id},
                      {"error", record.error().message}});
        }
        continue;
      }
      content.records.at(static_cast<std::size_t>(family))
          .insert_or_assign(id, Record{.data = *std::move(record),
                                       .version = static_cast<std::uint64_t>(rows.integer(2))});
    }
  }
  KL_ASSIGN(auto rows, database_.prepare("SELECT data FROM fleet_tombstones"));
  while (true) {
    KL_ASSIGN(const bool row, rows.step());
    if (!row) break;
    const auto stored = value_in(rows.text(0));
    if (!stored) continue;
    if (auto one = tombstone_from(*stored)) {
      content.tombstones.push_back(*std::move(one));
    }
  }
  return content;
}

/// The entries that came since, in their order; none, or one that cannot be read: no changes.
base::Result<std::vector<Change>> SqliteKeeper::trail() {
  std::vector<Change> changes;
  bool readable = true;
  KL_ASSIGN(auto rows,
            database_.prepare("SELECT a.seq, a.family, a.id, a.before, a.after, a.version, "
                              "a.actor, a.at FROM fleet_audit a WHERE a.seq > ? ORDER BY a.seq"));
  rows.bind(1, seen_entry_);
  while (true) {
    KL_ASSIGN(const bool row, rows.step());
    if (!row) break;
    seen_entry_ = rows.integer(0);
    auto before = record_at(rows, 3);
    auto after = record_at(rows, 4);
    using Type = dbfile::Statement::Type;
    readable = readable && before.has_value() == (rows.type(3) != Type::kNull) &&
               after.has_value() == (rows.type(4) != Type::kNull);
    changes.push_back(change_of_entry({.family = rows.text(1),
                                       .id = std::string(rows.text(2)),
                                       .before = std::move(before),
                                       .after = std::move(after),
                                       .version = static_cast<std::uint64_t>(rows.integer(5)),
                                       .actor = std::string(rows.text(6)),
                                       .at = rows.text(7)}));
  }
  if (!readable) changes.clear();
  return changes;
}

base::Result<base::json::Array> SqliteKeeper::audit(const AuditQuery& query) {
  std::string sql =
      "SELECT seq, at, actor, request_id, source, method, path, family, id, before, after, "
      "version, "
      "batch FROM fleet_audit WHERE true";
  std::vector<std::string> texts;
  const auto where = [&](const char* condition, std::string value) {
    sql += std::string(" AND ") + condition;
    texts.push_back(std::move(value));
  };
  if (!query.family.empty()) where("family = ?", query.family);
  if (!query.id.empty()) where("id = ?", query.id);
  if (!query.actor.empty()) where("actor = ?", query.actor);
  if (!query.batch.empty()) where("batch <> '' AND batch = ?", query.batch);
  if (query.since) sql += fmt::format(" AND at_us >= {}", microseconds(*query.since));
  if (query.until) sql += fmt::format(" AND at_us < {}", microseconds(*query.until));
  if (query.before) sql += fmt::format(" AND seq < {}", *query.before);
  KL_ASSIGN(auto rows,
            database_.prepare(sql + fmt::format(" ORDER BY seq DESC LIMIT {}", query.limit)));
  for (std::size_t i = 0; i < texts.size(); ++i) rows.bind(static_cast<int>(i) + 1, texts[i]);
  base::json::Array out;
  while (true) {
    KL_ASSIGN(const bool row, rows.step());
    if (!row) return out;
    base::json::Object entry;
    for (int column = 0; column < rows.columns(); ++column) {
      const std::string name = rows.column_name(column);
      if (name == "before" || name == "after") {
        entry.set(name, record_at(rows, column).value_or(Value()));
      } else if (rows.type(column) == dbfile::Statement::Type::kInteger) {
        entry.set(name, rows.integer(column));
      } else if (name == "batch" && rows.text(column).empty()) {
        entry.set(name, Value());
      } else {
        entry.set(name, rows.text(column));
      }
    }
    out.emplace_back(std::move(entry));
  }
}

base::Result<News> SqliteKeeper::news() {
  KL_ASSIGN(const std::int64_t version, number("PRAGMA data_version"));
  if (version == seen_version_) return News{};
  News news;
  KL_ASSIGN(news.changes, trail());
  if (news.changes.empty()) {
    KL_ASSIGN(news.content, content(nullptr));
  }
  seen_version_ = version;
  return news;
}

base::Result<News> SqliteKeeper::look() {
  // Asked before a transaction begins, so that an idle look costs no lock.
  KL_ASSIGN(const std::int64_t version, number("PRAGMA data_version"));
  if (version == seen_version_) return News{};
  KL_ASSIGN(auto transaction,
            dbfile::Transaction::begin(database_, dbfile::Transaction::Mode::kRead));
  KL_ASSIGN(News news, this->news());
  KL_TRY(transaction.commit());
  return news;
}

base::Result<News> SqliteKeeper::begin() {
  KL_ASSIGN(auto transaction,
            dbfile::Transaction::begin(database_, dbfile::Transaction::Mode::kWrite));
  KL_ASSIGN(News news, this->news());
  transaction_.emplace(std::move(transaction));
  return news;
}

base::Result<> SqliteKeeper::write_record(Family family, const std::string& id, const Value* record,
                                          std::uint64_t version) {
  const std::string table = table_of(family);
  if (record == nullptr) {
    KL_ASSIGN(auto* remove, prepared(fmt::format("DELETE FROM {} WHERE id = ?", table)));
    remove->bind(1, id);
    KL_TRY(remove->run());
    KL_ASSIGN(auto* forget, prepared("DELETE FROM fleet_versions WHERE family = ? AND id = ?"));
    forget->bind(1, collection_of(family)).bind(2, id);
    return forget->run();
  }
  const std::string text = base::json::compact(to_storage(family, *record));
  KL_ASSIGN(auto* put, prepared(fmt::format(
                           "INSERT INTO {} (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET "
                           "data = excluded.data",
                           table)));
  put->bind(1, id).bind(2, text);
  KL_TRY(put->run());
  KL_ASSIGN(auto* count, prepared("INSERT OR REPLACE INTO fleet_versions (family, id, version) "
                                  "VALUES (?, ?, ?)"));
  count->bind(1, collection_of(family)).bind(2, id).bind(3, static_cast<std::int64_t>(version));
  return count->run();
}

base::Result<> SqliteKeeper::write_tombstone(const Change& change) {
  if (change.unearthed || change.about == Change::About::kTombstone) {
    KL_ASSIGN(auto* remove, prepared("DELETE FROM fleet_tombstones WHERE cluster_dns = ?"));
    remove->bind(1, change.unearthed ? *change.unearthed : change.id);
    KL_TRY(remove->run());
  }
  if (!change.buried) return {};
  const std::string text = base::json::compact(to_value(*change.buried));
  KL_ASSIGN(auto* put, prepared("INSERT OR REPLACE INTO fleet_tombstones (cluster_dns, data) "
                                "VALUES (?, ?)"));
  put->bind(1, change.buried->dns).bind(2, text);
  return put->run();
}

base::Result<> SqliteKeeper::write_audit(const Change& change) {
  KL_ASSIGN(auto* put, prepared("INSERT INTO fleet_audit (at, actor, request_id, source, method, "
                                "path, family, id, before, after, version, at_us, batch) VALUES "
                                "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const std::string at = base::format_rfc3339(change.at);
  put->bind(1, at).bind(2, change.actor.name).bind(3, change.actor.request_id);
  put->bind(4, change.actor.source).bind(5, change.actor.method).bind(6, change.actor.path);
  put->bind(7, family_text(change)).bind(8, change.id);
  constexpr int kBefore = 9;
  const std::string before = change.before ? base::json::compact(*change.before) : "";
  const std::string after = change.after ? base::json::compact(*change.after) : "";
  // What an entry before this one bound is still there.
  put->bind_null(kBefore).bind_null(kBefore + 1);
  if (change.before) put->bind(kBefore, before);
  if (change.after) put->bind(kBefore + 1, after);
  put->bind(kBefore + 2, static_cast<std::int64_t>(change.version));
  put->bind(kBefore + 3, microseconds(change.at)).bind(kBefore + 4, change.batch);
  return put->run();
}

base::Result<> SqliteKeeper::add_polls(const PollNotes& notes) {
  if (!polls_) {
    KL_ASSIGN(polls_, SqlitePolls::open(polls_file_));
  }
  return polls_->add(notes);
}

base::Result<PollNotes> SqliteKeeper::polls() {
  std::error_code error;
  if (!polls_ && !std::filesystem::exists(polls_file_, error)) return PollNotes{};
  if (!polls_) {
    KL_ASSIGN(polls_, SqlitePolls::open(polls_file_));
  }
  return polls_->all();
}

base::Result<> SqliteKeeper::keep(std::span<const Change> changes) {
  if (!transaction_) return base::terminal("sqlite: keep() without a turn");
  dbfile::Transaction transaction = std::move(*transaction_);
  transaction_.reset();
  for (const Change& change : changes) {
    if (change.about == Change::About::kRecord) {
      KL_TRY(write_record(change.family, change.id, change.after ? &*change.after : nullptr,
                          change.version));
    }
    KL_TRY(write_tombstone(change));
    KL_TRY(write_audit(change));
  }
  KL_ASSIGN(const std::int64_t entry, number("SELECT max(seq) FROM fleet_audit"));
  KL_TRY(transaction.commit());
  seen_entry_ = entry;
  return {};
}

}  // namespace kollect::fleet
