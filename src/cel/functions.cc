#include "cel/functions.h"

#include <algorithm>
#include <stdexcept>

#include "base/strings.h"

namespace kollect::cel {

namespace {

struct OperatorEntry {
  std::string_view name;
  std::string_view forms;
};

constexpr std::string_view kOrdered =
    "bool, bool -> bool; int, int -> bool; int, uint -> bool; int, double -> bool; uint, uint -> "
    "bool;"
    "uint, int -> bool; uint, double -> bool; double, double -> bool; double, int -> bool;"
    "double, uint -> bool; string, string -> bool; bytes, bytes -> bool;"
    "timestamp, timestamp -> bool; duration, duration -> bool";

constexpr OperatorEntry kOperators[] = {
    {"?:", "bool, A, A -> A"},
    {"!", "bool -> bool"},
    {"-",
     "int -> int; double -> double;"
     "int, int -> int; uint, uint -> uint; double, double -> double;"
     "timestamp, timestamp -> duration; timestamp, duration -> timestamp;"
     "duration, duration -> duration"},
    {"+",
     "int, int -> int; uint, uint -> uint; double, double -> double; string, string -> string;"
     "bytes, bytes -> bytes; list(A), list(A) -> list(A); timestamp, duration -> timestamp;"
     "duration, timestamp -> timestamp; duration, duration -> duration"},
    {"*", "int, int -> int; uint, uint -> uint; double, double -> double"},
    {"/", "int, int -> int; uint, uint -> uint; double, double -> double"},
    {"%", "int, int -> int; uint, uint -> uint"},
    {"==", "A, A -> bool"},
    {"!=", "A, A -> bool"},
    {"<", kOrdered},
    {"<=", kOrdered},
    {">", kOrdered},
    {">=", kOrdered},
    {"in", "A, list(A) -> bool; A, map(A, B) -> bool"},
    {"[]",
     "list(A), int -> A; map(A, B), A -> B; optional(list(A)), int -> optional(A);"
     "optional(map(A, B)), A -> optional(B)"},
    {"[?]",
     "list(A), int -> optional(A); map(A, B), A -> optional(B);"
     "optional(list(A)), int -> optional(A); optional(map(A, B)), A -> optional(B)"},
};

std::vector<std::string_view> split_args(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t n = 0; n <= text.size(); ++n) {
    if (n == text.size() || (text[n] == ',' && depth == 0)) {
      const auto part = base::trim(text.substr(from, n - from));
      if (!part.empty()) parts.push_back(part);
      from = n + 1;
    } else if (text[n] == '(') {
      ++depth;
    } else if (text[n] == ')') {
      --depth;
    }
  }
  return parts;
}

std::vector<Overload> table_forms(std::string_view forms, Arena& arena) {
  auto overloads = parse_forms(forms, arena, TypeNames::kParameters);
  // A wrong table is a mistake of the programmer that the first test run meets.
  if (!overloads) throw std::logic_error("bad type in a function table: " + std::string(forms));
  return *std::move(overloads);
}

}  // namespace

std::optional<std::vector<Overload>> parse_forms(std::string_view forms, Arena& arena,
                                                 TypeNames names) {
  std::vector<Overload> overloads;
  for (const auto part : base::split(forms, ';')) {
    auto form = base::trim(part);
    if (form.empty()) continue;
    Overload overload;
    overload.fallback = form.starts_with('?');
    overload.exact = form.starts_with('=');
    if (overload.fallback || overload.exact) form.remove_prefix(1);
    const auto arrow = form.find("->");
    if (arrow == std::string_view::npos) return std::nullopt;
    for (const auto arg : split_args(form.substr(0, arrow))) {
      if (arg == "...") {
        overload.variadic = true;
      } else {
        overload.args.push_back(parse_type(arg, arena, names));
        if (overload.args.back() == nullptr) return std::nullopt;
      }
    }
    overload.result = parse_type(base::trim(form.substr(arrow + 2)), arena, names);
    if (overload.result == nullptr) return std::nullopt;
    overloads.push_back(std::move(overload));
  }
  return overloads;
}

bool Function::takes(std::size_t count) const {
  return std::any_of(overloads.begin(), overloads.end(), [&](const Overload& overload) {
    return overload.args.size() == count || (overload.variadic && count >= overload.args.size());
  });
}

const Registry& Registry::instance() {
  static const Registry registry;
  return registry;
}

Registry::Registry() {
  for (const auto& entry : kOperators) operators_[entry.name] = table_forms(entry.forms, arena_);
  add(standard_functions());
  add(time_functions());
  add(string_functions());
  add(format_functions());
  add(math_functions());
  add(list_functions());
  add(set_functions());
  add(encoder_functions());
  add(regex_functions());
  add(optional_functions());
  add(quantity_functions());
  add(network_functions());
  add(url_functions());
  add(semver_functions());
  add(named_format_functions());
  add(well_known_functions());
}

void Registry::add(std::span<const FunctionEntry> entries) {
  for (const auto& entry : entries) {
    auto& group = entry.member ? members_[entry.name] : globals_[entry.name];
    group.push_back(
        {entry.name, entry.member, entry.implementation, table_forms(entry.forms, arena_)});
  }
}

std::span<const Function> Registry::find(std::string_view name, bool member) const {
  const auto& table = member ? members_ : globals_;
  const auto found = table.find(name);
  if (found == table.end()) return {};
  return found->second;
}

std::span<const Overload> Registry::operator_forms(std::string_view name) const {
  const auto found = operators_.find(name);
  if (found == operators_.end()) return {};
  return found->second;
}

std::vector<std::string> Registry::names(bool member) const {
  std::vector<std::string> names;
  for (const auto& [name, functions] : member ? members_ : globals_) {
    if (!name.starts_with('@')) names.emplace_back(name);  // those no expression can write
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace kollect::cel
