#include "inventory/store/row_codec.h"

#include "inventory/store/set_hash.h"

namespace kollect::inventory {
namespace {

enum Form : std::uint8_t { kJson, kString, kInDictionary, kOfTheRow };
constexpr std::size_t kRowName = 0;
constexpr std::size_t kRowNamespace = 1;
// A number of a dictionary takes as many bytes.
constexpr std::size_t kNeverShared = 3;

bool is_string(std::string_view value) {
  return value.size() >= 2 && value.front() == '"';
}

void append_form(std::string& out, std::size_t number, Form form) {
  append_size(out, number << 2U | form);
}

/// Calls visit(dictionary, number) for every shared text of a row's columns.
template <class Visit>
void for_each_shared(const Record& record, const Shape& shape, Visit&& visit) {
  if (record.removed() || record.body() != Body::kColumns) return;
  const char* at = record.attributes();
  for (const Shape::Column& column : shape.columns) {
    const std::size_t size = read_size(at);
    const std::size_t number = size >> 2U;
    switch (static_cast<Form>(size & 3U)) {
      case kJson:
      case kString:
        at += number;
        break;
      case kInDictionary:
        visit(*column.values, static_cast<std::uint32_t>(number));
        break;
      case kOfTheRow:
        break;
    }
  }
}

base::Hash128 stored_hash(const char* at) {
  base::Hash128 hash;
  std::memcpy(&hash.high, at, sizeof hash.high);
  std::memcpy(&hash.low, at + sizeof hash.high, sizeof hash.low);
  return hash;
}

bool is_packed(const Record& record) {
  return record.body() == Body::kPacked || record.body() == Body::kPackedWithDictionary;
}

}  // namespace

Kind& RowEncoder::kind_of(const RowView& row) {
  if (kind_ == nullptr || !kind_->is(row)) {
    kind_ = &common_.kinds.kind(row);
    shape_ = kind_->bare;
  }
  return *kind_;
}

void RowEncoder::append_value(const Shape::Column& column, const RowView& row,
                              std::string_view value, std::string& out) {
  const bool string = is_string(value);
  const std::string_view inside = string ? value.substr(1, value.size() - 2) : value;
  if (string && inside == row.name) return append_form(out, kRowName, kOfTheRow);
  if (string && inside == row.ns) return append_form(out, kRowNamespace, kOfTheRow);
  if (value.size() > kNeverShared) {
    if (const auto number = column.values->offer(value)) {
      return append_form(out, *number, kInDictionary);
    }
  }
  append_form(out, inside.size(), string ? kString : kJson);
  out += inside;
}

Record::Fields RowEncoder::encode(const RowView& row, const UidKey& uid, const base::Hash128& hash,
                                  Workbench& bench) {
  Kind& kind = kind_of(row);
  Record::Fields fields;
  fields.shape = kind.bare->number;
  fields.ns = common_.namespaces.take(row.ns);
  fields.name = row.name;
  fields.uid = &uid;
  std::string& out = bench.record;
  out.clear();
  if (row.attributes.size() > common_.options.compress_above) {
    const Packer::Packed packed = kind.packer.pack(row.attributes, bench);
    if (!packed.bytes.empty()) {
      fields.body = packed.with_dictionary ? Body::kPackedWithDictionary : Body::kPacked;
      out.append(reinterpret_cast<const char*>(&hash.high), sizeof hash.high);
      out.append(reinterpret_cast<const char*>(&hash.low), sizeof hash.low);
      append_size(out, row.attributes.size());
      append_size(out, packed.bytes.size());
      out += packed.bytes;
      fields.attributes = out;
      return fields;
    }
  } else if (split_members(row.attributes, members_)) {
    const Shape* shape = shape_->fits(members_) ? shape_ : common_.kinds.shape(kind, members_);
    if (shape != nullptr) {
      shape_ = shape;
      fields.shape = shape->number;
      for (std::size_t i = 0; i < members_.size(); ++i) {
        append_value(shape->columns[i], row, members_[i].value, out);
      }
      fields.attributes = out;
      return fields;
    }
  }
  fields.body = Body::kPlain;
  append_size(out, row.attributes.size());
  out += row.attributes;
  fields.attributes = out;
  return fields;
}

std::string_view RowReader::attributes(const Record& record, std::string_view name,
                                       std::string_view ns) {
  const char* at = record.attributes();
  if (record.body() == Body::kPlain) return read_text(at);
  const Shape& shape = common_.kinds.shape(record.shape());
  std::string& out = bench_.text;
  if (record.body() != Body::kColumns) {
    at += sizeof(base::Hash128);
    const std::size_t size = read_size(at);
    shape.kind->packer.unpack(read_text(at), size, record.body() == Body::kPackedWithDictionary,
                              bench_, out);
    return out;
  }
  out = "{";
  for (const Shape::Column& column : shape.columns) {
    if (out.size() > 1) out += ',';
    out += column.head;
    const std::size_t size = read_size(at);
    const std::size_t number = size >> 2U;
    switch (static_cast<Form>(size & 3U)) {
      case kJson:
        out.append(at, number);
        at += number;
        break;
      case kString:
        out += '"';
        out.append(at, number);
        out += '"';
        at += number;
        break;
      case kInDictionary:
        out += column.values->text(static_cast<std::uint32_t>(number));
        break;
      case kOfTheRow:
        out += '"';
        out += number == kRowName ? name : ns;
        out += '"';
        break;
    }
  }
  out += '}';
  return out;
}

RowView RowReader::read_key(const Record& record) {
  const Kind& kind = *common_.kinds.shape(record.shape()).kind;
  return {.target_namespace = owner_.ns,
          .target_name = owner_.name,
          .ns = common_.namespaces.text(record.ns()),
          .name = record.name(),
          .group = kind.group,
          .version = kind.version,
          .kind = kind.name,
          .uid = record.uid_is_text() ? record.uid_text() : unpack_uuid(record.uuid(), uid_),
          .attributes = {}};
}

RowView RowReader::read(const Record& record) {
  RowView row = read_key(record);
  if (!record.removed()) row.attributes = attributes(record, row.name, row.ns);
  return row;
}

base::Hash128 RowReader::hash(const Record& record) {
  if (is_packed(record)) return stored_hash(record.attributes());
  return row_hash(read(record), bench_.hashed);
}

bool holds_row(const Record& record, const RowView& row, Workbench& bench, RowReader& reader) {
  if (is_packed(record)) return stored_hash(record.attributes()) == row_hash(row, bench.hashed);
  const RowView held = reader.read(record);
  return held.name == row.name && held.ns == row.ns && held.attributes == row.attributes &&
         held.kind == row.kind && held.version == row.version && held.group == row.group;
}

void retain_texts(Common& common, const Record& record) {
  common.namespaces.retain(record.ns());
  for_each_shared(record, common.kinds.shape(record.shape()),
                  [](Dictionary& values, std::uint32_t number) { values.retain(number); });
}

void release_texts(Common& common, const Record& record) {
  for_each_shared(record, common.kinds.shape(record.shape()),
                  [](Dictionary& values, std::uint32_t number) { values.release(number); });
  common.namespaces.release(record.ns());
}

}  // namespace kollect::inventory
