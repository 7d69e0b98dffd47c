#include "cel/regex.h"

#include <re2/re2.h>

#include "cel/cache.h"
#include "cel/evaluation.h"

namespace kollect::cel {

namespace {

constexpr std::int64_t kMaxProgramBytes = std::int64_t{4} << 20U;
constexpr std::size_t kMaxCachedPatterns = 64;

/// Index behind a bracket class that begins at `from`.
std::size_t skip_class(std::string_view pattern, std::size_t from) {
  std::size_t at = from + 1;
  if (at < pattern.size() && pattern[at] == '^') ++at;
  if (at < pattern.size() && pattern[at] == ']') ++at;  // a leading ']' is a member
  while (at < pattern.size() && pattern[at] != ']') {
    if (pattern[at] == '\\') {
      at += 2;
    } else if (pattern[at] == '[' && at + 1 < pattern.size() && pattern[at + 1] == ':') {
      const auto end = pattern.find(":]", at + 2);
      at = end == std::string_view::npos ? at + 1 : end + 2;
    } else {
      ++at;
    }
  }
  return at < pattern.size() ? at + 1 : pattern.size();
}

/// \C takes single bytes and would cut characters apart.
bool matches_bytes(std::string_view pattern) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] == '\\' && pattern[++at] == 'C') return true;
  }
  return false;
}

}  // namespace

std::string shield_alternatives(std::string_view pattern) {
  // Without classes and flags no two alternatives differ in their treatment of case.
  const bool flags = pattern.find("(?") != std::string_view::npos;
  const bool bar_and_class =
      pattern.find('|') != std::string_view::npos && pattern.find('[') != std::string_view::npos;
  if (!flags && !bar_and_class) return std::string(pattern);
  std::string out;
  std::size_t at = 0;
  while (at < pattern.size()) {
    std::size_t next = at + 1;
    if (pattern.substr(at).starts_with("(?<") && at + 3 < pattern.size() &&
        pattern[at + 3] != '=' && pattern[at + 3] != '!') {
      // The newer spelling of a named group.
      out += "(?P<";
      at += 3;
      continue;
    }
    if (pattern.substr(at).starts_with("\\Q")) {
      const auto end = pattern.find("\\E", at + 2);
      next = end == std::string_view::npos ? pattern.size() : end + 2;
    } else if (pattern[at] == '\\') {
      next = std::min(at + 2, pattern.size());
    } else if (pattern[at] == '[') {
      next = skip_class(pattern, at);
    }
    out += pattern.substr(at, next - at);
    const bool bar = pattern[at] == '|';
    const bool repeated = next < pattern.size() &&
                          std::string_view("*+?{").find(pattern[next]) != std::string_view::npos;
    if (bar && !repeated) out += "(?:)";
    at = next;
  }
  return out;
}

Regex::Regex(std::unique_ptr<re2::RE2> re2, std::uint64_t weight)
    : re2_(std::move(re2)), weight_(weight) {}
Regex::~Regex() = default;

std::unique_ptr<Regex> Regex::compile(std::string_view pattern, std::string& error) {
  if (matches_bytes(pattern)) {
    error = "the pattern is not a valid regular expression: \\C is not supported";
    return nullptr;
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxProgramBytes);
  auto re2 = std::make_unique<re2::RE2>(shield_alternatives(pattern), options);
  if (!re2->ok()) {
    switch (re2->error_code()) {
      case re2::RE2::ErrorRepeatSize:
        error = "invalid repetition size (at most 1000)";
        break;
      case re2::RE2::ErrorPatternTooLarge:
        error = "the pattern is too large";
        break;
      default:
        // RE2's own text would quote the pattern, which may come from the object.
        error = "the pattern is not a valid regular expression";
    }
    return nullptr;
  }
  return std::unique_ptr<Regex>(new Regex(std::move(re2), 1 + pattern.size() / 4));
}

bool Regex::search(std::string_view text) const {
  return re2_->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                     re2::RE2::UNANCHORED, nullptr, 0);
}

const Regex* cached_regex(Evaluation& evaluation, std::string_view pattern, std::string& error) {
  if (const auto* prepared = evaluation.prepared()) {
    const auto known = prepared->patterns.find(pattern);
    if (known != prepared->patterns.end()) return known->second.get();
  }
  auto& patterns = evaluation.cache().patterns;
  const auto found = patterns.find(pattern);
  if (found != patterns.end()) return found->second.get();
  // Compiling costs far more than matching a short text, also when it fails.
  if (!evaluation.charge(50 + pattern.size())) {
    error = "the pattern costs too much";
    return nullptr;
  }
  auto compiled = Regex::compile(pattern, error);
  if (!compiled) return nullptr;
  if (patterns.size() >= kMaxCachedPatterns) patterns.clear();
  return patterns.emplace(std::string(pattern), std::move(compiled)).first->second.get();
}

}  // namespace kollect::cel
