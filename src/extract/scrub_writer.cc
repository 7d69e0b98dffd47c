#include "extract/scrub_writer.h"

#include <algorithm>

#include "base/json/write.h"

namespace kollect::extract {

using base::json::Number;
using base::json::Type;
using base::json::View;

namespace {

/// Numbers of few digits without fraction need no closer look.
bool plainly_in_range(std::string_view number) {
  return number.size() < 18 && number.find_first_of("eE") == std::string_view::npos;
}

bool is_scalar_flag(View value) {
  return value.is_bool() || value.is_null();
}

}  // namespace

void ScrubWriter::write_root(View root) {
  if (root.is_object())
    write_object(root, false, {}, true);
  else
    write(root, false);
}

void ScrubWriter::write(View value, bool element) {
  write_value(value, element, {});
}

void ScrubWriter::write_attribute(const std::vector<View>& values, bool as_array, bool elements,
                                  const Place& place) {
  // By name the whole is replaced, not element by element: the number of secrets is nobody's
  // business either.
  if (place.by_name() && !std::all_of(values.begin(), values.end(), is_scalar_flag)) {
    out_ += kRedactedJson;
    return;
  }
  if (values.size() == 1 && !as_array) {
    write_placed(values.front(), elements, place);
    return;
  }
  out_ += '[';
  bool first = true;
  for (const auto value : values) {
    if (!first) out_ += ',';
    first = false;
    write_placed(value, true, place);
  }
  out_ += ']';
}

void ScrubWriter::write_placed(View value, bool element, const Place& place) {
  if (place.by_shape(value))
    out_ += kRedactedJson;
  else
    write_value(value, element, {});
}

void ScrubWriter::write_value(View value, bool element, std::string_view own_key) {
  switch (value.type()) {
    case Type::kNull:
      out_ += "null";
      return;
    case Type::kFalse:
      out_ += "false";
      return;
    case Type::kTrue:
      out_ += "true";
      return;
    case Type::kNumber: {
      const auto text = value.number_text();
      if (!plainly_in_range(text) &&
          base::json::read_number(text).kind == Number::Kind::kOutOfRange) {
        out_of_range_ = true;
        return;
      }
      base::json::append_number(out_, text);
      return;
    }
    case Type::kString:
      write_string(value.as_string());
      return;
    case Type::kArray: {
      out_ += '[';
      bool first = true;
      for (const auto item : value.items()) {
        if (removed_ != nullptr && removed_->contains(item)) continue;
        if (!first) out_ += ',';
        first = false;
        write_value(item, true, {});
      }
      out_ += ']';
      return;
    }
    case Type::kObject:
      write_object(value, element, own_key, false);
      return;
  }
}

void ScrubWriter::write_string(std::string_view text) {
  if (scrubbing_) {
    if (const auto verdict = judge_content(text)) {
      if (verdict->whole)
        out_ += kRedactedJson;
      else
        base::json::append_string(out_, verdict->text);
      return;
    }
  }
  base::json::append_string(out_, text);
}

void ScrubWriter::write_object(View object, bool element, std::string_view own_key, bool root) {
  const auto begin = members_.size();
  for (const auto member : object.members()) members_.push_back(member);
  const auto end = members_.size();
  const auto less = [](const View::Member& a, const View::Member& b) {
    const auto order = a.key.compare(b.key);
    return order != 0 ? order < 0 : a.value.node() < b.value.node();
  };
  const auto from = members_.begin() + static_cast<std::ptrdiff_t>(begin);
  if (!std::is_sorted(from, members_.end(), less)) std::sort(from, members_.end(), less);

  // The name decides even where pruning took it: a rule that removes names must not open the
  // values.
  bool secret_value = false;
  if (element && scrubbing_) {
    const auto name = object.find("name");
    secret_value = name && name->is_string() && scrubber_.sensitive_key(name->as_string());
  }
  out_ += '{';
  bool first = true;
  for (auto i = begin; i < end; ++i) {
    const auto member = members_[i];  // a copy: the stack grows below
    if (i + 1 < end && members_[i + 1].key == member.key) continue;
    if (gone(member, own_key)) continue;
    if (!first) out_ += ',';
    first = false;
    write_member(member, secret_value && member.key == "value", root);
  }
  out_ += '}';
  members_.resize(begin);
}

bool ScrubWriter::gone(const View::Member& member, std::string_view own_key) const {
  if (removed_ == nullptr) return false;
  if (removed_->contains(member.value)) return true;
  if (own_key != "metadata" || (member.key != "annotations" && member.key != "labels"))
    return false;
  if (!member.value.is_object() || member.value.size() == 0) return false;
  for (const auto inner : member.value.members()) {
    if (!removed_->contains(inner.value)) return false;
  }
  return true;
}

void ScrubWriter::write_member(const View::Member& member, bool redact, bool root) {
  base::json::append_string(out_, member.key);
  out_ += ':';
  if (scrubbing_ && (redact || scrubber_.sensitive_key(member.key) ||
                     Scrubber::sensitive_shape(member.key, member.value, removed_))) {
    out_ += kRedactedJson;
  } else if (root && redact_secret_data_ && (member.key == "data" || member.key == "stringData")) {
    write_secret_data(member.value);
  } else {
    write_value(member.value, false, member.key);
  }
}

void ScrubWriter::write_secret_data(View value) {
  if (value.is_null()) {
    out_ += "null";
    return;
  }
  if (!value.is_object()) {
    out_ += kRedactedJson;
    return;
  }
  out_ += '{';
  bool first = true;
  for (const auto& member : value.sorted_members()) {
    if (removed_ != nullptr && removed_->contains(member.value)) continue;
    if (!first) out_ += ',';
    first = false;
    base::json::append_string(out_, member.key);
    out_ += ':';
    out_ += kRedactedJson;
  }
  out_ += '}';
}

}  // namespace kollect::extract
