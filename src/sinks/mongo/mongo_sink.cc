#include "sinks/mongo/mongo_sink.h"

#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "sinks/mongo/client.h"
#include "sinks/mongo/collection.h"
#include "sinks/mongo/pass.h"

namespace kollect::sinks {

namespace {

using mongo::Client;
using mongo::Partition;
using mongo::PassCounts;
using mongo::Work;
using rows::Unit;

constexpr std::chrono::seconds kProbeDeadline{15};

class MongoSink final : public Sink {
 public:
  explicit MongoSink(MongoOptions options) : options_(std::move(options)) {}

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    return with_retry(context, rows::units_of(exports, false), dry_run);
  }

  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    return with_retry(context, {rows::unit_of(pass)}, false);
  }

  [[nodiscard]] bool takes_changes() const override { return !duplicates_.any(); }

  base::Result<> probe(const base::Context& context) override {
    const base::Context limited = context.with_timeout(kProbeDeadline);
    KL_ASSIGN(const auto client, Client::open(limited, options_.access));
    mongo::Bson ping;
    mongo::Bson reply;
    BSON_APPEND_INT32(ping.get(), "ping", 1);
    KL_TRY(client->command("asking the server", options_.database, ping, reply));
    if (options_.ensure || !options_.naming_template.empty()) return {};
    return mongo::require_collection(*client, options_.database, options_.collection);
  }

 private:
  base::Result<ExportReport> with_retry(const base::Context& context,
                                        const std::vector<Unit>& units, bool dry_run);
  base::Result<> connect(const base::Context& context);
  base::Result<> prepare(const std::string& collection, bool dry_run);
  base::Result<> write_unit(const base::Context& context, const Unit& unit, bool dry_run,
                            ExportReport& report);
  base::Result<PassCounts> pass_over(Work& work, const Partition& partition, const Unit& unit,
                                     bool dry_run);
  void report_unit(const Unit& unit, const PassCounts& counts, const std::string& where,
                   bool dry_run, ExportReport& report) const;
  [[nodiscard]] std::string collection_of(const Export& head) const;

  MongoOptions options_;
  std::unique_ptr<Client> client_;
  std::set<std::string> prepared_;  ///< collections looked at over this connection
  rows::Doubled duplicates_;        ///< inventories in whose sets a key stands twice
};

std::string MongoSink::collection_of(const Export& head) const {
  if (options_.naming_template.empty()) return options_.collection;
  std::string name = rows::expand_name(options_.naming_template, head.cluster, head.inventory.ns,
                                       head.inventory.name);
  name = base::replace_all(base::sanitize_utf8(name), "$", "-");
  return base::replace_all(name, std::string_view("\0", 1), "-");
}

base::Result<> MongoSink::connect(const base::Context& context) {
  if (client_ != nullptr) {
    client_->begin(context);
    return {};
  }
  prepared_.clear();
  KL_ASSIGN(client_, Client::open(context, options_.access));
  return {};
}

base::Result<ExportReport> MongoSink::with_retry(const base::Context& context,
                                                 const std::vector<Unit>& units, bool dry_run) {
  while (true) {
    // A connection that was open before may have died in the meantime: that is no failure yet.
    const bool was_open = client_ != nullptr;
    ExportReport report;
    const auto run = [&]() -> base::Result<> {
      KL_TRY(context.check());
      KL_TRY(connect(context));
      for (const Unit& unit : units) KL_TRY(write_unit(context, unit, dry_run, report));
      return {};
    };
    const auto done = run();
    if (done.has_value()) return report;
    if (done.error().reason == gave_way().reason) return done.error();
    // libmongoc waits some seconds before it tries a lost server again; a new client does not.
    client_.reset();
    KL_TRY(context.check());
    if (!was_open || done.error().reason != "unreachable") return done.error();
  }
}

base::Result<> MongoSink::prepare(const std::string& collection, bool dry_run) {
  if (prepared_.contains(collection)) return {};
  if (!options_.ensure) {
    KL_TRY(mongo::require_collection(*client_, options_.database, collection));
  } else if (dry_run) {
    return {};
  } else {
    KL_TRY(mongo::ensure_collection(*client_, options_.database, collection));
  }
  prepared_.insert(collection);
  return {};
}

base::Result<PassCounts> MongoSink::pass_over(Work& work, const Partition& partition,
                                              const Unit& unit, bool dry_run) {
  const std::string id = rows::id_of(*unit.head);
  if (unit.changes != nullptr && !(unit.rows && duplicates_.contains(id))) {
    auto counts = mongo::apply_changes(work, partition, *unit.changes);
    if (counts.has_value() || counts.error().kind != base::ErrorKind::kConflict) return counts;
    // From now on changes alone are not asked for.
    duplicates_.insert(id);
    if (!unit.rows) {
      return base::retryable(counts.error().message + "; the next pass compares it",
                             counts.error().reason);
    }
  }
  const rows::Keep keep(*unit.head);
  auto counts = mongo::reconcile(work, partition, *unit.rows, keep, dry_run, unit.give_way);
  if (!counts.has_value() || dry_run) return counts;
  if (counts->collapsed > 0) {
    duplicates_.insert(id);
  } else {
    duplicates_.erase(id);
  }
  return counts;
}

base::Result<> MongoSink::write_unit(const base::Context& context, const Unit& unit, bool dry_run,
                                     ExportReport& report) {
  const std::string collection = collection_of(*unit.head);
  KL_TRY(prepare(collection, dry_run));
  Partition partition;
  partition.cluster = base::sanitize_utf8(unit.head->cluster);
  partition.inventory_namespace = base::sanitize_utf8(unit.head->inventory.ns);
  partition.inventory_name = base::sanitize_utf8(unit.head->inventory.name);
  partition.at = std::chrono::floor<std::chrono::milliseconds>(unit.head->exported_at)
                     .time_since_epoch()
                     .count();
  Work work{context, *client_, options_.database, collection, options_.limits};
  KL_ASSIGN(const PassCounts counts, pass_over(work, partition, unit, dry_run));
  report_unit(unit, counts, work.where(), dry_run, report);
  return {};
}

void MongoSink::report_unit(const Unit& unit, const PassCounts& counts, const std::string& where,
                            bool dry_run, ExportReport& report) const {
  rows::add_to(report, unit, counts, where, dry_run);
  report.replaced += counts.replaced;
  if (counts.replaced == 0) return;
  const InventoryId& inventory = unit.head->inventory;
  report.warnings.push_back(fmt::format(
      "{}/{}: {} rows have a key with U+0000, which the database cannot; U+FFFD stands in its "
      "place (first: {})",
      inventory.ns, inventory.name, counts.replaced, counts.replaced_first));
}

}  // namespace

std::unique_ptr<Sink> make_mongo_sink(MongoOptions options) {
  return std::make_unique<MongoSink>(std::move(options));
}

}  // namespace kollect::sinks
