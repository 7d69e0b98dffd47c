// Expression text to syntax tree, macros expanded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/arena.h"
#include "cel/ast.h"
#include "cel/lexer.h"

namespace kollect::cel {

/// Recursive descent with one token of look-ahead. Macros become comprehension and bind nodes as
/// they are read, so that no later pass knows of them.
class Parser {
 public:
  /// Nesting counts brackets, arguments and branches; the height of the tree (long chains) may be
  /// four times that.
  Parser(std::string_view text, Arena& arena, std::size_t max_nesting)
      : text_(text), arena_(arena), lexer_(text, arena), max_nesting_(max_nesting) {}

  /// The tree, or nullptr with the reason in error().
  Expr* parse();
  [[nodiscard]] const SourceError& error() const { return error_; }

 private:
  Expr* fail(std::uint32_t position, std::string message);
  void advance();
  bool expect(Token token, std::string_view where);
  [[nodiscard]] bool at(Token token) const { return token_ == token; }

  Expr* expression();
  Expr* conditional();
  Expr* binary(int min_precedence);
  Expr* flatten(Op op, Expr* first, int precedence);
  Expr* unary();
  Expr* member();
  Expr* select_or_call(Expr* operand);
  Expr* index(Expr* operand);
  Expr* primary();
  Expr* name_or_call(bool absolute);
  Expr* number_literal(bool negative);
  Expr* text_literal();
  Expr* list_literal();
  Expr* map_literal();
  Expr* struct_literal(Expr* type_name, std::uint32_t position);
  bool entries(std::vector<Element>& out, bool fields);
  bool arguments(std::vector<Expr*>& out);

  Expr* make(ExprKind kind, std::uint32_t position);
  Expr* make_constant(Value value, std::uint32_t position);
  Expr* make_op(Op op, std::uint32_t position, std::initializer_list<Expr*> args);
  /// Computes the node's height and refuses trees that are too high.
  Expr* finish(Expr* node);
  std::span<Expr*> keep(const std::vector<Expr*>& nodes);
  std::span<Element> keep(const std::vector<Element>& elements);

  // macros.cc
  using Args = std::vector<Expr*>;
  /// The expansion, none when the call is no macro; nullptr inside: a failed macro.
  std::optional<Expr*> global_macro(std::string_view name, std::uint32_t position,
                                    const Args& args);
  std::optional<Expr*> member_macro(Expr* target, std::string_view name, std::uint32_t position,
                                    const Args& args);
  std::optional<Expr*> cel_macro(std::string_view name, std::uint32_t position, const Args& args);
  Expr* has_macro(std::uint32_t position, Expr* arg);
  Expr* comprehension(Comprehension kind, Expr* range, std::uint32_t position, const Args& args,
                      std::size_t variables);
  Expr* bind(BindKind kind, std::uint32_t position, Expr* variable, Expr* value, Expr* body);
  Expr* block(std::uint32_t position, const Args& args);
  bool variable_name(const Expr* node, std::string_view& out);

  std::string_view text_;
  Arena& arena_;
  Lexer lexer_;
  Token token_ = Token::kEnd;
  std::size_t max_nesting_;
  std::size_t nesting_ = 0;
  bool negative_ = false;  // a minus sign was read that belongs to the number that follows
  bool failed_ = false;
  SourceError error_;
};

/// Dotted name of an ident or a chain of plain selects on one ("a.b.c", ".a.b"); empty for
/// everything else.
std::string qualified_name(const Expr& node);
/// The ident at the bottom of such a chain, nullptr for everything else.
const Expr* chain_root(const Expr& node);

}  // namespace kollect::cel
