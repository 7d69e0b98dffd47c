// One side of a comparison: rows from any form in which an inventory can lie on disk.
#pragma once

#include <string>
#include <vector>

#include "base/context.h"
#include "base/json/value.h"
#include "base/result.h"

namespace kollect::pipeline {

/// A row with its cluster. Tree files that hold attributes alone have only `path` and `attributes`.
struct SnapshotRow {
  std::string cluster;
  std::string target_namespace;
  std::string target_name;
  std::string ns;
  std::string name;
  std::string group;
  std::string version;
  std::string kind;
  std::string uid;
  std::string path;
  base::json::Value attributes;
};

/// Reads a side (see DiffOptions).
base::Result<std::vector<SnapshotRow>> load_snapshot(const base::Context& context,
                                                     const std::string& source,
                                                     const std::string& table);

}  // namespace kollect::pipeline
