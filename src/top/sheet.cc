#include "top/sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/strings.h"
#include "install/table.h"
#include "top/cells.h"

namespace kollect::top {

namespace {

Cell text(std::string_view value, Tone tone = Tone::kPlain) {
  return {.text = printable(value), .order = 0, .tone = tone};
}

Cell number(std::uint64_t value) {
  return {.text = grouped(value), .order = static_cast<double>(value), .tone = Tone::kPlain};
}

/// Seconds since; a source that never exported is the oldest of all.
Cell age(const std::string& moment, base::WallTime now) {
  Cell cell{.text = printable(age_text(moment, now)),
            .order = std::numeric_limits<double>::infinity(),
            .tone = moment.empty() ? Tone::kDim : Tone::kPlain};
  if (const auto then = base::parse_rfc3339(moment)) {
    cell.order = std::chrono::duration<double>(now - *then).count();
  }
  return cell;
}

Cell state(const std::string& word) {
  return text(word, tone_of(word));
}

constexpr Column kCluster{.head = "CLUSTER", .numeric = false, .expendable = 2, .wide = false};
constexpr Column kNamespace{.head = "NAMESPACE", .numeric = false, .expendable = 3, .wide = false};
constexpr Column kReason{.head = "REASON", .numeric = false, .expendable = 4, .wide = false};
constexpr Column kMessage{.head = "MESSAGE", .numeric = false, .expendable = 5, .wide = true};
constexpr Column kState{.head = "STATE", .numeric = false, .expendable = 0, .wide = false};

Column named(std::string_view head, int expendable = 0) {
  return {.head = head, .numeric = false, .expendable = expendable, .wide = false};
}
Column counted(std::string_view head, int expendable = 0) {
  return {.head = head, .numeric = true, .expendable = expendable, .wide = false};
}

Sheet inventories(const Picture& picture) {
  Sheet out{.columns = {named("INVENTORY"), kNamespace, kCluster, counted("ROWS"),
                        counted("EXPORTED", 1), kState, kReason, kMessage},
            .rows = {}};
  for (const Inventory& one : picture.inventories) {
    out.rows.push_back({text(one.name), text(one.ns), text(one.cluster), number(one.rows),
                        age(one.exported_at, picture.at), state(one.state), text(one.reason),
                        text(one.message)});
  }
  return out;
}

Sheet clusters(const Picture& picture) {
  Sheet out{.columns = {named("CLUSTER"), counted("INVENTORIES", 2), counted("ROWS"),
                        counted("EXPORTED"), counted("OLDEST", 1)},
            .rows = {}};
  for (const Cluster& one : picture.clusters) {
    out.rows.push_back({text(one.name), number(one.inventories), number(one.rows),
                        age(one.exported_at, picture.at), age(one.oldest, picture.at)});
  }
  return out;
}

Sheet sinks(const Picture& picture) {
  Sheet out{.columns = {named("SINK"), named("TYPE", 3), named("INVENTORY", 2),
                        counted("EXPORTED", 1), kState, kReason, kMessage},
            .rows = {}};
  for (const Sink& one : picture.sinks) {
    out.rows.push_back({text(one.name), text(one.type), text(one.inventory),
                        age(one.exported_at, picture.at), state(one.state), text(one.reason),
                        text(one.message)});
  }
  return out;
}

Sheet problems(const Picture& picture) {
  Sheet out{.columns = {named("KIND", 1), kNamespace, named("NAME"), counted("SINCE", 2),
                        named("REASON"), kMessage},
            .rows = {}};
  for (const Problem& one : picture.problems) {
    Cell since = age(one.since, picture.at);
    if (one.since.empty()) since.text.clear();
    out.rows.push_back({text(one.kind), text(one.ns), text(one.name), std::move(since),
                        text(one.reason, Tone::kBad), text(one.message)});
  }
  return out;
}

}  // namespace

std::string_view title_of(Tab tab) {
  switch (tab) {
    case Tab::kInventories:
      return "Inventories";
    case Tab::kClusters:
      return "Clusters";
    case Tab::kSinks:
      return "Sinks";
    case Tab::kProblems:
      break;
  }
  return "Problems";
}

Tone tone_of(std::string_view state) {
  if (state == "Ready") return Tone::kGood;
  if (state == "Degraded" || state == "Failed" || state == "Missing") return Tone::kBad;
  if (state == "Partly" || state == "Pending" || state == "Unseen" || state == "Waiting" ||
      state == "Deleting") {
    return Tone::kWarning;
  }
  return state == "-" ? Tone::kDim : Tone::kPlain;
}

Sheet sheet_of(const Picture& picture, Tab tab) {
  switch (tab) {
    case Tab::kInventories:
      return inventories(picture);
    case Tab::kClusters:
      return clusters(picture);
    case Tab::kSinks:
      return sinks(picture);
    case Tab::kProblems:
      break;
  }
  return problems(picture);
}

void keep(Sheet& sheet, std::string_view filter) {
  if (filter.empty()) return;
  const std::string wanted = base::to_lower(filter);
  std::erase_if(sheet.rows, [&](const std::vector<Cell>& row) {
    return std::ranges::none_of(row, [&](const Cell& cell) {
      return base::to_lower(cell.text).find(wanted) != std::string::npos;
    });
  });
}

void sort(Sheet& sheet, std::size_t column, bool descending) {
  if (column >= sheet.columns.size()) return;
  const bool numeric = sheet.columns[column].numeric;
  std::ranges::stable_sort(sheet.rows, [&](const auto& a, const auto& b) {
    const Cell& left = descending ? b[column] : a[column];
    const Cell& right = descending ? a[column] : b[column];
    return numeric ? left.order < right.order : left.text < right.text;
  });
}

std::string key_of(const Sheet& sheet, std::size_t row) {
  std::string key;
  for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
    const Column& column = sheet.columns[i];
    if (column.numeric || column.wide || column.head == kState.head ||
        column.head == kReason.head) {
      continue;
    }
    key += sheet.rows[row][i].text + '\n';
  }
  return key;
}

std::string plain_text(const Picture& picture) {
  std::string out = fmt::format("{}  {}\n{}\n", printable(picture.source),
                                base::format_rfc3339_seconds(picture.at), counts_text(picture));
  for (const Tab tab : kTabs) {
    const Sheet sheet = sheet_of(picture, tab);
    if (sheet.rows.empty()) continue;
    std::vector<std::string> heads;
    for (const Column& column : sheet.columns) heads.emplace_back(column.head);
    std::vector<std::vector<std::string>> rows;
    for (const auto& row : sheet.rows) {
      std::vector<std::string>& texts = rows.emplace_back();
      for (const Cell& cell : row) texts.push_back(cell.text);
    }
    out += '\n' + install::table(heads, rows);
  }
  return out;
}

std::string counts_text(const Picture& picture) {
  std::set<std::string> names;
  std::set<std::string> failing;
  for (const Sink& sink : picture.sinks) {
    names.insert(sink.name);
    if (tone_of(sink.state) == Tone::kBad) failing.insert(sink.name);
  }
  std::string out = fmt::format("clusters {} · inventories {} · rows {}", picture.clusters.size(),
                                picture.inventories.size(), grouped(picture.rows()));
  if (picture.targets) {
    out += fmt::format(" · targets {} · sinks {}", *picture.targets, names.size());
    if (!failing.empty()) out += fmt::format(" ({} failing)", failing.size());
    out += fmt::format(" · problems {}", picture.problem_count);
  }
  return out;
}

}  // namespace kollect::top
