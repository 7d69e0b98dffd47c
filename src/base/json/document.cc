#include "base/json/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/json/tape_builder.h"

namespace kollect::base::json {

using detail::Node;

double Number::as_double() const {
  switch (kind) {
    case Kind::kInt:
      return static_cast<double>(i);
    case Kind::kUint:
      return static_cast<double>(u);
    case Kind::kDouble:
    case Kind::kOutOfRange:
      return d;
  }
  return d;
}

Number read_number(std::string_view text) {
  Number n;
  const char* first = text.data();
  const char* last = first + text.size();
  // "-0" is what a negative zero double is written as: it has to come back as one.
  if (text != "-0" && text.find_first_of(".eE") == std::string_view::npos) {
    if (std::from_chars(first, last, n.i).ec == std::errc()) return n;
    if (std::from_chars(first, last, n.u).ec == std::errc()) {
      n.kind = Number::Kind::kUint;
      return n;
    }
  }
  n.kind = Number::Kind::kDouble;
  if (std::from_chars(first, last, n.d).ec == std::errc()) return n;
  // Out of range: from_chars does not tell too small from too large, strtod does.
  n.d = std::strtod(std::string(text).c_str(), nullptr);
  if (std::isinf(n.d)) n.kind = Number::Kind::kOutOfRange;
  return n;
}

View::ItemRange View::items() const {
  if (!is_array()) return {node_, node_};
  return {node_ + 1, node_ + node_->span};
}

View::MemberRange View::members() const {
  if (!is_object()) return {node_, node_};
  return {node_ + 1, node_ + node_->span};
}

std::vector<View::Member> View::sorted_members() const {
  std::vector<Member> sorted;
  sorted.reserve(size());
  for (Member member : members()) sorted.push_back(member);
  auto less = [](const Member& a, const Member& b) { return a.key < b.key; };
  if (std::ranges::is_sorted(sorted,
                             [](const Member& a, const Member& b) { return a.key <= b.key; })) {
    return sorted;
  }
  std::ranges::stable_sort(sorted, less);
  // Of equal keys the last one counts, as in find().
  std::size_t out = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 < sorted.size() && sorted[i + 1].key == sorted[i].key) continue;
    sorted[out++] = sorted[i];
  }
  sorted.resize(out);
  return sorted;
}

std::optional<View> View::find(std::string_view key) const {
  std::optional<View> found;
  for (Member member : members()) {
    if (member.key == key) found = member.value;
  }
  return found;
}

View View::at(std::size_t index) const {
  const Node* at = node_ + 1;
  for (std::size_t i = 0; i < index; ++i) at += at->span;
  return View(at);
}

std::optional<View> View::at_path(std::initializer_list<std::string_view> keys) const {
  std::optional<View> at = *this;
  for (std::string_view key : keys) {
    at = at->find(key);
    if (!at) return std::nullopt;
  }
  return at;
}

std::string_view View::text(std::string_view key) const {
  auto member = find(key);
  return member && member->is_string() ? member->as_string() : std::string_view();
}

struct Document::Impl {
  detail::TextBuffer buffer;
  detail::Tape tape;
};

Document::Document() : impl_(std::make_unique<Impl>()) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

Result<Document> Document::parse(std::string_view text) {
  Document document;
  KL_TRY(document.reparse_borrowed(text));
  return document;
}

Result<Document> Document::parse_borrowed(std::string_view text) {
  return parse(text);
}

Result<> Document::reparse_borrowed(std::string_view text) {
  impl_->tape.clear();
  KL_TRY(impl_->buffer.load(text));
  detail::TapeBuilder builder(impl_->buffer, impl_->tape);
  return builder.build_document();
}

View Document::root() const {
  return View(impl_->tape.nodes.data());
}

