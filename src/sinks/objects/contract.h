// The ground for contract_cases.h: one fixture over the object stores. Only for *test.cc files.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "inventory/envelope.h"
#include "inventory/row_store.h"
#include "sinks/objects/object_sink.h"
#include "sinks/rows/contract.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects::contract {

using rows::contract::kStart;
using rows::contract::set_of;
using rows::contract::TestRow;
using rows::contract::view_of;

/// Ways in which a bucket cannot be used.
enum class Fault {
  kWrongKey,     ///< credentials that the service does not know or whose secret is wrong
  kNoRights,     ///< known, but without rights on the bucket
  kWrongCa,      ///< the service's certificate is not of the authority that is trusted
  kNoBucket,     ///< another name
  kNobodyThere,  ///< a port without a service
};

/// A bucket, empty at first, of a running service.
class World {
 public:
  virtual ~World() = default;
  /// The bucket as a sink gets it. Parts of uploads are 5 MiB.
  virtual std::unique_ptr<Bucket> bucket() = 0;
  /// None when this service cannot have the fault (an emulator that checks no credentials).
  virtual std::unique_ptr<Bucket> faulty(Fault fault) = 0;
  /// Texts that must never be in a message.
  [[nodiscard]] virtual std::vector<std::string> secrets() const = 0;
  /// Content-Type and Content-Encoding of an object, as the service itself tells them.
  virtual std::pair<std::string, std::string> content_of(const std::string& key) = 0;
  /// kill -9, and on again at the same place. For worlds whose server is their own.
  virtual void kill_server() = 0;
  virtual void start_server() = 0;
};

/// Hands on to a bucket and does something in the middle of the next upload: before its second
/// piece.
class Interrupted final : public Bucket {
 public:
  Interrupted(std::unique_ptr<Bucket> to, std::function<void()> what)
      : to_(std::move(to)), what_(std::move(what)) {}
  base::Result<> check(const base::Context& context) override { return to_->check(context); }
  base::Result<> create(const base::Context& context) override { return to_->create(context); }
  base::Result<std::optional<ObjectInfo>> head(const base::Context& context,
                                               const std::string& key) override {
    return to_->head(context, key);
  }
  base::Result<> put(const base::Context& context, const std::string& key, std::string_view body,
                     const ObjectMeta& meta) override {
    return to_->put(context, key, body, meta);
  }
  base::Result<std::unique_ptr<Upload>> start_upload(const base::Context& context,
                                                     const std::string& key,
                                                     const ObjectMeta& meta) override {
    KL_ASSIGN(auto upload, to_->start_upload(context, key, meta));
    return std::unique_ptr<Upload>(std::make_unique<Piecewise>(std::move(upload), what_));
  }
  base::Result<std::optional<std::string>> get(const base::Context& context,
                                               const std::string& key) override {
    return to_->get(context, key);
  }
  base::Result<> remove(const base::Context& context, const std::string& key) override {
    return to_->remove(context, key);
  }
  base::Result<std::vector<ObjectInfo>> list(const base::Context& context,
                                             const std::string& prefix) override {
    return to_->list(context, prefix);
  }

 private:
  class Piecewise final : public Upload {
   public:
    Piecewise(std::unique_ptr<Upload> to, std::function<void()>& what)
        : to_(std::move(to)), what_(what) {}
    base::Result<> write(const base::Context& context, std::string_view data) override {
      if (pieces_++ == 1 && what_) std::exchange(what_, nullptr)();
      return to_->write(context, data);
    }
    base::Result<> finish(const base::Context& context) override { return to_->finish(context); }

   private:
    std::unique_ptr<Upload> to_;
    std::function<void()>& what_;
    int pieces_ = 0;
  };

  std::unique_ptr<Bucket> to_;
  std::function<void()> what_;  ///< empty once it was done
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
};

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

class ObjectSinkContract : public testing::TestWithParam<Backend> {
 protected:
  ObjectSinkContract() : world_(GetParam().make()), bucket_(world_->bucket()) {
    options_.shown = "the bucket";
    options_.encoder = make_json_encoder();
  }

  /// A sink as a new process would have it.
  std::unique_ptr<Sink> new_sink() { return make_object_sink(options_, world_->bucket()); }
  Sink& sink() {
    if (!sink_) sink_ = new_sink();
    return *sink_;
  }

