#include "base/json/write.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace kollect::base::json {

namespace {

constexpr char kHex[] = "0123456789abcdef";

/// Bytes that cannot be copied as they are.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> table{};
  for (unsigned c = 0; c < 0x20; ++c) table[c] = true;
  for (unsigned c = 0x80; c < 256; ++c) table[c] = true;
  for (char c : {'"', '\\', '<', '>', '&'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

/// Length of the valid UTF-8 sequence at the front of `text`, 0 when there is none (RFC 3629).
std::size_t sequence_length(std::string_view text) {
  auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

/// Appends the character at the front of `text` and returns its length in bytes.
std::size_t append_special(std::string& out, std::string_view text) {
  const auto c = static_cast<unsigned char>(text[0]);
  if (c >= 0x80) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += "\\ufffd";
      return 1;
    }
    if (text.starts_with("\u2028")) {
      out += "\\u2028";
    } else if (text.starts_with("\u2029")) {
      out += "\\u2029";
    } else {
      out += text.substr(0, length);
    }
    return length;
  }
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += kHex[c >> 4U];
      out += kHex[c & 15U];
  }
  return 1;
}

void append_scalar(std::string& out, View view) {
  switch (view.type()) {
    case Type::kNull:
      out += "null";
      break;
    case Type::kFalse:
      out += "false";
      break;
    case Type::kTrue:
      out += "true";
      break;
    case Type::kNumber:
      append_number(out, view.number_text());
      break;
    default:
      append_string(out, view.as_string());
  }
}

void append_scalar(std::string& out, const Value& value) {
  if (value.is_null()) {
    out += "null";
  } else if (value.is_bool()) {
    out += value.as_bool() ? "true" : "false";
  } else if (value.is_int()) {
    out += std::to_string(value.as_int());
  } else if (value.is_uint()) {
    out += std::to_string(value.as_uint());
  } else if (value.is_double()) {
    append_double(out, value.as_double());
  } else {
    append_string(out, value.as_string());
  }
}

bool is_array(View v) {
  return v.is_array();
}
bool is_array(const Value& v) {
  return v.is_array();
}
bool is_object(View v) {
  return v.is_object();
}
bool is_object(const Value& v) {
  return v.is_object();
}

template <class F>
void each_item(View v, F f) {
  for (View item : v.items()) f(item);
}
template <class F>
void each_item(const Value& v, F f) {
  for (const Value& item : v.as_array()) f(item);
}

template <class F>
void each_member(View v, bool sorted, F f) {
  if (!sorted) {
    for (auto m : v.members()) f(m.key, m.value);
    return;
  }
  // Objects of one cluster mostly come sorted already: find out before a vector is built.
  std::string_view last;
  bool in_order = true;
  bool first = true;
  for (auto m : v.members()) {
    if (!first && m.key <= last) {
      in_order = false;
      break;
    }
    first = false;
    last = m.key;
  }
  if (in_order) {
    for (auto m : v.members()) f(m.key, m.value);
  } else {
    for (const auto& m : v.sorted_members()) f(m.key, m.value);
  }
}

template <class F>
void each_member(const Value& v, bool sorted, F f) {
  const Object& object = v.as_object();
  if (!sorted) {
    for (const auto& m : object) f(std::string_view(m.first), m.second);
    return;
  }
  std::vector<const Object::Member*> members;
  members.reserve(object.size());
  for (const auto& m : object) members.push_back(&m);
  std::ranges::sort(members, [](const auto* a, const auto* b) { return a->first < b->first; });
  for (const auto* m : members) f(std::string_view(m->first), m->second);
}

template <class V>
void append_json(std::string& out, const V& v, bool sorted) {
  if (is_array(v)) {
    out += '[';
    bool first = true;
    each_item(v, [&](const auto& item) {
      if (!std::exchange(first, false)) out += ',';
      append_json(out, item, sorted);
    });
    out += ']';
  } else if (is_object(v)) {
    out += '{';
    bool first = true;
    each_member(v, sorted, [&](std::string_view key, const auto& member) {
      if (!std::exchange(first, false)) out += ',';
      append_string(out, key);
      out += ':';
      append_json(out, member, sorted);
    });
    out += '}';
  } else {
    append_scalar(out, v);
  }
}

template <class V>
void append_pretty(std::string& out, const V& v, std::size_t indent) {
  auto new_line = [&](std::size_t depth) {
    out += '\n';
    out.append(depth * 2, ' ');
  };
  auto open = [&](char c, auto&& body) {
    out += c;
    const std::size_t before = out.size();
    body();
    if (out.size() != before) new_line(indent);
    out += c == '[' ? ']' : '}';
  };
  if (is_array(v)) {
    open('[', [&] {
      bool first = true;
      each_item(v, [&](const auto& item) {
        if (!std::exchange(first, false)) out += ',';
        new_line(indent + 1);
        append_pretty(out, item, indent + 1);
      });
    });
  } else if (is_object(v)) {
    open('{', [&] {
      bool first = true;
      each_member(v, false, [&](std::string_view key, const auto& member) {
        if (!std::exchange(first, false)) out += ',';
        new_line(indent + 1);
        append_string(out, key);
        out += ": ";
        append_pretty(out, member, indent + 1);
      });
    });
  } else {
    append_scalar(out, v);
  }
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && !kSpecial[static_cast<unsigned char>(text[plain])]) ++plain;
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    text.remove_prefix(append_special(out, text));
  }
  out += '"';
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    // Never in rows (extraction refuses it); here it stays JSON that reads back as beyond doubles.
    out += value < 0 ? "-1e999" : "1e999";
    return;
  }
  if (value == 0) {
    out += std::signbit(value) ? "-0" : "0";
    return;
  }
  std::array<char, 32> buffer{};
  auto [end, ec] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  if (text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  int exponent = 0;
  const std::string_view exponent_text = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  std::string digits(1, text[0]);
  if (e > 1) digits += text.substr(2, e - 2);
  const int count = static_cast<int>(digits.size());
  if (exponent < -6 || exponent >= 21) {
    out += digits[0];
    if (count > 1) out.append(1, '.').append(digits, 1);
    out += exponent < 0 ? "e-" : "e+";
    out += std::to_string(std::abs(exponent));
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  } else if (count <= exponent + 1) {
    out.append(digits).append(static_cast<std::size_t>(exponent + 1 - count), '0');
  } else {
    const auto point = static_cast<std::size_t>(exponent + 1);
    out.append(digits, 0, point).append(1, '.').append(digits, point);
  }
}

