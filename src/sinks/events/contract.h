// The ground for contract_brokertest.cc: a broker, a consumer that knows nothing but its messages,
// and the passes of an inventory. Only for *test.cc files.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json/document.h"
#include "base/json/write.h"
#include "inventory/row_store.h"
#include "sinks/events/event_sink.h"
#include "sinks/rows/contract.h"

namespace kollect::sinks::events::contract {

using rows::contract::kStart;
using rows::contract::set_of;
using rows::contract::TestRow;
using rows::contract::view_of;
using Lines = std::vector<std::string>;

/// A message as a consumer gets it.
struct Received {
  std::string key;  ///< empty where the broker has no keys
  std::optional<std::string> body;
  std::map<std::string, std::string> headers;
  int partition = 0;
  std::string place;  ///< topic or subject
};

/// A topic or stream of its own, empty at first, on a real server.
class World {
 public:
  virtual ~World() = default;
  virtual std::unique_ptr<Transport> make_transport(Mode mode) = 0;
  virtual std::unique_ptr<Transport> make_with_wrong_credentials() = 0;
  virtual std::unique_ptr<Transport> make_with_wrong_ca() = 0;
  /// All messages so far, in the order of each partition.
  virtual std::vector<Received> read_all() = 0;
  /// kill -9, and on again with the same data at the same place.
  virtual void kill_server() = 0;
  virtual void start_server() = 0;
  /// Messages have keys, and deletes a tombstone.
  [[nodiscard]] virtual bool has_keys() const = 0;
  /// A password that must not be seen in any error.
  [[nodiscard]] virtual std::string secret() const = 0;
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
};
inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}
inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

inline base::json::Value parsed(const std::string& text) {
  auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document.has_value()) << text.substr(0, 200);
  return document.has_value() ? base::json::to_value(document->root()) : base::json::Value();
}

/// Follows change events: what the documentation tells consumers to do, and no more. Partitions are
/// followed one by one.
class Consumer {
 public:
  void take(const Received& message) {
    if (!message.body) return;  // of a compacted topic
    const auto event = parsed(*message.body);
    const std::string inventory = fmt::format("{}/{}/{}", event.text("cluster"),
                                              event.text("namespace"), event.text("inventory"));
    auto& part = parts_[{inventory, message.partition}];
    const std::string type(event.text("type"));
    if (type == "snapshot" || type == "partial-snapshot") {
      part.seen.emplace();
      return;
    }
    if (type == "snapshot-end" || type == "partial-snapshot-end") {
      if (part.seen) drop_unseen(part, event);
      part.seen.reset();
      return;
    }
    const auto& row = *event.find("row");
    const Key key{std::string(row.text("targetNamespace")), std::string(row.text("targetName")),
                  std::string(row.text("uid"))};
    if (type == "delete") {
      part.rows.erase(key);
    } else {
      part.rows[key] = row;
      if (part.seen) part.seen->insert(key);
    }
  }
  void take_all(const std::vector<Received>& messages) {
    for (const Received& message : messages) take(message);
  }

