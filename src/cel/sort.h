// Sorting of values by keys, for sort() and sortBy().
#pragma once

#include <span>

#include "cel/evaluation.h"

namespace kollect::cel {

struct SortPair {
  Value key;
  Value value;
};

/// The values in the order of their keys (stable). Keys must be of one comparable type, numbers may
/// mix; otherwise an error.
Value sort_pairs(Evaluation& evaluation, std::span<SortPair> pairs);

}  // namespace kollect::cel
