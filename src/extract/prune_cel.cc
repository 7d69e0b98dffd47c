// prune.cel: expressions that say of each member and element whether it goes (spec: extraction 7).
#include <fmt/format.h>

#include "extract/prune.h"

namespace kollect::extract {

namespace {

using base::json::Document;
using base::json::Value;
using base::json::View;

constexpr std::uint64_t kCostLimit = 1'000'000;  // per object (E-11)

class Walk {
 public:
  Walk(const std::vector<cel::Program>& programs, View object, const ObjectContext& context,
       NodeSet& removed)
      : programs_(programs), bindings_(object, context), removed_(removed) {}

  /// False when the cost limit was passed.
  bool visit(View value) {
    if (value.is_object()) {
      for (const auto member : value.members()) {
        if (!child(std::string(member.key), member.value)) return false;
      }
    } else if (value.is_array()) {
      std::size_t index = 0;
      for (const auto item : value.items()) {
        if (!child(std::to_string(index++), item)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::uint32_t errors() const { return errors_; }

 private:
  bool child(std::string name, View value) {
    path_.emplace_back(std::move(name));
    if (!ask(value)) return false;
    const bool good = removed_.contains(value) || visit(value);
    path_.pop_back();
    return good;
  }

  bool ask(View value) {
    const auto path = Document::from_value(Value(path_));
    for (const auto& program : programs_) {
      auto bindings = bindings_.of(program);
      bindings.push_back({"path", path.root()});
      bindings.push_back({"value", value});
      auto outcome = program.evaluate(bindings);
      if (!outcome) {
        if (outcome.error().limit) return false;
        ++errors_;
        continue;
      }
      cost_ += outcome->cost;
      if (cost_ > kCostLimit) return false;
      if (!outcome->value || !outcome->value->is_bool()) {
        ++errors_;
      } else if (outcome->value->as_bool()) {
        removed_.insert(value);
        return true;
      }
    }
    return true;
  }

  const std::vector<cel::Program>& programs_;
  CelBindings bindings_;
  NodeSet& removed_;
  base::json::Array path_;
  std::uint64_t cost_ = 0;
  std::uint32_t errors_ = 0;
};

}  // namespace

std::expected<Pruner::Outcome, std::string> Pruner::mark_cel(View pruned, View object,
                                                             const ObjectContext& context,
                                                             NodeSet& removed) const {
  Walk walk(cel_, object, context, removed);
  if (!walk.visit(pruned)) {
    return std::unexpected(
        fmt::format("prune.cel costs more than {} units for this object", kCostLimit));
  }
  return Outcome{walk.errors()};
}

}  // namespace kollect::extract
