#include "sinks/postgres/payload.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include <openssl/sha.h>

#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::sinks::postgres {

namespace {

namespace json = base::json;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
/// Digits that a numeric may have before and after its point, with room to spare.
constexpr int kLargestExponent = 10'000;

std::string without_nul(std::string_view text) {
  return base::replace_all(std::string(text), std::string_view("\0", 1), kReplacement);
}

/// "1.5e-07" in plain decimal, as numeric prints it: 0.00000015. False when it is too long.
bool append_plain(std::string& out, std::string_view text) {
  const auto e = text.find_first_of("eE");
  if (e == std::string_view::npos) {
    out += text;
    return true;
  }
  std::string_view mantissa = text.substr(0, e);
  std::string_view power = text.substr(e + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
  if (error != std::errc() || end != power.data() + power.size() ||
      std::abs(exponent) > kLargestExponent) {
    return false;
  }
  if (mantissa.starts_with('-')) {
    out += '-';
    mantissa.remove_prefix(1);
  }
  const auto point = mantissa.find('.');
  std::string digits(mantissa.substr(0, point));
  int whole = static_cast<int>(digits.size()) + exponent;  // digits before the point
  if (point != std::string_view::npos) digits += mantissa.substr(point + 1);
  if (whole <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-whole), '0').append(digits);
  } else if (static_cast<std::size_t>(whole) >= digits.size()) {
    out.append(digits).append(static_cast<std::size_t>(whole) - digits.size(), '0');
  } else {
    out.append(digits, 0, static_cast<std::size_t>(whole)).append(".");
    out.append(digits, static_cast<std::size_t>(whole));
  }
  return true;
}

bool needs_escape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

}  // namespace

void Payload::string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text_ += '"';
  while (true) {
    const auto* stop = std::find_if(text.begin(), text.end(), needs_escape);
    const auto plain = static_cast<std::size_t>(stop - text.begin());
    text_ += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    text.remove_prefix(1);
    switch (c) {
      case '\0':
        replaced_ = true;
        text_ += kReplacement;
        break;
      case '"':
      case '\\':
        text_ += '\\';
        text_ += c;
        break;
      case '\b':
        text_ += "\\b";
        break;
      case '\f':
        text_ += "\\f";
        break;
      case '\n':
        text_ += "\\n";
        break;
      case '\r':
        text_ += "\\r";
        break;
      case '\t':
        text_ += "\\t";
        break;
      default:
        text_ += "\\u00";
        text_ += kHex[static_cast<unsigned char>(c) >> 4U];
        text_ += kHex[static_cast<unsigned char>(c) & 15U];
    }
  }
  text_ += '"';
}

void Payload::number(json::View view) {
  std::string canonical;
  if (view.number().kind == json::Number::Kind::kOutOfRange) {
    canonical = view.number_text();
  } else {
    json::append_number(canonical, view.number_text());
  }
  if (canonical == "-0") canonical = "0";
  // A number that no column can hold costs its exactness, not the export.
  if (!append_plain(text_, canonical)) string(view.number_text());
}

void Payload::object(json::View view) {
  std::vector<json::View::Member> members = view.sorted_members();
  std::vector<std::string> repaired;  // keys without their U+0000
  repaired.reserve(members.size());
  for (auto& member : members) {
    if (std::memchr(member.key.data(), 0, member.key.size()) == nullptr) continue;
    replaced_ = true;
    repaired.push_back(without_nul(member.key));
    member.key = repaired.back();
  }
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return a.key.size() != b.key.size() ? a.key.size() < b.key.size() : a.key < b.key;
  });
  text_ += '{';
  bool first = true;
  for (const auto& member : members) {
    if (!first) text_ += ", ";
    first = false;
    string(member.key);
    text_ += ": ";
    value(member.value);
  }
  text_ += '}';
}

void Payload::value(json::View view) {
  switch (view.type()) {
    case json::Type::kNull:
      text_ += "null";
      break;
    case json::Type::kFalse:
      text_ += "false";
      break;
    case json::Type::kTrue:
      text_ += "true";
      break;
    case json::Type::kNumber:
      number(view);
      break;
    case json::Type::kString:
      string(view.as_string());
      break;
    case json::Type::kObject:
      object(view);
      break;
    case json::Type::kArray: {
      text_ += '[';
      bool first = true;
      for (const json::View item : view.items()) {
        if (!first) text_ += ", ";
        first = false;
        value(item);
      }
      text_ += ']';
    }
  }
}

void Payload::member(std::string_view quoted_key, std::string_view text) {
  text_ += quoted_key;
  if (base::is_valid_utf8(text)) {
    string(text);
  } else {
    string(base::sanitize_utf8(text));
  }
}

base::Result<std::string_view> Payload::write(const inventory::RowView& row) {
  text_.clear();
  replaced_ = false;
  replaced_in_.clear();
  KL_TRY(document_.reparse_borrowed(row.attributes.empty() ? "{}" : row.attributes));
  member(R"({"uid": )", row.uid);
  member(R"(, "kind": )", row.kind);
  member(R"(, "name": )", row.name);
  if (!row.group.empty()) member(R"(, "group": )", row.group);
  member(R"(, "version": )", row.version);
  member(R"(, "namespace": )", row.ns);
  text_ += R"(, "attributes": )";
  const bool before = replaced_;
  value(document_.root());
  if (replaced_ && !before) {
    // Rare: which attribute was it?
    const std::string whole = text_;
    for (const auto& attribute : document_.root().members()) {
      replaced_ = false;
      string(attribute.key);
      value(attribute.value);
      if (!replaced_) continue;
      replaced_in_ = without_nul(attribute.key);
      break;
    }
    replaced_ = true;
    text_ = whole;
  }
  member(R"(, "targetName": )", row.target_name);
  member(R"(, "targetNamespace": )", row.target_namespace);
  text_ += '}';
  return text_;
}

std::string column_text(std::string_view text) {
  return without_nul(base::sanitize_utf8(text));
}

Digest digest_of(std::string_view resource_namespace, std::string_view payload) {
  std::string bytes;
  bytes.reserve(resource_namespace.size() + payload.size() + 1);
  bytes.append(resource_namespace).append(1, '\n').append(payload);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
  Digest out{};
  std::memcpy(out.data(), hash.data(), out.size());
  return out;
}

}  // namespace kollect::sinks::postgres
