// Gives names their meaning: locals, variables, types, functions; works with and without type
// checking.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/arena.h"
#include "cel/ast.h"
#include "cel/functions.h"

namespace kollect::cel {

/// Rewrites the tree in place: qualified names become one ident, name-space functions lose their
/// target, every local gets a slot. What is not found stays kUnresolved and is an error of the
/// checker or of the evaluation.
class Resolver {
 public:
  /// `declared` are functions of the environment; they go before those of the registry.
  Resolver(const std::vector<std::string>& variables, std::span<const Function> declared,
           std::string_view container, Arena& arena)
      : variables_(variables), declared_(declared), container_(container), arena_(arena) {}

  /// Takes literals of well-known messages; before resolve().
  void take_well_known_messages() { well_known_messages_ = true; }
  void resolve(Expr& node);
  /// Number of slots for locals that an evaluation needs.
  [[nodiscard]] std::size_t slots() const { return slots_; }
  /// True when the expression names variable number n.
  [[nodiscard]] const std::vector<bool>& used() const { return used_; }

 private:
  bool resolve_name(Expr& node, std::string_view name);
  void resolve_ident(Expr& node);
  void resolve_select(Expr& node);
  void resolve_call(Expr& node);
  void resolve_comprehension(Expr& node);
  void resolve_message(Expr& node);
  bool resolve_function(Expr& node, std::string_view name);
  [[nodiscard]] bool is_local(std::string_view name) const;
  std::vector<std::string> candidates(std::string_view name) const;
  std::uint32_t push(std::string_view name);

  const std::vector<std::string>& variables_;
  std::span<const Function> declared_;
  std::string container_;
  bool well_known_messages_ = false;
  Arena& arena_;
  std::vector<std::string_view> locals_;
  std::size_t slots_ = 0;
  std::vector<bool> used_ = std::vector<bool>(variables_.size());
};

}  // namespace kollect::cel
