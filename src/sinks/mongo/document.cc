#include "sinks/mongo/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sinks::mongo {

namespace {

namespace json = base::json;
using inventory::RowView;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kLargestDocument = 16U << 20U;
constexpr double kTwoTo63 = 9223372036854775808.0;

void put_bytes(std::string& out, const void* bytes, std::size_t size) {
  out.append(static_cast<const char*>(bytes), size);
}

void put_text(std::string& out, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  put_bytes(out, &size, sizeof size);
  out += text;
}

void put_integer(std::string& out, std::int64_t number) {
  out += 'i';
  put_bytes(out, &number, sizeof number);
}

void put_number(std::string& out, double number) {
  if (number == std::floor(number) && std::abs(number) < kTwoTo63) {
    return put_integer(out, static_cast<std::int64_t>(number));
  }
  out += 'd';
  put_bytes(out, &number, sizeof number);
}

void put_value(std::string& out, const bson_iter_t& at);

void put_members(std::string& out, const bson_iter_t& parent, bool keys) {
  bson_iter_t child;
  if (!bson_iter_recurse(&parent, &child)) return;
  while (bson_iter_next(&child)) {
    if (keys) put_text(out, {bson_iter_key(&child), bson_iter_key_len(&child)});
    put_value(out, child);
  }
}

void put_value(std::string& out, const bson_iter_t& at) {
  switch (bson_iter_type(&at)) {
    case BSON_TYPE_INT32:
      return put_integer(out, bson_iter_int32(&at));
    case BSON_TYPE_INT64:
      return put_integer(out, bson_iter_int64(&at));
    case BSON_TYPE_DOUBLE:
      return put_number(out, bson_iter_double(&at));
    case BSON_TYPE_DECIMAL128: {
      bson_decimal128_t number{};
      bson_iter_decimal128(&at, &number);
      out += 'D';
      return put_bytes(out, &number, sizeof number);
    }
    case BSON_TYPE_UTF8:
      out += 's';
      return put_text(out, text_of(at));
    case BSON_TYPE_BOOL:
      out += bson_iter_bool(&at) ? 't' : 'f';
      return;
    case BSON_TYPE_NULL:
      out += 'n';
      return;
    case BSON_TYPE_DOCUMENT:
      out += '{';
      put_members(out, at, true);
      out += '}';
      return;
    case BSON_TYPE_ARRAY:
      out += '[';
      put_members(out, at, false);
      out += ']';
      return;
    default:  // nothing that we write
      out += '?';
  }
}

}  // namespace

Digest digest_of(std::string_view resource_namespace, const bson_iter_t& payload) {
  std::string bytes;
  put_text(bytes, resource_namespace);
  put_value(bytes, payload);
  const auto hash = base::sha256(bytes);
  Digest out{};
  std::copy_n(hash.begin(), out.size(), out.begin());
  return out;
}

RowColumns columns_of(const RowView& row) {
  return {base::sanitize_utf8(row.target_name), base::sanitize_utf8(rows::source_uid(row)),
          base::sanitize_utf8(row.target_namespace)};
}

void append_partition(bson_t* filter, const Partition& partition) {
  append_text(filter, "cluster", partition.cluster);
  append_text(filter, "inventory_namespace", partition.inventory_namespace);
  append_text(filter, "inventory_name", partition.inventory_name);
}

void RowDocument::number(bson_t* to, std::string_view key, json::View view) {
  const json::Number number = view.number();
  const int size = length_of(key);
  switch (number.kind) {
    case json::Number::Kind::kInt:
      bson_append_int64(to, key.data(), size, number.i);
      return;
    case json::Number::Kind::kUint: {
      bson_decimal128_t decimal{};
      bson_decimal128_from_string(std::to_string(number.u).c_str(), &decimal);
      bson_append_decimal128(to, key.data(), size, &decimal);
      return;
    }
    case json::Number::Kind::kDouble:
      bson_append_double(to, key.data(), size, number.d);
      return;
    case json::Number::Kind::kOutOfRange:
      // A number that no field can hold costs its type, not the export.
      append_text(to, key, view.number_text());
  }
}

