// The session and the turns; what is in the tables is in postgres_tables.cc.
#include "fleet/postgres_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "pgsql/dsn.h"

namespace kollect::fleet {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kConnecting = seconds(3);
constexpr auto kAnswering = seconds(10);
/// To find out what became of a commit: longer than the server lets a dead session keep the turn.
constexpr auto kSettling = seconds(20);
constexpr base::Duration kFirstPause = milliseconds(100);
constexpr base::Duration kLongestPause = seconds(1);
/// Notifications get lost where a pool sits between.
constexpr auto kUnasked = milliseconds(300);

/// Local settings of the transaction, because a pool may give every transaction another session. An
/// operator's stronger synchronous_commit stays; "off" would lose what was acknowledged.
constexpr const char* kTakeTurn = R"sql(
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL lock_timeout = '9s';
SET LOCAL statement_timeout = '15s';
SET LOCAL idle_in_transaction_session_timeout = {};
SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off';
SELECT value, turn FROM fleet_meta WHERE key = 'version' FOR UPDATE)sql";

std::string name_of_process() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

PostgresKeeper::PostgresKeeper(PostgresOptions options, const base::Clock& clock)
    : options_(std::move(options)), clock_(clock), process_(name_of_process()) {}

base::Result<std::unique_ptr<PostgresKeeper>> PostgresKeeper::open(PostgresOptions options,
                                                                   const base::Clock& clock) {
  auto keeper = std::unique_ptr<PostgresKeeper>(new PostgresKeeper(std::move(options), clock));
  KL_TRY(keeper->connect());
  KL_TRY(keeper->prepare_tables());
  return keeper;
}

/// Not the program's own context: what is under way when it is asked to stop is finished.
base::Context PostgresKeeper::limit(base::Duration time) const {
  return base::Context(clock_, {}).with_timeout(time);
}

base::Result<> PostgresKeeper::connect() {
  pgsql::DsnOptions dsn;
  dsn.dsn = options_.dsn;
  dsn.application_name = "kollect-fleet";
  dsn.connect_timeout = kConnecting;
  // A host that is gone is noticed while somebody waits for it.
  dsn.defaults = {{"tcp_user_timeout", "4000"},
                  {"keepalives_idle", "5"},
                  {"keepalives_interval", "2"},
                  {"keepalives_count", "3"}};
  KL_ASSIGN(auto connection, pgsql::connect(limit(kConnecting), dsn));
  connection.set_where("the fleet");
  // Statements are short; a server that hangs must not hold anybody.
  connection.set_cancels(false);
  session_.emplace(std::move(connection));
  // Servers that do not listen say so; then every look asks.
  listening_ = options_.listen && run("listening to", "LISTEN kollect_fleet").has_value();
  last_answer_.reset();
  return {};
}

base::Result<> PostgresKeeper::ready() {
  if (session_ && session_->alive()) return {};
  session_.reset();
  if (clock_.steady_now() < next_try_) {
    return base::retryable("postgres: there is no connection", "unreachable");
  }
  auto connected = connect();
  if (connected) {
    pause_ = {};
    next_try_ = {};
  } else {
    pause_ = std::clamp<base::Duration>(pause_ * 2, kFirstPause, kLongestPause);
    next_try_ = clock_.steady_now() + pause_;
  }
  return connected;
}

template <class Do>
auto PostgresKeeper::ask(Do&& what) -> decltype(what()) {
  const bool was_there = session_ && session_->alive();
  KL_TRY(ready());
  auto answer = what();
  if (answer || !was_there || (session_ && session_->alive())) return answer;
  KL_TRY(ready());
  return what();
}

base::Result<pgsql::Answer> PostgresKeeper::query(std::string_view doing, const std::string& sql,
                                                  const std::vector<std::string>& parameters) {
  return session_->query(limit(kAnswering), doing, sql, parameters);
}

base::Result<pgsql::Answer> PostgresKeeper::run(std::string_view doing, const std::string& sql) {
  return session_->run(limit(kAnswering), doing, sql);
}

