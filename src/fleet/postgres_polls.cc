// Odd polls in PostgreSQL: a table that is made when there is something to note, so that a fleet
// without such polls, or a user who may not make it, does without.
#include <fmt/format.h>

#include <charconv>

#include "fleet/postgres_keeper.h"
#include "fleet/postgres_text.h"

namespace kollect::fleet {

using pgsql::Answer;

namespace {

/// `kind`.
constexpr std::string_view kDead = "dead";
constexpr std::string_view kUnknown = "unknown";
constexpr std::string_view kOthers = "others";

constexpr const char* kTable =
    "CREATE TABLE IF NOT EXISTS fleet_polls (kind text NOT NULL, cluster_dns text NOT NULL, polls "
    "bigint NOT NULL, first_us bigint NOT NULL, last_us bigint NOT NULL, PRIMARY KEY (kind, "
    "cluster_dns))";

std::string to_us(base::WallTime time) {
  return std::to_string(
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count());
}

std::int64_t integer(const Answer& rows, int row, int column) {
  const std::string_view text = rows.field(row, column);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

base::WallTime from_us(std::int64_t us) {
  return base::WallTime(
      std::chrono::duration_cast<base::WallTime::duration>(std::chrono::microseconds(us)));
}

}  // namespace

base::Result<> PostgresKeeper::write_polls(const PollNotes& notes) {
  ArrayText kinds;
  ArrayText names;
  ArrayText counts;
  ArrayText firsts;
  ArrayText lasts;
  const auto add = [&](std::string_view kind, const std::string& name, const PollCount& polls) {
    kinds.add(kind);
    names.add(to_key(name));
    counts.add(std::to_string(polls.count));
    firsts.add(to_us(polls.first));
    lasts.add(to_us(polls.last));
  };
  for (const auto& [name, polls] : notes.dead) add(kDead, name, polls);
  for (const auto& [name, polls] : notes.unknown) add(kUnknown, name, polls);
  if (notes.others > 0) add(kOthers, "", {.count = notes.others});
  if (kinds.empty()) return {};
  KL_TRY(
      query("noting polls in",
            "INSERT INTO fleet_polls AS p SELECT * FROM unnest($1::text[], $2::text[], "
            "$3::bigint[], $4::bigint[], $5::bigint[]) ON CONFLICT (kind, cluster_dns) DO UPDATE "
            "SET polls = p.polls + excluded.polls, first_us = least(p.first_us, "
            "excluded.first_us), last_us = greatest(p.last_us, excluded.last_us)",
            {kinds.text(), names.text(), counts.text(), firsts.text(), lasts.text()}));
  KL_TRY(
      run("noting polls in",
          fmt::format("DELETE FROM fleet_polls WHERE kind = '{0}' AND cluster_dns NOT IN (SELECT "
                      "cluster_dns FROM fleet_polls WHERE kind = '{0}' ORDER BY last_us DESC "
                      "LIMIT {1})",
                      kUnknown, kMostUnknownNames)));
  return {};
}

base::Result<> PostgresKeeper::add_polls(const PollNotes& notes) {
  KL_TRY(ready());
  auto written = write_polls(notes);
  if (written || written.error().reason != "table-missing") return written;
  KL_TRY(run("making the tables of", kTable));
  return write_polls(notes);
}

base::Result<PollNotes> PostgresKeeper::polls() {
  KL_TRY(ready());
  const auto rows =
      query("reading polls of",
            "SELECT kind, cluster_dns, polls, first_us, last_us FROM fleet_polls", {});
  // Nobody has noted any, or this user may not know.
  PollNotes notes;
  if (!rows && (rows.error().reason == "table-missing" || rows.error().reason == "forbidden")) {
    return notes;
  }
  if (!rows) return rows.error();
  for (int row = 0; row < rows->rows(); ++row) {
    const std::string_view kind = rows->field(row, 0);
    const auto name = from_key(rows->field(row, 1));
    const PollCount polls{.count = static_cast<std::uint64_t>(integer(*rows, row, 2)),
                          .first = from_us(integer(*rows, row, 3)),
                          .last = from_us(integer(*rows, row, 4))};
    if (kind == kOthers) notes.others += polls.count;
    if (kind == kDead && name) notes.dead[*name] = polls;
    if (kind == kUnknown && name) notes.unknown[*name] = polls;
  }
  return notes;
}

}  // namespace kollect::fleet
