#include "inventory/store/set_hash.h"

#include <fmt/format.h>

namespace kollect::inventory {

std::string SetHash::text() const {
  return fmt::format("{:016x}{:016x}", sum_.high, sum_.low);
}

base::Hash128 row_hash(const RowView& row, std::string& room) {
  room.clear();
  for (const std::string_view field : {row.target_namespace, row.target_name, row.ns, row.name,
                                       row.group, row.version, row.kind, row.uid, row.attributes}) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      room += static_cast<char>(field.size() >> shift);
    }
    room += field;
  }
  return base::xxh3_128(room);
}

}  // namespace kollect::inventory
