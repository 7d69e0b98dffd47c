#include "readstore/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/json/write.h"
#include "base/strings.h"
#include "readstore/columns.h"
#include "readstore/pages.h"
#include "readstore/row_text.h"

namespace kollect::readstore {

namespace {

/// More versions of one object are nobody's page.
constexpr int kMostVersions = 10'000;

/// Where a page of changes ended: moment, number of the version, and whether its end was told.
struct Cursor {
  base::WallTime at{};
  std::int64_t id = 0;
  int phase = 0;
};

base::Result<Cursor> read_cursor(std::string_view text) {
  const auto parts = base::split(text, '_');
  const auto bad = [] {
    return base::configuration("the cursor is none that an answer has given", "BadCursor");
  };
  if (parts.size() != 3) return bad();
  Cursor out;
  const auto at = base::parse_rfc3339(parts[0]);
  const auto number = [](std::string_view digits, auto& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (!at || !number(parts[1], out.id) || !number(parts[2], out.phase)) return bad();
  out.at = *at;
  return out;
}

std::string rfc3339(std::string_view column) {
  const auto time = base::parse_rfc3339(column);
  return time ? base::format_rfc3339(*time) : std::string();
}

/// Versions that began (phase 0) or went (phase 1), as one part of the union.
std::string branch(Query& query, const Dialect& dialect, const Tables& tables,
                   const readapi::ChangeRequest& request, const std::optional<Cursor>& cursor,
                   int phase) {
  const std::string_view at = phase == 0 ? "valid_from" : "valid_to";
  const std::string before = fmt::format(
      "CASE v.began WHEN 'changed' THEN (SELECT p.payload FROM {} AS p WHERE p.source_uid = "
      "v.source_uid AND p.cluster = v.cluster AND p.inventory_namespace = v.inventory_namespace "
      "AND "
      "p.inventory_name = v.inventory_name AND p.target_name = v.target_name AND p.valid_to = "
      "v.valid_from AND p.id < v.id ORDER BY p.id DESC LIMIT 1) END",
      tables.history);
  std::string out = fmt::format(
      "SELECT v.{0} AS moment, {1} AS change, v.id AS id, {2} AS phase, v.cluster AS cluster, "
      "v.inventory_namespace AS inventory_namespace, v.inventory_name AS inventory_name, v.payload "
      "AS payload, {3} AS previous FROM {4} AS v WHERE v.{0} > {5}",
      at, phase == 0 ? "v.began" : "v.ended", phase, phase == 0 ? before : "v.payload",
      tables.history, dialect.moment(query, request.since));
  if (request.until)
    out += fmt::format(" AND v.{} <= {}", at, dialect.moment(query, *request.until));
  if (phase == 1) out += " AND v.ended = 'went'";
  if (cursor) {
    const std::string moment = dialect.moment(query, cursor->at);
    out += fmt::format(
        " AND v.{0} >= {1} AND (v.{0} > {1} OR v.id > {2} OR (v.id = {2} AND {3} > {4}))", at,
        moment, cursor->id, phase, cursor->phase);
  }
  out += " AND " + dialect.where(query, request.filter, request.sight);
  return fmt::format("SELECT * FROM ({} ORDER BY v.{}, v.id LIMIT {}) AS b{}", out, at,
                     request.limit + 1, phase);
}

base::Result<std::string> attributes_of(RowText& text, std::string_view payload) {
  if (payload.empty()) return std::string();
  KL_ASSIGN(const inventory::RowView row, text.read(payload));
  return std::string(row.attributes);
}

}  // namespace

base::Result<readapi::ChangePage> read_changes(Session& session, bool postgres,
                                               const readapi::ChangeRequest& request) {
  const Tables& tables = session.tables();
  if (tables.history.empty()) return no_history();
  readapi::ChangePage out;
  if (impossible(request.filter)) return out;
  std::optional<Cursor> cursor;
  if (!request.after.empty()) {
    KL_ASSIGN(cursor, read_cursor(request.after));
  }
  const Dialect dialect(postgres, tables, "v.");
  const Dialect joined(postgres, tables, "u.");
  Query query(postgres);
  const std::string began = branch(query, dialect, tables, request, cursor, 0);
  const std::string went = branch(query, dialect, tables, request, cursor, 1);
  query.add(fmt::format(
      "SELECT {}, u.change, u.id, u.phase, u.cluster, u.inventory_namespace, u.inventory_name, {}, "
      "u.previous{} FROM ({} UNION ALL {}) AS u ORDER BY u.moment, u.id, u.phase LIMIT {}",
      joined.time("moment"), joined.payload_text(), postgres ? "::text" : "", began, went,
      request.limit + 1));
  KL_ASSIGN(const auto rows, session.ask(query, true));
  RowText text;
  std::string last;
  while (true) {
    KL_ASSIGN(const bool more, rows->next());
    if (!more) return out;
    if (out.changes.size() == request.limit) {
      out.next = last;
      return out;
    }
    readapi::HistoryChange change{.at = rfc3339(rows->text(0)),
                                  .change = std::string(rows->text(1)),
                                  .cluster = std::string(rows->text(4)),
                                  .inventory_namespace = std::string(rows->text(5)),
                                  .inventory = std::string(rows->text(6)),
                                  .row = {},
                                  .before = {}};
    KL_ASSIGN(change.row, text.canonical(rows->text(7)));
    KL_ASSIGN(change.before, attributes_of(text, rows->text(8)));
    last = fmt::format("{}_{}_{}", change.at, rows->text(2), rows->text(3));
    out.changes.push_back(std::move(change));
  }
}

base::Result<std::vector<readapi::RowVersion>> read_versions(Session& session, bool postgres,
                                                             const readapi::RowFilter& object,
                                                             const readapi::Sight& sight) {
  const Tables& tables = session.tables();
  if (tables.history.empty()) return no_history();
  std::vector<readapi::RowVersion> out;
  if (impossible(object)) return out;
  const Dialect dialect(postgres, tables, "v.");
  Query query(postgres);
  query.add(
      fmt::format("SELECT v.cluster, v.inventory_namespace, v.inventory_name, {}, {}, {}, v.began, "
                  "v.ended FROM "
                  "{} AS v WHERE ",
                  dialect.payload_text(), dialect.time("valid_from"), dialect.time("valid_to"),
                  tables.history));
  query.add(dialect.where(query, object, sight));
  query.add(fmt::format(" ORDER BY v.valid_from, v.id LIMIT {}", kMostVersions));
  KL_ASSIGN(const auto rows, session.ask(query, true));
  RowText text;
  while (true) {
    KL_ASSIGN(const bool more, rows->next());
    if (!more) return out;
    readapi::RowVersion version{.cluster = std::string(rows->text(0)),
                                .inventory_namespace = std::string(rows->text(1)),
                                .inventory = std::string(rows->text(2)),
                                .row = {},
                                .valid_from = rfc3339(rows->text(4)),
                                .valid_to = rfc3339(rows->text(5)),
                                .began = std::string(rows->text(6)),
                                .ended = std::string(rows->text(7))};
    KL_ASSIGN(version.row, text.canonical(rows->text(3)));
    out.push_back(std::move(version));
  }
}

}  // namespace kollect::readstore
