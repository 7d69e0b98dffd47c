// What tests of the row store share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "inventory/row_store.h"

namespace kollect::inventory {

/// A row with texts of its own.
struct OwnedRow {
  std::string target_namespace, target_name, ns, name, group, version, kind, uid, attributes;
  auto operator<=>(const OwnedRow&) const = default;

  [[nodiscard]] RowView view() const {
    return {.target_namespace = target_namespace,
            .target_name = target_name,
            .ns = ns,
            .name = name,
            .group = group,
            .version = version,
            .kind = kind,
            .uid = uid,
            .attributes = attributes};
  }
  static OwnedRow copy(const RowView& row) {
    return {.target_namespace = std::string(row.target_namespace),
            .target_name = std::string(row.target_name),
            .ns = std::string(row.ns),
            .name = std::string(row.name),
            .group = std::string(row.group),
            .version = std::string(row.version),
            .kind = std::string(row.kind),
            .uid = std::string(row.uid),
            .attributes = std::string(row.attributes)};
  }
};

inline Owner target(std::string ns, std::string name) {
  return {OwnerClass::kTarget, std::move(ns), std::move(name)};
}
inline bool everything(const Owner&) {
  return true;
}

inline const Owner kShop = target("shop", "deployments");

inline std::string uuid(std::size_t n) {
  return fmt::format("5f0c1e2d-0000-4000-8000-{:012x}", n);
}

inline OwnedRow make(std::size_t n, std::string attributes = R"({"replicas":1})") {
  return {.target_namespace = {},
          .target_name = {},
          .ns = "prod",
          .name = fmt::format("web-{}", n),
          .group = "apps",
          .version = "v1",
          .kind = "Deployment",
          .uid = uuid(n),
          .attributes = std::move(attributes)};
}

/// As six attributes of a Deployment give them.
inline OwnedRow six(std::size_t n, unsigned replicas = 2) {
  OwnedRow row = make(n);
  row.ns = fmt::format("team-{:03}-prod", n / 250);
  row.name = fmt::format("checkout-service-{:07}", n);
  row.attributes = fmt::format(
      R"({{"image":"registry.example.com/platform/service:v1.{}.0","name":"{}","namespace":"{}",)"
      R"("owner":"squad-{}@example.com","replicas":{},"version":"1.{}.0"}})",
      n % 300, row.name, row.ns, n % 40, replicas, n % 300);
  return row;
}

inline std::string large(std::size_t n) {
  std::string text = fmt::format(R"({{"resource":{{"metadata":{{"name":"web-{}"}},"spec":{{)", n);
  for (std::size_t i = 0; i < 80; ++i) {
    text += fmt::format(R"({}"setting-{}":"value {}")", i == 0 ? "" : ",", i * 7919, (n * i) % 91);
  }
  return text + "}}}";
}

/// Sorted.
inline std::vector<OwnedRow> rows_of(const Snapshot& snapshot) {
  std::vector<OwnedRow> rows;
  EXPECT_TRUE(snapshot
                  .for_each([&](const RowView& row) -> base::Result<> {
                    rows.push_back(OwnedRow::copy(row));
                    return {};
                  })
                  .has_value());
  std::ranges::sort(rows);
  return rows;
}

/// A consumer that keeps its own copy of the rows: from a snapshot, then from changes.
struct Consumer {
  std::function<bool(const Owner&)> wanted;
  std::unique_ptr<Reader> reader;
  std::map<std::pair<std::string, std::string>, OwnedRow> rows;  ///< by target and uid
  bool knows = false;

  static std::pair<std::string, std::string> key(const RowView& row) {
    return {fmt::format("{}/{}", row.target_namespace, row.target_name), std::string(row.uid)};
  }
  void apply(const ChangeSet& changes) {
    std::set<std::pair<std::string, std::string>> once;
    EXPECT_TRUE(changes
                    .for_each([&](const RowChange& change) -> base::Result<> {
                      EXPECT_TRUE(once.insert(key(change.row)).second) << "a row twice";
                      if (change.removed) {
                        check_removed(change.row);
                        rows.erase(key(change.row));
                      } else {
                        rows[key(change.row)] = OwnedRow::copy(change.row);
                      }
                      return {};
                    })
                    .has_value());
    EXPECT_EQ(once.size(), changes.size());
  }
  /// It has the identity it had.
  void check_removed(const RowView& removed) const {
    EXPECT_EQ(removed.attributes, "");
    const auto it = rows.find(key(removed));
    if (it == rows.end()) return;  // came and went unseen
    EXPECT_EQ(removed.uid, it->second.uid);
    EXPECT_EQ(removed.target_name, it->second.target_name);
  }
  void take(const Snapshot& snapshot) {
    rows.clear();
    EXPECT_TRUE(snapshot
                    .for_each([&](const RowView& row) -> base::Result<> {
                      rows[key(row)] = OwnedRow::copy(row);
                      return {};
                    })
                    .has_value());
    knows = true;
  }
  [[nodiscard]] std::vector<OwnedRow> list() const {
    std::vector<OwnedRow> list;
    for (const auto& [unused, row] : rows) list.push_back(row);
    std::ranges::sort(list);
    return list;
  }
};

inline std::vector<std::string> changed_uids(const ChangeSet& changes) {
  std::vector<std::string> uids;
  EXPECT_TRUE(changes
                  .for_each([&](const RowChange& change) -> base::Result<> {
                    uids.push_back((change.removed ? "-" : "") + std::string(change.row.uid));
                    return {};
                  })
                  .has_value());
  return uids;
}

using Effect = RowStore::Effect;

class RowStoreTest : public testing::Test {
 protected:
  RowStore::Effect put(const OwnedRow& row, SourceId source = 1, const Owner& owner = kShop) {
    return store_.upsert(owner, source, row.view());
  }
  /// A reader that knows everything so far.
  std::unique_ptr<Reader> caught_up() {
    auto reader = store_.subscribe(everything);
    reader->passed(reader->snapshot().version());
    return reader;
  }
  RowStore store_;
};

}  // namespace kollect::inventory
