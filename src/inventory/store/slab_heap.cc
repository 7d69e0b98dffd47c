#include "inventory/store/slab_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

namespace kollect::inventory {
namespace {

constexpr std::size_t kSmallestSlab = 1024;
constexpr std::size_t kWorthMapping = 32U << 10U;
constexpr std::size_t kPage = 4096;

std::size_t round_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

}  // namespace

void FreeSlab::operator()(std::byte* bytes) const {
  if (mapped == 0) {
    delete[] bytes;
  } else {
    ::munmap(bytes, mapped);
  }
}

std::unique_ptr<std::byte[], FreeSlab> SlabHeap::acquire(std::size_t size) {
  // Straight from the system: whatever the allocator's habits are, a freed slab is memory given
  // back.
  if (size < kWorthMapping) return {new std::byte[size], FreeSlab{}};
  void* bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(bytes), FreeSlab{size}};
}

std::uint32_t SlabHeap::header(Ref ref) const {
  std::uint32_t value = 0;
  std::memcpy(&value, at(ref) - kHeader, sizeof value);
  return value;
}

void SlabHeap::set_header(Ref ref, std::size_t units, State state) {
  const auto value = static_cast<std::uint32_t>(units << 2U | static_cast<std::uint32_t>(state));
  std::memcpy(at(ref) - kHeader, &value, sizeof value);
}

std::size_t SlabHeap::size_of(Ref ref) const {
  return (header(ref) >> 2U) * kUnit - kHeader;
}

std::size_t SlabHeap::next_size() const {
  // In step with what is there, so that ten thousand owners of a few rows stay small.
  return std::clamp(std::bit_ceil(held_ / 16), kSmallestSlab, kSlab);
}

std::uint32_t SlabHeap::add_slab(std::size_t size) {
  if (size >= kWorthMapping) size = round_up(size, kPage);
  if (slabs_.size() == 0) slabs_.append({});
  std::uint32_t index = 0;
  if (vacant_.empty()) {
    if (slabs_.size() >> (32U - kOffsetBits) != 0) throw std::bad_alloc();
    index = slabs_.append({});
  } else {
    index = vacant_.back();
    vacant_.pop_back();
  }
  slabs_[index] = {.bytes = acquire(size), .size = static_cast<std::uint32_t>(size)};
  held_ += size;
  return index;
}

Ref SlabHeap::allocate(std::size_t bytes) {
  const std::size_t size = round_up(bytes + kHeader, kUnit);
  if (size >> 32U != 0) throw std::bad_alloc();
  std::uint32_t index = open_;
  // At most an eighth of a slab stays unused at its end, so that fragmented() can be mended.
  if (size > kSlab / 8) {
    index = add_slab(size);  // alone in a slab of its own
  } else if (open_ == 0 || slabs_[open_].size - slabs_[open_].filled < size) {
    if (open_ != 0) close(std::exchange(open_, 0));
    index = open_ = add_slab(std::max(next_size(), size * 8));
  }
  Slab& slab = slabs_[index];
  const Ref ref = index << kOffsetBits | static_cast<Ref>(slab.filled / kUnit);
  slab.filled += static_cast<std::uint32_t>(size);
  slab.live += static_cast<std::uint32_t>(size);
  set_header(ref, size / kUnit, State::kUsed);
  if (index != open_) holes_ += slab.size - slab.live;
  return ref;
}

void SlabHeap::close(std::uint32_t index) {
  const Slab& slab = slabs_[index];
  holes_ += slab.size - slab.live;
  if (slab.live == 0) release(index);
}

void SlabHeap::release(std::uint32_t index) {
  Slab& slab = slabs_[index];
  held_ -= slab.size;
  if (!slab.leaving) holes_ -= slab.size;
  slab = {};
  vacant_.push_back(index);
}

void SlabHeap::free(Ref ref) {
  const std::uint32_t index = ref >> kOffsetBits;
  Slab& slab = slabs_[index];
  const std::uint32_t units = header(ref) >> 2U;
  const auto size = static_cast<std::uint32_t>(units * kUnit);
  const auto state = static_cast<State>(header(ref) & 3U);
  assert(state != State::kFree);
  if (state == State::kRetired) retired_ -= size;
#ifndef NDEBUG
  std::memset(at(ref), 0xdd, size - kHeader);  // who still reads it shall notice
#endif
  set_header(ref, units, State::kFree);
  slab.live -= size;
  if (index == open_) {
    if (slab.live != 0) return;
    if (slab.size > kSmallestSlab) {
      close(std::exchange(open_, 0));
    } else {
      slab.filled = 0;
    }
    return;
  }
  if (!slab.leaving) holes_ += size;
  if (slab.live == 0) release(index);
}

void SlabHeap::retire(Ref ref) {
  retired_ += size_of(ref) + kHeader;
  set_header(ref, header(ref) >> 2U, State::kRetired);
}

std::vector<Ref> SlabHeap::evacuate() {
  std::uint32_t chosen = 0;
  double most = 0;
  for (std::uint32_t i = 1; i < slabs_.size(); ++i) {
    const Slab& slab = slabs_[i];
    if (i == open_ || slab.size == 0 || slab.leaving) continue;
    const double part = 1.0 - static_cast<double>(slab.live) / slab.size;
    if (part > most) {
      most = part;
      chosen = i;
    }
  }
  std::vector<Ref> used;
  if (chosen == 0) return used;
  Slab& slab = slabs_[chosen];
  holes_ -= slab.size - slab.live;
  slab.leaving = true;
  for (std::size_t offset = 0; offset < slab.filled;) {
    const Ref ref = chosen << kOffsetBits | static_cast<Ref>(offset / kUnit);
    const std::uint32_t value = header(ref);
    if ((value & 3U) == static_cast<std::uint32_t>(State::kUsed)) used.push_back(ref);
    offset += std::size_t{value >> 2U} * kUnit;
  }
  return used;
}

}  // namespace kollect::inventory
