#include "cel/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cel/node.h"
#include "cel/opaque.h"

namespace kollect::cel {

namespace json = base::json;

Value Value::of_json(json::View view) {
  using Type = json::Type;
  Value v;
  const auto* node = view.node();
  switch (node->type) {
    case Type::kNull:
      break;
    case Type::kFalse:
    case Type::kTrue:
      v.kind = Kind::kBool;
      v.boolean = node->type == Type::kTrue;
      break;
    case Type::kNumber: {
      const auto number = view.number();
      switch (number.kind) {
        case json::Number::Kind::kInt:
          return of_int(number.i);
        case json::Number::Kind::kUint:
          return of_uint(number.u);
        default:
          v = of_double(number.d);
          v.json = number.kind == json::Number::Kind::kOutOfRange;
          return v;
      }
    }
    case Type::kString:
      v.kind = Kind::kString;
      v.text = node->text;
      v.count = node->size;
      break;
    case Type::kArray:
    case Type::kObject:
      v.kind = node->type == Type::kArray ? Kind::kList : Kind::kMap;
      v.json = true;
      v.node = node;
      v.count = node->size;
      break;
  }
  return v;
}

std::string_view type_name(const Value& value) {
  switch (value.kind) {
    case Kind::kError:
      return "error";
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      return "map";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kType:
      return "type";
    case Kind::kOptional:
      return "optional_type";
    case Kind::kOpaque:
      return opaque_type_name(value.opaque->kind);
  }
  return "unknown";
}

namespace {

// 2^63 and 2^64 are exact doubles; every double below them converts without loss of its integer
// part.
constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

Order order(auto a, auto b) {
  if (a < b) return Order::kLess;
  return a > b ? Order::kGreater : Order::kEqual;
}

Order compare_int_double(std::int64_t a, double b) {
  if (b >= kTwo63) return Order::kLess;
  if (b < -kTwo63) return Order::kGreater;
  const double whole = std::trunc(b);
  const auto by_whole = order(a, static_cast<std::int64_t>(whole));
  return by_whole != Order::kEqual ? by_whole : order(0.0, b - whole);
}

Order compare_uint_double(std::uint64_t a, double b) {
  if (b >= kTwo64) return Order::kLess;
  if (b < 0) return Order::kGreater;
  const double whole = std::trunc(b);
  const auto by_whole = order(a, static_cast<std::uint64_t>(whole));
  return by_whole != Order::kEqual ? by_whole : order(0.0, b - whole);
}

Order flip(Order o) {
  if (o == Order::kLess) return Order::kGreater;
  return o == Order::kGreater ? Order::kLess : o;
}

/// Without rounding; neither is NaN.
Order compare_exactly(const Value& a, const Value& b);

}  // namespace

Order compare_numbers(const Value& a, const Value& b) {
  if (a.kind == Kind::kDouble && b.kind != Kind::kDouble) return flip(compare_numbers(b, a));
  if (b.kind == Kind::kDouble) {
    const double number = a.kind == Kind::kInt    ? static_cast<double>(a.i)
                          : a.kind == Kind::kUint ? static_cast<double>(a.u)
                                                  : a.d;
    if (std::isnan(number) || std::isnan(b.d)) return Order::kUnordered;
    return order(number, b.d);
  }
  return compare_exactly(a, b);
}

namespace {

Order compare_exactly(const Value& a, const Value& b) {
  if (a.kind == b.kind) {
    if (a.kind == Kind::kInt) return order(a.i, b.i);
    if (a.kind == Kind::kUint) return order(a.u, b.u);
    return order(a.d, b.d);
  }
  if (a.kind == Kind::kInt) {
    if (b.kind == Kind::kDouble) return compare_int_double(a.i, b.d);
    return a.i < 0 ? Order::kLess : order(static_cast<std::uint64_t>(a.i), b.u);
  }
  if (a.kind == Kind::kUint && b.kind == Kind::kDouble) return compare_uint_double(a.u, b.d);
  return flip(compare_exactly(b, a));
}

/// equal() of what a container holds, which pays for its own size.
bool equal_inside(Evaluation& evaluation, const Value& a, const Value& b) {
  return evaluation.charge(weight(a) - 1) && equal(evaluation, a, b);
}

bool equal_lists(Evaluation& evaluation, const Value& a, const Value& b) {
  if (a.count != b.count) return false;
  ListCursor left(a);
  ListCursor right(b);
  Value x;
  Value y;
  while (left.next(x) && right.next(y)) {
    if (!equal_inside(evaluation, x, y)) return false;
  }
  return true;
}

/// Price of the texts of a JSON value, which its size in nodes leaves out.
std::uint64_t text_weight(const json::detail::Node& top) {
  std::uint64_t bytes = 0;
  for (const auto* node = &top; node != &top + top.span; ++node) {
    if (node->type == json::Type::kString) bytes += node->size;
  }
  return bytes / 10;
}

// Members of the first map are looked up in the second: with distinct keys and equal counts that is
// equality.
bool equal_maps(Evaluation& evaluation, const Value& a, const Value& b) {
  if (a.json && b.json) {
    return evaluation.charge(text_weight(*a.node)) &&
           json::equal(json::View(a.node), json::View(b.node));
  }
  if (a.count != b.count) return false;
  if (a.json) return equal_maps(evaluation, b, a);
  for (std::uint32_t n = 0; n < a.count; ++n) {
    if (!evaluation.charge(look_up_weight(b))) return false;
    const auto found = find_member(b, a.entries[n].key);
    if (!found.found || !equal_inside(evaluation, a.entries[n].value, found.value)) return false;
  }
  return true;
}

}  // namespace

bool equal(Evaluation& evaluation, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == Order::kEqual;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.boolean == b.boolean;
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      return a.as_text() == b.as_text();
    case Kind::kList:
      return equal_lists(evaluation, a, b);
    case Kind::kMap:
      return equal_maps(evaluation, a, b);
    case Kind::kTimestamp:
    case Kind::kDuration:
      return a.i == b.i && a.count == b.count;
    case Kind::kOptional:
      if (a.held == nullptr || b.held == nullptr) return a.held == b.held;
      return equal_inside(evaluation, *a.held, *b.held);
    case Kind::kOpaque:
      return equal_opaque(*a.opaque, *b.opaque);
    default:
      return false;
  }
}

