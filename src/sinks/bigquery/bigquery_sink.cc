#include "sinks/bigquery/bigquery_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sinks/bigquery/pass.h"

namespace kollect::sinks {

namespace {

namespace json = base::json;
using bigquery::Jobs;
using bigquery::Partition;
using bigquery::PassCounts;
using bigquery::TableName;
using bigquery::Work;
using rows::Unit;

constexpr std::chrono::seconds kProbeDeadline{15};

std::string time_text(base::WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(time - second).count();
  std::string text = base::format_rfc3339_seconds(second);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, micro);
}

class BigquerySink final : public Sink {
 public:
  explicit BigquerySink(BigqueryOptions options)
      : options_(std::move(options)),
        api_(options_.api),
        jobs_(api_, options_.table.project, options_.jobs) {
    jobs_.set_location(options_.location);
  }

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    ExportReport report;
    for (const Unit& unit : rows::units_of(exports, false)) {
      KL_TRY(write_unit(context, unit, dry_run, report));
    }
    return report;
  }

  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    ExportReport report;
    KL_TRY(write_unit(context, rows::unit_of(pass), false, report));
    return report;
  }

  [[nodiscard]] bool takes_changes() const override { return !duplicates_.any(); }

  base::Result<> probe(const base::Context& context) override;

 private:
  enum class State { kReady, kMade, kMissing };
  base::Result<> locate(const base::Context& context);
  base::Result<State> prepare(const base::Context& context, const TableName& table, bool create);
  base::Result<> check_shape(const TableName& table, json::View resource) const;
  /// True when it was not there before.
  base::Result<bool> create(const base::Context& context, const TableName& table);
  base::Result<> write_unit(const base::Context& context, const Unit& unit, bool dry_run,
                            ExportReport& report);
  base::Result<PassCounts> pass_over(Work& work, const Partition& partition, const Unit& unit,
                                     bool dry_run);
  [[nodiscard]] TableName table_of(const Export& head) const;
  [[nodiscard]] std::string dataset_path() const {
    return fmt::format("/bigquery/v2/projects/{}/datasets/{}", options_.table.project,
                       options_.table.dataset);
  }

  BigqueryOptions options_;
  google::Api api_;
  Jobs jobs_;
  std::set<std::string> prepared_;  ///< tables that were there when looked at
  rows::Doubled duplicates_;        ///< inventories in whose sets a key stands twice
  std::map<std::string, bigquery::TargetNamespaces> targets_;  ///< of inventories compared so far
};

TableName BigquerySink::table_of(const Export& head) const {
  TableName out = options_.table;
  if (!options_.naming_template.empty()) {
    out.table = bigquery::named_table(options_.naming_template, head.cluster, head.inventory.ns,
                                      head.inventory.name);
  }
  return out;
}

/// Looks at the dataset; jobs run where it is unless the spec says where.
base::Result<> BigquerySink::locate(const base::Context& context) {
  const std::string doing = fmt::format("looking at dataset {}", options_.table.dataset);
  KL_ASSIGN(const auto answer,
            api_.send(context, {.path = dataset_path(), .doing = doing, .accept = {404}}));
  if (answer.status == 404) {
    return base::not_found(
        fmt::format("bigquery: dataset {} does not exist in project {}; create it (it is never "
                    "created from here)",
                    options_.table.dataset, options_.table.project),
        "dataset-missing");
  }
  const auto document = json::Document::parse(answer.body);
  if (options_.location.empty() && document.has_value() && document->root().is_object()) {
    jobs_.set_location(std::string(document->root().text("location")));
  }
  return {};
}

base::Result<> BigquerySink::check_shape(const TableName& table, json::View resource) const {
  const auto fields = resource.at_path({"schema", "fields"});
  std::vector<std::string> missing;
  const json::Value wanted = bigquery::table_schema();
  for (const json::Value& column : wanted.find("fields")->as_array()) {
    bool found = false;
    if (fields) {
      for (const json::View field : fields->items()) {
        found = found || (base::iequals(field.text("name"), column.text("name")) &&
                          base::iequals(field.text("type"), column.text("type")));
      }
    }
    if (!found) missing.push_back(fmt::format("{} {}", column.text("name"), column.text("type")));
  }
  if (missing.empty()) return {};
  return base::terminal(
      fmt::format("bigquery: table {} lacks columns: {}", table.title(), base::join(missing, ", ")),
      "table-shape");
}

base::Result<bool> BigquerySink::create(const base::Context& context, const TableName& table) {
  const std::string doing = fmt::format("creating table {}", table.title());
  KL_ASSIGN(const auto answer, api_.send(context, {.method = "POST",
                                                   .path = dataset_path() + "/tables",
                                                   .doing = doing,
                                                   .body = json::compact(bigquery::table_resource(
                                                       table, options_.partition_expiration_days)),
                                                   .accept = {409}}));
  if (answer.status != 409) return true;
  // "duplicate": another process was quicker.
  const auto document = json::Document::parse(answer.body);
  const auto errors = document.has_value() ? document->root().at_path({"error", "errors"})
                                           : std::optional<json::View>();
  if (errors && errors->size() > 0 && errors->at(0).text("reason") == "duplicate") return false;
  return api_.error_of(answer, doing);
}

