// Texts as PostgreSQL can hold them, and lists of them as parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kollect::fleet {

/// Any UTF-8 as a column of type text, and back: U+0000, which no such column can hold, becomes
/// U+0001 "0", and U+0001 itself U+0001 "1". Bytes that are no UTF-8 become U+FFFD.
std::string to_column(std::string_view text);
std::string from_column(std::string_view column);

/// to_column of an id, or what stands for one that is too long for an index: U+0001 "h" and its
/// SHA-256.
std::string to_key(std::string_view id);
/// None: the key does not tell the id.
std::optional<std::string> from_key(std::string_view key);

/// A list as the text of a parameter of type text[] or bigint[] (PostgreSQL manual, 8.15.6).
class ArrayText {
 public:
  void add(std::string_view element);
  void add_null();
  [[nodiscard]] bool empty() const { return text_.size() == 1; }
  [[nodiscard]] std::string text() const { return text_ + "}"; }

 private:
  void separate();
  std::string text_ = "{";
};

}  // namespace kollect::fleet
