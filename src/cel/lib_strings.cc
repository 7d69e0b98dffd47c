// The strings extension, without format().
#include <array>

#include "base/strings.h"
#include "cel/functions.h"
#include "cel/text.h"

namespace kollect::cel {

namespace {

Value range_error(Evaluation& evaluation) {
  return evaluation.error("index out of range");
}

bool strings(const Value* args, std::initializer_list<Kind> kinds, std::size_t count) {
  std::size_t n = 0;
  for (const Kind kind : kinds) {
    if (n < count && args[n].kind != kind) return false;
    ++n;
  }
  return true;
}

/// Byte offset of an index given as int; none when it is outside 0…length.
std::optional<std::size_t> offset_of(std::string_view text, std::int64_t index) {
  if (index < 0) return std::nullopt;
  return byte_offset(text, static_cast<std::size_t>(index));
}

std::int64_t index_of_byte(std::string_view text, std::size_t byte) {
  return static_cast<std::int64_t>(code_points(text.substr(0, byte)));
}

/// Price of walking to a character.
std::uint64_t walk_weight(std::string_view text, std::int64_t index) {
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max<std::int64_t>(index, 0)),
                                 text.size()) /
         10;
}

Value char_at(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (!strings(args, {Kind::kString, Kind::kInt}, count)) return evaluation.no_overload();
  const auto text = args[0].as_text();
  if (!evaluation.charge(walk_weight(text, args[1].i))) return evaluation.over_budget();
  const auto offset = offset_of(text, args[1].i);
  if (!offset) return range_error(evaluation);
  if (*offset == text.size()) return Value::of_string({});
  std::size_t end = *offset;
  next_code_point(text, end);
  return Value::of_string(text.substr(*offset, end - *offset));
}

Value index_of(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (!strings(args, {Kind::kString, Kind::kString, Kind::kInt}, count))
    return evaluation.no_overload();
  const auto text = args[0].as_text();
  if (!evaluation.charge(text.size() / 10)) return evaluation.over_budget();
  const auto from = offset_of(text, count == 3 ? args[2].i : 0);
  if (!from) return range_error(evaluation);
  const auto found = find_part(text, args[1].as_text(), *from);
  return Value::of_int(found == std::string_view::npos ? -1 : index_of_byte(text, found));
}

Value last_index_of(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (!strings(args, {Kind::kString, Kind::kString, Kind::kInt}, count))
    return evaluation.no_overload();
  const auto text = args[0].as_text();
  if (!evaluation.charge(text.size() / 10)) return evaluation.over_budget();
  std::size_t from = std::string_view::npos;
  if (count == 3) {
    const auto offset = offset_of(text, args[2].i);
    if (!offset) return range_error(evaluation);
    // No character begins at the end, so nothing but the empty text is found there.
    if (*offset == text.size() && args[1].count > 0) return Value::of_int(-1);
    from = *offset;
  }
  const auto found = find_last_part(text, args[1].as_text(), from);
  return Value::of_int(found == std::string_view::npos ? -1 : index_of_byte(text, found));
}

Value join(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (!strings(args, {Kind::kList, Kind::kString}, count)) return evaluation.no_overload();
  const auto separator = count == 2 ? args[1].as_text() : std::string_view();
  if (!evaluation.charge(args[0].count)) return evaluation.over_budget();
  // Two passes: the length first, so that no memory beyond the budget is touched.
  std::size_t size = 0;
  Value item;
  for (ListCursor cursor(args[0]); cursor.next(item);) {
    if (item.kind != Kind::kString) return evaluation.no_overload();
    size += item.count + separator.size();
  }
  if (args[0].count == 0) return Value::of_string({});
  size -= separator.size();
  if (!evaluation.charge(size / 10)) return evaluation.over_budget();
  auto* text = size > UINT32_MAX ? nullptr : static_cast<char*>(evaluation.arena().allocate(size));
  if (text == nullptr) return evaluation.out_of_memory();
  char* at = text;
  bool first = true;
  for (ListCursor cursor(args[0]); cursor.next(item); first = false) {
    if (!first) at = std::copy(separator.begin(), separator.end(), at);
    const auto part = item.as_text();
    at = std::copy(part.begin(), part.end(), at);
  }
  return Value::of_string({text, size});
}

template <char kFrom, char kTo, int kShift>
Value shift_ascii(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  std::string text(args[0].as_text());
  for (char& c : text) {
    if (c >= kFrom && c <= kTo) c = static_cast<char>(c + kShift);
  }
  return evaluation.string(text);
}

