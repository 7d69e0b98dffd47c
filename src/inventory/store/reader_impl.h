// Inside of Reader.
#pragma once

#include <memory>

#include "inventory/row_store.h"
#include "inventory/store/directory.h"

namespace kollect::inventory {

struct Reader::Impl {
  Impl(Directory& store, std::shared_ptr<ReaderState> reader)
      : directory(store), state(std::move(reader)) {}
  ~Impl() { directory.unsubscribe(state); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Directory& directory;
  const std::shared_ptr<ReaderState> state;
};

}  // namespace kollect::inventory
