// The ground of the exporter's tests: its threads, a row store and backends in memory. Only for
// *test.cc files.
#pragma once

#include "exporter/exporter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "support/fast_clock.h"

namespace kollect::exporter {

using namespace std::chrono_literals;
using inventory::Owner;
using inventory::OwnerClass;
using inventory::RowView;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// A database as a map from uid to attributes. Outlives its sinks, as backends do.
class Backend {
 public:
  std::map<std::string, std::string> rows;
  std::vector<std::string> passes;  ///< "all 3" or "changes 1"
  std::vector<std::string> known;   ///< of each pass that was taken: "first", "since 2", "resumed"
  base::Duration time_left{};       ///< of the last pass, when it began
  std::optional<base::Error> down;
  bool hang = false;
  /// Passes over all rows go on for as long as they may be asked to give way.
  bool compares_for_ever = false;

  template <class Condition>
  bool until(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return condition(*this); });
  }
  template <class Change>
  void with(Change change) {
    const std::scoped_lock lock(mutex_);
    change(*this);
    changed_.notify_all();
  }

 private:
  friend class BackendSink;
  std::mutex mutex_;
  std::condition_variable_any changed_;
};

class BackendSink final : public sinks::Sink {
 public:
  explicit BackendSink(Backend& backend) : backend_(backend) {}
  base::Result<sinks::ExportReport> export_all(const base::Context&,
                                               const std::vector<sinks::Export>&, bool) override {
    return base::terminal("not used");
  }
  base::Result<> probe(const base::Context&) override { return {}; }
  [[nodiscard]] bool takes_changes() const override { return true; }
  base::Result<sinks::ExportReport> apply(const base::Context& context,
                                          const sinks::Pass& pass) override {
    std::unique_lock lock(backend_.mutex_);
    backend_.time_left = context.remaining();
    const auto wake = context.on_cancel([this] { backend_.changed_.notify_all(); });
    if (backend_.hang) {
      backend_.passes.emplace_back("hangs");
      backend_.changed_.notify_all();
    }
    backend_.changed_.wait(lock, [&] { return !backend_.hang || context.cancelled(); });
    KL_TRY(context.check());
    if (backend_.compares_for_ever && pass.give_way.stop_possible()) {
      backend_.passes.emplace_back("compares");
      backend_.changed_.notify_all();
      const std::stop_callback asked(pass.give_way, [this] { backend_.changed_.notify_all(); });
      backend_.changed_.wait(lock,
                             [&] { return pass.give_way.stop_requested() || context.cancelled(); });
      KL_TRY(context.check());
      return sinks::gave_way();
    }
    if (backend_.down) {
      backend_.passes.emplace_back("down");
      backend_.changed_.notify_all();
      return *backend_.down;
    }
    backend_.known.push_back(!pass.resumed           ? "first"
                             : pass.since == nullptr ? "resumed"
                                                     : fmt::format("since {}", pass.since->size()));
    sinks::ExportReport report;
    if (pass.changes != nullptr) {
      KL_TRY(pass.changes->for_each([&](const inventory::RowChange& change) -> base::Result<> {
        if (change.removed) {
          report.removed += backend_.rows.erase(std::string(change.row.uid));
        } else {
          put(change.row, report);
        }
        return {};
      }));
      backend_.passes.push_back("changes " + std::to_string(pass.changes->size()));
    } else {
      std::map<std::string, std::string> before;
      before.swap(backend_.rows);
      KL_TRY(pass.rows->for_each([&](const RowView& row) -> base::Result<> {
        const auto it = before.find(std::string(row.uid));
        if (it != before.end() && it->second == row.attributes) {
          backend_.rows.insert(before.extract(it));
        } else {
          put(row, report);
        }
        return {};
      }));
      report.removed = before.size();
      backend_.passes.push_back("all " + std::to_string(pass.row_count));
    }
    backend_.changed_.notify_all();
    return report;
  }

 private:
  void put(const RowView& row, sinks::ExportReport& report) {
    backend_.rows[std::string(row.uid)] = row.attributes;
    ++report.written;
  }
  Backend& backend_;
};

inline const Owner kOwner{.owner_class = OwnerClass::kTarget, .ns = "n", .name = "t"};
inline const sinks::InventoryId kInventory{.ns = "n", .name = "i"};

class ExporterTest : public ::testing::Test {
 protected:
  void SetUp() override { start(clock_); }
  void start(const base::Clock& clock) {
    exporter_.reset();
    store_.on_change([this](const Owner& owner) { exporter_->rows_changed(owner); });
    ExporterOptions options;
    options.schedule.quiet = 2ms;
    options.schedule.longest_wait = 10ms;
    options.schedule.retry_base = 5ms;
    options.schedule.give_ways = 3;
    options.pass_deadline = 1min;
    options.row_allowance = 1h;
    options.seed = 1;
    exporter_ = std::make_unique<Exporter>(store_, clock, nullptr, options);
    exporter_->start();
  }
  void TearDown() override { exporter_.reset(); }

  static RowView row(const std::string& uid, const std::string& attributes) {
    return {.target_namespace = "n",
            .target_name = "t",
            .ns = "n",
            .name = uid,
            .group = "",
            .version = "v1",
            .kind = "ConfigMap",
            .uid = uid,
            .attributes = attributes};
  }
  void put(const std::string& uid, const std::string& attributes) {
    store_.upsert(kOwner, 1, row(uid, attributes));
  }
  static Binding binding(const std::string& name, Backend& backend) {
    Binding made;
    made.name = name;
    made.sink_key = "database/n/" + name;
    made.sink_identity = "one";
    made.interval = 1h;
    made.open = [shared = std::make_shared<SharedSink>(std::make_unique<BackendSink>(backend))](
                    const base::Context&) { return shared; };
    return made;
  }
  static InventoryPlan plan(std::vector<Binding> bindings) {
    InventoryPlan made;
    made.id = kInventory;
    made.uid = "u";
    made.generation = 1;
    made.complete = true;
    made.wanted = [](const Owner& owner) {
      return owner.owner_class == OwnerClass::kTarget && owner.ns == "n";
    };
    made.wanted_key = "n";
    made.bindings = std::move(bindings);
    return made;
  }

  /// The binding's status has so many passes that wrote something.
  bool told_of_write(std::uint64_t writes) {
    const auto end = clock_.steady_now() + 30s;
    while (clock_.steady_now() < end) {
      const auto status = exporter_->status(kInventory);
      if (status && status->bindings[0].writes >= writes) return true;
      std::this_thread::yield();
    }
    return false;
  }

  base::SystemClock clock_;
  testing::FastClock fast_{60};  ///< for refreshes
  inventory::RowStore store_;
  std::unique_ptr<Exporter> exporter_;
  Backend backend_;
};

}  // namespace kollect::exporter
