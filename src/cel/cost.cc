#include "cel/cost.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace kollect::cel {

namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return a > kMax - b ? kMax : a + b;
}
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kMax / b ? kMax : a * b;
}

/// Cost of a node, and the most elements or characters its value may have.
struct Estimate {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t size = 1;

  void add(const Estimate& other) {
    min = plus(min, other.min);
    max = plus(max, other.max);
  }
};

class Estimator {
 public:
  explicit Estimator(std::uint64_t assumed) : assumed_(assumed) {}

  Estimate visit(const Expr& node) {
    switch (node.kind) {
      case ExprKind::kConstant:
        return {0, 0, std::max<std::uint64_t>(node.constant.count, 1)};
      case ExprKind::kIdent:
        return {1, 1, node.resolution == Resolution::kLocal ? local(node.slot) : assumed_};
      case ExprKind::kSelect: {
        Estimate cost = visit(*node.target);
        cost.add({1, 1, 0});
        cost.size = assumed_;
        return cost;
      }
      case ExprKind::kCall:
        return node.op == Op::kNone ? call(node) : operation(node);
      case ExprKind::kList:
      case ExprKind::kMap:
      case ExprKind::kStruct:
        return literal(node);
      case ExprKind::kComprehension:
        return comprehension(node);
      case ExprKind::kBind:
        return bind(node);
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t local(std::uint32_t slot) const {
    return slot < locals_.size() ? locals_[slot] : assumed_;
  }

  void set_local(std::uint32_t slot, std::uint64_t size) {
    if (locals_.size() <= slot) locals_.resize(slot + 1U, assumed_);
    locals_[slot] = size;
  }

  Estimate call(const Expr& node) {
    Estimate cost{1, 1, 1};
    std::uint64_t size = 0;
    const auto include = [&](const Expr& arg) {
      const Estimate each = visit(arg);
      cost.add(each);
      size = plus(size, each.size);
    };
    if (node.target != nullptr) include(*node.target);
    for (const Expr* arg : node.args) include(*arg);
    const Expr* first = node.args.empty() ? nullptr : node.args[0];
    if (node.name == "lists.range" && first != nullptr && first->kind == ExprKind::kConstant) {
      size = static_cast<std::uint64_t>(std::max<std::int64_t>(first->constant.i, 0));
    }
    // Functions walk their arguments once; those that compare all pairs are met by the limit at run
    // time.
    cost.max = plus(cost.max, size);
    cost.size = size;
    return cost;
  }

  Estimate operation(const Expr& node) {
    Estimate cost{1, 1, 1};
    std::uint64_t sum = 0;
    std::uint64_t largest = 0;
    for (std::size_t n = 0; n < node.args.size(); ++n) {
      Estimate each = visit(*node.args[n]);
      // Only the first operand of && and ||, and the condition of a branch, are sure to be
      // evaluated.
      const bool lazy = node.op == Op::kAnd || node.op == Op::kOr || node.op == Op::kConditional;
      if (lazy && n > 0) each.min = 0;
      cost.add(each);
      sum = plus(sum, each.size);
      largest = std::max(largest, each.size);
    }
    if (node.op == Op::kAdd) {
      cost.size = sum;
      cost.max = plus(cost.max, sum);
    } else if (node.op == Op::kConditional) {
      cost.size = largest;
    } else if (node.op == Op::kIndex || node.op == Op::kOptionalIndex) {
      cost.size = assumed_;
    } else {
      cost.max = plus(cost.max, largest);
    }
    return cost;
  }

  Estimate literal(const Expr& node) {
    const std::uint64_t base = node.kind == ExprKind::kList ? 10 : 30;
    const std::uint64_t count = node.elements.size();
    Estimate cost{base + count, base + count, count};
    for (const Element& element : node.elements) {
      if (element.key != nullptr) cost.add(visit(*element.key));
      cost.add(visit(*element.value));
    }
    return cost;
  }

  Estimate comprehension(const Expr& node) {
    Estimate cost = visit(*node.target);
    set_local(node.slot, assumed_);
    if (!node.variable2.empty()) set_local(node.slot2, assumed_);
    Estimate step{1, 1, 1};
    if (node.filter != nullptr) step.add(visit(*node.filter));
    step.add(visit(*node.body));
    cost.add({1, plus(1, times(step.max, cost.size)), 0});
    return cost;
  }

  Estimate bind(const Expr& node) {
    Estimate cost = visit(*node.target);
    set_local(node.slot, cost.size);
    Estimate body = visit(*node.body);
    if (node.bind != BindKind::kBind) body.min = 0;
    cost.add({1, 1, 0});
    cost.add(body);
    cost.size = body.size;
    return cost;
  }

  std::uint64_t assumed_;
  std::vector<std::uint64_t> locals_;
};

}  // namespace

Program::CostEstimate estimate_cost(const Expr& tree, std::uint64_t assumed_size) {
  const Estimate estimate = Estimator(assumed_size).visit(tree);
  return {estimate.min, estimate.max};
}

}  // namespace kollect::cel
