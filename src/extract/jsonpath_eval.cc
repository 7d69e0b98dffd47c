// Evaluation: a set of values, mapped step by step (spec: extraction 3.2 and 3.3).
#include <fmt/format.h>
#include <re2/re2.h>

#include "extract/jsonpath.h"
#include "extract/jsonpath_ast.h"

namespace kollect::extract {

namespace {

using ast::Filter;
using ast::Operand;
using ast::Step;
using base::json::Number;
using base::json::View;
using Kind = ast::Step::Kind;
using Failure = JsonPath::EvalError;
using Views = std::vector<View>;

/// Values looked at per evaluation. A path such as "$..*..*..*" on a deep object multiplies without
/// end otherwise.
constexpr std::size_t kMaxWork = 2'000'000;

std::string_view type_word(View view) {
  using base::json::Type;
  switch (view.type()) {
    case Type::kNull:
      return "null";
    case Type::kFalse:
    case Type::kTrue:
      return "a bool";
    case Type::kNumber:
      return "a number";
    case Type::kString:
      return "a string";
    case Type::kArray:
      return "an array";
    case Type::kObject:
      return "an object";
  }
  return "a value";
}

/// Three-way comparison by value. Long double holds every 64-bit integer and every double exactly.
int compare_numbers(const Number& a, const Number& b) {
  const auto exact = [](const Number& n) -> long double {
    switch (n.kind) {
      case Number::Kind::kInt:
        return static_cast<long double>(n.i);
      case Number::Kind::kUint:
        return static_cast<long double>(n.u);
      default:
        return n.d;
    }
  };
  const auto x = exact(a);
  const auto y = exact(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

bool ordered(Filter::Op op, int order) {
  switch (op) {
    case Filter::Op::kEq:
      return order == 0;
    case Filter::Op::kNe:
      return order != 0;
    case Filter::Op::kLt:
      return order < 0;
    case Filter::Op::kLe:
      return order <= 0;
    case Filter::Op::kGt:
      return order > 0;
    case Filter::Op::kGe:
      return order >= 0;
    case Filter::Op::kMatch:
      break;
  }
  return false;
}

/// One side of a comparison, resolved: a value of the object or a literal.
struct Side {
  enum class Type : std::uint8_t { kMissing, kNull, kBool, kNumber, kString, kOther };
  Type type = Type::kMissing;
  bool boolean = false;
  Number number;
  std::string_view text;
  View view;
};

Side side_of(View view) {
  Side side;
  side.view = view;
  if (view.is_null()) {
    side.type = Side::Type::kNull;
  } else if (view.is_bool()) {
    side.type = Side::Type::kBool;
    side.boolean = view.as_bool();
  } else if (view.is_number()) {
    side.type = Side::Type::kNumber;
    side.number = view.number();
  } else if (view.is_string()) {
    side.type = Side::Type::kString;
    side.text = view.as_string();
  } else {
    side.type = Side::Type::kOther;
  }
  return side;
}

class Evaluator {
 public:
  Evaluator(View root, const NodeSet* removed) : root_(root), removed_(removed) {}

  bool run(const std::vector<Step>& steps, View start, Views& out) {
    if (single_keys(steps)) {
      if (const auto found = follow_keys(steps, start)) out.push_back(*found);
      return true;
    }
    Views current{start};
    Views next;
    for (const auto& step : steps) {
      next.clear();
      if (!apply(step, current, next)) return false;
      current.swap(next);
      if (current.empty()) break;
    }
    out.insert(out.end(), current.begin(), current.end());
    return true;
  }

  [[nodiscard]] Failure take_failure() { return std::move(failure_); }

 private:
  [[nodiscard]] bool visible(View view) const {
    return removed_ == nullptr || !removed_->contains(view);
  }
  [[nodiscard]] bool lenient() const { return removed_ != nullptr; }

  static bool single_keys(const std::vector<Step>& steps) {
    for (const auto& step : steps) {
      if (step.kind != Kind::kKey) return false;
    }
    return true;
  }

  std::optional<View> follow_keys(const std::vector<Step>& steps, View view) const {
    for (const auto& step : steps) {
      const auto found = view.find(step.key);
      if (!found || !visible(*found)) return std::nullopt;
      view = *found;
    }
    return view;
  }

  bool fail(const Step& step, std::string message) {
    return fail_at(step.position, false, std::move(message));
  }
  bool fail_at(std::size_t position, bool limit, std::string message) {
    failure_ = Failure{position, limit, fmt::format("{} (position {})", message, position)};
    return false;
  }
  bool work(std::size_t amount, const Step& step) {
    work_ += amount;
    if (work_ <= kMaxWork) return true;
    return fail_at(step.position, true,
                   fmt::format("the path looks at more than {} values", kMaxWork));
  }
  /// A step that needs an array met another type.
  bool needs_array(const Step& step, View view, std::string_view what) {
    if (view.is_null() || lenient()) return true;
    return fail(step, fmt::format("{} needs an array, found {}", what, type_word(view)));
  }

  bool apply(const Step& step, const Views& from, Views& to) {
    if (step.kind == Kind::kUnion) {
      for (const auto& member : step.members) {
        if (!apply(member, from, to)) return false;
      }
      return true;
    }
    for (const auto view : from) {
      if (!work(1, step) || !apply_one(step, view, to)) return false;
    }
    return true;
  }

  bool apply_one(const Step& step, View view, Views& to) {
    switch (step.kind) {
      case Kind::kKey:
        if (const auto found = view.find(step.key); found && visible(*found)) to.push_back(*found);
        return true;
      case Kind::kMembers:
        return all(step, view, to);
      case Kind::kElements:
        if (view.is_object() || view.is_array() || view.is_null() || lenient())
          return all(step, view, to);
        return fail(step,
                    fmt::format("[*] needs an array or an object, found {}", type_word(view)));
      case Kind::kIndex:
        return index(step, view, to);
      case Kind::kSlice:
        return slice(step, view, to);
      case Kind::kDescent:
        return descend(step, view, to);
      case Kind::kFilter:
        return filter(step, view, to);
      case Kind::kUnion:
        break;
    }
    return true;
  }

  bool all(const Step& step, View view, Views& to) {
    if (!work(view.size(), step)) return false;
    if (view.is_object()) {
      for (const auto& member : view.sorted_members()) {
        if (visible(member.value)) to.push_back(member.value);
      }
    } else {
      for (const auto item : view.items()) {
        if (visible(item)) to.push_back(item);
      }
    }
    return true;
  }

  bool index(const Step& step, View view, Views& to) {
    if (!view.is_array()) return needs_array(step, view, "an index");
    const auto size = static_cast<std::int64_t>(view.size());
    const auto at = step.index < 0 ? step.index + size : step.index;
    if (at < 0 || at >= size) return true;
    if (!work(static_cast<std::size_t>(at), step)) return false;  // elements are found by walking
    const auto item = view.at(static_cast<std::size_t>(at));
    if (visible(item)) to.push_back(item);
    return true;
  }

  bool slice(const Step& step, View view, Views& to) {
    if (!view.is_array()) return needs_array(step, view, "a slice");
    const auto size = static_cast<std::int64_t>(view.size());
    const auto bound = [size](std::optional<std::int64_t> given, std::int64_t otherwise) {
      if (!given) return otherwise;
      const auto at = *given < 0 ? *given + size : *given;
      return std::clamp(at, std::int64_t{0}, size);
    };
    const auto from = bound(step.slice.from, 0);
    const auto until = bound(step.slice.to, size);
    if (!work(view.size(), step)) return false;
    std::int64_t at = 0;
    for (const auto item : view.items()) {
      if (at >= until) break;
      if (at >= from && (at - from) % step.slice.step == 0 && visible(item)) to.push_back(item);
      ++at;
    }
    return true;
  }

  // Recursion is bounded by the depth that the reader of JSON allows.
  bool descend(const Step& step, View view, Views& to) {
    if (!view.is_object() && !view.is_array()) return true;
    if (!work(1 + view.size(), step)) return false;
    to.push_back(view);
    if (view.is_object()) {
      for (const auto& member : view.sorted_members()) {
        if (visible(member.value) && !descend(step, member.value, to)) return false;
      }
      return true;
    }
    for (const auto item : view.items()) {
      if (visible(item) && !descend(step, item, to)) return false;
    }
    return true;
  }

  bool filter(const Step& step, View view, Views& to) {
    if (!view.is_array()) return needs_array(step, view, "a filter");
    for (const auto item : view.items()) {
      if (!visible(item)) continue;
      if (!work(1, step)) return false;
      bool passes = false;
      if (!test(*step.filter, item, passes)) return false;
      if (passes) to.push_back(item);
    }
    return true;
  }

  bool test(const Filter& f, View element, bool& result) {
    switch (f.kind) {
      case Filter::Kind::kOr:
      case Filter::Kind::kAnd: {
        const bool stop_at = f.kind == Filter::Kind::kOr;
        for (const auto& child : f.children) {
          if (!test(child, element, result)) return false;
          if (result == stop_at) return true;
        }
        return true;
      }
      case Filter::Kind::kNot:
        if (!test(f.children.front(), element, result)) return false;
        result = !result;
        return true;
      case Filter::Kind::kExists: {
        Views found;
        if (is_literal(f.left)) {
          result = true;
          return true;
        }
        if (!operand_values(f.left, element, found)) return false;
        result = !found.empty();
        return true;
      }
      case Filter::Kind::kCompare:
        return compare(f, element, result);
    }
    return true;
  }

  static bool is_literal(const Operand& operand) {
    return operand.kind != Operand::Kind::kElementPath && operand.kind != Operand::Kind::kRootPath;
  }

  bool operand_values(const Operand& operand, View element, Views& found) {
    return run(operand.steps, operand.kind == Operand::Kind::kRootPath ? root_ : element, found);
  }

  bool resolve(const Operand& operand, View element, Side& side) {
    switch (operand.kind) {
      case Operand::Kind::kString:
        side.type = Side::Type::kString;
        side.text = operand.text;
        return true;
      case Operand::Kind::kNumber:
        side.type = Side::Type::kNumber;
        side.number = operand.number;
        return true;
      case Operand::Kind::kTrue:
      case Operand::Kind::kFalse:
        side.type = Side::Type::kBool;
        side.boolean = operand.kind == Operand::Kind::kTrue;
        return true;
      case Operand::Kind::kNull:
        side.type = Side::Type::kNull;
        return true;
      default:
        break;
    }
    Views found;
    if (!operand_values(operand, element, found)) return false;
    if (found.size() > 1) {
      return lenient() ||
             fail_at(operand.position, false, "an operand of a comparison finds several values");
    }
    if (!found.empty()) side = side_of(found.front());
    if (side.type == Side::Type::kNumber && side.number.kind == Number::Kind::kOutOfRange) {
      return fail_at(operand.position, true, "a number is out of the range of doubles");
    }
    return true;
  }

  bool compare(const Filter& f, View element, bool& result) {
    result = false;
    Side left;
    Side right;
    if (!resolve(f.left, element, left) || !resolve(f.right, element, right)) return false;
    if (left.type == Side::Type::kMissing || right.type == Side::Type::kMissing) return true;
    if (f.op == Filter::Op::kMatch) {
      result = left.type == Side::Type::kString &&
               RE2::PartialMatch(re2::StringPiece(left.text.data(), left.text.size()), *f.pattern);
      return true;
    }
    if (left.type != right.type) {
      result = f.op == Filter::Op::kNe;
      return true;
    }
    result = compare_same_type(f.op, left, right);
    return true;
  }

  static bool compare_same_type(Filter::Op op, const Side& left, const Side& right) {
    switch (left.type) {
      case Side::Type::kNumber:
        return ordered(op, compare_numbers(left.number, right.number));
      case Side::Type::kString:
        return ordered(op, left.text.compare(right.text));
      default:
        break;
    }
    if (op != Filter::Op::kEq && op != Filter::Op::kNe) return false;
    bool same = true;
    if (left.type == Side::Type::kBool) same = left.boolean == right.boolean;
    if (left.type == Side::Type::kOther) same = base::json::equal(left.view, right.view);
    return same == (op == Filter::Op::kEq);
  }

  View root_;
  const NodeSet* removed_;
  Failure failure_;
  std::size_t work_ = 0;
};

}  // namespace

std::expected<void, Failure> JsonPath::evaluate(View root, Views& out) const {
  Evaluator evaluator(root, nullptr);
  if (!evaluator.run(path_->steps, root, out)) return std::unexpected(evaluator.take_failure());
  return {};
}

std::expected<void, Failure> JsonPath::evaluate_lenient(View root, const NodeSet& removed,
                                                        Views& out) const {
  Evaluator evaluator(root, &removed);
  if (!evaluator.run(path_->steps, root, out)) return std::unexpected(evaluator.take_failure());
  return {};
}

}  // namespace kollect::extract