void PostgresKeeper::end_transaction() {
  if (session_) session_->roll_back(limit(kAnswering));
}

base::Result<PostgresKeeper::Place> PostgresKeeper::take_turn() {
  auto row = run("taking a turn at", fmt::format(kTakeTurn, options_.longest_silence.count()));
  if (row && row->rows() != 1) row = base::terminal("postgres: fleet_meta has no row \"version\"");
  if (!row) {
    // The server only reads: the next session may lead to the one that writes.
    if (row.error().reason == "read-only") {
      session_.reset();
    } else {
      end_transaction();
    }
    return row.error();
  }
  return Place{.version = std::stoll(std::string(row->field(0, 0))),
               .turn = std::string(row->field(0, 1))};
}

base::Result<News> PostgresKeeper::begin() {
  KL_ASSIGN(const Place now, ask([this] { return take_turn(); }));
  if (now == seen_) return News{};
  auto told = news(true);
  if (!told) end_transaction();
  return told;
}

void PostgresKeeper::abandon() {
  end_transaction();
}

base::Result<News> PostgresKeeper::look() {
  return ask([this]() -> base::Result<News> {
    const base::SteadyTime now = clock_.steady_now();
    if (listening_ && last_answer_ && now - *last_answer_ < kUnasked) {
      KL_ASSIGN(const std::size_t notified, session_->take_notifications());
      if (notified == 0) return News{};
    }
    auto told = news(false);
    if (told) last_answer_ = now;
    return told;
  });
}

base::Result<News> PostgresKeeper::news(bool in_turn) {
  KL_ASSIGN(Trail trail, this->trail());
  News news;
  if (trail.changes) {
    news.changes = *std::move(trail.changes);
  } else if (in_turn) {
    KL_ASSIGN(news.content, content(nullptr));
  } else {
    KL_ASSIGN(news.content, snapshot(nullptr));
    return news;
  }
  seen_ = trail.now;
  return news;
}

base::Result<Content> PostgresKeeper::load(const base::Logger* log) {
  return ask([this, log] { return snapshot(log); });
}

base::Result<base::json::Array> PostgresKeeper::audit(const AuditQuery& query) {
  return ask([this, &query] { return entries(query); });
}

PostgresKeeper::Place PostgresKeeper::next_place(std::size_t entries) {
  return {.version = seen_.version + static_cast<std::int64_t>(entries),
          .turn = fmt::format("{}-{}", process_, ++turns_)};
}

base::Result<> PostgresKeeper::keep(std::span<const Change> changes) {
  const Place next = next_place(changes.size());
  if (auto written = write(changes, next); !written) {
    end_transaction();
    return written;
  }
  auto committed = run("committing changes of", "COMMIT");
  // A server that answers an error has rolled back; one that does not answer may have done either.
  if (!committed && session_->alive()) return committed.error();
  if (!committed) KL_TRY(settle(next));
  seen_ = next;
  return {};
}

base::Result<> PostgresKeeper::settle(const Place& next) {
  const base::Context context = limit(kSettling);
  do {
    const auto made = was_made(next);
    if (made && *made) return {};
    if (made) {
      return base::retryable("postgres: the connection was lost before the change was made",
                             "unreachable");
    }
  } while (context.sleep(kFirstPause));
  return base::retryable(
      "postgres: the connection was lost and it is not known whether the change was made; look "
      "before it is tried again",
      "unknown-outcome");
}

/// Who has the turn knows that the lost transaction is over, and the trail tells how it ended.
base::Result<bool> PostgresKeeper::was_made(const Place& next) {
  next_try_ = {};
  KL_TRY(ready());
  KL_TRY(take_turn());
  const auto found = query("reading the trail of",
                           "SELECT 1 FROM fleet_audit WHERE seq = $1::bigint AND turn = $2",
                           {std::to_string(next.version), next.turn});
  end_transaction();
  if (!found) return found.error();
  return found->rows() == 1;
}

}  // namespace kollect::fleet
