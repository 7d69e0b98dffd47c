#include "top/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>

namespace kollect::top {

namespace {

// Private modes of DEC terminals, as xterm has them: other screen, cursor, wrapping.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

}  // namespace

base::Result<Terminal> Terminal::open(int in, int out) {
  termios before{};
  if (isatty(out) != 1 || tcgetattr(in, &before) != 0) {
    return base::configuration("there is no terminal: use --once");
  }
  Terminal terminal(in, out, before);
  terminal.take();
  return terminal;
}

Terminal::Terminal(Terminal&& other) noexcept
    : in_(std::exchange(other.in_, -1)),
      out_(other.out_),
      before_(other.before_),
      shown_(std::move(other.shown_)),
      shown_size_(other.shown_size_) {}

Terminal::~Terminal() {
  if (in_ >= 0) give_back();
}

void Terminal::take() {
  termios raw = before_;
  // Ctrl-C stays a signal; Ctrl-Z comes as a key, so that the screen is given back first.
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(in_, TCSANOW, &raw);
  write_all(kEnter);
  shown_.clear();
}

void Terminal::give_back() {
  write_all(kLeave);
  tcsetattr(in_, TCSANOW, &before_);
}

void Terminal::suspend() {
  give_back();
  std::raise(SIGSTOP);
  take();
}

Size Terminal::size() const {
  winsize found{};
  if (ioctl(out_, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) return {};
  return {.columns = found.ws_col, .lines = found.ws_row};
}

bool Terminal::write_all(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t done = ::write(out_, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

bool Terminal::draw(const std::vector<std::string>& lines, Size size) {
  std::string text;
  if (shown_.size() != lines.size() || shown_size_ != size) {
    text += "\x1b[2J";
    shown_.assign(lines.size(), {});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] == shown_[i]) continue;
    // Cleared first: behind a full line the cursor stands on its last character.
    text += fmt::format("\x1b[{};1H\x1b[2K{}\x1b[0m", i + 1, lines[i]);
  }
  shown_ = lines;
  shown_size_ = size;
  return write_all(text);
}

}  // namespace kollect::top
