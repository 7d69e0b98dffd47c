// The compiled form: a tree of small nodes with a virtual eval(). Immutable, shared by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cel/evaluation.h"

namespace kollect::cel {

class Node {
 public:
  explicit Node(std::uint32_t position) : position_(position) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  virtual Value eval(Evaluation& evaluation) const = 0;
  /// The value when it is known at compile time.
  [[nodiscard]] virtual const Value* constant() const { return nullptr; }
  [[nodiscard]] std::uint32_t position() const { return position_; }

 protected:
  /// The same value; an error without a position gets that of this node.
  [[nodiscard]] Value placed(const Value& value) const {
    if (value.is_error() && value.error->position == ErrorInfo::kNoPosition) {
      value.error->position = position_;
    }
    return value;
  }

 private:
  std::uint32_t position_;
};

using NodePtr = std::unique_ptr<Node>;

// Select, has() and index on values of every kind; used by nodes and by the path node.
Value select_field(Evaluation& evaluation, const Value& operand, std::string_view field);
Value has_field(Evaluation& evaluation, const Value& operand, std::string_view field);
Value select_optional(Evaluation& evaluation, const Value& operand, std::string_view field);
/// `name_key`: the key is a constant of the expression and may stand in an error message.
Value index_value(Evaluation& evaluation, const Value& operand, const Value& key, bool name_key);
Value index_optional(Evaluation& evaluation, const Value& operand, const Value& key);
/// What comparing or copying the value costs.
std::uint64_t weight(const Value& value);
/// Price of finding a member, beyond 1: members of JSON objects are looked for one after the other.
inline std::uint64_t look_up_weight(const Value& map) {
  return map.kind == Kind::kMap && map.json ? map.count / 64 : 0;
}

/// "no matching overload" with the function's name and the types of its arguments.
Value describe_overload(Evaluation& evaluation, std::string_view name, const Value* args,
                        std::size_t count);

}  // namespace kollect::cel
