// Repeated texts once, counted, and only as long as they repeat.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "inventory/store/probe_index.h"
#include "inventory/store/stable_vector.h"

namespace kollect::inventory {

/// Texts of one column, named by numbers and counted by their uses. An adaptive dictionary watches
/// whether that pays: when most texts are new, it takes only a sample of them (chosen by their
/// hash, so that the sample shows whether texts repeat) and those it holds already; when the sample
/// repeats, it takes all again. Thread-safe.
class Dictionary {
 public:
  /// The number of the text, used once more.
  std::uint32_t take(std::string_view text);
  /// The same if it pays; none: the caller keeps the text itself.
  std::optional<std::uint32_t> offer(std::string_view text);
  /// One use more, or less, of a number in use.
  void retain(std::uint32_t number);
  void release(std::uint32_t number);
  /// Needs no lock; valid while the number is in use.
  [[nodiscard]] std::string_view text(std::uint32_t number) const;

  [[nodiscard]] std::size_t distinct() const;
  [[nodiscard]] bool takes_all() const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  /// What an entry's bytes begin with.
  struct Head {
    std::uint32_t uses;
    std::uint32_t size;
    std::uint64_t hash;
  };
  struct Counts {
    std::size_t texts = 0;  ///< different ones
    std::size_t bytes = 0;  ///< of them
    std::size_t uses = 0;
  };
  static bool sampled(std::uint64_t hash) { return (hash & 31U) == 0; }
  /// Bytes that rows cost with these texts in the dictionary, less those without it.
  static double balance(const Counts& counts);
  void count(const Head& head, int texts, int uses);
  void reconsider(bool new_text);
  Head& head(std::uint32_t number) const;
  std::optional<std::uint32_t> find(std::string_view text, std::uint64_t hash);
  std::uint32_t add(std::string_view text, std::uint64_t hash);

  mutable std::mutex mutex_;
  bool all_ = true;
  Counts total_;
  Counts sample_;
  ProbeIndex index_;
  StableVector<std::unique_ptr<std::byte[]>> entries_;
  std::vector<std::uint32_t> vacant_;
};

}  // namespace kollect::inventory