  /// Canonical JSON of its rows, sorted.
  [[nodiscard]] Lines rows(const std::string& inventory = "pier-7/harbor/ledger") const {
    Lines out;
    for (const auto& [id, part] : parts_) {
      if (id.first != inventory) continue;
      for (const auto& [key, row] : part.rows) out.push_back(base::json::canonical(row));
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  using Key = std::array<std::string, 3>;
  struct Part {
    std::map<Key, base::json::Value> rows;
    std::optional<std::set<Key>> seen;  ///< since the bracket opened
  };
  static bool has(const base::json::Value* list, const std::string& text) {
    if (list == nullptr) return false;
    return std::ranges::any_of(list->as_array(),
                               [&](const auto& one) { return one.as_string() == text; });
  }
  static void drop_unseen(Part& part, const base::json::Value& end) {
    const auto* targets = end.find("keepTargets");
    const auto* namespaces = end.find("keepNamespaces");
    std::erase_if(part.rows, [&](const auto& item) {
      const auto& [key, row] = item;
      const bool kept = has(targets, key[0] + "/" + key[1]) ||
                        has(namespaces, std::string(row.text("namespace")));
      return !kept && !part.seen->contains(key);
    });
  }

  std::map<std::pair<std::string, int>, Part> parts_;
};

/// Hands on to a transport and does something before one of the messages.
class Interrupted final : public Transport {
 public:
  Interrupted(std::unique_ptr<Transport> to, std::size_t before, std::function<void()> what)
      : to_(std::move(to)), left_(before), what_(std::move(what)) {}
  base::Result<> open(const base::Context& context, const InventoryId& inventory,
                      const std::string& cluster) override {
    return to_->open(context, inventory, cluster);
  }
  base::Result<> send(const base::Context& context, Message message) override {
    if (left_ > 0 && --left_ == 0) what_();
    return to_->send(context, std::move(message));
  }
  base::Result<> flush(const base::Context& context) override { return to_->flush(context); }
  [[nodiscard]] std::size_t max_body() const override { return to_->max_body(); }
  [[nodiscard]] bool take_created() override { return to_->take_created(); }
  [[nodiscard]] bool wants_tombstones() const override { return to_->wants_tombstones(); }
  base::Result<> probe(const base::Context& context) override { return to_->probe(context); }

 private:
  std::unique_ptr<Transport> to_;
  std::size_t left_;
  std::function<void()> what_;
};

class EventSinkContract : public testing::TestWithParam<Backend> {
 protected:
  EventSinkContract()
      : world_(GetParam().make()),
        reader_(store_.subscribe([](const inventory::Owner&) { return true; })) {
    restart(Mode::kChanges);
  }

  /// Another process: what the one before knew is gone.
  void restart(Mode mode) {
    mode_ = mode;
    sink_ = make_sink(mode, world_->make_transport(mode));
    resumed_ = false;
  }
  void restart() { restart(mode_); }

  static Export head(int second, const std::string& cluster = "pier-7") {
    Export out;
    out.inventory = {"harbor", "ledger"};
    out.generation = 3;
    out.exported_at = base::WallTime(std::chrono::seconds(kStart + second));
    out.cluster = cluster;
    out.max_bytes = 0;
    return out;
  }

  static inventory::Owner owner(const TestRow& row) {
    return {inventory::OwnerClass::kTarget, row.target_namespace, row.target};
  }
  void put(const TestRow& row) {
    std::string uid;
    store_.upsert(owner(row), 1, view_of(row, uid));
  }
  void remove(const TestRow& row) {
    std::string uid;
    EXPECT_TRUE(store_.remove(owner(row), view_of(row, uid).uid));
  }

  /// A pass as an operator gives it: all rows first, then changes; everything, if it may, with
  /// `refresh`.
  base::Result<ExportReport> try_pass(Export exp, bool refresh = false) {
    const bool changes_only = resumed_ && !refresh && sink_->takes_changes();
    const auto changes = reader_->changes();
    const auto rows = reader_->snapshot();
    Pass pass{.head = std::move(exp),
              .rows = changes_only ? nullptr : &rows,
              .changes = resumed_ && !refresh ? &changes : nullptr,
              .row_count = rows.size(),
              .set_hash = rows.set_hash(),
              .resumed = resumed_,
              .since = resumed_ && refresh ? &changes : nullptr};
    auto report = sink_->apply(context(), pass);
    if (report.has_value()) {
      reader_->passed(rows.version());
      resumed_ = true;
    }
    return report;
  }
  ExportReport must(base::Result<ExportReport> report) {
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.value_or(ExportReport{});
  }
  ExportReport pass(int second) { return must(try_pass(head(second))); }
  ExportReport refresh(int second) { return must(try_pass(head(second), true)); }
  base::Context context() const { return background_.with_timeout(patience_); }

  /// What the inventory is.
  Lines truth() {
    Lines out;
    EXPECT_TRUE(reader_->snapshot().for_each([&](const inventory::RowView& row) -> base::Result<> {
      std::string text;
      inventory::append_row_json(text, row);
      out.push_back(base::json::canonical(parsed(text)));
      return {};
    }));
    std::sort(out.begin(), out.end());
    return out;
  }
  /// What a consumer of all messages has made of them.
  Lines consumed(const std::string& inventory = "pier-7/harbor/ledger") {
    Consumer consumer;
    consumer.take_all(world_->read_all());
    return consumer.rows(inventory);
  }
  /// Types of all messages; brackets that stand in several partitions count once.
  Lines types() {
    Lines out;
    for (const Received& message : world_->read_all()) {
      if (!message.body || message.partition != 0) continue;
      out.emplace_back(parsed(*message.body).text("type"));
    }
    return out;
  }

  std::unique_ptr<World> world_;
  std::unique_ptr<Sink> sink_;
  inventory::RowStore store_;
  std::unique_ptr<inventory::Reader> reader_;
  bool resumed_ = false;
  Mode mode_ = Mode::kChanges;
  base::Duration patience_ = std::chrono::seconds(60);
  base::Context background_ = base::Context::background();
};

}  // namespace kollect::sinks::events::contract
