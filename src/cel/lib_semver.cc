// Semantic versions (format: SemVer 2.0.0).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cel/functions.h"
#include "cel/node.h"
#include "cel/opaque.h"

namespace kollect::cel {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_identifier(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}
bool numeric(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_digit);
}

/// Calls step(part) for each part between dots; false when one answers false.
template <class Step>
bool each_part(std::string_view text, Step step) {
  while (true) {
    const auto dot = text.find('.');
    if (!step(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool valid_identifiers(std::string_view text, bool leading_zeros) {
  return each_part(text, [&](std::string_view part) {
    if (part.empty() || !std::all_of(part.begin(), part.end(), is_identifier)) return false;
    return leading_zeros || part.size() == 1 || part[0] != '0' || !numeric(part);
  });
}

bool read_number(std::string_view part, std::uint64_t& out) {
  if (part.empty() || !numeric(part) || (part.size() > 1 && part[0] == '0')) return false;
  return std::from_chars(part.data(), part.data() + part.size(), out).ec == std::errc{};
}

/// "v01.2" as "1.2.0": without a leading 'v' and leading zeros, missing numbers as 0. What follows
/// the numbers is taken only behind three of them.
std::optional<std::string> normalized(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::string out;
  int count = 0;
  while (true) {
    const auto dot = count == 2 ? std::string_view::npos : text.find('.');
    const auto part = text.substr(0, dot);
    ++count;
    if (part.size() > 1) {
      const auto digits = part.substr(std::min(part.find_first_not_of('0'), part.size()));
      if (digits.empty() || !is_digit(digits[0])) out += '0';
      out += digits;
    } else {
      out += part;
    }
    if (dot == std::string_view::npos) break;
    out += '.';
    text.remove_prefix(dot + 1);
  }
  if (count < 3 && out.find_first_of("+-") != std::string::npos) return std::nullopt;
  for (; count < 3; ++count) out += ".0";
  return out;
}

std::optional<Semver> parse_semver(std::string_view text) {
  Semver version;
  version.kind = OpaqueKind::kSemver;
  if (const auto plus = text.find('+'); plus != std::string_view::npos) {
    version.build = text.substr(plus + 1);
    text = text.substr(0, plus);
    if (!valid_identifiers(version.build, true)) return std::nullopt;
  }
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    version.prerelease = text.substr(dash + 1);
    text = text.substr(0, dash);
    if (!valid_identifiers(version.prerelease, false)) return std::nullopt;
  }
  std::uint64_t* const numbers[] = {&version.major_number, &version.minor_number, &version.patch};
  std::size_t count = 0;
  const bool fine = each_part(text, [&](std::string_view part) {
    return count < 3 && read_number(part, *numbers[count++]);
  });
  if (!fine || count < 3) return std::nullopt;
  return version;
}

int order(auto a, auto b) {
  return (a > b ? 1 : 0) - (a < b ? 1 : 0);
}

int compare_identifiers(std::string_view a, std::string_view b) {
  const bool a_number = numeric(a);
  const bool b_number = numeric(b);
  if (a_number != b_number) return a_number ? -1 : 1;
  // Numbers without leading zeros: the longer one is larger.
  if (a_number && a.size() != b.size()) return order(a.size(), b.size());
  return order(a.compare(b), 0);
}

int compare_prerelease(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return order(a.empty(), b.empty());
  while (true) {
    const auto a_dot = a.find('.');
    const auto b_dot = b.find('.');
    const int by_part = compare_identifiers(a.substr(0, a_dot), b.substr(0, b_dot));
    if (by_part != 0) return by_part;
    const bool a_end = a_dot == std::string_view::npos;
    const bool b_end = b_dot == std::string_view::npos;
    if (a_end || b_end) return order(!a_end, !b_end);
    a.remove_prefix(a_dot + 1);
    b.remove_prefix(b_dot + 1);
  }
}

std::optional<Semver> parse_args(Evaluation& evaluation, const Value* args, std::size_t count,
                                 bool& fits) {
  fits = args[0].kind == Kind::kString && (count == 1 || args[1].kind == Kind::kBool);
  if (!fits || !evaluation.charge(args[0].count / 10)) return std::nullopt;
  if (count == 1 || !args[1].boolean) return parse_semver(args[0].as_text());
  const auto text = normalized(args[0].as_text());
  if (!text) return std::nullopt;
  // The parts of the version are borrowed from the text.
  const Value kept = evaluation.string(*text);
  return kept.is_error() ? std::nullopt : parse_semver(kept.as_text());
}

Value semver(Evaluation& evaluation, const Value* args, std::size_t count) {
  bool fits = false;
  const auto version = parse_args(evaluation, args, count, fits);
  if (!fits) return evaluation.no_overload();
  if (!version) return evaluation.error("the text is no semantic version");
  const auto* kept = evaluation.arena().make<Semver>(*version);
  return kept == nullptr ? evaluation.out_of_memory() : Value::of_opaque(kept);
}

Value is_semver(Evaluation& evaluation, const Value* args, std::size_t count) {
  bool fits = false;
  const auto version = parse_args(evaluation, args, count, fits);
  return fits ? Value::of_bool(version.has_value()) : evaluation.no_overload();
}

const Semver* as_semver(const Value& value) {
  return opaque_as<Semver>(value, OpaqueKind::kSemver);
}

template <std::uint64_t Semver::*kPart>
Value part(Evaluation& evaluation, const Value* args, std::size_t) {
  const Semver* version = as_semver(args[0]);
  if (version == nullptr) return evaluation.no_overload();
  return Value::of_int(
      static_cast<std::int64_t>(std::min(version->*kPart, std::uint64_t{INT64_MAX})));
}

enum class Relation : std::uint8_t { kLess, kGreater, kCompare };

template <Relation kRelation>
Value relate(Evaluation& evaluation, const Value* args, std::size_t) {
  const Semver* a = as_semver(args[0]);
  const Semver* b = as_semver(args[1]);
  if (a == nullptr || b == nullptr) return evaluation.no_overload();
  if (!evaluation.charge(weight(args[0]))) return evaluation.over_budget();
  const int by = compare_semver(*a, *b);
  if (kRelation == Relation::kLess) return Value::of_bool(by < 0);
  if (kRelation == Relation::kGreater) return Value::of_bool(by > 0);
  return Value::of_int(by);
}

constexpr FunctionEntry kFunctions[] = {
    {"semver", false, semver, "string -> kubernetes.Semver; string, bool -> kubernetes.Semver"},
    {"isSemver", false, is_semver, "string -> bool; string, bool -> bool"},
    {"major", true, part<&Semver::major_number>, "kubernetes.Semver -> int"},
    {"minor", true, part<&Semver::minor_number>, "kubernetes.Semver -> int"},
    {"patch", true, part<&Semver::patch>, "kubernetes.Semver -> int"},
    {"isLessThan", true, relate<Relation::kLess>, "kubernetes.Semver, kubernetes.Semver -> bool"},
    {"isGreaterThan", true, relate<Relation::kGreater>,
     "kubernetes.Semver, kubernetes.Semver -> bool"},
    {"compareTo", true, relate<Relation::kCompare>, "kubernetes.Semver, kubernetes.Semver -> int"},
};

}  // namespace

int compare_semver(const Semver& a, const Semver& b) {
  if (const int by = order(a.major_number, b.major_number); by != 0) return by;
  if (const int by = order(a.minor_number, b.minor_number); by != 0) return by;
  if (const int by = order(a.patch, b.patch); by != 0) return by;
  return compare_prerelease(a.prerelease, b.prerelease);
}

std::string semver_text(const Semver& version) {
  std::string text =
      fmt::format("{}.{}.{}", version.major_number, version.minor_number, version.patch);
  if (!version.prerelease.empty()) text += fmt::format("-{}", version.prerelease);
  if (!version.build.empty()) text += fmt::format("+{}", version.build);
  return text;
}

std::span<const FunctionEntry> semver_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
