#include "readstore/postgres_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "pgsql/dsn.h"
#include "pgsql/names.h"
#include "readstore/indexes.h"

namespace kollect::readstore {

namespace {

constexpr auto kConnecting = std::chrono::seconds(10);
/// Of statements whose context has no deadline.
constexpr auto kLongest = std::chrono::minutes(10);
/// Rows of a long answer at a time.
constexpr int kPiece = 1000;
/// Between two looks at the context while all connections are in use.
constexpr auto kLook = std::chrono::milliseconds(50);

/// Connections, in use or waiting.
class Pool {
 public:
  explicit Pool(PostgresStore store) : store_(std::move(store)) {
    dsn_.dsn = store_.url;
    dsn_.application_name = "kollect-serve";
    dsn_.connect_timeout = kConnecting;
    dsn_.defaults = {{"tcp_user_timeout", "10000"}};
  }

  /// A connection that waited, or none when a new one may be opened.
  base::Result<std::optional<pgsql::Connection>> take(const base::Context& context) {
    std::unique_lock lock(mutex_);
    while (in_use_ >= store_.most_sessions) {
      KL_TRY(context.check());
      free_.wait_for(lock, kLook);
    }
    ++in_use_;
    if (waiting_.empty()) return std::optional<pgsql::Connection>();
    std::optional<pgsql::Connection> out(std::move(waiting_.back()));
    waiting_.pop_back();
    return out;
  }
  void put(std::optional<pgsql::Connection> connection) {
    const std::lock_guard lock(mutex_);
    --in_use_;
    if (connection && connection->alive()) waiting_.push_back(std::move(*connection));
    free_.notify_one();
  }
  /// All that wait were opened before the server went away.
  void forget() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  base::Result<pgsql::Connection> connect(const base::Context& context) const {
    auto connection = pgsql::connect(context.with_timeout(kConnecting), dsn_);
    if (connection) connection->set_where(store_.table);
    return connection;
  }
  [[nodiscard]] const PostgresStore& store() const { return store_; }

 private:
  PostgresStore store_;
  pgsql::DsnOptions dsn_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<pgsql::Connection> waiting_;
  std::size_t in_use_ = 0;
};

/// A place in the pool, given back at the end.
class Lease {
 public:
  Lease(std::shared_ptr<Pool> pool, std::optional<pgsql::Connection> connection)
      : pool_(std::move(pool)), connection_(std::move(connection)) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { pool_->put(std::move(connection_)); }
  [[nodiscard]] bool fresh() const { return !connection_; }
  base::Result<> connect(const base::Context& context) {
    connection_.reset();
    KL_ASSIGN(auto connection, pool_->connect(context));
    connection_.emplace(std::move(connection));
    return {};
  }
  pgsql::Connection& get() { return *connection_; }

 private:
  std::shared_ptr<Pool> pool_;
  std::optional<pgsql::Connection> connection_;
};

/// A complete answer.
class ShortRows final : public Rows {
 public:
  explicit ShortRows(pgsql::Answer answer) : answer_(std::move(answer)) {}
  base::Result<bool> next() override { return ++row_ < answer_.rows(); }
  [[nodiscard]] std::string_view text(int column) const override {
    return answer_.field(row_, column);
  }

 private:
  pgsql::Answer answer_;
  int row_ = -1;
};

/// An answer that the server holds, fetched piece by piece.
class LongRows final : public Rows {
 public:
  LongRows(const base::Context& context, pgsql::Connection& connection, std::string cursor)
      : context_(context), connection_(connection), cursor_(std::move(cursor)) {}
  base::Result<bool> next() override {
    if (++row_ < piece_.rows) return true;
    if (piece_.rows < kPiece) return false;
    KL_TRY(fetch());
    return piece_.rows > 0;
  }
  base::Result<> fetch() {
    KL_ASSIGN(piece_.answer, connection_.run(context_, "reading",
                                             fmt::format("FETCH {} FROM {}", kPiece, cursor_)));
    piece_.rows = piece_.answer.rows();
    row_ = 0;
    return {};
  }
  void rewind() { row_ = -1; }
  [[nodiscard]] std::string_view text(int column) const override {
    return piece_.answer.field(row_, column);
  }

 private:
  struct Piece {
    pgsql::Answer answer;
    int rows = 0;
  };
  const base::Context& context_;
  pgsql::Connection& connection_;
  std::string cursor_;
  Piece piece_;
  int row_ = -1;
};

class PostgresSession final : public Session {
 public:
  PostgresSession(base::Context context, std::unique_ptr<Lease> lease)
      : context_(std::move(context)), lease_(std::move(lease)) {}
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;
  ~PostgresSession() override {
    // With a context of its own: the session's may be over, and the connection still good.
    if (began_) lease_->get().roll_back(base::Context(context_.clock(), {}).with_timeout(kEnding));
  }

