// A parsed JSON document as a compact tape, and View, the borrowed handle on one of its values.
//
// Everything that reads objects of a cluster (JSONPath, CEL, pruning, layouts) works on View. A
// document is made once from the bytes; strings without escapes point into them, numbers keep their
// text and are read when asked, so that integers keep every digit and a number beyond doubles harms
// nobody who does not read it (spec: extraction 9).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace kollect::base::json {

enum class Type : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

namespace detail {
/// One tape entry. Members of an object are a string node (the key) followed by the value's nodes.
struct Node {
  const char* text;    // string, number: its bytes; containers: unused
  std::uint32_t size;  // string, number: bytes; array: elements; object: members
  std::uint32_t span;  // nodes of this value including itself: next sibling = this + span
  Type type;
};
}  // namespace detail

/// A number as written: integers exactly, everything else as double.
struct Number {
  enum class Kind : std::uint8_t { kInt, kUint, kDouble, kOutOfRange };
  Kind kind = Kind::kInt;
  std::int64_t i = 0;   ///< kInt
  std::uint64_t u = 0;  ///< kUint: above int64
  double d = 0;         ///< kDouble; kOutOfRange: infinity with its sign
  [[nodiscard]] double as_double() const;
};

/// Reads JSON number text. Integers past 64 bits become doubles; past the range of doubles:
/// kOutOfRange.
Number read_number(std::string_view text);

/// Borrowed value; valid while its Document lives. Two words, copy freely. Never
/// default-constructed handles are passed to functions that read.
class View {
 public:
  struct Member;
  class ItemRange;
  class MemberRange;

  View() = default;
  explicit View(const detail::Node* node) : node_(node) {}

  [[nodiscard]] Type type() const { return node_->type; }
  [[nodiscard]] bool is_null() const { return type() == Type::kNull; }
  [[nodiscard]] bool is_bool() const { return type() == Type::kTrue || type() == Type::kFalse; }
  [[nodiscard]] bool is_number() const { return type() == Type::kNumber; }
  [[nodiscard]] bool is_string() const { return type() == Type::kString; }
  [[nodiscard]] bool is_array() const { return type() == Type::kArray; }
  [[nodiscard]] bool is_object() const { return type() == Type::kObject; }

  [[nodiscard]] bool as_bool() const { return type() == Type::kTrue; }
  [[nodiscard]] std::string_view as_string() const { return {node_->text, node_->size}; }
  [[nodiscard]] std::string_view number_text() const { return {node_->text, node_->size}; }
  [[nodiscard]] Number number() const { return read_number(number_text()); }

  /// Elements of an array or members of an object; 0 for everything else.
  [[nodiscard]] std::size_t size() const {
    return type() == Type::kArray || type() == Type::kObject ? node_->size : 0;
  }
  /// Elements in order; empty when this is no array.
  [[nodiscard]] ItemRange items() const;
  /// Members in document order (duplicates: all of them); empty when this is no object.
  [[nodiscard]] MemberRange members() const;
  /// Members sorted bytewise by key, of duplicates the last one only.
  [[nodiscard]] std::vector<Member> sorted_members() const;
  /// Member of an object, the last one of a duplicate key; none when this is no object.
  [[nodiscard]] std::optional<View> find(std::string_view key) const;
  /// Element of an array (O(n)); the caller has checked the bounds.
  [[nodiscard]] View at(std::size_t index) const;
  /// Follows member names; none when a step is missing or no object.
  [[nodiscard]] std::optional<View> at_path(std::initializer_list<std::string_view> keys) const;
  /// Text of a string member, "" when missing or of another type.
  [[nodiscard]] std::string_view text(std::string_view key) const;
  [[nodiscard]] const detail::Node* node() const { return node_; }
  [[nodiscard]] View next_sibling() const { return View(node_ + node_->span); }

 private:
  const detail::Node* node_ = nullptr;
};

struct View::Member {
  std::string_view key;
  View value;
};

class View::ItemRange {
 public:
  class Iterator {
   public:
    explicit Iterator(const detail::Node* at) : at_(at) {}
    View operator*() const { return View(at_); }
    Iterator& operator++() {
      at_ += at_->span;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const detail::Node* at_;
  };
  ItemRange(const detail::Node* first, const detail::Node* last) : first_(first), last_(last) {}
  [[nodiscard]] Iterator begin() const { return Iterator(first_); }
  [[nodiscard]] Iterator end() const { return Iterator(last_); }

 private:
  const detail::Node* first_;
  const detail::Node* last_;
};

class View::MemberRange {
 public:
  class Iterator {
   public:
    explicit Iterator(const detail::Node* at) : at_(at) {}
    Member operator*() const { return {{at_->text, at_->size}, View(at_ + 1)}; }
    Iterator& operator++() {
      at_ += 1 + at_[1].span;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const detail::Node* at_;
  };
  MemberRange(const detail::Node* first, const detail::Node* last) : first_(first), last_(last) {}
  [[nodiscard]] Iterator begin() const { return Iterator(first_); }
  [[nodiscard]] Iterator end() const { return Iterator(last_); }

 private:
  const detail::Node* first_;
  const detail::Node* last_;
};

/// Owns the tape and, when asked, the text. Move-only; views stay valid over a move. One thread
/// fills it, then any number of threads may read.
class Document {
 public:
  static constexpr std::size_t kMaxDepth = 512;

  Document();
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  /// Parses a complete JSON document (RFC 8259). The text is copied and kept. Bytes that are not
  /// UTF-8 and lone surrogates become U+FFFD. Errors: configuration, with byte offset.
  static Result<Document> parse(std::string_view text);
  /// The same without a copy: `text` must outlive the document.
  static Result<Document> parse_borrowed(std::string_view text);
  static Document from_value(const Value& value);

  /// Parses anew into this document, reusing its memory; views into the old content die. `text` is
  /// borrowed.
  Result<> reparse_borrowed(std::string_view text);

  [[nodiscard]] View root() const;

 private:
  struct Impl;
  friend struct Builder;
  std::unique_ptr<Impl> impl_;
};

/// Splits a Kubernetes list document without keeping it: `on_head` gets everything but `items`
/// once, `on_item` each element's own document (reused, so its views die with the call). Element
/// order is document order. A callback's error ends the walk and is returned. Numbers, depth and
/// encoding as in Document::parse; an element that cannot be parsed on its own is reported through
/// `on_bad_item` (may be empty: then it fails the list).
struct ListHandler {
  std::function<Result<>(View item)> on_item;
  std::function<void(const Error&)> on_bad_item;
  /// Given to elements that do not name their type (lists of built-in kinds leave it out); none when empty.
  std::string item_api_version = {};
  std::string item_kind = {};
};
struct ListHead {
  std::string api_version;
  std::string kind;
  std::string resource_version;
  std::string continue_token;
  std::optional<std::int64_t> remaining;
  std::size_t items = 0;
  /// Messages of a Status document when the text was one (`kind: Status`): reason and code.
  std::string status_reason;
  std::int64_t status_code = 0;
  std::string status_message;
};
Result<ListHead> walk_list(std::string_view text, const ListHandler& handler);

Value to_value(View view);
/// Deep equality; numbers by value, objects without regard to order.
bool equal(View a, View b);

}  // namespace kollect::base::json
