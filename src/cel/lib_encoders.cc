// The encoders extension: base64 and JSON.
#include <array>

#include "base/hash.h"
#include "base/json/write.h"
#include "cel/convert.h"
#include "cel/functions.h"

namespace kollect::cel {

namespace {

Value encode(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kBytes) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  return evaluation.string(base::base64_encode(args[0].as_text()));
}

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

/// Standard alphabet, line ends are passed over, padding may be missing (so base::base64_decode,
/// which wants it, does not serve).
Value decode(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  std::string without_lines(args[0].as_text());
  std::erase_if(without_lines, [](char c) { return c == '\n' || c == '\r'; });
  std::string_view text = without_lines;
  if (text.size() % 4 == 0) {
    if (text.ends_with("==")) {
      text.remove_suffix(2);
    } else if (text.ends_with('=')) {
      text.remove_suffix(1);
    }
  }
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = sextet(c);
    if (value < 0) return evaluation.error("the text is no base64");
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
    }
  }
  // A lone last character carries too few bits for a byte.
  if (text.size() % 4 == 1) return evaluation.error("the text is no base64");
  return evaluation.bytes(out);
}

/// The value as canonical JSON, by the table that results are converted by.
Value encode_json(Evaluation& evaluation, const Value* args, std::size_t) {
  constexpr std::size_t kMaxBytes = std::size_t{256} << 10U;  // as much as a result may have
  std::size_t used = 0;
  const auto json = to_json(args[0], kMaxBytes, &used);
  if (!evaluation.charge(1 + used / 5)) return evaluation.over_budget();
  if (!json) return evaluation.error(json.error().message);
  const std::string text = base::json::canonical(*json);
  return evaluation.string(text);
}

constexpr FunctionEntry kFunctions[] = {
    {"base64.encode", false, encode, "bytes -> string"},
    {"base64.decode", false, decode, "string -> bytes"},
    {"json.encode", false, encode_json, "dyn -> string"},
};

}  // namespace

std::span<const FunctionEntry> encoder_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
