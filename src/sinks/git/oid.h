// Name of a Git object.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

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
  void add(std::string_view text);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::vector<std::string>& all() const { return pieces_; }

 private:
  std::vector<std::string> pieces_;
  std::size_t size_ = 0;
};

Oid hash_object(ObjectType type, const Pieces& content);

}  // namespace kollect::sinks::git