int compare_keys(const Value& a, const Value& b) {
  const auto rank = [](const Value& v) {
    if (v.kind == Kind::kBool) return 0;
    return v.is_number() ? 1 : 2;
  };
  if (const int by_rank = rank(a) - rank(b); by_rank != 0) return by_rank;
  if (a.kind == Kind::kBool) return static_cast<int>(a.boolean) - static_cast<int>(b.boolean);
  if (a.is_number()) return static_cast<int>(compare_exactly(a, b));
  return a.as_text().compare(b.as_text());
}

const json::detail::Node* find_json_member(const json::detail::Node* object, std::string_view key) {
  const json::detail::Node* found = nullptr;
  const json::detail::Node* at = object + 1;
  const char first = key.empty() ? '\0' : key[0];
  for (std::uint32_t n = object->size; n > 0; --n) {
    // Most keys differ in length or first letter: no call for them.
    if (at->size == key.size() && (key.empty() || *at->text == first) &&
        std::memcmp(at->text, key.data(), key.size()) == 0) {
      found = at + 1;
    }
    at += 1 + at[1].span;
  }
  return found;
}

Lookup find_member(const Value& map, std::string_view key) {
  if (map.kind != Kind::kMap) return {};
  if (map.json) {
    const auto* node = find_json_member(map.node, key);
    return node == nullptr ? Lookup{} : Lookup{Value::of_json(json::View(node)), true};
  }
  return find_member(map, Value::of_string(key));
}

Lookup find_member(const Value& map, const Value& key) {
  if (map.kind != Kind::kMap) return {};
  if (map.json) return key.kind == Kind::kString ? find_member(map, key.as_text()) : Lookup{};
  if (key.kind == Kind::kDouble && std::isnan(key.d)) return {};
  if (!is_key(key) && key.kind != Kind::kDouble) return {};
  const auto* end = map.entries + map.count;
  const auto* at =
      std::lower_bound(map.entries, end, key, [](const MapEntry& entry, const Value& wanted) {
        return compare_keys(entry.key, wanted) < 0;
      });
  if (at == end || compare_keys(at->key, key) != 0) return {};
  return {at->value, true};
}

Value list_at(const Value& list, std::size_t index) {
  if (!list.json) return list.items[index];
  const auto* node = list.node + 1;
  for (; index > 0; --index) node += node->span;
  return Value::of_json(json::View(node));
}

}  // namespace kollect::cel
