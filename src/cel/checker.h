// Static types of a resolved tree.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/arena.h"
#include "cel/ast.h"
#include "cel/functions.h"
#include "cel/lexer.h"
#include "cel/types.h"

namespace kollect::cel {

/// Infers the type of every node and finds the first mistake. Type parameters are solved by
/// unification; dyn fits everything.
class Checker {
 public:
  /// `types[n]` is the type of variable n of `variables`; `declared` are the functions that the
  /// resolver knew besides those of the registry.
  Checker(const std::vector<std::string>& variables, const std::vector<const Type*>& types,
          std::span<const Function> declared, Arena& arena)
      : variables_(variables), types_(types), declared_(declared), arena_(arena) {}

  /// The type of the whole expression with open parameters as dyn, nullptr with the reason in
  /// error().
  const Type* check(Expr& root);
  [[nodiscard]] const SourceError& error() const { return *error_; }

 private:
  const Type* infer(Expr& node);
  const Type* infer_constant(const Expr& node);
  const Type* infer_ident(const Expr& node);
  const Type* infer_select(Expr& node);
  const Type* infer_call(Expr& node);
  const Type* infer_operator(Expr& node);
  const Type* infer_list(Expr& node);
  const Type* infer_map(Expr& node);
  const Type* infer_comprehension(Expr& node);
  const Type* infer_bind(Expr& node);
  const Type* element_type(const Element& element);
  const Type* unknown_name(const Expr& node);
  const Type* unknown_function(const Expr& node);
  const Type* apply(const Overload& overload, const std::vector<const Type*>& args);
  /// Result of the overloads that take the arguments, nullptr when none does.
  const Type* choose(std::span<const Overload> overloads, const std::vector<const Type*>& args);
  const Type* misfit(const Expr& node, std::string_view name, const std::vector<const Type*>& args);
  bool require(const Expr& node, const Type* type, TypeKind kind, std::string_view what);

  const Type* fail(const Expr& node, std::string message);
  const Type* fresh();
  const Type* instantiate(const Type* type, std::vector<const Type*>& parameters);
  const Type* prune(const Type* type) const;
  /// The type with every solved variable replaced; open ones become dyn when `close`.
  const Type* substitute(const Type* type, bool close);
  template <class Function>
  const Type* rebuild(const Type* type, Function&& change);
  bool assign(const Type* from, const Type* to);
  bool assign_params(const Type* from, const Type* to);
  bool assign_variable(const Type* from, const Type* to);
  bool occurs(std::uint32_t variable, const Type* type);
  /// False once types took too many steps: then every walk ends at once.
  bool step() { return ++steps_ <= kMaxSteps; }
  const Type* widen(const Type* a, const Type* b);
  const Type* join(const Type* a, const Type* b);

  const std::vector<std::string>& variables_;
  const std::vector<const Type*>& types_;
  std::span<const Function> declared_;
  Arena& arena_;
  void bind(std::uint32_t variable, const Type* type);
  void undo(std::size_t mark);

  std::vector<const Type*> bindings_;  ///< of type variables
  std::vector<std::pair<std::uint32_t, const Type*>>
      trail_;                        ///< what bindings were before, for undo
  std::vector<const Type*> locals_;  ///< by slot
  std::optional<SourceError> error_;
  /// Far beyond what an expression of full length needs that was not made to need it.
  static constexpr std::size_t kMaxSteps = 4'000'000;
  std::size_t steps_ = 0;
};

/// Text of an operator in messages and in the registry ("+", "[]", "in").
std::string_view operator_name(Op op);

}  // namespace kollect::cel
