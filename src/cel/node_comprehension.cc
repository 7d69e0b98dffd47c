// Macros over lists and maps, and local names.
#include "cel/node_factory.h"
#include "cel/sort.h"

namespace kollect::cel {

namespace {

/// Common part of all comprehensions: walks the range and puts the variables into their slots.
class ComprehensionNode : public Node {
 public:
  ComprehensionNode(const Expr& expr, NodePtr range, NodePtr filter, NodePtr body)
      : Node(expr.position),
        range_(std::move(range)),
        filter_(std::move(filter)),
        body_(std::move(body)),
        slot_(expr.slot),
        slot2_(expr.slot2),
        two_(!expr.variable2.empty()) {}

 protected:
  /// Calls step(first variable) for each element until it answers false. Null, or an error of the
  /// walk itself.
  template <class Step>
  Value walk(Evaluation& evaluation, const Value& range, Step step) const {
    evaluation.charge(1);
    if (range.kind == Kind::kList) return walk_list(evaluation, range, step);
    if (range.kind != Kind::kMap) {
      return placed(
          evaluation.errorf("a macro goes over a list or a map, not over {}", type_name(range)));
    }
    const auto sorted = sorted_entries(evaluation, range);
    if (sorted.failed) return evaluation.out_of_memory();
    for (std::size_t n = 0; n < sorted.count; ++n) {
      if (!evaluation.charge(1)) return evaluation.over_budget();
      evaluation.slot(slot_) = sorted.entries[n].key;
      if (two_) evaluation.slot(slot2_) = sorted.entries[n].value;
      if (!step(sorted.entries[n].key)) break;
    }
    return Value::null();
  }

  /// The body as a condition: true, false, or an error (also for other types).
  Value condition(Evaluation& evaluation, const Node& node) const {
    const Value value = node.eval(evaluation);
    if (value.kind == Kind::kBool || value.is_error()) return value;
    return placed(
        evaluation.errorf("the condition of a macro must be bool, not {}", type_name(value)));
  }

  [[nodiscard]] const Node& range() const { return *range_; }
  [[nodiscard]] const Node* filter() const { return filter_.get(); }
  [[nodiscard]] const Node& body() const { return *body_; }

 private:
  template <class Step>
  Value walk_list(Evaluation& evaluation, const Value& range, Step& step) const {
    ListCursor cursor(range);
    Value item;
    for (std::int64_t n = 0; cursor.next(item); ++n) {
      if (!evaluation.charge(1)) return evaluation.over_budget();
      const Value first = two_ ? Value::of_int(n) : item;
      evaluation.slot(slot_) = first;
      if (two_) evaluation.slot(slot2_) = item;
      if (!step(first)) break;
    }
    return Value::null();
  }

  NodePtr range_;
  NodePtr filter_;
  NodePtr body_;
  std::uint32_t slot_;
  std::uint32_t slot2_;
  bool two_;
};

/// all() and exists(): an element that decides wins over errors of the others.
class QuantifierNode final : public ComprehensionNode {
 public:
  QuantifierNode(const Expr& expr, NodePtr range, NodePtr body)
      : ComprehensionNode(expr, std::move(range), nullptr, std::move(body)),
        decisive_(expr.comprehension == Comprehension::kExists) {}

  Value eval(Evaluation& evaluation) const override {
    const Value list = range().eval(evaluation);
    if (list.is_error()) return list;
    Value result = Value::of_bool(!decisive_);
    const Value failed = walk(evaluation, list, [&](const Value&) {
      const Value value = condition(evaluation, body());
      if (value.is_error()) {
        if (!result.is_error()) result = value;
        return !evaluation.stopped();
      }
      if (value.boolean != decisive_) return true;
      result = value;
      return false;
    });
    return failed.is_error() ? failed : result;
  }

 private:
  bool decisive_;
};

class ExistsOneNode final : public ComprehensionNode {
 public:
  using ComprehensionNode::ComprehensionNode;

  Value eval(Evaluation& evaluation) const override {
    const Value list = range().eval(evaluation);
    if (list.is_error()) return list;
    std::size_t found = 0;
    Value error;
    const Value failed = walk(evaluation, list, [&](const Value&) {
      const Value value = condition(evaluation, body());
      if (value.is_error()) {
        error = value;
        return false;
      }
      if (value.boolean) ++found;
      return true;
    });
    if (failed.is_error()) return failed;
    return error.is_error() ? error : Value::of_bool(found == 1);
  }
};

/// map(), filter() and transformList(): a new list.
class ListComprehensionNode final : public ComprehensionNode {
 public:
  ListComprehensionNode(const Expr& expr, NodePtr range, NodePtr filter, NodePtr body)
      : ComprehensionNode(expr, std::move(range), std::move(filter), std::move(body)),
        keep_(expr.comprehension == Comprehension::kFilter) {}

  Value eval(Evaluation& evaluation) const override {
    const Value list = range().eval(evaluation);
    if (list.is_error()) return list;
    ListBuilder builder(evaluation);
    Value error;
    const Value failed = walk(evaluation, list, [&](const Value& item) {
      error = step(evaluation, item, builder);
      return !error.is_error();
    });
    if (failed.is_error()) return failed;
    return error.is_error() ? error : builder.value();
  }

 private:
  Value step(Evaluation& evaluation, const Value& item, ListBuilder& builder) const {
    const Node* test = keep_ ? &body() : filter();
    if (test != nullptr) {
      const Value passes = condition(evaluation, *test);
      if (passes.is_error()) return passes;
      if (!passes.boolean) return Value::null();
    }
    const Value result = keep_ ? item : body().eval(evaluation);
    if (result.is_error()) return result;
    return builder.add(result) ? Value::null() : builder.failed();
  }

