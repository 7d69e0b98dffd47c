#include "fleet/shelf.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory_resource>
#include <string>
#include <utility>

#include "base/string_hash.h"

namespace kollect::fleet {

struct Shelf::Table {
  /// Names are too long to lie in their strings; here they lie side by side.
  std::pmr::unsynchronized_pool_resource names;
  boost::unordered_flat_map<std::pmr::string, Place, base::StringHash, std::equal_to<>> places;
};

Shelf::Shelf() : table_(std::make_unique<Table>()) {}
Shelf::~Shelf() = default;

const Shelf::Place* Shelf::find(std::string_view name) const {
  const auto found = table_->places.find(name);
  return found != table_->places.end() ? &found->second : nullptr;
}

void Shelf::put(std::string_view name, ReadyPtr ready) {
  Place place{.packed = ready->packed_at_hand(), .ready = std::move(ready)};
  table_->places.insert_or_assign(std::pmr::string(name, &table_->names), std::move(place));
}

void Shelf::erase(std::string_view name) {
  table_->places.erase(name);
}

void Shelf::clear() {
  table_->places.clear();
}

void Shelf::for_each(const std::function<void(const Ready&)>& visit) const {
  for (const auto& [name, place] : table_->places) visit(*place.ready);
}

}  // namespace kollect::fleet
