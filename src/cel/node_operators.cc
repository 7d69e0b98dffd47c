// Operators, logic with error absorption, function calls.
#include <array>

#include "cel/arithmetic.h"
#include "cel/checker.h"
#include "cel/node_factory.h"

namespace kollect::cel {

namespace {

/// && and || over any number of operands: one that decides wins over errors and wrong types of the
/// others.
class LogicNode final : public Node {
 public:
  LogicNode(std::uint32_t position, bool decisive, std::vector<NodePtr> operands)
      : Node(position), decisive_(decisive), operands_(std::move(operands)) {}

  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    Value error;
    for (const NodePtr& operand : operands_) {
      const Value value = operand->eval(evaluation);
      if (value.kind == Kind::kBool) {
        if (value.boolean == decisive_) return value;
        continue;
      }
      if (evaluation.stopped()) return evaluation.over_budget();
      if (error.is_error()) continue;
      error = value.is_error()
                  ? value
                  : placed(describe_overload(evaluation, decisive_ ? "||" : "&&", &value, 1));
    }
    return error.is_error() ? error : Value::of_bool(!decisive_);
  }

 private:
  bool decisive_;
  std::vector<NodePtr> operands_;
};

class ConditionalNode final : public Node {
 public:
  ConditionalNode(std::uint32_t position, NodePtr condition, NodePtr yes, NodePtr no)
      : Node(position),
        condition_(std::move(condition)),
        yes_(std::move(yes)),
        no_(std::move(no)) {}

  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    const Value condition = condition_->eval(evaluation);
    if (condition.is_error()) return condition;
    if (condition.kind != Kind::kBool) {
      return placed(describe_overload(evaluation, "? :", &condition, 1));
    }
    return (condition.boolean ? yes_ : no_)->eval(evaluation);
  }

 private:
  NodePtr condition_;
  NodePtr yes_;
  NodePtr no_;
};

class UnaryNode final : public Node {
 public:
  UnaryNode(std::uint32_t position, Op op, NodePtr operand)
      : Node(position), op_(op), operand_(std::move(operand)) {}

  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    const Value value = operand_->eval(evaluation);
    if (value.is_error()) return value;
    if (op_ == Op::kNot && value.kind == Kind::kBool) return Value::of_bool(!value.boolean);
    const Value result = op_ == Op::kNot ? evaluation.no_overload() : negate(evaluation, value);
    if (result.is_error() && result.error->message.empty()) {
      return placed(describe_overload(evaluation, operator_name(op_), &value, 1));
    }
    return placed(result);
  }

 private:
  Op op_;
  NodePtr operand_;
};

template <Op kOp>
Value apply(Evaluation& evaluation, const Value& a, const Value& b) {
  if constexpr (kOp == Op::kAdd) return add(evaluation, a, b);
  if constexpr (kOp == Op::kSubtract) return subtract(evaluation, a, b);
  if constexpr (kOp == Op::kMultiply) return multiply(evaluation, a, b);
  if constexpr (kOp == Op::kDivide) return divide(evaluation, a, b);
  if constexpr (kOp == Op::kModulo) return modulo(evaluation, a, b);
  if constexpr (kOp == Op::kIn) return contains(evaluation, a, b);
  if constexpr (kOp == Op::kEqual || kOp == Op::kNotEqual) {
    if (!evaluation.charge(weight(a))) return evaluation.over_budget();
    return Value::of_bool(equal(evaluation, a, b) == (kOp == Op::kEqual));
  }
  if constexpr (kOp == Op::kLess || kOp == Op::kLessEqual || kOp == Op::kGreater ||
                kOp == Op::kGreaterEqual) {
    evaluation.charge(weight(a));
    bool fits = false;
    const Order order = compare(a, b, fits);
    if (!fits) return evaluation.no_overload();
    if constexpr (kOp == Op::kLess) return Value::of_bool(order == Order::kLess);
    if constexpr (kOp == Op::kGreater) return Value::of_bool(order == Order::kGreater);
    if constexpr (kOp == Op::kLessEqual) {
      return Value::of_bool(order == Order::kLess || order == Order::kEqual);
    }
    return Value::of_bool(order == Order::kGreater || order == Order::kEqual);
  }
}

template <Op kOp>
class BinaryNode final : public Node {
 public:
  BinaryNode(std::uint32_t position, NodePtr left, NodePtr right)
      : Node(position), left_(std::move(left)), right_(std::move(right)) {}

  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    const Value a = left_->eval(evaluation);
    if (a.is_error()) return a;
    const Value b = right_->eval(evaluation);
    if (b.is_error()) return b;
    const Value result = apply<kOp>(evaluation, a, b);
    if (result.is_error()) [[unlikely]] {
      if (result.error->message.empty()) {
        const Value args[] = {a, b};
        return placed(describe_overload(evaluation, operator_name(kOp), args, 2));
      }
      return placed(result);
    }
    return result;
  }

 private:
  NodePtr left_;
  NodePtr right_;
};

