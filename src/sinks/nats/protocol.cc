#include "sinks/nats/protocol.h"

#include <charconv>

#include "base/strings.h"

namespace kollect::sinks::nats {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kStatusLine = "NATS/1.0";
constexpr std::size_t kLongestLine = 1U << 20U;
constexpr std::uint64_t kLargestMessage = 64U << 20U;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

Said simple(Said::What what, std::string_view text = {}) {
  Said out;
  out.what = what;
  out.text = text;
  return out;
}

/// "MSG subject sid [reply] size", "HMSG subject sid [reply] headersize size", and `rest` after it.
std::optional<Said> read_message(std::string_view line, std::string_view rest, std::size_t& taken) {
  const bool headers = line.starts_with("HMSG ");
  const auto words = base::split(line, ' ');
  const std::size_t least = headers ? 5 : 4;
  if (words.size() < least || words.size() > least + 1) return simple(Said::What::kGarbled);
  const auto size = number(words.back());
  const auto head = headers ? number(words[words.size() - 2]) : std::uint64_t{0};
  if (!size || !head || *size > kLargestMessage || *head > *size) {
    return simple(Said::What::kGarbled);
  }
  if (rest.size() < *size + kLineEnd.size()) return std::nullopt;
  if (rest.substr(*size, kLineEnd.size()) != kLineEnd) return simple(Said::What::kGarbled);
  Said out = simple(Said::What::kMessage);
  out.subject = words[1];
  const std::string_view content = rest.substr(0, *size);
  const std::string_view block = content.substr(0, *head);
  if (block.starts_with(kStatusLine)) {
    const auto first = block.substr(kStatusLine.size(), 4);
    out.status = static_cast<int>(number(base::trim(first)).value_or(0));
  }
  out.payload = content.substr(*head);
  taken = *size + kLineEnd.size();
  return out;
}

Said read_line(std::string_view line) {
  if (line == "PING") return simple(Said::What::kPing);
  if (line == "PONG") return simple(Said::What::kPong);
  if (line == "+OK" || line.empty()) return simple(Said::What::kNothing);
  if (line.starts_with("INFO ")) return simple(Said::What::kInfo, line.substr(5));
  if (line.starts_with("-ERR")) return simple(Said::What::kError, line.substr(4));
  return simple(Said::What::kGarbled);
}

}  // namespace

std::optional<Said> read_said(std::string_view input, std::size_t& at) {
  const std::string_view rest = input.substr(at);
  const auto end = rest.find(kLineEnd);
  if (end == std::string_view::npos) {
    if (rest.size() > kLongestLine) return simple(Said::What::kGarbled);
    return std::nullopt;
  }
  const std::string_view line = rest.substr(0, end);
  const std::size_t after = end + kLineEnd.size();
  if (!line.starts_with("MSG ") && !line.starts_with("HMSG ")) {
    at += after;
    return read_line(line);
  }
  std::size_t taken = 0;
  const auto out = read_message(line, rest.substr(after), taken);
  if (out) at += after + taken;
  return out;
}

}  // namespace kollect::sinks::nats
