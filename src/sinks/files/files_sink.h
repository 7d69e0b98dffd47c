// The local folder: `collect --output DIR` and sinks of type "local" (spec: sinks 15,
// pipeline 8.1).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "sinks/layout.h"
#include "sinks/sink.h"

namespace kollect::sinks {

struct FilesSinkOptions {
  std::filesystem::path folder;
  LayoutSpec layout;
  /// Removes documents that earlier runs wrote for this run's cluster and that are not in
  /// `configured` or at another path now (`--prune`). Trees always remove the files of objects that
  /// went.
  bool prune = false;
  /// Inventories (targets) of the configuration, those that could not be read included: their
  /// documents stay.
  std::vector<InventoryId> configured;
  bool ensure = true;  ///< a missing folder is made; else it is an error (K-13)
  base::Duration lock_patience = std::chrono::seconds(60);
};

/// Writes whole files by rename; a file that differs in the export time only is left alone (P-7).
/// Keeps .kollect-manifest.json in the folder; files that it does not list are never touched.
/// Killed at any point, the next run ends right. Errors: configuration (paths or links that leave
/// the folder), retryable (disk full), denied.
std::unique_ptr<Sink> make_files_sink(FilesSinkOptions options);

}  // namespace kollect::sinks
