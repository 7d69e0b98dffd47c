// Follows a list document while it streams in: finds its metadata early and knows when it is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kollect::kube {

/// Looks at each byte once, whatever the size of the chunks. It checks nesting and strings, not the
/// rest of the grammar: that is the parser's work. One thread.
class ListScanner {
 public:
  /// `text` is the whole document so far; what was seen before is not looked at again. False when
  /// it can be no document any more (something other than blanks behind its end).
  bool feed(std::string_view text);

  /// Where the `metadata` object stands in the text, once its end was seen.
  struct Span {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  [[nodiscard]] const std::optional<Span>& metadata() const { return metadata_; }
  /// The outermost object is closed.
  [[nodiscard]] bool complete() const { return ended_; }
  /// The document has a member `items`.
  [[nodiscard]] bool has_items() const { return has_items_; }
  /// Objects seen in `items`.
  [[nodiscard]] std::uint64_t items() const { return items_; }

 private:
  enum class Member : std::uint8_t { kOther, kMetadata, kItems };

  void end_string(std::string_view text, std::size_t end);
  void open(std::size_t at);
  void close(std::size_t at);
  std::size_t skip_string(std::string_view text, std::size_t at);

  std::size_t pos_ = 0;
  std::size_t string_begin_ = 0;
  std::uint32_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool ended_ = false;
  bool has_items_ = false;
  Member last_string_ = Member::kOther;  ///< the newest string of the outermost object
  Member member_ = Member::kOther;       ///< whose value is open
  std::size_t value_begin_ = 0;
  std::optional<Span> metadata_;
  std::uint64_t items_ = 0;
};

}  // namespace kollect::kube