void RowDocument::object(bson_t* to, json::View view) {
  std::vector<std::string> repaired;  // keys without their U+0000
  std::vector<json::View::Member> members = view.sorted_members();
  repaired.reserve(members.size());
  for (auto& member : members) {
    if (member.key.find('\0') == std::string_view::npos) continue;
    replaced_ = true;
    repaired.push_back(
        base::replace_all(std::string(member.key), std::string_view("\0", 1), kReplacement));
    member.key = repaired.back();
  }
  if (!repaired.empty()) {
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.key < b.key; });
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    // Of keys that have become the same the last one stays.
    if (i + 1 < members.size() && members[i].key == members[i + 1].key) continue;
    value(to, members[i].key, members[i].value);
  }
}

void RowDocument::value(bson_t* to, std::string_view key, json::View view) {
  const int size = length_of(key);
  bson_t child;
  switch (view.type()) {
    case json::Type::kNull:
      bson_append_null(to, key.data(), size);
      return;
    case json::Type::kFalse:
    case json::Type::kTrue:
      bson_append_bool(to, key.data(), size, view.as_bool());
      return;
    case json::Type::kNumber:
      return number(to, key, view);
    case json::Type::kString:
      return append_text(to, key, view.as_string());
    case json::Type::kObject:
      bson_append_document_begin(to, key.data(), size, &child);
      object(&child, view);
      bson_append_document_end(to, &child);
      return;
    case json::Type::kArray: {
      bson_append_array_begin(to, key.data(), size, &child);
      std::size_t index = 0;
      for (const json::View item : view.items()) value(&child, std::to_string(index++), item);
      bson_append_array_end(to, &child);
    }
  }
}

void RowDocument::payload(bson_t* to, const RowView& row) {
  const auto text = [to](std::string_view key, std::string_view value) {
    if (base::is_valid_utf8(value)) {
      append_text(to, key, value);
    } else {
      append_text(to, key, base::sanitize_utf8(value));
    }
  };
  value(to, "attributes", attributes_.root());
  if (!row.group.empty()) text("group", row.group);
  text("kind", row.kind);
  text("name", row.name);
  text("namespace", row.ns);
  text("targetName", row.target_name);
  text("targetNamespace", row.target_namespace);
  text("uid", row.uid);
  text("version", row.version);
}

base::Result<> RowDocument::write(const RowView& row, const Partition& partition) {
  replaced_ = false;
  document_.clear();
  const auto too_large = [&] {
    return base::terminal(
        fmt::format("mongodb: the row of {} {}/{} (target {}) makes a document above the server's "
                    "limit of 16 MiB; collect fewer of its attributes",
                    base::sanitize_utf8(row.kind), base::sanitize_utf8(row.ns),
                    base::sanitize_utf8(row.name), base::sanitize_utf8(row.target_name)),
        "row-too-large");
  };
  // libbson counts in 31 bits: far beyond the limit nothing is built at all.
  if (row.attributes.size() > 8 * kLargestDocument) return too_large();
  KL_TRY(attributes_.reparse_borrowed(row.attributes.empty() ? "{}" : row.attributes));
  bson_t* to = document_.get();
  const RowColumns columns = columns_of(row);
  append_text(to, "inventory_namespace", partition.inventory_namespace);
  append_text(to, "inventory_name", partition.inventory_name);
  append_text(to, "target_name", columns.target_name);
  append_text(to, "source_uid", columns.source_uid);
  append_text(to, "cluster", partition.cluster);
  append_text(to, "resource_namespace",
              row.ns.empty() ? partition.inventory_namespace : base::sanitize_utf8(row.ns));
  bson_t child;
  BSON_APPEND_DOCUMENT_BEGIN(to, "payload", &child);
  payload(&child, row);
  bson_append_document_end(to, &child);
  BSON_APPEND_DATE_TIME(to, "exported_at", partition.at);
  if (size() > kLargestDocument) return too_large();
  return {};
}

Digest RowDocument::digest() const {
  bson_iter_t at;
  if (!bson_iter_init_find(&at, get(), "payload")) return {};
  return digest_of(text_of(get(), "resource_namespace"), at);
}

}  // namespace kollect::sinks::mongo