void append_number(std::string& out, std::string_view json_number_text) {
  const Number n = read_number(json_number_text);
  switch (n.kind) {
    case Number::Kind::kInt:
    case Number::Kind::kUint:
      out += json_number_text;
      break;
    case Number::Kind::kDouble:
    case Number::Kind::kOutOfRange:
      append_double(out, n.d);
  }
}

void append_canonical(std::string& out, View view) {
  append_json(out, view, true);
}
void append_canonical(std::string& out, const Value& value) {
  append_json(out, value, true);
}
void append_compact(std::string& out, View view) {
  append_json(out, view, false);
}
void append_compact(std::string& out, const Value& value) {
  append_json(out, value, false);
}

std::string canonical(View view) {
  std::string out;
  append_canonical(out, view);
  return out;
}
std::string canonical(const Value& value) {
  std::string out;
  append_canonical(out, value);
  return out;
}
std::string compact(View view) {
  std::string out;
  append_compact(out, view);
  return out;
}
std::string compact(const Value& value) {
  std::string out;
  append_compact(out, value);
  return out;
}
std::string pretty(View view) {
  std::string out;
  append_pretty(out, view, 0);
  out += '\n';
  return out;
}
std::string pretty(const Value& value) {
  std::string out;
  append_pretty(out, value, 0);
  out += '\n';
  return out;
}

}  // namespace kollect::base::json
