// The order-free hash of a set of rows.
#pragma once

#include <cstdint>
#include <string>

#include "base/hash.h"
#include "inventory/row.h"

namespace kollect::inventory {

/// Sum of the rows' hashes modulo 2^128: adding and taking away cost the same whatever the size,
/// and the order does not matter.
class SetHash {
 public:
  void add(const base::Hash128& hash) {
    sum_.low += hash.low;
    sum_.high += hash.high + (sum_.low < hash.low ? 1U : 0U);
  }
  void subtract(const base::Hash128& hash) {
    sum_.high -= hash.high + (sum_.low < hash.low ? 1U : 0U);
    sum_.low -= hash.low;
  }
  void add(const SetHash& other) { add(other.sum_); }
  /// 32 lower-case hex digits.
  [[nodiscard]] std::string text() const;

 private:
  base::Hash128 sum_;
};

/// XXH3 over all fields, each after its size (64 bits, little-endian). `room` is scratch.
base::Hash128 row_hash(const RowView& row, std::string& room);

}  // namespace kollect::inventory
