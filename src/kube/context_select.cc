// --context values: names, comma lists and patterns (spec: pipeline 5, L-53).
#include <fmt/format.h>

#include <set>

#include "base/strings.h"
#include "kube/kubeconfig.h"

namespace kollect::kube {

namespace {

struct GlobToken {
  enum class Kind { kOne, kAny, kRun, kClass };
  Kind kind = Kind::kOne;
  char32_t letter = 0;
  bool negated = false;
  std::vector<std::pair<char32_t, char32_t>> ranges;

  [[nodiscard]] bool takes(char32_t c) const {
    if (kind == Kind::kAny) return true;
    if (kind == Kind::kOne) return c == letter;
    const bool inside = std::ranges::any_of(
        ranges, [c](const auto& range) { return range.first <= c && c <= range.second; });
    return inside != negated;
  }
};

/// Characters of a text; bytes that are no UTF-8 stand for themselves.
std::u32string characters(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (size == 1 || i + size > text.size() || !base::is_valid_utf8(text.substr(i, size))) {
      out.push_back(lead);
      ++i;
      continue;
    }
    char32_t code = lead & (0xFFU >> (size + 1));
    for (std::size_t k = 1; k < size; ++k) {
      code = (code << 6U) | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    }
    out.push_back(code);
    i += size;
  }
  return out;
}

class GlobParser {
 public:
  explicit GlobParser(std::string_view pattern) : pattern_(pattern), text_(characters(pattern)) {}

  base::Result<std::vector<GlobToken>> parse() {
    std::vector<GlobToken> tokens;
    while (at_ < text_.size()) {
      GlobToken token;
      const char32_t c = text_[at_++];
      if (c == U'*') {
        token.kind = GlobToken::Kind::kRun;
      } else if (c == U'?') {
        token.kind = GlobToken::Kind::kAny;
      } else if (c == U'[') {
        KL_TRY(parse_class(token));
      } else {
        token.letter = c;
        if (c == U'\\') {
          KL_ASSIGN(token.letter, next("a backslash at its end"));
        }
      }
      tokens.push_back(std::move(token));
    }
    return tokens;
  }

 private:
  base::Result<> parse_class(GlobToken& token) {
    token.kind = GlobToken::Kind::kClass;
    if (at_ < text_.size() && text_[at_] == U'^') {
      token.negated = true;
      ++at_;
    }
    while (true) {
      KL_ASSIGN(char32_t low, next("an unclosed ["));
      if (low == U']') {
        if (token.ranges.empty()) return malformed("an empty [ ]");
        return {};
      }
      if (low == U'\\') {
        KL_ASSIGN(low, next("an unclosed ["));
      }
      char32_t high = low;
      if (at_ < text_.size() && text_[at_] == U'-') {
        ++at_;
        KL_ASSIGN(high, next("an unclosed ["));
        if (high == U']') return malformed("a range without an end");
        if (high == U'\\') {
          KL_ASSIGN(high, next("an unclosed ["));
        }
        if (high < low) return malformed("a range that runs backwards");
      }
      token.ranges.emplace_back(low, high);
    }
  }

  base::Result<char32_t> next(std::string_view trouble) {
    if (at_ == text_.size()) return malformed(trouble);
    return text_[at_++];
  }
  [[nodiscard]] base::Error malformed(std::string_view trouble) const {
    return base::configuration(fmt::format("malformed pattern \"{}\": {}", pattern_, trouble));
  }

  std::string_view pattern_;
  std::u32string text_;
  std::size_t at_ = 0;
};

/// Linear but for the last run: on a mismatch only the newest "*" takes one character more.
bool matches(const std::vector<GlobToken>& tokens, std::string_view raw) {
  const std::u32string text = characters(raw);
  std::size_t token = 0;
  std::size_t at = 0;
  std::optional<std::pair<std::size_t, std::size_t>> run;  // token behind "*", place in the text
  while (at < text.size()) {
    if (token < tokens.size() && tokens[token].kind == GlobToken::Kind::kRun) {
      run = {++token, at};
    } else if (token < tokens.size() && tokens[token].takes(text[at])) {
      ++token;
      ++at;
    } else if (run) {
      token = run->first;
      at = ++run->second;
    } else {
      return false;
    }
  }
  while (token < tokens.size() && tokens[token].kind == GlobToken::Kind::kRun) ++token;
  return token == tokens.size();
}

class Selector {
 public:
  explicit Selector(const Kubeconfig& config) : names_(config.context_names()) {}

  base::Result<> add(std::string_view value) {
    if (std::ranges::find(names_, value) != names_.end()) {
      chosen_.emplace(value);
      return {};
    }
    if (value.find_first_of("*?[") == std::string_view::npos) return unknown(value);
    GlobParser parser(value);
    KL_ASSIGN(const auto tokens, parser.parse());
    std::size_t hits = 0;
    for (const std::string& name : names_) {
      if (!matches(tokens, name)) continue;
      chosen_.insert(name);
      ++hits;
    }
    if (hits == 0) warnings_.push_back(fmt::format("no context matches \"{}\"", value));
    return {};
  }

  base::Result<ContextSelection> finish(const std::vector<std::string>& patterns) && {
    if (chosen_.empty()) {
      return base::configuration(fmt::format("no context matches {}", base::join(patterns, ", ")));
    }
    return ContextSelection{{chosen_.begin(), chosen_.end()}, std::move(warnings_)};
  }

 private:
  [[nodiscard]] base::Error unknown(std::string_view value) const {
    const auto near = base::near_names(value, names_);
    return base::configuration(
        fmt::format("there is no context \"{}\"{}", value,
                    near.empty() ? "" : "; did you mean " + base::join(near, ", ") + "?"));
  }

  std::vector<std::string> names_;
  std::set<std::string> chosen_;
  std::vector<std::string> warnings_;
};

}  // namespace

base::Result<bool> glob_match(std::string_view pattern, std::string_view text) {
  GlobParser parser(pattern);
  KL_ASSIGN(const auto tokens, parser.parse());
  return matches(tokens, text);
}

base::Result<ContextSelection> select_contexts(const Kubeconfig& config,
                                               const std::vector<std::string>& patterns) {
  if (patterns.empty()) {
    const std::string& current = config.current_context();
    if (current.empty()) {
      return base::configuration("the kubeconfig has no current context; choose with --context");
    }
    return ContextSelection{{current}, {}};
  }
  Selector selector(config);
  const auto names = config.context_names();
  for (const std::string& pattern : patterns) {
    if (std::ranges::find(names, pattern) != names.end()) {
      KL_TRY(selector.add(pattern));
      continue;
    }
    for (const std::string_view part : base::split(pattern, ',')) {
      if (const auto value = base::trim(part); !value.empty()) KL_TRY(selector.add(value));
    }
  }
  return std::move(selector).finish(patterns);
}

}  // namespace kollect::kube
