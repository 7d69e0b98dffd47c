// A fleet in PostgreSQL, for many processes on many hosts.
//
// Tables (made and upgraded by the first process that may): fleet_records (of all families, with
// their versions), fleet_tombstones, fleet_audit, fleet_polls (when there are any), and fleet_meta,
// whose row "version" is the number of the last audit entry. Who holds the lock of that row has the
// writers' turn. Its column "turn" tells two histories with the same number apart (a restored
// backup, a standby that took over).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/secret.h"
#include "fleet/fleet.h"
#include "pgsql/connection.h"

namespace kollect::fleet {

struct PostgresOptions {
  base::Secret dsn;    ///< URL or key=value pairs, all parameters of libpq
  bool listen = true;  ///< false: as with servers that know no LISTEN; every look asks
  /// How long a session keeps the turn whose process is gone without a word.
  std::chrono::milliseconds longest_silence = std::chrono::seconds(8);
};

/// One session, made anew when it is lost: at once, then after growing pauses, in which calls fail
/// without waiting. No call waits longer than its own limit (seconds). Errors never hold a part of
/// the connection string.
class PostgresKeeper final : public Keeper {
 public:
  /// Connects and makes what is missing; a user who may only read is enough where nothing is.
  /// `clock` must outlive it. Errors: as pgsql::connect.
  static base::Result<std::unique_ptr<PostgresKeeper>> open(PostgresOptions options,
                                                            const base::Clock& clock);

  /// True until it was seeded: an emptied store is not a new one.
  base::Result<bool> is_new();
  /// Fills a new store. Does nothing when another process was faster.
  base::Result<> seed(const Content& content);
  /// Records that cannot be read are named in the log (may be null) and left out.
  base::Result<Content> load(const base::Logger* log);

  base::Result<News> begin() override;
  /// When the connection is lost before the server has confirmed, a new session finds out what
  /// became of the changes. Error with reason "unknown-outcome": it could not.
  base::Result<> keep(std::span<const Change> changes) override;
  void abandon() override;
  /// Asks the server when it has notified, and 0.3 s after its last answer.
  base::Result<News> look() override;
  base::Result<base::json::Array> audit(const AuditQuery& query) override;
  /// In the table fleet_polls. A user who may not write there keeps them to itself.
  [[nodiscard]] bool keeps_polls() const override { return true; }
  base::Result<> add_polls(const PollNotes& notes) override;
  base::Result<PollNotes> polls() override;

 private:
  /// Up to which entry the trail is known.
  struct Place {
    std::int64_t version = 0;
    std::string turn;
    bool operator==(const Place&) const = default;
  };
  /// The entries after a place; none: they do not tell everything.
  struct Trail {
    Place now;
    std::optional<std::vector<Change>> changes;
  };

  PostgresKeeper(PostgresOptions options, const base::Clock& clock);
  [[nodiscard]] base::Context limit(base::Duration time) const;

  base::Result<> connect();
  /// Connects when there is no session and no pause.
  base::Result<> ready();
  /// Does it, and once more in a new session if the one that was there turns out to be dead. Not
  /// for what writes.
  template <class Do>
  auto ask(Do&& what) -> decltype(what());
  base::Result<pgsql::Answer> query(std::string_view doing, const std::string& sql,
                                    const std::vector<std::string>& parameters);
  base::Result<pgsql::Answer> run(std::string_view doing, const std::string& sql);
  void end_transaction();

  base::Result<> prepare_tables();
  /// Begins the transaction of a turn.
  base::Result<Place> take_turn();
  base::Result<News> news(bool in_turn);
  [[nodiscard]] Place next_place(std::size_t entries);
  base::Result<> settle(const Place& next);
  base::Result<bool> was_made(const Place& next);

  base::Result<Trail> trail();
  base::Result<base::json::Array> entries(const AuditQuery& query);
  /// Everything as it stood at one moment; in a transaction of its own.
  base::Result<Content> snapshot(const base::Logger* log);
  base::Result<Content> content(const base::Logger* log);
  base::Result<> write(std::span<const Change> changes, const Place& next);
  base::Result<> write_records(std::span<const Change> changes);
  base::Result<> write_tombstones(std::span<const Change> changes);
  base::Result<> write_audit(std::span<const Change> changes, const Place& next);
  base::Result<> write_polls(const PollNotes& notes);

  PostgresOptions options_;
  const base::Clock& clock_;
  std::optional<pgsql::Connection> session_;
  bool listening_ = false;
  base::Duration pause_{};                       ///< before the next try to connect
  base::SteadyTime next_try_{};                  ///< not before
  std::optional<base::SteadyTime> last_answer_;  ///< to a look, in this session
  Place seen_;
  std::string process_;  ///< begins the name of every turn
  std::uint64_t turns_ = 0;
};

}  // namespace kollect::fleet
