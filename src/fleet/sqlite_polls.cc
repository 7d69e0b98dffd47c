#include "fleet/sqlite_polls.h"

#include <fmt/format.h>

#include <utility>

namespace kollect::fleet {

namespace {

constexpr auto kBusy = std::chrono::seconds(5);
/// `kind`.
constexpr std::int64_t kDead = 0;
constexpr std::int64_t kUnknown = 1;
constexpr std::int64_t kOthers = 2;

constexpr std::string_view kSchema = R"sql(
CREATE TABLE IF NOT EXISTS polls (
  kind INTEGER NOT NULL, cluster_dns TEXT NOT NULL, polls INTEGER NOT NULL, first_us INTEGER NOT NULL, last_us INTEGER NOT NULL,
  PRIMARY KEY (kind, cluster_dns)
) WITHOUT ROWID;
)sql";

std::int64_t to_us(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

base::WallTime from_us(std::int64_t us) {
  return base::WallTime(
      std::chrono::duration_cast<base::WallTime::duration>(std::chrono::microseconds(us)));
}

}  // namespace

base::Result<SqlitePolls> SqlitePolls::open(const std::filesystem::path& file) {
  KL_ASSIGN(auto database, dbfile::Database::open(file, dbfile::Database::Mode::kReadWrite, kBusy));
  // What the last moments before a crash have counted is no loss.
  KL_TRY(database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"));
  KL_TRY(database.execute(kSchema));
  return SqlitePolls(std::move(database));
}

base::Result<> SqlitePolls::add(const PollNotes& notes) {
  KL_ASSIGN(auto transaction,
            dbfile::Transaction::begin(database_, dbfile::Transaction::Mode::kWrite));
  KL_ASSIGN(
      auto put,
      database_.prepare(
          "INSERT INTO polls VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, cluster_dns) DO UPDATE "
          "SET polls = polls + excluded.polls, first_us = min(first_us, excluded.first_us), "
          "last_us = max(last_us, excluded.last_us)"));
  const auto write = [&](std::int64_t kind, const std::string& name, const PollCount& polls) {
    put.bind(1, kind).bind(2, name).bind(3, static_cast<std::int64_t>(polls.count));
    put.bind(4, to_us(polls.first)).bind(5, to_us(polls.last));
    return put.run();
  };
  for (const auto& [name, polls] : notes.dead) KL_TRY(write(kDead, name, polls));
  for (const auto& [name, polls] : notes.unknown) KL_TRY(write(kUnknown, name, polls));
  if (notes.others > 0) KL_TRY(write(kOthers, "", {.count = notes.others}));
  KL_TRY(database_.execute(fmt::format(
      "DELETE FROM polls WHERE kind = {0} AND cluster_dns NOT IN (SELECT cluster_dns FROM polls "
      "WHERE kind = {0} ORDER BY last_us DESC LIMIT {1})",
      kUnknown, kMostUnknownNames)));
  return transaction.commit();
}

base::Result<PollNotes> SqlitePolls::all() {
  PollNotes notes;
  KL_ASSIGN(auto rows,
            database_.prepare("SELECT kind, cluster_dns, polls, first_us, last_us FROM polls"));
  while (true) {
    KL_ASSIGN(const bool row, rows.step());
    if (!row) return notes;
    const PollCount polls{.count = static_cast<std::uint64_t>(rows.integer(2)),
                          .first = from_us(rows.integer(3)),
                          .last = from_us(rows.integer(4))};
    if (rows.integer(0) == kDead) notes.dead[std::string(rows.text(1))] = polls;
    if (rows.integer(0) == kUnknown) notes.unknown[std::string(rows.text(1))] = polls;
    if (rows.integer(0) == kOthers) notes.others = polls.count;
  }
}

}  // namespace kollect::fleet
