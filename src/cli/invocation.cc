#include "cli/invocation.h"

#include <array>

namespace kollect::cli {

std::string Invocation::read_in() const {
  std::string text;
  std::array<char, 1U << 16U> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), in)) {
    text.append(buffer.data(), got);
  }
  return text;
}

}  // namespace kollect::cli
