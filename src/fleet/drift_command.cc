#include "fleet/drift_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "fleet/client_output.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

constexpr std::uint64_t kPage = 1000;

std::string path_of(const DriftFlags& flags, std::uint64_t limit, std::string_view cursor) {
  std::string path = fmt::format("/drift?limit={}", limit);
  const auto add = [&](const char* name, std::string_view value) {
    if (!value.empty()) path += fmt::format("&{}={}", name, base::percent_encode(value));
  };
  add("cluster", flags.cluster);
  add("environment", flags.environment);
  add("finding", flags.finding);
  add("component", flags.component);
  add("older_than", flags.older_than);
  add("max_age", flags.max_age);
  add("cursor", cursor);
  return path;
}

/// "3d": how long ago, in the largest unit that fits.
std::string age(std::string_view at, std::string_view since) {
  const auto now = base::parse_rfc3339(at);
  const auto then = base::parse_rfc3339(since);
  if (!now || !then) return "-";
  const auto seconds =
      std::max<std::int64_t>(0, std::chrono::floor<std::chrono::seconds>(*now - *then).count());
  for (const auto& [length, unit] :
       {std::pair(86400, 'd'), std::pair(3600, 'h'), std::pair(60, 'm')}) {
    if (seconds >= length) return fmt::format("{}{}", seconds / length, unit);
  }
  return fmt::format("{}s", seconds);
}

std::string shown_text(std::string_view text) {
  return text.empty() ? "nothing" : std::string(text);
}

/// A finding as the columns of a table have it.
Value row_of(const Value& finding, std::string_view at) {
  Object row;
  row.set("cluster", finding.text("cluster"));
  row.set("finding", finding.text("finding"));
  if (!finding.text("family").empty()) {
    row.set("item", fmt::format("{}/{}", finding.text("family"), finding.text("id")));
  }
  const Value* object = finding.find("object");
  if (object != nullptr && object->is_object()) {
    const std::string_view kind = object->text("kind");
    const std::string_view ns = object->text("namespace");
    row.set("object", fmt::format("{}{}{}{}{}", kind, kind.empty() ? "" : " ", ns,
                                  ns.empty() ? "" : "/", object->text("name")));
  }
  row.set("age", age(at, finding.text("since")));
  row.set("detail", finding.text("finding") != "differs"
                        ? std::string(finding.text("message"))
                        : fmt::format("{}: {}, should be {}", finding.text("field"),
                                      shown_text(finding.text("observed")),
                                      shown_text(finding.text("expected"))));
  return Value(std::move(row));
}

void print_table(std::FILE* out, const Value& report) {
  Array rows;
  for (const Value& finding : report.find("findings")->as_array()) {
    rows.push_back(row_of(finding, report.text("at")));
  }
  if (!rows.empty()) {
    fmt::print(out, "{}",
               table({{"CLUSTER", "cluster"},
                      {"FINDING", "finding"},
                      {"ITEM", "item"},
                      {"OBJECT", "object"},
                      {"FOR", "age"},
                      {"DETAIL", "detail"}},
                     rows));
  }
  const Value& summary = *report.find("summary");
  fmt::print(out, "{} findings in {} of {} clusters\n",
             base::json::compact(*summary.find("findings")),
             base::json::compact(*summary.find("drifting")),
             base::json::compact(*summary.find("clusters")));
}

}  // namespace

void add_drift_flags(CLI::App& app, DriftFlags& flags) {
  cli::add_flag_value(app, "--cluster", flags.cluster, "Id of a cluster");
  cli::add_flag_value(app, "--environment", flags.environment, "Clusters of it alone");
  cli::add_flag_value(app, "--finding", flags.finding,
                      "missing, extra, disabled, differs, not_ready, suspended, unreadable, "
                      "unobserved, stale or unknown_cluster");
  cli::add_flag_value(app, "--component", flags.component, "Id of a component");
  cli::add_flag_value(app, "--older-than", flags.older_than,
                      "Only what has been so for that long (30m)");
  cli::add_flag_value(app, "--max-age", flags.max_age,
                      "A cluster that was not seen for longer is stale (1h)");
  cli::add_flag_value(app, "--limit", flags.limit, "At most so many findings (0: all)");
}

base::Result<> show_drift(const cli::Invocation& invocation, FleetClient& client,
                          const DriftFlags& flags, bool as_table) {
  Value report;
  Array findings;
  std::string cursor;
  do {
    const std::uint64_t left = flags.limit == 0 ? kPage : flags.limit - findings.size();
    KL_ASSIGN(Told told, client.call(invocation.context(), "GET",
                                     path_of(flags, std::min(left, kPage), cursor)));
    cursor = told.value.text("cursor");
    Value* page = told.value.find("findings");
    if (page == nullptr || !page->is_array()) return base::terminal("the answer has no findings");
    std::ranges::move(page->as_array(), std::back_inserter(findings));
    if (report.is_null()) report = std::move(told.value);
  } while (!cursor.empty() && (flags.limit == 0 || findings.size() < flags.limit));
  Object& whole = report.as_object();
  whole.set("findings", std::move(findings));
  whole.set("cursor", cursor.empty() ? Value() : Value(cursor));
  if (as_table) {
    print_table(invocation.out, report);
  } else {
    fmt::print(invocation.out, "{}", base::json::pretty(report));
  }
  return {};
}

}  // namespace kollect::fleet