  base::Result<> begin(Pool& pool) {
    auto began = lease_->fresh() ? lease_->connect(context_) : base::Result<>();
    KL_TRY(began);
    began = start();
    if (!began && !lease_->get().alive() && context_.check().has_value()) {
      // It waited, and the server went away meanwhile.
      pool.forget();
      KL_TRY(lease_->connect(context_));
      began = start();
    }
    KL_TRY(began);
    return look(pool.store());
  }

  [[nodiscard]] const Tables& tables() const override { return tables_; }

  base::Result<std::unique_ptr<Rows>> ask(const Query& query, bool whole) override {
    if (whole) {
      KL_ASSIGN(auto answer,
                lease_->get().query(context_, "reading", query.sql(), query.parameters()));
      return std::make_unique<ShortRows>(std::move(answer));
    }
    const std::string name = fmt::format("c{}", ++cursors_);
    KL_TRY(lease_->get().query(context_, "reading",
                               fmt::format("DECLARE {} NO SCROLL CURSOR FOR {}", name, query.sql()),
                               query.parameters()));
    auto rows = std::make_unique<LongRows>(context_, lease_->get(), name);
    KL_TRY(rows->fetch());
    rows->rewind();
    return rows;
  }

 private:
  static constexpr auto kEnding = std::chrono::seconds(5);

  base::Result<> start() {
    using std::chrono::milliseconds;
    const auto limit = std::min<base::Duration>(context_.remaining(), kLongest);
    const auto left =
        std::max<std::int64_t>(std::chrono::duration_cast<milliseconds>(limit).count(), 1);
    // A cursor whose rows are all wanted is planned for all of them.
    KL_TRY(lease_->get().run(
        context_, "reading",
        fmt::format(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = "
            "{}; SET LOCAL cursor_tuple_fraction = 1; SET LOCAL jit = off",
            left)));
    began_ = true;
    return {};
  }

  base::Result<> look(const PostgresStore& store) {
    const std::string rows = quoted(store, "");
    const std::string exports = quoted(store, "_exports");
    const std::string history = quoted(store, "_history");
    KL_ASSIGN(const auto answer,
              lease_->get().query(
                  context_, "looking at",
                  "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL AND "
                  "has_table_privilege(to_regclass($2), 'SELECT'), to_regclass($3) IS NOT NULL AND "
                  "has_table_privilege(to_regclass($3), 'SELECT'), (SELECT string_agg(c.relname, "
                  "chr(10)) FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = "
                  "i.indexrelid WHERE i.indrelid = to_regclass($1) AND i.indisvalid)",
                  {rows, exports, history}));
    if (answer.field(0, 0) != "t") {
      return base::configuration(
          fmt::format("the database has no table {}{}{}; name it as its sink does (--table "
                      "SCHEMA.TABLE)",
                      store.schema, store.schema.empty() ? "" : ".", store.table),
          "NoTable");
    }
    tables_.rows = rows;
    tables_.rows_name = store.table;
    if (answer.field(0, 1) == "t") tables_.exports = exports;
    if (answer.field(0, 2) == "t") tables_.history = history;
    note_indexes(store, answer.field(0, 3));
    return {};
  }

  void note_indexes(const PostgresStore& store, std::string_view names) {
    const std::string lines = fmt::format("\n{}\n", names);
    for (const std::string_view suffix : {"_by_place", "_by_name", "_by_export"}) {
      const std::string line = fmt::format("\n{}\n", pgsql::companion_name(store.table, suffix));
      if (lines.find(line) != std::string::npos) note_index(tables_, suffix);
    }
  }

  static std::string quoted(const PostgresStore& store, std::string_view suffix) {
    const std::string table = pgsql::quote_name(pgsql::companion_name(store.table, suffix));
    return store.schema.empty() ? table : pgsql::quote_name(store.schema) + "." + table;
  }

  base::Context context_;
  std::unique_ptr<Lease> lease_;
  Tables tables_;
  int cursors_ = 0;
  bool began_ = false;
};

class PostgresPlace final : public Place {
 public:
  explicit PostgresPlace(PostgresStore store) : pool_(std::make_shared<Pool>(std::move(store))) {}
  [[nodiscard]] bool postgres() const override { return true; }

  base::Result<std::unique_ptr<Session>> open(const base::Context& context) override {
    KL_ASSIGN(auto connection, pool_->take(context));
    auto session = std::make_unique<PostgresSession>(
        context, std::make_unique<Lease>(pool_, std::move(connection)));
    KL_TRY(session->begin(*pool_));
    return session;
  }

 private:
  std::shared_ptr<Pool> pool_;
};

}  // namespace

std::unique_ptr<Place> postgres_place(PostgresStore store) {
  return std::make_unique<PostgresPlace>(std::move(store));
}

}  // namespace kollect::readstore
