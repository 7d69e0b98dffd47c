// SHA-256 that a thread of its own makes while the next bytes come to be.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/hash.h"

namespace kollect::base {

/// The caller fills one text after the other; each is hashed beside it. A few texts are in memory,
/// and a document of fewer costs no thread. One thread calls; the object's end waits for its own.
class Sha256Beside {
 public:
  Sha256Beside() = default;
  Sha256Beside(const Sha256Beside&) = delete;
  Sha256Beside& operator=(const Sha256Beside&) = delete;
  ~Sha256Beside();

  /// An empty text to fill. Waits while all of them are being hashed.
  std::string& room();
  /// The text of the last room() is complete. It may still be read, and must not be changed, until
  /// the next room().
  void hand_over();
  /// Instead of these two, for bytes that will not stay: copies them.
  void update(std::string_view bytes);
  /// Lower-case hex of all texts in their order; the object must not be used afterwards.
  std::string finish_hex();

 private:
  static constexpr std::size_t kRooms = 4;
  static constexpr std::size_t kCopied = 64U << 10U;
  void work();
  void end();
  [[nodiscard]] std::string& text(std::size_t number) { return texts_[number % kRooms]; }

  Sha256 hash_;
  std::array<std::string, kRooms> texts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;  ///< texts handed over
  std::size_t hashed_ = 0;  ///< of these
  bool over_ = false;
  std::string* open_ = nullptr;  ///< of update()
  std::thread worker_;
};

}  // namespace kollect::base