template <Op... kOps>
NodePtr make_binary(std::uint32_t position, Op op, std::vector<NodePtr>& operands) {
  NodePtr node;
  (void)((op == kOps ? (node = std::make_unique<BinaryNode<kOps>>(position, std::move(operands[0]),
                                                                  std::move(operands[1])),
                        true)
                     : false) ||
         ...);
  return node;
}

class CallNode final : public Node {
 public:
  CallNode(std::uint32_t position, std::string_view name, Implementation first,
           Implementation second, std::vector<NodePtr> args)
      : Node(position), name_(name), first_(first), second_(second), args_(std::move(args)) {}

  Value eval(Evaluation& evaluation) const override {
    if (!evaluation.charge(1)) return evaluation.over_budget();
    std::array<Value, 4> few;
    Value* values = few.data();
    if (args_.size() > few.size()) {
      values = evaluation.arena().make_array<Value>(args_.size());
      if (values == nullptr) return evaluation.out_of_memory();
    }
    for (std::size_t n = 0; n < args_.size(); ++n) {
      values[n] = args_[n]->eval(evaluation);
      if (values[n].is_error()) return values[n];
    }
    Value result = first_(evaluation, values, args_.size());
    if (result.is_error()) [[unlikely]] {
      if (result.error->message.empty() && second_ != nullptr) {
        result = second_(evaluation, values, args_.size());
        if (!result.is_error()) return result;
      }
      if (result.error->message.empty()) {
        return placed(describe_overload(evaluation, name_, values, args_.size()));
      }
      return placed(result);
    }
    return result;
  }

 private:
  std::string_view name_;
  Implementation first_;
  Implementation second_;
  std::vector<NodePtr> args_;
};

class OptionalOrNode final : public Node {
 public:
  OptionalOrNode(std::uint32_t position, bool value, NodePtr receiver, NodePtr otherwise)
      : Node(position),
        value_(value),
        receiver_(std::move(receiver)),
        otherwise_(std::move(otherwise)) {}

  Value eval(Evaluation& evaluation) const override {
    evaluation.charge(1);
    const Value receiver = receiver_->eval(evaluation);
    if (receiver.is_error()) return receiver;
    if (receiver.kind != Kind::kOptional) return misfit(evaluation, receiver);
    if (receiver.held != nullptr) return value_ ? *receiver.held : receiver;
    const Value otherwise = otherwise_->eval(evaluation);
    if (value_ || otherwise.is_error() || otherwise.kind == Kind::kOptional) return otherwise;
    return misfit(evaluation, otherwise);
  }

 private:
  Value misfit(Evaluation& evaluation, const Value& value) const {
    return placed(describe_overload(evaluation, value_ ? "orValue" : "or", &value, 1));
  }

  bool value_;
  NodePtr receiver_;
  NodePtr otherwise_;
};

class MatchesNode final : public Node {
 public:
  MatchesNode(std::uint32_t position, NodePtr text, std::unique_ptr<Regex> pattern)
      : Node(position), text_(std::move(text)), pattern_(std::move(pattern)) {}

  Value eval(Evaluation& evaluation) const override {
    const Value text = text_->eval(evaluation);
    if (text.is_error()) return text;
    if (!evaluation.charge(weight(text) * pattern_->weight())) return evaluation.over_budget();
    if (text.kind != Kind::kString) {
      const Value args[] = {text, Value::of_string({})};
      return placed(describe_overload(evaluation, "matches", args, 2));
    }
    return Value::of_bool(pattern_->search(text.as_text()));
  }

 private:
  NodePtr text_;
  std::unique_ptr<Regex> pattern_;
};

}  // namespace

NodePtr make_logic(std::uint32_t position, Op op, std::vector<NodePtr> operands) {
  return std::make_unique<LogicNode>(position, op == Op::kOr, std::move(operands));
}
NodePtr make_conditional(std::uint32_t position, NodePtr condition, NodePtr yes, NodePtr no) {
  return std::make_unique<ConditionalNode>(position, std::move(condition), std::move(yes),
                                           std::move(no));
}
NodePtr make_operator(std::uint32_t position, Op op, std::vector<NodePtr> operands) {
  if (operands.size() == 1)
    return std::make_unique<UnaryNode>(position, op, std::move(operands[0]));
  return make_binary<Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kDivide, Op::kModulo, Op::kIn,
                     Op::kEqual, Op::kNotEqual, Op::kLess, Op::kLessEqual, Op::kGreater,
                     Op::kGreaterEqual>(position, op, operands);
}
NodePtr make_call(std::uint32_t position, std::string_view name, Implementation first,
                  Implementation second, std::vector<NodePtr> args) {
  return std::make_unique<CallNode>(position, name, first, second, std::move(args));
}
NodePtr make_optional_or(std::uint32_t position, bool value, NodePtr receiver, NodePtr otherwise) {
  return std::make_unique<OptionalOrNode>(position, value, std::move(receiver),
                                          std::move(otherwise));
}
NodePtr make_matches(std::uint32_t position, NodePtr text, std::unique_ptr<Regex> pattern) {
  return std::make_unique<MatchesNode>(position, std::move(text), std::move(pattern));
}

}  // namespace kollect::cel
