// Several writers, time limits, cancellation, and a server that dies (spec: sinks 11.3;
// field-backend-crash-between-two-steps).
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "sinks/postgres/pg_fixture.h"

namespace kollect::sinks::postgres {
namespace {

using kollect::testing::PostgresServer;
using ::testing::HasSubstr;

class Writers : public PostgresFixture {
 protected:
  using PostgresFixture::PostgresFixture;

  Connection session() const {
    auto connection = pgsql::connect(context_, options_.dsn);
    EXPECT_TRUE(connection.has_value()) << connection.error().message;
    return std::move(*connection);
  }
  void run(Connection& connection, const std::string& sql) const {
    const auto done = connection.run(context_, "testing", sql);
    EXPECT_TRUE(done.has_value()) << done.error().message;
  }
  /// Sessions of ours that wait for a lock.
  std::string waiting() const {
    return "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
           "application_name = 'kollect' AND wait_event_type = 'Lock'";
  }
  Lines state() const {
    return ask(
        "SELECT count(*), min(payload #>> '{attributes,n}'), max(payload #>> "
        "'{attributes,n}') FROM inventory");
  }
};

TEST_F(Writers, ManyOperatorsShareATable) {
  options_.table.history = true;
  options_.limits.rows = 7;
  std::vector<std::string> problems(6);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      threads.emplace_back([&, i] {
        // Two writers each on three clusters; those of one cluster write the same sets.
        const auto sink = make_postgres_sink(options_);
        for (int round = 1; round <= 8; ++round) {
          const auto report =
              try_write(*sink, many(round, 40), round, "cluster-" + std::to_string(i % 3));
          if (!report.has_value()) problems[i] = report.error().message;
        }
      });
    }
  }
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
  EXPECT_EQ(ask("SELECT cluster, count(*) FROM inventory GROUP BY 1 ORDER BY 1"),
            (Lines{"cluster-0|40", "cluster-1|40", "cluster-2|40"}));
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_history WHERE valid_to IS NULL"), Lines{"120"});
  EXPECT_EQ(ask("SELECT count(*) FROM inventory_history WHERE valid_to <= valid_from"), Lines{"0"});
}

TEST_F(Writers, ClustersThatFightOverOneKeyDoNotDeadlock) {
  ask("CREATE TABLE inventory (inventory_namespace text, inventory_name text, target_name text, "
      "source_uid text, cluster text NOT NULL DEFAULT '', resource_namespace text, payload jsonb, "
      "exported_at timestamptz, PRIMARY KEY (inventory_namespace, inventory_name, target_name, "
      "source_uid))");
  std::vector<std::string> problems(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int round = 1; round <= 6; ++round) {
          const auto report =
              try_write(many(static_cast<int>(i), 50), round, "cluster-" + std::to_string(i));
          if (!report.has_value()) problems[i] = report.error().message;
        }
      });
    }
  }
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
  EXPECT_EQ(ask("SELECT count(*), count(DISTINCT cluster) FROM inventory"), Lines{"50|1"});
}

TEST_F(Writers, ADeadlockWithAStrangerIsTriedAgain) {
  // We look for deadlocks after three seconds, the stranger after a minute: the victim is ours.
  options_.dsn.dsn =
      base::Secret(options_.dsn.dsn.reveal() + "?options=-c%20deadlock_timeout%3D3s");
  write(set_of({{"a", R"({"n":1})"}, {"b", R"({"n":1})"}}));
  auto stranger = session();
  run(stranger, "BEGIN; SET LOCAL deadlock_timeout = '1min'");
  run(stranger, "UPDATE inventory SET exported_at = exported_at WHERE source_uid = 'uid-b'");
  base::Result<ExportReport> report = base::terminal("not run");
  std::jthread thread([&] {
    report = try_write(set_of({{"a", R"({"n":2})"}, {"b", R"({"n":2})"}}), 1);
  });
  wait_for(waiting(), "1");
  run(stranger,
      "UPDATE inventory SET exported_at = exported_at WHERE source_uid = 'uid-a'; COMMIT");
  thread.join();
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->written, 2U);
  EXPECT_EQ(ask("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"),
            Lines{"1"});
}

TEST_F(Writers, TimeLimits) {
  write(set_of({{"a", R"({"n":1})"}}));
  auto stranger = session();
  run(stranger, "BEGIN; UPDATE inventory SET exported_at = exported_at");
  options_.lock_timeout = std::chrono::milliseconds(20);
  auto error = must_fail(set_of({{"a", R"({"n":2})"}}));
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(error.reason, "busy");
  options_.lock_timeout.reset();
  options_.statement_timeout = std::chrono::milliseconds(20);
  error = must_fail(set_of({{"a", R"({"n":2})"}}));
  EXPECT_EQ(error.kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(error.reason, "timeout");
  EXPECT_THAT(error.message, HasSubstr("statement_timeout"));
}

TEST_F(Writers, CancellingAlsoStopsTheServer) {
  write(set_of({{"a", R"({"n":1})"}}));
  auto stranger = session();
  run(stranger,
      "SET application_name = 'stranger'; BEGIN; UPDATE inventory SET exported_at = "
      "exported_at");
  const auto sink = make_postgres_sink(options_);
  const auto set = set_of({{"a", R"({"n":2})"}});
  auto exp = head(1);
  exp.rows = &set;
  std::stop_source stop;
  const base::SystemClock clock;
  base::Result<ExportReport> report = base::terminal("not run");
  std::jthread thread(
      [&] { report = sink->export_all(base::Context(clock, stop.get_token()), {exp}, false); });
  wait_for(waiting(), "1");
  stop.request_stop();
  thread.join();
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kCancelled);
  wait_for(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
      "application_name = 'kollect'",
      "0");
  run(stranger, "COMMIT");
  EXPECT_EQ(state(), Lines{"1|1|1"});
  EXPECT_TRUE(try_write(*sink, set, 2).has_value());
  EXPECT_EQ(state(), Lines{"1|2|2"});
}

