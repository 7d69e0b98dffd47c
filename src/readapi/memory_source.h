// For tests: a source whose rows lie in memory, and a feed that tells what the test says.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "readapi/access.h"
#include "readapi/feed.h"
#include "readapi/item.h"
#include "readapi/row_match.h"
#include "readapi/source.h"

namespace kollect::readapi::testing {

struct MemoryRow {
  std::string ns;
  std::string name;
  std::string uid;
  std::string attributes = "{}";
  std::string target_namespace = "ops";
  std::string cluster = {};
  std::string inventory_namespace = {};
  std::string inventory = {};

  [[nodiscard]] SourceRow view() const {
    return {.cluster = cluster,
            .inventory_namespace = inventory_namespace,
            .inventory = inventory,
            .exported_at = {},
            .row = {.target_namespace = target_namespace,
                    .target_name = "apps",
                    .ns = ns,
                    .name = name,
                    .group = "apps",
                    .version = "v1",
                    .kind = "Deployment",
                    .uid = uid,
                    .attributes = attributes}};
  }
};

/// As a database without history. Not for writers beside readers.
class MemorySource final : public Source {
 public:
  std::vector<MemoryRow> table;
  std::uint64_t version = 1;
  base::Result<> failure = {};

  [[nodiscard]] Abilities abilities() const override { return {.store = "sqlite"}; }
  base::Result<std::unique_ptr<RowCursor>> rows(const base::Context& /*context*/,
                                                const RowRequest& request) override {
    if (!failure) return failure.error();
    return std::unique_ptr<RowCursor>(std::make_unique<Cursor>(*this, request));
  }
  base::Result<std::vector<Group>> groups(const base::Context& /*context*/,
                                          const GroupRequest& request) override {
    std::vector<Group> out;
    ColumnReader columns;
    for (const MemoryRow* row : matching(request.filter, request.sight)) {
      std::vector<std::string> values;
      const SourceRow view = row->view();
      columns.at(view);
      for (const std::string& column : request.by) values.emplace_back(columns.text(column));
      auto found = std::ranges::find(out, values, &Group::values);
      if (found == out.end()) found = out.insert(out.end(), {.values = values, .rows = 0});
      ++found->rows;
    }
    std::ranges::stable_sort(out, std::greater(), &Group::rows);
    out.resize(std::min(out.size(), request.limit));
    return out;
  }
  base::Result<std::vector<InventoryState>> inventories(const base::Context& /*context*/,
                                                        const Sight& /*sight*/) override {
    if (!failure) return failure.error();
    return std::vector<InventoryState>{{.cluster = "oslo",
                                        .ns = "ops",
                                        .name = "all",
                                        .rows = table.size(),
                                        .exported_at = "2026-11-29T00:00:00Z",
                                        .generation = 1,
                                        .checksum = "x"}};
  }
  base::Result<ChangePage> changes(const base::Context& /*context*/,
                                   const ChangeRequest& /*request*/) override {
    return base::configuration("no history");
  }
  base::Result<std::vector<RowVersion>> versions(const base::Context& /*context*/,
                                                 const RowFilter& /*object*/,
                                                 const Sight& /*sight*/) override {
    return base::configuration("no history");
  }
  base::Result<std::string> state(const base::Context& /*context*/) override {
    if (!failure) return failure.error();
    return std::to_string(version);
  }

 private:
  std::vector<const MemoryRow*> matching(const RowFilter& filter, const Sight& sight) const {
    RowMatch match(filter, sight);
    std::vector<const MemoryRow*> out;
    for (const MemoryRow& row : table) {
      if (match.matches(row.view())) out.push_back(&row);
    }
    return out;
  }

  class Cursor final : public RowCursor {
   public:
    Cursor(const MemorySource& source, const RowRequest& request)
        : rows_(source.matching(request.filter, request.sight)),
          state_(std::to_string(source.version)),
          total_(rows_.size()) {
      if (!request.order.by.empty()) sort(request.order);
      at_least_ = request.bounded && !request.filter.search.empty() && request.offset < total_ &&
                  total_ - request.offset > request.limit;
      const auto first = static_cast<std::ptrdiff_t>(std::min(request.offset, total_));
      rows_.erase(rows_.begin(), rows_.begin() + first);
      if (at_least_) total_ = request.offset + request.limit + 1;
      if (request.limit > 0 && rows_.size() > request.limit) rows_.resize(request.limit);
    }
    [[nodiscard]] std::uint64_t total() const override { return total_; }
    [[nodiscard]] bool at_least() const override { return at_least_; }
    [[nodiscard]] std::string state() const override { return state_; }
    [[nodiscard]] base::WallTime updated_at() const override { return {}; }
    base::Result<std::optional<SourceRow>> next() override {
      if (at_ == rows_.size()) return std::optional<SourceRow>();
      return std::optional(rows_[at_++]->view());
    }

   private:
    void sort(const Order& order) {
      std::ranges::stable_sort(rows_, [&](const MemoryRow* a, const MemoryRow* b) {
        const SourceRow first = (order.descending ? b : a)->view();
        const SourceRow second = (order.descending ? a : b)->view();
        ColumnReader left;
        ColumnReader right;
        left.at(first);
        right.at(second);
        return left.text(order.by) < right.text(order.by);
      });
    }

    std::vector<const MemoryRow*> rows_;
    std::string state_;
    std::uint64_t total_;
    bool at_least_ = false;
    std::size_t at_ = 0;
  };
};

/// Tells what was put into it.
class MemoryFeed final : public Feed {
 public:
  void put(MemoryRow row, bool removed = false) { news_.emplace_back(std::move(row), removed); }
  void touch() { touched_ = true; }  ///< something changed that is no row

  bool on_news(std::function<void()> /*news*/) override { return true; }
  base::Result<> open(const base::Context& /*context*/) override {
    ++opened;
    return {};
  }
  base::Result<bool> poll(const base::Context& /*context*/,
                          const std::function<void(const RowNews&)>& tell) override {
    const bool any = !news_.empty() || std::exchange(touched_, false);
    for (const auto& [row, removed] : news_) {
      RowNews news{.removed = removed, .of_cluster_target = false, .row = row.view()};
      if (removed) news.row.row.attributes = {};
      tell(news);
    }
    news_.clear();
    return any;
  }
  void close() override { ++closed; }
  [[nodiscard]] bool tells_rows() const override { return true; }

  int opened = 0;
  int closed = 0;

 private:
  std::vector<std::pair<MemoryRow, bool>> news_;
  bool touched_ = false;
};

/// Lets everybody do what `verdict` says.
class MemoryAccess final : public Authorizer {
 public:
  std::function<Verdict(const Caller&, const Wish&)> verdict = [](const Caller&, const Wish&) {
    return Verdict{};
  };
  [[nodiscard]] std::string_view mode() const override { return "token"; }
  Verdict decide(const base::Context& /*context*/, const Caller& caller,
                 const Wish& wish) override {
    return verdict(caller, wish);
  }
};

}  // namespace kollect::readapi::testing
