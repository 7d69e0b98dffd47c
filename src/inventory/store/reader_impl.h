// Inside of Reader, Snapshot and Tally.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "inventory/row_store.h"
#include "inventory/store/directory.h"
#include "inventory/store/set_hash.h"
#include "inventory/store/sorted_rows.h"

namespace kollect::inventory {

/// A reader's state in the directory, for as long as this lives.
struct Subscription {
  Subscription(Directory& store, std::shared_ptr<ReaderState> reader)
      : directory(store), state(std::move(reader)) {}
  ~Subscription() { directory.unsubscribe(state); }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  Directory& directory;
  const std::shared_ptr<ReaderState> state;
};

struct Reader::Impl : Subscription {
  using Subscription::Subscription;
};

struct Snapshot::Impl {
  /// The rows that the reader sees, at one moment.
  static std::shared_ptr<Impl> of(const Directory& directory, const ReaderState& reader);

  Version version = 0;
  std::size_t row_count = 0;
  SetHash set_hash;
  std::vector<PinnedRows> parts;
};

struct Tally::Impl : Subscription {
  using Subscription::Subscription;

  std::mutex mutex;  ///< of what follows: the last answer, and of which state
  std::vector<std::pair<std::shared_ptr<Table>, Version>> seen;
  std::vector<Shard> shards;
};

}  // namespace kollect::inventory
