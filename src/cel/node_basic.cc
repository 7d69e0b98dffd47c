// Constants, names, fields, indexes, list and map literals.
#include "cel/node_factory.h"

namespace kollect::cel {

namespace json = base::json;

namespace {

class ConstantNode final : public Node {
 public:
  ConstantNode(std::uint32_t position, const Value& value) : Node(position), value_(value) {}
  Value eval(Evaluation&) const override { return value_; }
  [[nodiscard]] const Value* constant() const override { return &value_; }

 private:
  Value value_;
};

class FailureNode final : public Node {
 public:
  FailureNode(std::uint32_t position, std::string message)
      : Node(position), message_(std::move(message)) {}
  Value eval(Evaluation& evaluation) const override { return placed(evaluation.error(message_)); }

 private:
  std::string message_;
};

class LocalNode final : public Node {
 public:
  LocalNode(std::uint32_t position, std::uint32_t slot) : Node(position), slot_(slot) {}
  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    return evaluation.readable(evaluation.slot(slot_));
  }

 private:
  std::uint32_t slot_;
};

class VariableNode final : public Node {
 public:
  VariableNode(std::uint32_t position, std::uint32_t variable)
      : Node(position), variable_(variable) {}
  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    return placed(evaluation.readable(evaluation.variable(variable_)));
  }

 private:
  std::uint32_t variable_;
};

enum class SelectMode : std::uint8_t { kValue, kHas, kOptional };

class SelectNode final : public Node {
 public:
  SelectNode(const Expr& expr, NodePtr operand)
      : Node(expr.position),
        operand_(std::move(operand)),
        field_(expr.name),
        mode_(expr.test_only  ? SelectMode::kHas
              : expr.optional ? SelectMode::kOptional
                              : SelectMode::kValue) {}

  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    const Value operand = operand_->eval(evaluation);
    if (operand.is_error()) return operand;
    if (mode_ == SelectMode::kHas) return placed(has_field(evaluation, operand, field_));
    return placed(evaluation.readable(mode_ == SelectMode::kOptional
                                          ? select_optional(evaluation, operand, field_)
                                          : select_field(evaluation, operand, field_)));
  }

 private:
  NodePtr operand_;
  std::string_view field_;
  SelectMode mode_;
};

/// object.a.b.c in one node: as long as the values are JSON it hops from tape node to tape node.
class PathNode final : public Node {
 public:
  PathNode(std::uint32_t position, PathRoot root, std::vector<PathStep> steps, bool has)
      : Node(position), root_(root), steps_(std::move(steps)), has_(has) {}

  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(steps_.size() + 1);
    Value at = root_.local ? evaluation.slot(root_.number) : evaluation.variable(root_.number);
    if (at.is_error()) return placed(at);
    const std::size_t plain = steps_.size() - (has_ ? 1 : 0);
    std::size_t n = 0;
    if (at.kind == Kind::kMap && at.json) {
      const auto* node = at.node;
      while (n < plain && node->type == json::Type::kObject) {
        evaluation.charge(node->size / 64);  // members are looked for one after the other
        const auto* next = find_json_member(node, steps_[n].field);
        if (next == nullptr) return missing(evaluation, n);
        node = next;
        ++n;
      }
      if (has_ && n == plain && node->type == json::Type::kObject) {
        evaluation.charge(node->size / 64);
        return Value::of_bool(find_json_member(node, steps_[n].field) != nullptr);
      }
      at = Value::of_json(json::View(node));
    }
    for (; n < plain; ++n) {
      at = select_field(evaluation, at, steps_[n].field);
      if (at.is_error()) {
        if (at.error->position == ErrorInfo::kNoPosition) at.error->position = steps_[n].position;
        return at;
      }
    }
    return has_ ? placed(has_field(evaluation, at, steps_[n].field)) : evaluation.readable(at);
  }

 private:
  Value missing(Evaluation& evaluation, std::size_t step) const {
    Value error = evaluation.errorf("no such key: '{}'", steps_[step].field);
    error.error->position = steps_[step].position;
    return error;
  }

  PathRoot root_;
  std::vector<PathStep> steps_;
  bool has_;
};

class IndexNode final : public Node {
 public:
  IndexNode(std::uint32_t position, NodePtr operand, NodePtr key, bool optional)
      : Node(position), operand_(std::move(operand)), key_(std::move(key)), optional_(optional) {}

  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    const Value operand = operand_->eval(evaluation);
    if (operand.is_error()) return operand;
    const Value key = key_->eval(evaluation);
    if (key.is_error()) return key;
    const Value result = optional_
                             ? index_optional(evaluation, operand, key)
                             : index_value(evaluation, operand, key, key_->constant() != nullptr);
    if (result.is_error() && result.error->message.empty()) {
      const Value args[] = {operand, key};
      return placed(describe_overload(evaluation, optional_ ? "[?]" : "[]", args, 2));
    }
    return placed(evaluation.readable(result));
  }

 private:
  NodePtr operand_;
  NodePtr key_;
  bool optional_;
};

