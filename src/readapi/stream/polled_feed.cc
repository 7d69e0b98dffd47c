#include "readapi/stream/polled_feed.h"

#include <algorithm>

#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::readapi {

base::Result<> PolledFeed::open(const base::Context& context) {
  KL_ASSIGN(state_, source_.state(context));
  // Moments in a history are those of whoever wrote it: the newest export is where to go on.
  since_ = base::WallTime{};
  if (!source_.abilities().history) return {};
  KL_ASSIGN(const auto inventories, source_.inventories(context, Sight{}));
  for (const InventoryState& inventory : inventories) {
    if (const auto at = base::parse_rfc3339(inventory.exported_at)) since_ = std::max(since_, *at);
  }
  return {};
}

base::Result<> PolledFeed::tell_changes(const base::Context& context,
                                        const std::function<void(const RowNews&)>& tell) {
  ChangeRequest request;
  request.since = since_;
  base::json::Document document;
  while (true) {
    KL_ASSIGN(const ChangePage page, source_.changes(context, request));
    for (const HistoryChange& change : page.changes) {
      if (const auto at = base::parse_rfc3339(change.at)) since_ = std::max(since_, *at);
      if (!document.reparse_borrowed(change.row)) continue;
      const base::json::View row = document.root();
      const auto attributes = row.find("attributes");
      const std::string text = attributes ? base::json::canonical(*attributes) : "{}";
      inventory::RowView view = inventory::identity_of(row);
      view.attributes = text;
      tell({.removed = change.change == "went",
            .of_cluster_target = false,
            .row = {.cluster = change.cluster,
                    .inventory_namespace = change.inventory_namespace,
                    .inventory = change.inventory,
                    .exported_at = change.at,
                    .row = view}});
    }
    if (page.next.empty()) return {};
    request.after = page.next;
  }
}

base::Result<bool> PolledFeed::poll(const base::Context& context,
                                    const std::function<void(const RowNews&)>& tell) {
  KL_ASSIGN(std::string state, source_.state(context));
  if (state == state_) return false;
  if (source_.abilities().history) KL_TRY(tell_changes(context, tell));
  state_ = std::move(state);
  return true;
}

}  // namespace kollect::readapi