Value replace(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (!strings(args, {Kind::kString, Kind::kString, Kind::kString, Kind::kInt}, count)) {
    return evaluation.no_overload();
  }
  const auto text = args[0].as_text();
  const auto from = args[1].as_text();
  const auto to = args[2].as_text();
  std::int64_t left = count == 4 ? args[3].i : -1;
  std::string out;
  std::size_t at = 0;
  const auto spend = [&] {
    return evaluation.charge(1 + to.size() / 10) && out.size() < (1U << 26U);
  };
  if (from.empty()) {
    // The empty text stands before each character and at the end.
    while (left != 0 && spend()) {
      out += to;
      if (left > 0) --left;
      if (at == text.size()) return evaluation.string(out);
      const std::size_t begin = at;
      next_code_point(text, at);
      out += text.substr(begin, at - begin);
    }
  } else {
    for (auto found = find_part(text, from);
         left != 0 && found != std::string_view::npos && spend();
         found = find_part(text, from, at)) {
      out += text.substr(at, found - at);
      out += to;
      at = found + from.size();
      if (left > 0) --left;
    }
  }
  if (evaluation.over()) return evaluation.over_budget();
  if (out.size() >= (1U << 26U) || !evaluation.charge(text.size() / 10))
    return evaluation.out_of_memory();
  out += text.substr(at);
  return evaluation.string(out);
}

Value split(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (!strings(args, {Kind::kString, Kind::kString, Kind::kInt}, count))
    return evaluation.no_overload();
  const auto text = args[0].as_text();
  const auto separator = args[1].as_text();
  const std::int64_t limit = count == 3 ? args[2].i : -1;
  if (!evaluation.charge(text.size() / 10)) return evaluation.over_budget();
  ListBuilder builder(evaluation);
  if (limit == 0 || (separator.empty() && text.empty())) return builder.value();
  std::size_t at = 0;
  while (limit < 0 || static_cast<std::int64_t>(builder.size()) < limit - 1) {
    std::size_t end = at;
    std::size_t next = at;
    if (separator.empty()) {
      next_code_point(text, next);
      if (next >= text.size()) break;
      end = next;
    } else {
      end = find_part(text, separator, at);
      if (end == std::string_view::npos) break;
      next = end + separator.size();
    }
    if (!evaluation.charge(1)) return evaluation.over_budget();
    if (!builder.add(Value::of_string(text.substr(at, end - at)))) return builder.failed();
    at = next;
  }
  if (!builder.add(Value::of_string(text.substr(at)))) return builder.failed();
  return builder.value();
}

Value substring(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (!strings(args, {Kind::kString, Kind::kInt, Kind::kInt}, count))
    return evaluation.no_overload();
  const auto text = args[0].as_text();
  if (!evaluation.charge(walk_weight(text, args[count - 1].i))) return evaluation.over_budget();
  const auto begin = offset_of(text, args[1].i);
  const auto end = count == 3 ? offset_of(text, args[2].i) : std::optional(text.size());
  if (!begin || !end) return range_error(evaluation);
  if (*end < *begin)
    return evaluation.error("invalid substring range: the end is before the start");
  return Value::of_string(text.substr(*begin, *end - *begin));
}

/// Unicode property White_Space.
bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

Value trim(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  const auto text = args[0].as_text();
  if (!evaluation.charge(text.size() / 10)) return evaluation.over_budget();
  std::size_t begin = text.size();
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (is_space(next_code_point(text, at))) continue;
    begin = std::min(begin, start);
    end = at;
  }
  return Value::of_string(begin < end ? text.substr(begin, end - begin) : std::string_view());
}

Value reverse(Evaluation& evaluation, const Value& from) {
  const auto text = from.as_text();
  if (!evaluation.charge(text.size() / 10)) return evaluation.over_budget();
  std::string out;
  out.reserve(text.size());
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
    out += text.substr(begin, end - begin);
    end = begin;
  }
  return evaluation.string(out);
}

Value reverse_any(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind == Kind::kString) return reverse(evaluation, args[0]);
  if (args[0].kind != Kind::kList) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count)) return evaluation.over_budget();
  auto* items = evaluation.arena().make_array<Value>(args[0].count);
  if (items == nullptr) return evaluation.out_of_memory();
  ListCursor cursor(args[0]);
  for (std::size_t n = args[0].count; n > 0; --n) cursor.next(items[n - 1]);
  return Value::of_list(items, args[0].count);
}

Value quote(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : args[0].as_text()) {
    const auto special = kSpecial.find(c);
    if (c != '\0' && special != std::string_view::npos) {
      out += '\\';
      out += kLetters[special];
    } else {
      out += c;
    }
  }
  out += '"';
  return evaluation.string(out);
}

constexpr FunctionEntry kFunctions[] = {
    {"charAt", true, char_at, "string, int -> string"},
    {"indexOf", true, index_of, "string, string -> int; string, string, int -> int"},
    {"lastIndexOf", true, last_index_of, "string, string -> int; string, string, int -> int"},
    {"join", true, join, "list(string) -> string; list(string), string -> string"},
    {"lowerAscii", true, shift_ascii<'A', 'Z', 'a' - 'A'>, "string -> string"},
    {"upperAscii", true, shift_ascii<'a', 'z', 'A' - 'a'>, "string -> string"},
    {"replace", true, replace,
     "string, string, string -> string; string, string, string, int -> string"},
    {"split", true, split, "string, string -> list(string); string, string, int -> list(string)"},
    {"substring", true, substring, "string, int -> string; string, int, int -> string"},
    {"trim", true, trim, "string -> string"},
    {"reverse", true, reverse_any, "string -> string; list(A) -> list(A)"},
    {"strings.quote", false, quote, "string -> string"},
};

}  // namespace

std::span<const FunctionEntry> string_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
