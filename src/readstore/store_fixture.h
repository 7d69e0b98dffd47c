// One contract for every store: the same rows, the same requests, the same answers. A program
// includes this once and says which stores there are. Only for *test.cc files.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "readstore/table_source.h"
#include "support/store_writer.h"

namespace kollect::readstore::contract {

using kollect::testing::StoreRow;
using kollect::testing::StoreWriter;
using readapi::RowFilter;
using readapi::RowRequest;
using readapi::Sight;

using Lines = std::vector<std::string>;

/// A place with a table "inventory", empty at first.
class World {
 public:
  virtual ~World() = default;
  virtual std::unique_ptr<StoreWriter> writer() = 0;
  virtual std::unique_ptr<Place> place() = 0;
  /// Runs statements as the owner.
  virtual void run(const std::string& sql) = 0;
  [[nodiscard]] virtual bool postgres() const = 0;
};

struct Store {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
  bool indexed = false;
};

/// A row and where it was written.
struct Placed {
  std::string cluster;
  std::string inventory_namespace;
  std::string inventory;
  StoreRow row;
  int changed = 0;  ///< second of the pass that changed it last
  [[nodiscard]] std::string line() const {
    return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", cluster, inventory_namespace, inventory,
                       row.target_namespace, row.target, row.ns, row.name, row.uid);
  }
  [[nodiscard]] auto key() const {
    return std::tie(cluster, inventory_namespace, inventory, row.target_namespace, row.target,
                    row.ns, row.name, row.uid);
  }
};

