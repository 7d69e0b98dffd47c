// Large attributes: zstd, with a dictionary per kind.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <zstd.h>

namespace kollect::inventory {

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CDict* dictionary) const { ZSTD_freeCDict(dictionary); }
  void operator()(ZSTD_DDict* dictionary) const { ZSTD_freeDDict(dictionary); }
};

/// Contexts and room for one thread's work on rows, borrowed from a Workshop.
struct Workbench {
  std::unique_ptr<ZSTD_CCtx, FreeZstd> packing;
  std::unique_ptr<ZSTD_DCtx, FreeZstd> unpacking;
  std::string packed;
  std::string text;
  std::string hashed;
  std::string record;
};

/// Keeps a few workbenches for the next. Thread-safe; must outlive what it lends.
class Workshop {
 public:
  class Loan {
   public:
    explicit Loan(Workshop& shop) : shop_(&shop), bench_(shop.take()) {}
    ~Loan() { shop_->put(std::move(bench_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Workbench& operator*() const { return *bench_; }
    Workbench* operator->() const { return bench_.get(); }

   private:
    Workshop* shop_;
    std::unique_ptr<Workbench> bench_;
  };

 private:
  std::unique_ptr<Workbench> take();
  void put(std::unique_ptr<Workbench> bench);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Workbench>> idle_;
};

/// Packs the attributes of one kind. The first texts are samples as well; when they are enough,
/// train() makes the dictionary with which all later texts are packed. Thread-safe.
class Packer {
 public:
  struct Packed {
    std::string_view bytes;  ///< in bench.packed
    bool with_dictionary = false;
  };
  /// Empty bytes when packing saves nothing.
  Packed pack(std::string_view text, Workbench& bench);
  /// The text in `out`.
  void unpack(std::string_view packed, std::size_t size, bool with_dictionary, Workbench& bench,
              std::string& out) const;

  /// True once, to one caller: the samples are enough, call train() when no lock is held.
  [[nodiscard]] bool wants_training();
  void train();
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Trained {
    std::unique_ptr<ZSTD_CDict, FreeZstd> packing;
    std::unique_ptr<ZSTD_DDict, FreeZstd> unpacking;
  };
  void sample(std::string_view text);

  mutable std::mutex mutex_;
  std::string samples_;
  std::vector<std::size_t> sample_sizes_;
  bool closed_ = false;  ///< no more samples
  bool asked_ = false;   ///< somebody was told to train
  std::unique_ptr<const Trained> trained_;
  std::atomic<const Trained*> ready_ = nullptr;
};

}  // namespace kollect::inventory
