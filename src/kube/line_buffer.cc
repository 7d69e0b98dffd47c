#include "kube/line_buffer.h"

#include <cstring>
#include <utility>

namespace kollect::kube {

namespace {
/// A quiet stream keeps no more than this for what comes next.
constexpr std::size_t kKept = 16U << 10U;
}  // namespace

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \r\t") == std::string_view::npos;
}

void give_memory_back(std::string& text) {
  if (text.empty() && text.capacity() > kKept) std::string().swap(text);
}

void LineBuffer::add(std::string& text) {
  text_.erase(0, std::exchange(at_, 0));
  if (text_.empty()) {
    text_.swap(text);
  } else {
    text_.append(text);
  }
  text.clear();
}

std::optional<std::string_view> LineBuffer::next() {
  while (true) {
    const char* begin = text_.data() + at_ + scanned_;
    const std::size_t size = text_.size() - at_ - scanned_;
    const void* found = size == 0 ? nullptr : std::memchr(begin, '\n', size);
    if (found == nullptr) {
      scanned_ += size;
      return std::nullopt;
    }
    const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
    const std::string_view line = std::string_view(text_).substr(at_, end - at_);
    at_ = end + 1;
    scanned_ = 0;
    if (!is_blank(line)) return line;
  }
}

std::string_view LineBuffer::take_rest() {
  scanned_ = 0;
  return std::string_view(text_).substr(std::exchange(at_, text_.size()));
}

void LineBuffer::shrink() {
  text_.erase(0, std::exchange(at_, 0));
  give_memory_back(text_);
}

}  // namespace kollect::kube
