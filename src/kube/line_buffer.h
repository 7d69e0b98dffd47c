// Text that arrives in pieces, as lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kollect::kube {

/// Every byte is looked at once, whatever the size of the pieces. One thread.
class LineBuffer {
 public:
  /// Takes the text over; `text` is empty afterwards and may bring other memory along.
  void add(std::string& text);
  /// The next complete line without its break; blank ones are passed over. Valid until add() or
  /// shrink().
  std::optional<std::string_view> next();
  /// What stands behind the last break; the buffer is empty afterwards. Valid as next().
  std::string_view take_rest();
  /// Bytes that were added and belong to no line that was given or passed over.
  [[nodiscard]] std::size_t left() const { return text_.size() - at_; }
  /// Gives memory back that a quiet stream does not need.
  void shrink();

 private:
  std::string text_;
  std::size_t at_ = 0;       ///< begin of the first line that was not given
  std::size_t scanned_ = 0;  ///< bytes behind at_ that hold no break
};

/// Nothing but blanks, tabs and carriage returns.
bool is_blank(std::string_view line);
/// Releases the memory of an empty text if it is much.
void give_memory_back(std::string& text);

}  // namespace kollect::kube