/// What an element with '?' adds: nothing, its value, or an error.
struct Unwrapped {
  bool present = true;
  Value value;
};
Unwrapped unwrap(Evaluation& evaluation, const Value& value) {
  if (value.kind != Kind::kOptional) {
    return {true,
            evaluation.errorf("an element with '?' must be optional, not {}", type_name(value))};
  }
  return value.held == nullptr ? Unwrapped{false, {}} : Unwrapped{true, *value.held};
}

class ListNode final : public Node {
 public:
  ListNode(const Expr& expr, std::vector<NodePtr> values)
      : Node(expr.position), values_(std::move(values)) {
    for (const Element& element : expr.elements) optional_.push_back(element.optional);
  }

  Value eval(Evaluation& evaluation) const override {
    if (!evaluation.charge(10 + values_.size())) return evaluation.over_budget();
    if (values_.empty()) return Value::of_list(nullptr, 0);
    auto* items = evaluation.arena().make_array<Value>(values_.size());
    if (items == nullptr) return evaluation.out_of_memory();
    std::size_t count = 0;
    for (std::size_t n = 0; n < values_.size(); ++n) {
      Unwrapped item{true, values_[n]->eval(evaluation)};
      if (item.value.is_error()) return item.value;
      if (optional_[n]) item = unwrap(evaluation, item.value);
      if (item.value.is_error()) return placed(item.value);
      if (item.present) items[count++] = item.value;
    }
    return Value::of_list(items, count);
  }

 private:
  std::vector<NodePtr> values_;
  std::vector<bool> optional_;
};

class MapNode final : public Node {
 public:
  MapNode(const Expr& expr, std::vector<NodePtr> keys, std::vector<NodePtr> values)
      : Node(expr.position), keys_(std::move(keys)), values_(std::move(values)) {
    for (const Element& element : expr.elements) optional_.push_back(element.optional);
  }

  Value eval(Evaluation& evaluation) const override {
    if (!evaluation.charge(30 + keys_.size())) return evaluation.over_budget();
    MapBuilder builder(evaluation, keys_.size());
    for (std::size_t n = 0; n < keys_.size(); ++n) {
      const Value key = keys_[n]->eval(evaluation);
      if (key.is_error()) return key;
      Unwrapped item{true, values_[n]->eval(evaluation)};
      if (item.value.is_error()) return item.value;
      if (optional_[n]) item = unwrap(evaluation, item.value);
      if (item.value.is_error()) return placed(item.value);
      if (!item.present) continue;
      if (const Value error = builder.add(key, item.value); error.is_error()) return placed(error);
    }
    return placed(builder.value());
  }

 private:
  std::vector<NodePtr> keys_;
  std::vector<NodePtr> values_;
  std::vector<bool> optional_;
};

}  // namespace

NodePtr make_constant(std::uint32_t position, const Value& value) {
  return std::make_unique<ConstantNode>(position, value);
}
NodePtr make_failure(std::uint32_t position, std::string message) {
  return std::make_unique<FailureNode>(position, std::move(message));
}
NodePtr make_local(std::uint32_t position, std::uint32_t slot) {
  return std::make_unique<LocalNode>(position, slot);
}
NodePtr make_variable(std::uint32_t position, std::uint32_t variable) {
  return std::make_unique<VariableNode>(position, variable);
}
NodePtr make_select(const Expr& expr, NodePtr operand) {
  return std::make_unique<SelectNode>(expr, std::move(operand));
}
NodePtr make_path(std::uint32_t position, PathRoot root, std::vector<PathStep> steps, bool has) {
  return std::make_unique<PathNode>(position, root, std::move(steps), has);
}
NodePtr make_index(std::uint32_t position, NodePtr operand, NodePtr key, bool optional) {
  return std::make_unique<IndexNode>(position, std::move(operand), std::move(key), optional);
}
NodePtr make_list_node(const Expr& expr, std::vector<NodePtr> values) {
  return std::make_unique<ListNode>(expr, std::move(values));
}
NodePtr make_map_node(const Expr& expr, std::vector<NodePtr> keys, std::vector<NodePtr> values) {
  return std::make_unique<MapNode>(expr, std::move(keys), std::move(values));
}

}  // namespace kollect::cel
