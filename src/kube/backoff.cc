#include "kube/backoff.h"

#include <algorithm>

namespace kollect::kube {

namespace {

std::minstd_rand::result_type start_of(std::uint64_t seed) {
  if (seed == 0) return std::random_device{}();
  // This generator's first numbers are near each other for seeds that are.
  return static_cast<std::minstd_rand::result_type>((seed * 0x9E3779B97F4A7C15U) >> 33U);
}

}  // namespace

Backoff::Backoff(base::Duration first, base::Duration cap, std::uint64_t seed)
    : first_(std::max(first, base::Duration(1))),
      cap_(std::max(cap, first_)),
      random_(start_of(seed)) {}

base::Duration Backoff::next() {
  base::Duration whole = first_;
  // Doubling stops at the cap, long before it could overflow.
  for (std::uint32_t i = 0; i < failures_ && whole < cap_; ++i) {
    whole = whole > cap_ / 2 ? cap_ : whole * 2;
  }
  if (failures_ < UINT32_MAX) ++failures_;
  return between(whole / 2, whole);
}

base::Duration Backoff::brief() {
  return between(base::Duration::zero(), first_);
}

base::Duration Backoff::spread(base::Duration least) {
  return between(least, 2 * least);
}

base::Duration Backoff::between(base::Duration least, base::Duration most) {
  return base::Duration(std::uniform_int_distribution<base::Duration::rep>(
      least.count(), std::max(least, most).count())(random_));
}

}  // namespace kollect::kube
