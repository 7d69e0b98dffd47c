// Seed files (spec: fleet-api 9) and the store in memory, whose seed file keeps its changes (10.2).
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "fleet/fleet.h"

namespace kollect::fleet {

/// A seed file. Of two records with one id the last counts. Errors (configuration): unreadable, or
/// of the wrong shape: names the record.
base::Result<Content> read_seed(const std::filesystem::path& file);
base::Result<Content> parse_seed(const std::string& text);

/// Writes the whole file anew with every change, beside it and then over it. What a cluster's
/// deletion must remember stands in it as "tombstones".
class SeedKeeper final : public Keeper {
 public:
  SeedKeeper(std::filesystem::path file, const Content& content);
  base::Result<News> begin() override { return News{}; }
  base::Result<> keep(std::span<const Change> changes) override;
  void abandon() override {}
  base::Result<News> look() override { return News{}; }
  /// Of this process, and of its last ten thousand changes.
  base::Result<base::json::Array> audit(const AuditQuery& query) override;

 private:
  base::Result<> write() const;
  void apply(const Change& change);

  std::filesystem::path file_;
  std::array<std::map<std::string, base::json::Value>, kFamilies> records_;  ///< as stored
  std::map<std::string, Tombstone> tombstones_;
  std::deque<std::pair<std::int64_t, Change>> trail_;
  std::int64_t last_entry_ = 0;
};

}  // namespace kollect::fleet