TEST_F(Writers, ADeadlineEndsTheWait) {
  write(set_of({{"a", R"({"n":1})"}}));
  auto stranger = session();
  run(stranger, "BEGIN; UPDATE inventory SET exported_at = exported_at");
  const auto set = set_of({{"a", R"({"n":2})"}});
  auto exp = head(1);
  exp.rows = &set;
  const auto report = make_postgres_sink(options_)->export_all(
      context_.with_timeout(std::chrono::milliseconds(300)), {exp}, false);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "timeout");
}

TEST_F(Writers, ASessionThatDiedWhileIdleIsReplaced) {
  const auto sink = make_postgres_sink(options_);
  ASSERT_TRUE(try_write(*sink, many(1, 10)).has_value());
  ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
      "AND application_name = 'kollect'");
  const auto report = try_write(*sink, many(2, 10), 1);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->written, 10U);
}

class CrashingServer : public Writers {
 protected:
  CrashingServer() : Writers(own()) {}
  static PostgresServer& own() {
    static PostgresServer server("crash");
    return server;
  }
};

TEST_F(CrashingServer, KilledInTheMiddleOfALargePass) {
  constexpr int kRows = 20'000;
  options_.limits.rows = 2'000;
  write(many(1, kRows));
  // The row in the middle waits for a lock that a stranger holds.
  ask("CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM "
      "pg_advisory_xact_lock(4711); RETURN new; END'; CREATE TRIGGER hold BEFORE UPDATE ON "
      "inventory "
      "FOR EACH ROW WHEN (new.source_uid = 'uid-row-011111') EXECUTE FUNCTION hold()");
  const auto sink = make_postgres_sink(options_);
  base::Result<ExportReport> report = base::terminal("not run");
  {
    auto stranger = session();
    run(stranger, "SET application_name = 'stranger'; SELECT pg_advisory_lock(4711)");
    std::jthread thread([&] { report = try_write(*sink, many(2, kRows), 1); });
    wait_for(waiting(), "1");
    server_.kill();
  }
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(report.error().reason, "unreachable");
  // While the server is away: an error that says so, again and again.
  EXPECT_THAT(try_write(*sink, many(2, kRows), 2).error().message,
              HasSubstr("cannot connect: the connection was refused"));
  server_.restart();
  EXPECT_EQ(state(), Lines{"20000|1|1"});
  const auto after = try_write(*sink, many(2, kRows), 3);
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ(after->written, static_cast<std::uint64_t>(kRows));
  EXPECT_EQ(state(), Lines{"20000|2|2"});
}

/// Kills its own process at the n-th look at the clock.
class KillingClock final : public base::Clock {
 public:
  explicit KillingClock(int looks) : left_(looks) {}
  base::WallTime now() const override { return {}; }
  base::SteadyTime steady_now() const override {
    if (--left_ == 0) ::kill(::getpid(), SIGKILL);
    return {};
  }

 private:
  mutable int left_;
};

TEST_F(Writers, KilledAtAnyPoint) {
  options_.table.history = true;
  options_.limits.rows = 40;
  const auto old_rows = many(1, 300);
  const auto new_rows = many(2, 300);
  write(old_rows);
  int killed = 0;
  for (int looks = 1; looks < 1000; looks += 3) {
    const pid_t child = ::fork();
    if (child == 0) {
      const KillingClock clock(looks);
      auto exp = head(1);
      exp.rows = &new_rows;
      const auto report = make_postgres_sink(options_)->export_all(
          base::Context(clock, {}).with_timeout(std::chrono::hours(1)), {exp}, false);
      ::_exit(report.has_value() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const bool was_killed = WIFSIGNALED(status);
    ASSERT_TRUE(was_killed || WEXITSTATUS(status) == 0);
    // The server may still be busy with the last word of the dead.
    wait_for(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        "application_name = 'kollect'",
        "0");
    const Lines now = state();
    if (!was_killed || now == Lines{"300|2|2"}) break;  // killed after the commit
    ++killed;
    ASSERT_EQ(now, Lines{"300|1|1"});
  }
  EXPECT_GT(killed, 20);

  write(new_rows, 2);
  EXPECT_EQ(state(), Lines{"300|2|2"});
  EXPECT_EQ(ask("SELECT count(*), count(*) FILTER (WHERE valid_to IS NULL) FROM inventory_history"),
            Lines{"600|300"});
}

}  // namespace
}  // namespace kollect::sinks::postgres
