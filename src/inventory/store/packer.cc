#include "inventory/store/packer.h"

#include <zdict.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace kollect::inventory {
namespace {

// The dictionary does the work: higher levels gain next to nothing and make its tables, of which
// every kind has one, five times as large.
constexpr int kLevel = 1;
constexpr std::size_t kIdleBenches = 4;
constexpr std::size_t kKeepRoom = 256U << 10U;
constexpr std::size_t kEnoughSamples = 64;
constexpr std::size_t kSampleBytes = 256U << 10U;
constexpr std::size_t kLargestSample = 16U << 10U;
constexpr std::size_t kDictionaryBytes = 16U << 10U;

}  // namespace

std::unique_ptr<Workbench> Workshop::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Workbench>();
  auto bench = std::move(idle_.back());
  idle_.pop_back();
  return bench;
}

void Workshop::put(std::unique_ptr<Workbench> bench) {
  for (std::string* room : {&bench->packed, &bench->text, &bench->hashed, &bench->record}) {
    if (room->capacity() > kKeepRoom) *room = {};
  }
  if (bench->packing && ZSTD_sizeof_CCtx(bench->packing.get()) > kKeepRoom) bench->packing.reset();
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kIdleBenches) idle_.push_back(std::move(bench));
}

void Packer::sample(std::string_view text) {
  if (text.size() > kLargestSample) return;
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  samples_ += text;
  sample_sizes_.push_back(text.size());
  closed_ = sample_sizes_.size() >= kEnoughSamples || samples_.size() >= kSampleBytes;
}

bool Packer::wants_training() {
  if (ready_.load(std::memory_order_relaxed) != nullptr) return false;
  const std::lock_guard lock(mutex_);
  return closed_ && !std::exchange(asked_, true);
}

void Packer::train() {
  std::string samples;
  std::vector<std::size_t> sizes;
  {
    const std::lock_guard lock(mutex_);
    samples = std::exchange(samples_, {});
    sizes = std::exchange(sample_sizes_, {});
  }
  auto trained = std::make_unique<Trained>();
  std::string bytes(std::min(kDictionaryBytes, samples.size() / 4), '\0');
  const std::size_t size = ZDICT_trainFromBuffer(bytes.data(), bytes.size(), samples.data(),
                                                 sizes.data(), static_cast<unsigned>(sizes.size()));
  // Samples without anything in common: the kind goes on without a dictionary.
  if (ZDICT_isError(size) != 0) return;
  trained->packing.reset(ZSTD_createCDict(bytes.data(), size, kLevel));
  trained->unpacking.reset(ZSTD_createDDict(bytes.data(), size));
  if (!trained->packing || !trained->unpacking) return;
  const std::lock_guard lock(mutex_);
  trained_ = std::move(trained);
  ready_.store(trained_.get(), std::memory_order_release);
}

Packer::Packed Packer::pack(std::string_view text, Workbench& bench) {
  const Trained* trained = ready_.load(std::memory_order_acquire);
  if (trained == nullptr) sample(text);
  if (!bench.packing) {
    bench.packing.reset(ZSTD_createCCtx());
    // The record knows both.
    ZSTD_CCtx_setParameter(bench.packing.get(), ZSTD_c_contentSizeFlag, 0);
    ZSTD_CCtx_setParameter(bench.packing.get(), ZSTD_c_dictIDFlag, 0);
    ZSTD_CCtx_setParameter(bench.packing.get(), ZSTD_c_compressionLevel, kLevel);
  }
  ZSTD_CCtx_refCDict(bench.packing.get(), trained == nullptr ? nullptr : trained->packing.get());
  bench.packed.resize(std::max(bench.packed.size(), ZSTD_compressBound(text.size())));
  const std::size_t size = ZSTD_compress2(bench.packing.get(), bench.packed.data(),
                                          bench.packed.size(), text.data(), text.size());
  if (ZSTD_isError(size) != 0 || size >= text.size()) return {};
  return {.bytes = std::string_view(bench.packed).substr(0, size),
          .with_dictionary = trained != nullptr};
}

void Packer::unpack(std::string_view packed, std::size_t size, bool with_dictionary,
                    Workbench& bench, std::string& out) const {
  if (!bench.unpacking) bench.unpacking.reset(ZSTD_createDCtx());
  out.resize(size);
  std::size_t unpacked = 0;
  if (with_dictionary) {
    const Trained* trained = ready_.load(std::memory_order_acquire);
    unpacked = ZSTD_decompress_usingDDict(bench.unpacking.get(), out.data(), size, packed.data(),
                                          packed.size(), trained->unpacking.get());
  } else {
    unpacked =
        ZSTD_decompressDCtx(bench.unpacking.get(), out.data(), size, packed.data(), packed.size());
  }
  assert(unpacked == size);
  (void)unpacked;
}

std::size_t Packer::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = samples_.capacity() + sample_sizes_.capacity() * sizeof(std::size_t);
  if (trained_) {
    bytes +=
        ZSTD_sizeof_CDict(trained_->packing.get()) + ZSTD_sizeof_DDict(trained_->unpacking.get());
  }
  return bytes;
}

}  // namespace kollect::inventory
