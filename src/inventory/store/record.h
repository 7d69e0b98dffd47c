// A row as one run of bytes: fields at fixed places, then texts of their own length.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "inventory/row_store.h"
#include "inventory/store/slab_heap.h"
#include "inventory/uuid.h"

namespace kollect::inventory {

/// What identifies a row of an owner: its uid, packed where it is a UUID.
struct UidKey {
  explicit UidKey(std::string_view uid);
  Uuid uuid{};
  bool is_text = true;
  std::string_view text;  ///< when is_text
  std::uint64_t hash = 0;
};

/// How a record holds the attributes.
enum class Body : std::uint8_t { kColumns, kPlain, kPacked, kPackedWithDictionary };

/// A record in a slab. The fields of the first part (links, source, mark) change, under the lock of
/// its table; all others are written once, before the record is published, so readers that hold it
/// pinned need no lock.
///
///   0 next, 4 previous   neighbours in the change log
///   8 source             who reported the row last
///  12 mark               number of the sweep that saw it
///  13 flags              removed, uid is text, body
///  14 version
///  22 shape
///  26 namespace          number in the store's dictionary of namespaces
///  30 uid                16 bytes (zero when it is text)
///  46 older, newer       only of a removed row: neighbours among the removed
///  then                  name, uid (when it is text): size and bytes
///  then                  attributes, unless removed (row_codec.h)
class Record {
 public:
  explicit Record(std::byte* bytes) : bytes_(bytes) {}

  /// Asks the memory for the first bytes, up to a name of usual length, without waiting.
  void prefetch() const {
    __builtin_prefetch(bytes_);
    __builtin_prefetch(bytes_ + 64);
  }

  [[nodiscard]] Ref next() const { return get<Ref>(0); }
  void set_next(Ref ref) { set(0, ref); }
  [[nodiscard]] Ref previous() const { return get<Ref>(4); }
  void set_previous(Ref ref) { set(4, ref); }
  [[nodiscard]] SourceId source() const { return get<SourceId>(8); }
  void set_source(SourceId source) { set(8, source); }
  [[nodiscard]] std::uint8_t mark() const { return get<std::uint8_t>(12); }
  void set_mark(std::uint8_t mark) { set(12, mark); }

  [[nodiscard]] bool removed() const { return (flags() & kRemoved) != 0; }
  [[nodiscard]] bool uid_is_text() const { return (flags() & kTextUid) != 0; }
  [[nodiscard]] Body body() const { return static_cast<Body>(flags() >> kBodyShift); }
  [[nodiscard]] Version version() const { return get<Version>(14); }
  [[nodiscard]] std::uint32_t shape() const { return get<std::uint32_t>(22); }
  [[nodiscard]] std::uint32_t ns() const { return get<std::uint32_t>(26); }
  [[nodiscard]] Uuid uuid() const { return get<Uuid>(30); }

  [[nodiscard]] Ref older() const { return get<Ref>(kFixed); }
  void set_older(Ref ref) { set(kFixed, ref); }
  [[nodiscard]] Ref newer() const { return get<Ref>(kFixed + 4); }
  void set_newer(Ref ref) { set(kFixed + 4, ref); }

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string_view uid_text() const;
  /// Where the attributes begin.
  [[nodiscard]] const char* attributes() const;

  [[nodiscard]] bool has_uid(const UidKey& key) const;
  [[nodiscard]] std::uint64_t uid_hash() const;

  /// What is written once.
  struct Fields {
    bool removed = false;
    Body body = Body::kColumns;
    Version version = 0;
    std::uint32_t shape = 0;
    std::uint32_t ns = 0;
    std::string_view name;
    const UidKey* uid = nullptr;
    std::string_view attributes;  ///< encoded
  };
  static std::size_t size_of(const Fields& fields);
  /// Links are none, source and mark 0.
  static void write(const Fields& fields, std::byte* bytes);

 private:
  static constexpr std::uint8_t kRemoved = 1;
  static constexpr std::uint8_t kTextUid = 2;
  static constexpr unsigned kBodyShift = 2;
  static constexpr std::size_t kFixed = 46;
  static constexpr std::size_t kRemovedLinks = 8;

  template <class T>
  [[nodiscard]] T get(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  template <class T>
  void set(std::size_t offset, T value) {
    std::memcpy(bytes_ + offset, &value, sizeof value);
  }
  [[nodiscard]] std::uint8_t flags() const { return get<std::uint8_t>(13); }
  [[nodiscard]] const char* texts() const {
    return reinterpret_cast<const char*>(bytes_) + kFixed + (removed() ? kRemovedLinks : 0);
  }

  std::byte* bytes_;
};

/// Seven bits a byte, the lowest first; the high bit says that more follow.
inline std::size_t read_size(const char*& at) {
  std::size_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    value |= static_cast<std::size_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) return value;
  }
}
inline void append_size(std::string& out, std::size_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
  out += static_cast<char>(value);
}
inline std::size_t bytes_of_size(std::size_t value) {
  return value < 0x80 ? 1 : (static_cast<std::size_t>(std::bit_width(value)) + 6) / 7;
}
inline std::string_view read_text(const char*& at) {
  const std::size_t size = read_size(at);
  const std::string_view text(at, size);
  at += size;
  return text;
}

}  // namespace kollect::inventory
