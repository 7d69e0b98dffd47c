// The table of functions: names, forms for the checker, implementations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cel/evaluation.h"
#include "cel/types.h"

namespace kollect::cel {

/// Arguments are never errors; a receiver comes first. Answers no_overload() when the types do not
/// fit.
using Implementation = Value (*)(Evaluation& evaluation, const Value* args, std::size_t count);

/// One line of a library's table. `forms` lists overloads: "string, string -> bool; bytes, bytes ->
/// bool"; "…" as the last argument takes any number of arguments of the type before it.
struct FunctionEntry {
  std::string_view name;
  bool member = false;
  Implementation implementation = nullptr;
  std::string_view forms;
};

struct Overload {
  std::vector<const Type*> args;
  const Type* result = nullptr;
  bool variadic = false;
  bool fallback = false;  ///< counts only when no other form fits: written with a leading '?'
  bool exact = false;     ///< does not take dyn: written with a leading '='
};

struct Function {
  std::string_view name;
  bool member = false;
  Implementation implementation = nullptr;
  std::vector<Overload> overloads;

  [[nodiscard]] bool takes(std::size_t count) const;
};

/// Reads overloads in the form of a table ("int, A -> list(A); …"); nullopt when that is none.
std::optional<std::vector<Overload>> parse_forms(std::string_view forms, Arena& arena,
                                                 TypeNames names);

/// All functions and operators. Immutable once built; shared by all threads.
class Registry {
 public:
  static const Registry& instance();

  /// Functions of a name in one calling style; empty when there are none.
  [[nodiscard]] std::span<const Function> find(std::string_view name, bool member) const;
  [[nodiscard]] std::span<const Overload> operator_forms(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names(bool member) const;

 private:
  Registry();
  void add(std::span<const FunctionEntry> entries);

  Arena arena_;
  std::unordered_map<std::string_view, std::vector<Function>> members_;
  std::unordered_map<std::string_view, std::vector<Function>> globals_;
  std::unordered_map<std::string_view, std::vector<Overload>> operators_;
};

// The libraries, one file each.
std::span<const FunctionEntry> standard_functions();
std::span<const FunctionEntry> time_functions();
std::span<const FunctionEntry> string_functions();
std::span<const FunctionEntry> format_functions();
std::span<const FunctionEntry> math_functions();
std::span<const FunctionEntry> list_functions();
std::span<const FunctionEntry> set_functions();
std::span<const FunctionEntry> encoder_functions();
std::span<const FunctionEntry> regex_functions();
std::span<const FunctionEntry> optional_functions();
std::span<const FunctionEntry> quantity_functions();
std::span<const FunctionEntry> network_functions();
std::span<const FunctionEntry> url_functions();
std::span<const FunctionEntry> semver_functions();
std::span<const FunctionEntry> named_format_functions();
std::span<const FunctionEntry> well_known_functions();

}  // namespace kollect::cel
