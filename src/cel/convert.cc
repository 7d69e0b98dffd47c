#include "cel/convert.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_set>

#include "base/hash.h"
#include "cel/opaque.h"
#include "cel/text.h"

namespace kollect::cel {

namespace json = base::json;

namespace {

class Converter {
 public:
  explicit Converter(std::size_t max_bytes) : left_(max_bytes) {}

  std::optional<json::Value> convert(const Value& value) {
    if (!spend(1)) return std::nullopt;
    switch (value.kind) {
      case Kind::kNull:
        if (!spend(4)) return std::nullopt;
        return json::Value();
      case Kind::kBool:
        if (!spend(4)) return std::nullopt;
        return json::Value(value.boolean);
      case Kind::kInt:
        if (!spend(fmt::formatted_size("{}", value.i))) return std::nullopt;
        return json::Value(value.i);
      case Kind::kUint:
        if (!spend(fmt::formatted_size("{}", value.u))) return std::nullopt;
        return json::Value(value.u);
      case Kind::kDouble:
        return number(value.d);
      case Kind::kString:
        return text(std::string(value.as_text()));
      case Kind::kBytes:
        return text(base::base64_encode(value.as_text()));
      case Kind::kTimestamp:
        return text(timestamp_text(value));
      case Kind::kDuration:
        return text(duration_text(value));
      case Kind::kOpaque:
        return text(opaque_text(*value.opaque));
      case Kind::kList:
        return value.json ? json_view(json::View(value.node)) : list(value);
      case Kind::kMap:
        return value.json ? json_view(json::View(value.node)) : map(value);
      case Kind::kOptional:
        return value.held == nullptr ? json::Value() : convert(*value.held);
      default:
        return fail(fmt::format("a result of type {} has no JSON form", type_name(value)));
    }
  }

  [[nodiscard]] const EvalError& error() const { return error_; }
  [[nodiscard]] std::size_t left() const { return left_; }
  /// Members that were passed over in search of a key.
  [[nodiscard]] std::size_t searched() const { return searched_; }

 private:
  std::nullopt_t fail(std::string message, bool limit = false) {
    error_ = {limit, std::move(message)};
    return std::nullopt;
  }

  bool spend(std::size_t bytes) {
    if (bytes > left_) {
      fail("the result is too large: the limit of its JSON is passed", true);
      return false;
    }
    left_ -= bytes;
    return true;
  }

  std::optional<json::Value> number(double value) {
    if (!std::isfinite(value)) return fail("NaN and infinities have no JSON form");
    if (!spend(fmt::formatted_size("{}", value))) return std::nullopt;
    return json::Value(value);
  }

  std::optional<json::Value> text(std::string value) {
    if (!spend(value.size() + 2)) return std::nullopt;
    return json::Value(std::move(value));
  }

  std::optional<json::Value> list(const Value& value) {
    json::Array out;
    out.reserve(value.count);
    for (std::uint32_t n = 0; n < value.count; ++n) {
      auto item = convert(value.items[n]);
      if (!item) return std::nullopt;
      out.push_back(std::move(*item));
    }
    return json::Value(std::move(out));
  }

  static std::string key_text(const Value& key) {
    switch (key.kind) {
      case Kind::kBool:
        return key.boolean ? "true" : "false";
      case Kind::kInt:
        return std::to_string(key.i);
      case Kind::kUint:
        return std::to_string(key.u);
      default:
        return std::string(key.as_text());
    }
  }

  std::optional<json::Value> map(const Value& value) {
    json::Object out;
    std::unordered_set<std::string> known;
    for (std::uint32_t n = 0; n < value.count; ++n) {
      std::string key = key_text(value.entries[n].key);
      if (!known.insert(key).second) return fail("two keys of a map have the same text in JSON");
      auto item = convert(value.entries[n].value);
      if (!item || !spend(key.size() + 3)) return std::nullopt;
      out.set(std::move(key), std::move(*item));
      searched_ += out.size();
    }
    return json::Value(std::move(out));
  }

  std::optional<json::Value> json_view(json::View view) {
    if (!spend(1)) return std::nullopt;
    if (view.is_array()) {
      json::Array out;
      out.reserve(view.size());
      for (const json::View item : view.items()) {
        auto value = json_view(item);
        if (!value) return std::nullopt;
        out.push_back(std::move(*value));
      }
      return json::Value(std::move(out));
    }
    if (view.is_object()) {
      json::Object out;
      for (const auto& member : view.members()) {
        auto value = json_view(member.value);
        if (!value || !spend(member.key.size() + 3)) return std::nullopt;
        out.set(std::string(member.key), std::move(*value));
        searched_ += out.size();
      }
      return json::Value(std::move(out));
    }
    const Value scalar = Value::of_json(view);
    if (scalar.out_of_range()) return fail("a number is beyond the range of doubles", true);
    return convert(scalar);
  }

  std::size_t left_;
  std::size_t searched_ = 0;
  EvalError error_;
};

}  // namespace

std::expected<json::Value, EvalError> to_json(const Value& value, std::size_t max_bytes,
                                              std::size_t* used) {
  Converter converter(max_bytes);
  auto result = converter.convert(value);
  if (used != nullptr) *used = max_bytes - converter.left() + converter.searched() / 64;
  if (!result) return std::unexpected(converter.error());
  return std::move(*result);
}

}  // namespace kollect::cel