  bool keep_;
};

/// sortBy(): the elements in the order of a key.
class SortByNode final : public ComprehensionNode {
 public:
  using ComprehensionNode::ComprehensionNode;

  Value eval(Evaluation& evaluation) const override {
    const Value list = range().eval(evaluation);
    if (list.is_error()) return list;
    if (list.kind != Kind::kList) {
      return placed(evaluation.errorf("sortBy() goes over a list, not over {}", type_name(list)));
    }
    auto* pairs = evaluation.arena().make_array<SortPair>(list.count);
    if (pairs == nullptr) return evaluation.out_of_memory();
    std::size_t count = 0;
    Value error;
    const Value failed = walk(evaluation, list, [&](const Value& item) {
      const Value key = body().eval(evaluation);
      if (key.is_error()) error = key;
      pairs[count++] = {key, item};
      return !key.is_error();
    });
    if (failed.is_error()) return failed;
    return error.is_error() ? error : placed(sort_pairs(evaluation, {pairs, count}));
  }
};

/// transformMap() and transformMapEntry(): a new map.
class MapComprehensionNode final : public ComprehensionNode {
 public:
  MapComprehensionNode(const Expr& expr, NodePtr range, NodePtr filter, NodePtr body)
      : ComprehensionNode(expr, std::move(range), std::move(filter), std::move(body)),
        entry_(expr.comprehension == Comprehension::kTransformMapEntry) {}

  Value eval(Evaluation& evaluation) const override {
    const Value list = range().eval(evaluation);
    if (list.is_error()) return list;
    MapBuilder builder(evaluation);
    Value error;
    const Value failed = walk(evaluation, list, [&](const Value& key) {
      error = step(evaluation, key, builder);
      return !error.is_error();
    });
    if (failed.is_error()) return failed;
    return error.is_error() ? error : placed(builder.value());
  }

 private:
  Value step(Evaluation& evaluation, const Value& key, MapBuilder& builder) const {
    if (filter() != nullptr) {
      const Value passes = condition(evaluation, *filter());
      if (passes.is_error()) return passes;
      if (!passes.boolean) return Value::null();
    }
    const Value result = body().eval(evaluation);
    if (result.is_error()) return result;
    if (!entry_) return placed(builder.add(key, result));
    if (result.kind != Kind::kMap) {
      return placed(evaluation.errorf("transformMapEntry() needs maps, not {}", type_name(result)));
    }
    const auto sorted = sorted_entries(evaluation, result);
    if (sorted.failed) return evaluation.out_of_memory();
    for (std::size_t n = 0; n < sorted.count; ++n) {
      const Value error = builder.add(sorted.entries[n].key, sorted.entries[n].value);
      if (error.is_error()) return placed(error);
    }
    return Value::null();
  }

  bool entry_;
};

/// cel.bind(), optMap(), optFlatMap(). An error of a bound value counts only where the name is
/// used.
class BindNode final : public Node {
 public:
  BindNode(const Expr& expr, NodePtr value, NodePtr body)
      : Node(expr.position),
        value_(std::move(value)),
        body_(std::move(body)),
        slot_(expr.slot),
        kind_(expr.bind) {}

  Value eval(Evaluation& evaluation) const override {
    if (!evaluation.charge(1)) return evaluation.over_budget();
    Value value = value_->eval(evaluation);
    if (kind_ == BindKind::kBind) {
      evaluation.slot(slot_) = value;
      return body_->eval(evaluation);
    }
    if (value.is_error()) return value;
    if (value.kind != Kind::kOptional) {
      return placed(evaluation.errorf("the receiver must be optional, not {}", type_name(value)));
    }
    if (value.held == nullptr) return value;
    evaluation.slot(slot_) = *value.held;
    const Value result = body_->eval(evaluation);
    if (result.is_error()) return result;
    if (kind_ == BindKind::kOptMap) return evaluation.some(result);
    if (result.kind == Kind::kOptional) return result;
    return placed(
        evaluation.errorf("the body of optFlatMap() must be optional, not {}", type_name(result)));
  }

 private:
  NodePtr value_;
  NodePtr body_;
  std::uint32_t slot_;
  BindKind kind_;
};

}  // namespace

NodePtr make_comprehension(const Expr& expr, NodePtr range, NodePtr filter, NodePtr body) {
  switch (expr.comprehension) {
    case Comprehension::kAll:
    case Comprehension::kExists:
      return std::make_unique<QuantifierNode>(expr, std::move(range), std::move(body));
    case Comprehension::kExistsOne:
      return std::make_unique<ExistsOneNode>(expr, std::move(range), nullptr, std::move(body));
    case Comprehension::kMap:
    case Comprehension::kFilter:
    case Comprehension::kTransformList:
      return std::make_unique<ListComprehensionNode>(expr, std::move(range), std::move(filter),
                                                     std::move(body));
    case Comprehension::kSortBy:
      return std::make_unique<SortByNode>(expr, std::move(range), nullptr, std::move(body));
    case Comprehension::kTransformMap:
    case Comprehension::kTransformMapEntry:
      return std::make_unique<MapComprehensionNode>(expr, std::move(range), std::move(filter),
                                                    std::move(body));
  }
  return nullptr;
}

NodePtr make_bind(const Expr& expr, NodePtr value, NodePtr body) {
  return std::make_unique<BindNode>(expr, std::move(value), std::move(body));
}

}  // namespace kollect::cel