base::Result<BigquerySink::State> BigquerySink::prepare(const base::Context& context,
                                                        const TableName& table, bool create_it) {
  if (prepared_.contains(table.table)) return State::kReady;
  bool made = false;
  KL_TRY(locate(context));
  const std::string doing = fmt::format("looking at table {}", table.title());
  KL_ASSIGN(const auto answer, api_.send(context, {.path = dataset_path() + "/tables/" +
                                                           base::percent_encode(table.table),
                                                   .doing = doing,
                                                   .accept = {404}}));
  if (answer.status != 404) {
    KL_ASSIGN(const auto document, json::Document::parse(answer.body));
    KL_TRY(check_shape(table, document.root()));
  } else if (!options_.ensure) {
    return base::terminal(
        fmt::format("bigquery: table {} does not exist, and provisioning.mode existing creates "
                    "none",
                    table.title()),
        "table-missing");
  } else if (!create_it) {
    return State::kMissing;
  } else {
    KL_ASSIGN(made, create(context, table));
  }
  prepared_.insert(table.table);
  return made ? State::kMade : State::kReady;
}

base::Result<PassCounts> BigquerySink::pass_over(Work& work, const Partition& partition,
                                                 const Unit& unit, bool dry_run) {
  const std::string id = rows::id_of(*unit.head);
  if (unit.changes != nullptr && !(duplicates_.contains(id) && unit.rows)) {
    const auto known = targets_.find(id);
    auto counts = bigquery::apply_changes(work, partition, *unit.changes,
                                          known == targets_.end() ? nullptr : &known->second);
    if (counts.has_value() || counts.error().kind != base::ErrorKind::kConflict) return counts;
    // From now on changes alone are not asked for.
    duplicates_.insert(id);
    if (!unit.rows) {
      return base::retryable(counts.error().message + "; the next pass compares the set",
                             "rows-needed");
    }
  }
  bigquery::TargetNamespaces targets;
  auto counts =
      bigquery::reconcile(work, partition, *unit.rows, *unit.head, targets, dry_run, unit.give_way);
  if (!counts.has_value()) return counts;
  targets_[id] = std::move(targets);
  if (counts->collapsed == 0) duplicates_.erase(id);
  if (counts->collapsed > 0) duplicates_.insert(id);
  return counts;
}

base::Result<> BigquerySink::write_unit(const base::Context& context, const Unit& unit,
                                        bool dry_run, ExportReport& report) {
  const Export& head = *unit.head;
  Partition partition{table_of(head), base::sanitize_utf8(head.cluster),
                      base::sanitize_utf8(head.inventory.ns),
                      base::sanitize_utf8(head.inventory.name), time_text(head.exported_at)};
  Work work{context, api_, jobs_, options_.parameter_bytes};
  PassCounts counts;
  for (int attempt = 1;; ++attempt) {
    KL_TRY(context.check());
    const bool looked = !prepared_.contains(partition.table.table);
    KL_ASSIGN(const State state, prepare(context, partition.table, !dry_run));
    if (state == State::kMissing) {  // a dry run before the table is there
      counts.written = unit.row_count;
      break;
    }
    work.fresh = state == State::kMade;
    auto done = pass_over(work, partition, unit, dry_run);
    if (done.has_value()) {
      counts = *done;
      break;
    }
    if (done.error().kind != base::ErrorKind::kNotFound) return done.error();
    // The table went since it was looked at. Changes alone do not fill a new one.
    prepared_.clear();
    if (looked || attempt == 2) return done.error();
    if (unit.changes != nullptr && !unit.rows) {
      return base::retryable(done.error().message + "; the next pass writes the set",
                             "rows-needed");
    }
  }
  rows::add_to(report, unit, counts, partition.table.title(), dry_run);
  return {};
}

base::Result<> BigquerySink::probe(const base::Context& context) {
  const base::Context limited = context.with_timeout(kProbeDeadline);
  KL_TRY(locate(limited));
  KL_TRY(jobs_.dry_run(limited, {"SELECT 1", "", "asking for a query that is not run"}));
  if (options_.ensure || !options_.naming_template.empty()) return {};
  prepared_.clear();
  KL_TRY(prepare(limited, options_.table, false));
  return {};
}

}  // namespace

std::unique_ptr<Sink> make_bigquery_sink(BigqueryOptions options) {
  return std::make_unique<BigquerySink>(std::move(options));
}

}  // namespace kollect::sinks
