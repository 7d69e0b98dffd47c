// Bodies of answers with many rows, written as they are read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "http/server.h"
#include "readapi/item.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// What stands around the items of an InventorySummary.
struct SummaryFrame {
  std::string ns = {};         ///< "" : left out
  std::string inventory = {};  ///< "" : left out
  std::uint64_t limit = 0;
  std::uint64_t offset = 0;
  std::string exports = {};  ///< JSON of exportStatus; "" : left out
};

class PageChecksum;

/// Writes an InventorySummary from a cursor in pieces of some 64 KiB, on one line. Members stand in
/// the order in which they are known: counts and the checksum last.
class SummaryWriter {
 public:
  SummaryWriter(std::unique_ptr<RowCursor> rows, SummaryFrame frame,
                std::vector<std::string> fields);
  ~SummaryWriter();
  SummaryWriter(SummaryWriter&&) noexcept;
  SummaryWriter& operator=(SummaryWriter&&) = delete;
  /// Appends the next piece; false: that was the last one. Error: the source's, or one row's.
  base::Result<bool> next(std::string& out);

 private:
  void head(std::string& out) const;
  void tail(std::string& out);

  std::unique_ptr<RowCursor> rows_;
  const SummaryFrame frame_;
  ItemWriter items_;
  std::unique_ptr<PageChecksum> checksum_;
  std::uint64_t count_ = 0;
  bool begun_ = false;
};

/// The body of GET /v1alpha1/inventory.
std::shared_ptr<http::BodySource> summary_body(std::unique_ptr<RowCursor> rows, SummaryFrame frame,
                                               std::vector<std::string> fields,
                                               const base::Logger* log);

/// A whole table. `again` gives a new cursor over the same rows: CSV reads them once before to know
/// which attributes there are.
struct ExportPlan {
  enum class Format { kJson, kNdjson, kCsv } format = Format::kJson;
  std::vector<std::string> fields;
  std::function<base::Result<std::unique_ptr<RowCursor>>()> again;
};
std::shared_ptr<http::BodySource> export_body(std::unique_ptr<RowCursor> rows, ExportPlan plan,
                                              const base::Logger* log);

}  // namespace kollect::readapi