inline base::WallTime moment(int second) {
  return base::WallTime(std::chrono::seconds(1'700'000'000 + second));
}

/// Two clusters, an inventory of a team and one of the cluster in each, odd texts among the rows.
inline std::vector<Placed> fleet_rows() {
  std::vector<Placed> out;
  int number = 0;
  const std::vector<std::string> odd = {"plain",  "per%cent", "under_score",
                                        "quo'te", "Ünïcode",  "UPPER"};
  for (const std::string cluster : {"eu-1", "us-\"2\""}) {
    for (const bool of_cluster : {false, true}) {
      for (const std::string target : {"cranes", "ships"}) {
        for (const std::string ns : {"quay", "dock-b", ""}) {
          for (const std::string& name : odd) {
            StoreRow row;
            row.target_namespace = of_cluster ? (number % 2 == 0 ? "harbor" : "yard") : "harbor";
            row.target = target;
            row.ns = ns;
            row.name = name;
            row.kind = target == "cranes" ? "Deployment" : "Service";
            row.group = target == "cranes" ? "apps" : "";
            row.uid = fmt::format("uid-{:03}", (number * 37) % 1000);
            row.attributes = fmt::format(
                R"({{"flag":{},"images":["reg/{}:1.{}","side"],"replicas":{},"tier":"{}"}})",
                number % 2 == 0 ? "true" : "false", target, number % 3, number % 5,
                number % 4 == 0 ? "Gold" : "it's \\\"silver\\\"");
            out.push_back({cluster, of_cluster ? "cluster" : "harbor",
                           of_cluster ? "all" : "ledger", std::move(row)});
            ++number;
          }
        }
      }
    }
  }
  return out;
}

inline std::string attribute_text(const StoreRow& row, const std::string& name) {
  const auto document = base::json::Document::parse(row.attributes).value();
  const auto value = document.root().find(name);
  if (!value) return "\x01missing";
  return value->is_string() ? std::string(value->as_string()) : base::json::compact(*value);
}

inline bool contains(const std::string& text, const std::string& part) {
  return base::to_lower(text).find(base::to_lower(part)) != std::string::npos;
}

/// What readapi::RowFilter says, read literally.
inline bool passes(const Placed& one, const RowFilter& filter, const Sight& sight) {
  const auto is = [](const std::string& wanted, const std::string& value) {
    return wanted.empty() || wanted == value;
  };
  const auto in = [](const auto& list, const std::string& value) {
    return std::find(list->begin(), list->end(), value) != list->end();
  };
  const StoreRow& row = one.row;
  bool ok = is(filter.cluster, one.cluster) &&
            is(filter.inventory_namespace, one.inventory_namespace) &&
            is(filter.inventory, one.inventory) && is(filter.target, row.target) &&
            is(filter.group, row.group) && is(filter.version, row.version) &&
            is(filter.kind, row.kind) && is(filter.name, row.name) && is(filter.uid, row.uid) &&
            (is(filter.ns, row.ns) || filter.ns == row.target_namespace);
  for (const auto& [name, text] : filter.attributes) ok = ok && attribute_text(row, name) == text;
  if (!filter.search.empty()) {
    bool found = contains(row.ns, filter.search) || contains(row.name, filter.search) ||
                 contains(row.kind, filter.search);
    for (const char* name : {"flag", "images", "replicas", "tier"}) {
      found = found || contains(attribute_text(row, name), filter.search);
    }
    ok = ok && found;
  }
  if (sight.clusters) ok = ok && in(sight.clusters, one.cluster);
  if (sight.namespaces) {
    ok = ok && (in(sight.namespaces, row.target_namespace) ||
                in(sight.namespaces, one.inventory_namespace));
  }
  return ok;
}

class StoreContract : public ::testing::TestWithParam<Store> {
 protected:
  StoreContract() : world_(GetParam().make()) {}

  void write(const std::vector<Placed>& rows, int second) const {
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<StoreRow>> sets;
    for (const Placed& one : rows) {
      sets[{one.cluster, one.inventory_namespace, one.inventory}].push_back(one.row);
    }
    const auto writer = world_->writer();
    for (const auto& [key, set] : sets) {
      writer->write(std::get<0>(key), std::get<1>(key), std::get<2>(key), second, set);
    }
  }
  /// The source with the limits of a small world, so that every way of reading is gone.
  std::unique_ptr<TableSource> open(PageLimits limits = {}) const {
    if (GetParam().indexed) make_indexes();
    auto source = std::make_unique<TableSource>(world_->place(), limits);
    const auto prepared = source->prepare(context_);
    EXPECT_TRUE(prepared.has_value()) << prepared.error().message;
    return source;
  }
  void make_indexes() const;

  struct Page {
    Lines lines;
    std::uint64_t total = 0;
    std::string state;
    bool at_least = false;
  };
  /// "value,value=rows" of each group.
  Lines grouped(readapi::Source& source, const readapi::GroupRequest& request) const {
    Lines out;
    const auto found = source.groups(context_, request);
    EXPECT_TRUE(found.has_value()) << found.error().message;
    for (const auto& group : found.value_or(std::vector<readapi::Group>())) {
      out.push_back(fmt::format("{}={}", base::join(group.values, ","), group.rows));
    }
    return out;
  }
  Page read(readapi::Source& source, const RowRequest& request) const {
    Page out;
    auto cursor = source.rows(context_, request);
    if (!cursor.has_value()) {
      ADD_FAILURE() << cursor.error().message;
      return out;
    }
    out.total = (*cursor)->total();
    out.state = (*cursor)->state();
    out.at_least = (*cursor)->at_least();
    while (true) {
      const auto next = (*cursor)->next();
      if (!next.has_value()) {
        ADD_FAILURE() << next.error().message;
        return out;
      }
      const std::optional<readapi::SourceRow>& found = *next;
      if (!found) return out;
      const auto& row = found->row;
      out.lines.push_back(fmt::format(
          "{}|{}|{}|{}|{}|{}|{}|{}", found->cluster, found->inventory_namespace, found->inventory,
          row.target_namespace, row.target_name, row.ns, row.name, row.uid));
    }
  }

  /// What the answer must be.
  static Page expected(std::vector<Placed> rows, const RowRequest& request) {
    std::erase_if(rows,
                  [&](const Placed& one) { return !passes(one, request.filter, request.sight); });
    const auto value = [&](const Placed& one) -> std::string {
      const std::string& by = request.order.by;
      if (by == "name") return one.row.name;
      if (by == "namespace") return one.row.ns;
      if (by == "kind") return one.row.kind;
      if (by == "uid") return one.row.uid;
      if (by == "exportedAt") return fmt::format("{:05}", one.changed);
      if (by == "attributes.replicas") return attribute_text(one.row, "replicas");
      return "";
    };
    std::sort(rows.begin(), rows.end(), [&](const Placed& a, const Placed& b) {
      const std::string left = value(a);
      const std::string right = value(b);
      return left != right ? left < right : a.key() < b.key();
    });
    if (request.order.descending) std::reverse(rows.begin(), rows.end());
    Page out;
    out.total = rows.size();
    for (std::uint64_t i = request.offset; i < rows.size(); ++i) {
      if (request.limit != 0 && i - request.offset >= request.limit) break;
      out.lines.push_back(rows[i].line());
    }
    return out;
  }

  /// The page is the expected one, its total that or a bound that was asked for. How many were: 0
  /// or 1.
  int expect_page(readapi::Source& source, const std::vector<Placed>& rows,
                  const RowRequest& request, const PageLimits& limits) const {
    const Page want = expected(rows, request);
    const Page got = read(source, request);
    const std::string what =
        fmt::format("{} by '{}' {} from {} limit {}", key_of(request.filter, request.sight),
                    request.order.by, request.order.descending, request.offset, request.limit);
    EXPECT_EQ(got.lines, want.lines) << what;
    if (!got.at_least) {
      EXPECT_EQ(got.total, want.total) << what;
      return 0;
    }
    EXPECT_TRUE(request.bounded && !request.filter.search.empty()) << what;
    EXPECT_LE(got.total, want.total) << what;
    EXPECT_GE(got.total, limits.bounded) << what;
    EXPECT_GT(got.total, request.offset + request.limit) << what;
    return 1;
  }

  base::Context context_ = base::Context::background();
  std::unique_ptr<World> world_;
};

inline std::string store_name(const ::testing::TestParamInfo<Store>& info) {
  return info.param.name + (info.param.indexed ? "Indexed" : "Plain");
}

}  // namespace kollect::readstore::contract
