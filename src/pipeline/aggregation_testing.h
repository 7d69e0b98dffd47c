// For tests: the aggregation tables (spec: selection 11 and 12.3) through `collect`, with objects
// from manifests or from a server. Only for *test.cc files.
#pragma once

#include <gmock/gmock.h>

#include "api/types.h"
#include "base/json/write.h"
#include "base/yaml/read.h"
#include "pipeline/testing.h"

namespace kollect::pipeline::testing {

inline std::string select_case(const std::string& name) {
  auto text = base::read_file(KOLLECT_SOURCE_DIR "/tests/cases/select/" + name);
  EXPECT_TRUE(text.has_value()) << name;
  return text.value_or("");
}

/// A folder with the profiles and cluster targets of the tables, collected into `out`.
class Aggregation {
 public:
  using Value = base::json::Value;

  /// `source`: the flags that say where objects come from.
  explicit Aggregation(std::vector<std::string> source) : source_(std::move(source)) {
    program.real_time = true;
    program.write("f/targets.yaml", select_case("aggregation.yaml"));
    cases_ = *base::yaml::read_one(select_case("aggregation.json"));
  }

  [[nodiscard]] const base::json::Array& table(std::string_view name) const {
    return cases_.find(name)->as_array();
  }

  /// Adds a manifest to the folder, or replaces it.
  void put(const std::string& kind, const std::string& ns, const std::string& name,
           const Value& spec) {
    base::json::Object metadata;
    metadata.set("name", name);
    if (!ns.empty()) metadata.set("namespace", ns);
    base::json::Object manifest;
    manifest.set("apiVersion", api::kApiVersion);
    manifest.set("kind", kind);
    manifest.set("metadata", std::move(metadata));
    manifest.set("spec", spec);
    program.write(fmt::format("f/{}-{}-{}.json", kind, ns, name),
                  base::json::compact(Value(std::move(manifest))));
  }
  void put_cluster_inventory(const Value& spec) {
    put("KollectClusterInventory", "", "rollup", spec);
  }
  void forget(const std::string& kind) const {
    for (const auto& entry : std::filesystem::directory_iterator(program.path("f"))) {
      if (entry.path().filename().string().starts_with(kind + "-")) {
        std::filesystem::remove(entry.path());
      }
    }
  }

  RunResult collect(std::vector<std::string> more = {}) {
    std::filesystem::remove_all(program.path("out"));
    std::vector<std::string> args = {"collect", "--config", program.path("f")};
    args.insert(args.end(), source_.begin(), source_.end());
    if (more.empty()) more = {"--output", program.path("out"), "--format", "json"};
    args.insert(args.end(), more.begin(), more.end());
    return program.run(args);
  }

  /// "targetNamespace/targetName: namespace/name" of each row of a document below `out`; none when
  /// it was not written.
  [[nodiscard]] std::optional<std::vector<std::string>> rows(const std::string& document) const {
    if (!program.exists("out/" + document)) return std::nullopt;
    const auto envelope = base::json::Document::parse(program.read("out/" + document));
    EXPECT_TRUE(envelope.has_value()) << document;
    std::vector<std::string> rows;
    for (const base::json::View item : envelope->root().find("items")->items()) {
      const std::string_view ns = item.text("namespace");
      rows.push_back(fmt::format("{}/{}: {}{}{}", item.text("targetNamespace"),
                                 item.text("targetName"), ns, ns.empty() ? "" : "/",
                                 item.text("name")));
    }
    return rows;
  }
  [[nodiscard]] static std::optional<std::vector<std::string>> wanted(const Value& c) {
    const Value& rows = *c.find("rows");
    if (!rows.is_array()) return std::nullopt;
    std::vector<std::string> out;
    for (const Value& row : rows.as_array()) out.push_back(row.as_string());
    return out;
  }

  /// The three tables.
  void check_cluster_targets() {
    ASSERT_EQ(collect().code, 0);
    for (const Value& c : table("clusterTargets")) {
      EXPECT_EQ(rows(fmt::format("inventory/cluster/{}.json", c.text("target"))), wanted(c))
          << c.text("case");
    }
  }
  void check_cluster_inventories() {
    for (const Value& c : table("clusterInventories")) {
      SCOPED_TRACE(c.text("case"));
      put_cluster_inventory(*c.find("spec"));
      const RunResult run = collect();
      EXPECT_EQ(run.code, 0) << run.err;
      EXPECT_EQ(rows("inventory/cluster/rollup.json"), wanted(c)) << run.err;
      if (!wanted(c)) {
        EXPECT_THAT(run.err, ::testing::HasSubstr("cluster/rollup is not exported: no cluster"));
      }
      if (c.find("warning") != nullptr) {
        const std::string escaped = base::replace_all(std::string(c.text("warning")), "\"", "\\\"");
        EXPECT_THAT(run.err, ::testing::HasSubstr(escaped));
      }
    }
  }
  void check_inventories() {
    for (const Value& c : table("inventories")) {
      SCOPED_TRACE(c.text("case"));
      forget("KollectTarget");
      for (const Value& target : c.find("targets")->as_array()) {
        const std::string ns(target.text("namespace"));
        put("KollectTarget", ns.empty() ? "ops" : ns, std::string(target.text("name")),
            *target.find("spec"));
      }
      put("KollectInventory", "ops", "all", Value(base::json::Object{}));
      const RunResult run = collect();
      EXPECT_EQ(run.code, 0) << run.err;
      EXPECT_EQ(rows("inventory/ops/all.json"), wanted(c)) << run.err;
    }
  }

  Program program;

 private:
  std::vector<std::string> source_;
  Value cases_;
};

}  // namespace kollect::pipeline::testing
