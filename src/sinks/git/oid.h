// Name of a Git object.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sinks/files/folder.h"

namespace kollect::sinks::git {

enum class ObjectType : std::uint8_t { kCommit = 1, kTree = 2, kBlob = 3 };

/// SHA-1 of an object's header and content. Value type.
struct Oid {
  std::array<unsigned char, 20> bytes{};
  auto operator<=>(const Oid&) const = default;
  [[nodiscard]] std::string hex() const;
  [[nodiscard]] std::string_view raw() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

struct OidHash {
  std::size_t operator()(const Oid& oid) const {
    std::size_t out = 0;
    std::memcpy(&out, oid.bytes.data(), sizeof(out));
    return out;
  }
};

/// Text in pieces, so that a long document never needs one stretch of memory.
class Pieces {
 public:
  using Visit = std::function<void(std::string_view text)>;
  Pieces() = default;
  /// A text that `make` gives in pieces, the same each time: it is asked whenever the text is
  /// wanted, and nothing is kept. Nothing may be added.
  explicit Pieces(std::function<void(const Visit& visit)> make);

  void add(std::string_view text);
  [[nodiscard]] std::size_t size() const { return size_; }
  void visit(const Visit& visit) const;
  /// The whole text where it is one piece in memory; none: visit() it.
  [[nodiscard]] std::optional<std::string_view> only_piece() const;

 private:
  std::function<void(const Visit&)> make_;
  std::vector<std::string> pieces_;
  std::size_t size_ = 0;
};

Oid hash_object(ObjectType type, const Pieces& content);
/// SHA-1 of all that the file holds; errors call it `shown`.
base::Result<Oid> sha1_of(const Fd& file, std::string_view shown);

}  // namespace kollect::sinks::git