namespace {

void push_value(detail::Tape& tape, const Value& value);

void push_text(detail::Tape& tape, Type type, std::string_view text) {
  tape.nodes.push_back({tape.copy(text), static_cast<std::uint32_t>(text.size()), 1, type});
}

void push_number(detail::Tape& tape, const Value& value) {
  if (value.is_double()) {
    // %.17g keeps every double; the text is read back, never shown.
    push_text(tape, Type::kNumber, fmt::format("{:.17e}", value.as_double()));
  } else if (value.is_int()) {
    push_text(tape, Type::kNumber, fmt::format("{}", value.as_int()));
  } else {
    push_text(tape, Type::kNumber, fmt::format("{}", value.as_uint()));
  }
}

void push_container(detail::Tape& tape, const Value& value) {
  const std::size_t at = tape.nodes.size();
  tape.nodes.push_back({nullptr, 0, 1, value.is_array() ? Type::kArray : Type::kObject});
  std::uint32_t count = 0;
  if (value.is_array()) {
    for (const Value& item : value.as_array()) {
      push_value(tape, item);
      ++count;
    }
  } else {
    for (const auto& [key, member] : value.as_object()) {
      push_text(tape, Type::kString, key);
      push_value(tape, member);
      ++count;
    }
  }
  tape.nodes[at].size = count;
  tape.nodes[at].span = static_cast<std::uint32_t>(tape.nodes.size() - at);
}

void push_value(detail::Tape& tape, const Value& value) {
  if (value.is_null()) {
    tape.nodes.push_back({nullptr, 0, 1, Type::kNull});
  } else if (value.is_bool()) {
    tape.nodes.push_back({nullptr, 0, 1, value.as_bool() ? Type::kTrue : Type::kFalse});
  } else if (value.is_number()) {
    push_number(tape, value);
  } else if (value.is_string()) {
    push_text(tape, Type::kString, value.as_string());
  } else {
    push_container(tape, value);
  }
}

bool numbers_equal(const Number& a, const Number& b) {
  if (a.kind == b.kind) {
    switch (a.kind) {
      case Number::Kind::kInt:
        return a.i == b.i;
      case Number::Kind::kUint:
        return a.u == b.u;
      default:
        return a.d == b.d;
    }
  }
  const bool a_integer = a.kind == Number::Kind::kInt || a.kind == Number::Kind::kUint;
  const bool b_integer = b.kind == Number::Kind::kInt || b.kind == Number::Kind::kUint;
  if (a_integer && b_integer) return false;
  return a.as_double() == b.as_double();
}

bool objects_equal(View a, View b) {
  const auto left = a.sorted_members();
  const auto right = b.sorted_members();
  return std::ranges::equal(left, right, [](const View::Member& x, const View::Member& y) {
    return x.key == y.key && equal(x.value, y.value);
  });
}

}  // namespace

Document Document::from_value(const Value& value) {
  Document document;
  push_value(document.impl_->tape, value);
  return document;
}

bool equal(View a, View b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kNumber:
      return numbers_equal(a.number(), b.number());
    case Type::kString:
      return a.as_string() == b.as_string();
    case Type::kArray: {
      auto x = a.items();
      auto y = b.items();
      return a.size() == b.size() &&
             std::equal(x.begin(), x.end(), y.begin(), [](View p, View q) { return equal(p, q); });
    }
    case Type::kObject:
      return objects_equal(a, b);
    default:
      return true;
  }
}

Value to_value(View view) {
  switch (view.type()) {
    case Type::kNull:
      return nullptr;
    case Type::kFalse:
      return false;
    case Type::kTrue:
      return true;
    case Type::kNumber: {
      const Number n = view.number();
      if (n.kind == Number::Kind::kInt) return n.i;
      if (n.kind == Number::Kind::kUint) return n.u;
      return n.d;
    }
    case Type::kString:
      return view.as_string();
    case Type::kArray: {
      Array array;
      array.reserve(view.size());
      for (View item : view.items()) array.push_back(to_value(item));
      return array;
    }
    case Type::kObject: {
      Object object;
      for (auto member : view.members())
        object.set(std::string(member.key), to_value(member.value));
      return object;
    }
  }
  return nullptr;
}

}  // namespace kollect::base::json
