// The terminal while `kollect top` has it: other screen, no cursor, every key at once. It is given
// back when the object dies.
#pragma once

#include <termios.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "top/view.h"

namespace kollect::top {

/// Used by one thread.
class Terminal {
 public:
  /// `in` and `out` are the same terminal. Error: configuration (no terminal).
  static base::Result<Terminal> open(int in, int out);
  ~Terminal();
  Terminal(Terminal&& other) noexcept;
  Terminal& operator=(Terminal&&) = delete;

  /// As it is now; a terminal that does not say has 80 by 24.
  [[nodiscard]] Size size() const;
  /// Writes the lines that differ from what is there; everything when the size is another. False:
  /// the terminal has gone.
  bool draw(const std::vector<std::string>& lines, Size size);
  /// Everything is written again at the next draw().
  void forget() { shown_.clear(); }
  /// Gives the terminal back, stops the process until somebody wakes it, takes it again.
  void suspend();

 private:
  Terminal(int in, int out, const termios& before) : in_(in), out_(out), before_(before) {}
  void take();
  void give_back();
  bool write_all(std::string_view text) const;

  int in_;
  int out_;
  termios before_;
  std::vector<std::string> shown_;
  Size shown_size_;
};

}  // namespace kollect::top
