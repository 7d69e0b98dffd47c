// Changes of a source that does not tell of them: its state is compared, its history read.
#pragma once

#include <functional>
#include <string>

#include "readapi/feed.h"
#include "readapi/source.h"

namespace kollect::readapi {

/// Rows are told where the source has a history: each page of it since the last poll.
class PolledFeed final : public Feed {
 public:
  /// `source` must outlive it.
  explicit PolledFeed(Source& source) : source_(source) {}

  bool on_news(std::function<void()> /*news*/) override { return false; }
  base::Result<> open(const base::Context& context) override;
  base::Result<bool> poll(const base::Context& context,
                          const std::function<void(const RowNews&)>& tell) override;
  void close() override {}
  [[nodiscard]] bool tells_rows() const override { return source_.abilities().history; }

 private:
  base::Result<> tell_changes(const base::Context& context,
                              const std::function<void(const RowNews&)>& tell);

  Source& source_;
  std::string state_;
  base::WallTime since_{};
};

}  // namespace kollect::readapi
