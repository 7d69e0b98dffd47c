// Rows into SQLite and PostgreSQL by the sinks themselves, for tests of whatever reads them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "inventory/row.h"

namespace kollect::testing {

struct StoreRow {
  std::string target_namespace = "harbor";
  std::string target = "cranes";
  std::string ns = "quay";
  std::string name;
  std::string group = "apps";
  std::string version = "v1";
  std::string kind = "Deployment";
  std::string uid;
  std::string attributes = "{}";
  [[nodiscard]] inventory::RowView view() const {
    return {target_namespace, target, ns, name, group, version, kind, uid, attributes};
  }
};

/// Writes whole sets; the table is "inventory" unless said otherwise, with history.
class StoreWriter {
 public:
  virtual ~StoreWriter() = default;
  static std::unique_ptr<StoreWriter> sqlite(const std::filesystem::path& file);
  static std::unique_ptr<StoreWriter> postgres(const std::string& url, bool history = true,
                                               const std::string& schema = "public",
                                               const std::string& table = "inventory");
  /// The rows of an inventory from now on. `second`: of the moment, behind 2023-11-14T22:13:20Z.
  /// Fails the test when it fails.
  virtual void write(const std::string& cluster, const std::string& inventory_namespace,
                     const std::string& inventory, int second,
                     const std::vector<StoreRow>& rows) = 0;
};

}  // namespace kollect::testing
