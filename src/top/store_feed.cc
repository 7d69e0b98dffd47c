#include <fmt/format.h>

#include "readstore/store.h"
#include "top/feed.h"

namespace kollect::top {

namespace {

/// Inventories as their last export left them: a database knows nothing of targets and sinks.
class StoreFeed final : public Feed {
 public:
  explicit StoreFeed(readstore::StoreAddress address) : address_(std::move(address)) {}

  base::Result<Picture> look(const base::Context& context) override {
    if (!source_) {
      KL_ASSIGN(source_, readstore::open_store(context, address_));
    }
    KL_ASSIGN(const auto inventories, source_->inventories(context, {}));
    Picture picture;
    // Without the URL, which may have a password.
    picture.source = address_.postgres ? "postgres, table " + address_.table
                                       : fmt::format("sqlite:{}", address_.file);
    picture.at = context.clock().now();
    for (const readapi::InventoryState& one : inventories) {
      picture.inventories.push_back({.cluster = one.cluster,
                                     .ns = one.ns,
                                     .name = one.name,
                                     .rows = one.rows,
                                     .exported_at = one.exported_at,
                                     .state = {},
                                     .reason = {},
                                     .message = {}});
    }
    finish(picture);
    return picture;
  }

 private:
  readstore::StoreAddress address_;
  std::unique_ptr<readapi::Source> source_;
};

}  // namespace

base::Result<std::unique_ptr<Feed>> store_feed(const std::string& store, const std::string& table) {
  KL_ASSIGN(auto address, readstore::read_store_address(store, table));
  return std::make_unique<StoreFeed>(std::move(address));
}

}  // namespace kollect::top
