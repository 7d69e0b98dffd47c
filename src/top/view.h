// What the person before the screen has chosen, and the lines that are shown for it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "top/keys.h"
#include "top/picture.h"
#include "top/sheet.h"

namespace kollect::top {

struct Size {
  std::size_t columns = 80;
  std::size_t lines = 24;
  bool operator==(const Size&) const = default;
};

/// What the loop has to do besides drawing.
enum class Wish : std::uint8_t { kNone, kQuit, kRefresh, kSuspend, kRedraw };

/// Used by one thread.
class View {
 public:
  explicit View(bool colours) : colours_(colours) {}

  /// A picture that was read; what is selected stays so.
  void show(Picture picture);
  /// Reading failed: the last picture stays, with the reason above it.
  void show_error(std::string message) { error_ = std::move(message); }
  Wish take(const Key& key, Size size);
  /// Exactly `size.lines` lines of at most `size.columns` columns, with SGR sequences (ECMA-48) for
  /// tones and choices. `now`: for ages.
  std::vector<std::string> draw(Size size, base::WallTime now);

 private:
  struct Choice {  ///< of a tab
    std::optional<std::size_t> column;
    bool descending = false;
    std::size_t selected = 0;
    std::string key;  ///< of the selected row
    std::size_t first = 0;
  };

  Choice& choice() { return choices_[static_cast<std::size_t>(tab_)]; }
  [[nodiscard]] Sheet sheet() const;
  void select(std::size_t row, const Sheet& sheet);
  void follow(const Sheet& sheet);
  void turn(bool forward);
  void next_column(bool forward);
  void edit_filter(const Key& key);
  Wish take_letter(char letter, std::size_t page);
  void move(const Key& key, std::size_t page);

  [[nodiscard]] std::string top_line(std::size_t columns, base::WallTime now) const;
  [[nodiscard]] std::string tabs_line(std::size_t columns) const;
  [[nodiscard]] std::string last_line(std::size_t columns, std::size_t rows) const;
  void add_rows(std::vector<std::string>& lines, const Sheet& sheet, Size size, std::size_t room);
  [[nodiscard]] std::vector<std::string> detail_lines(const Sheet& sheet,
                                                      std::size_t columns) const;
  [[nodiscard]] std::string toned(const std::string& text, Tone tone) const;

  bool colours_;
  std::optional<Picture> picture_;
  std::string error_;
  Tab tab_ = Tab::kInventories;
  std::array<Choice, kTabs.size()> choices_;
  std::string filter_;
  bool editing_ = false;
  bool detail_ = false;
};

}  // namespace kollect::top