  static Export head(int second, const std::string& cluster = "pier-7") {
    Export out;
    out.inventory = {"harbor", "ledger"};
    out.generation = 3;
    out.exported_at = base::WallTime(std::chrono::seconds(kStart + second));
    out.cluster = cluster;
    out.max_bytes = 0;
    return out;
  }
  base::Result<ExportReport> try_write(const inventory::RowSet& set, Export exp,
                                       bool dry_run = false) {
    exp.rows = &set;
    return sink().export_all(context_, {exp}, dry_run);
  }
  ExportReport write(const inventory::RowSet& set, Export exp, bool dry_run = false) {
    return must(try_write(set, std::move(exp), dry_run));
  }
  static ExportReport must(base::Result<ExportReport> report) {
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.value_or(ExportReport{});
  }

  std::vector<std::string> keys(const std::string& prefix = "") {
    const auto listed = bucket_->list(context_, prefix);
    EXPECT_TRUE(listed.has_value()) << listed.error().message;
    std::vector<std::string> out;
    if (!listed.has_value()) return out;
    for (const auto& object : *listed) out.push_back(object.key);
    return out;
  }
  /// The bytes of an object; "-" when there is none.
  std::string bytes(const std::string& key) {
    auto got = bucket_->get(context_, key);
    EXPECT_TRUE(got.has_value()) << got.error().message;
    return got.has_value() && *got ? std::move(**got) : "-";
  }
  std::map<std::string, std::string> metadata(const std::string& key) {
    const auto info = bucket_->head(context_, key);
    EXPECT_TRUE(info.has_value()) << info.error().message;
    return info.has_value() && *info ? (*info)->metadata : std::map<std::string, std::string>();
  }
  void put(const std::string& key, const std::string& text,
           std::map<std::string, std::string> meta = {}) {
    const auto done = bucket_->put(context_, key, text, {"text/plain", "", std::move(meta)});
    EXPECT_TRUE(done.has_value()) << done.error().message;
  }

  std::unique_ptr<World> world_;
  std::unique_ptr<Bucket> bucket_;
  ObjectSinkOptions options_;
  std::unique_ptr<Sink> sink_;
  base::Context context_ = base::Context::background();
};

inline inventory::EnvelopeMeta meta_of(const Export& exp) {
  inventory::EnvelopeMeta meta;
  meta.generation = exp.generation;
  meta.exported_at = exp.exported_at;
  meta.cluster = exp.cluster;
  return meta;
}

/// Passes of an operator.
class ObjectPassContract : public ObjectSinkContract {
 protected:
  ObjectPassContract() : reader_(store_.subscribe([](const inventory::Owner&) { return true; })) {}

  void upsert(const TestRow& row) {
    std::string uid;
    store_.upsert({inventory::OwnerClass::kTarget, row.target_namespace, row.target}, 1,
                  view_of(row, uid));
  }
  void erase(const TestRow& row) {
    std::string uid;
    EXPECT_TRUE(store_.remove({inventory::OwnerClass::kTarget, row.target_namespace, row.target},
                              view_of(row, uid).uid));
  }
  ExportReport pass(int second, bool changes_known, std::size_t max_bytes = 0) {
    return must(try_pass(second, changes_known, max_bytes));
  }
  base::Result<ExportReport> try_pass(int second, bool changes_known, std::size_t max_bytes = 0) {
    const auto changes = reader_->changes();
    const auto snapshot = reader_->snapshot();
    Pass one{head(second), &snapshot, changes_known ? &changes : nullptr, snapshot.size(),
             snapshot.set_hash()};
    one.head.max_bytes = max_bytes;
    auto report = sink().apply(context_, one);
    if (report.has_value()) reader_->passed(snapshot.version());
    return report;
  }
  std::string envelope(int second) {
    const auto rows = reader_->snapshot().to_row_set();
    return inventory::envelope_json(rows, meta_of(head(second)));
  }

  inventory::RowStore store_;
  std::unique_ptr<inventory::Reader> reader_;
};

/// For worlds whose server may be killed.
class ObjectCrashContract : public ObjectPassContract {};

}  // namespace kollect::sinks::objects::contract
