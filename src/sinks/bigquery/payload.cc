#include "sinks/bigquery/payload.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::sinks::bigquery {

namespace json = base::json;

void Payload::string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text_ += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (code >= 0x20) {
      text_ += c;
    } else if (const auto at = std::string_view("\b\f\n\r\t").find(c); at != std::string::npos) {
      text_ += '\\';
      text_ += "bfnrt"[at];
    } else {
      text_ += "\\u00";
      text_ += kHex[code >> 4U];
      text_ += kHex[code & 15U];
    }
  }
  text_ += '"';
}

void Payload::value(json::View view) {
  switch (view.type()) {
    case json::Type::kNull:
      text_ += "null";
      return;
    case json::Type::kFalse:
      text_ += "false";
      return;
    case json::Type::kTrue:
      text_ += "true";
      return;
    case json::Type::kNumber:
      json::append_number(text_, view.number_text());
      return;
    case json::Type::kString:
      string(view.as_string());
      return;
    case json::Type::kArray: {
      char before = '[';
      if (view.size() == 0) text_ += before;
      for (const json::View item : view.items()) {
        text_ += std::exchange(before, ',');
        value(item);
      }
      text_ += ']';
      return;
    }
    case json::Type::kObject: {
      char before = '{';
      if (view.size() == 0) text_ += before;
      for (const auto& [key, member] : view.sorted_members()) {
        text_ += std::exchange(before, ',');
        string(key);
        text_ += ':';
        value(member);
      }
      text_ += '}';
    }
  }
}

base::Result<std::string_view> Payload::write(const inventory::RowView& row) {
  text_.clear();
  KL_TRY(document_.reparse_borrowed(row.attributes.empty() ? "{}" : row.attributes));
  text_ += R"({"attributes":)";
  value(document_.root());
  // The row's own keys (spec: sinks 2.1) in the order in which they sort.
  const std::pair<std::string_view, std::string_view> members[] = {
      {"group", row.group},
      {"kind", row.kind},
      {"name", row.name},
      {"namespace", row.ns},
      {"targetName", row.target_name},
      {"targetNamespace", row.target_namespace},
      {"uid", row.uid},
      {"version", row.version}};
  for (const auto& [key, text] : members) {
    if (key == "group" && text.empty()) continue;
    text_.append(",\"").append(key).append("\":");
    string(base::is_valid_utf8(text) ? text : std::string_view(base::sanitize_utf8(text)));
  }
  text_ += '}';
  return std::string_view(text_);
}

Digest digest_of(std::string_view resource_namespace, std::string_view payload) {
  std::string text;
  text.reserve(resource_namespace.size() + payload.size() + 1);
  text.append(resource_namespace).append("\n").append(payload);
  const auto hash = base::sha256(text);
  Digest out;
  std::memcpy(out.data(), hash.data(), out.size());
  return out;
}

Digest read_digest(std::string_view hex) {
  Digest out{};
  const auto nibble = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  if (hex.size() < 2 * out.size()) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<char>((nibble(hex[2 * i]) << 4) | nibble(hex[2 * i + 1]));
  }
  return out;
}

}  // namespace kollect::sinks::bigquery
