// Where a stream of changes comes from.
#pragma once

#include <functional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// One row that changed. Borrowed. A removed one has its identity and no attributes.
struct RowNews {
  bool removed = false;
  bool of_cluster_target = false;
  SourceRow row;
};

/// What changes in a source. One call at a time.
class Feed {
 public:
  virtual ~Feed() = default;
  /// `news`: there may be something to poll; called from any thread, must be quick. False: it will
  /// never be called, and the feed wants to be polled all the time. Null: call nobody any more; no
  /// call is under way when this returns.
  virtual bool on_news(std::function<void()> news) = 0;
  /// Changes count from now on.
  virtual base::Result<> open(const base::Context& context) = 0;
  /// True when there was something new, whether or not it can be told row by row. Changes since the
  /// last poll, each row once, in its last state.
  virtual base::Result<bool> poll(const base::Context& context,
                                  const std::function<void(const RowNews&)>& tell) = 0;
  /// Nobody wants to know any more.
  virtual void close() = 0;
  /// Which of its rows an inventory of the filter has, where rows do not say so themselves; empty:
  /// all. Error: not_found, there is no such inventory.
  [[nodiscard]] virtual base::Result<std::function<bool(const RowNews&)>> rows_of(
      const RowFilter& /*filter*/) const {
    return std::function<bool(const RowNews&)>();
  }
  /// Rows can be told one by one.
  [[nodiscard]] virtual bool tells_rows() const = 0;
};

}  // namespace kollect::readapi
