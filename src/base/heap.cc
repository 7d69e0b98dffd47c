#include "base/heap.h"

#include <malloc.h>

namespace kollect::base {

void keep_heap_small() {
#ifdef __GLIBC__
  constexpr int kOwnMapping = 256 << 10;
  constexpr int kArenas = 2;
  mallopt(M_MMAP_THRESHOLD, kOwnMapping);
  mallopt(M_TRIM_THRESHOLD, 2 * kOwnMapping);
  mallopt(M_ARENA_MAX, kArenas);
#endif
}

}  // namespace kollect::base
