#include "extract/jq_path.h"

#include <fmt/format.h>

#include <vector>

#include "base/json/document.h"
#include "base/strings.h"

namespace kollect::extract {

namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr int kMaxDepth = 16;

using Text = std::expected<std::string, std::string>;
using Done = std::expected<void, std::string>;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool in_name(char c) {
  return begins_name(c) || is_digit(c);
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// Steps of a JSONPath in the making.
class Steps {
 public:
  explicit Steps(std::string_view start) : text_(start) {}
  void key(std::string_view name) { step("[" + in_quotes(name) + "]"); }
  void index(std::string_view digits) { step(fmt::format("[{}]", digits)); }
  void each() {
    close();
    each_ = true;
  }
  /// After each(): only the elements for which this holds.
  void only(const std::string& condition) { conditions_.push_back("(" + condition + ")"); }
  [[nodiscard]] bool at_each() const { return each_; }
  std::string take() {
    close();
    return std::move(text_);
  }

 private:
  void step(const std::string& text) {
    close();
    text_ += text;
  }
  void close() {
    if (!each_) return;
    text_ += conditions_.empty() ? "[*]" : "[?(" + base::join(conditions_, " && ") + ")]";
    conditions_.clear();
    each_ = false;
  }

  std::string text_;
  bool each_ = false;
  std::vector<std::string> conditions_;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Text read() {
    Steps steps("$");
    do {
      skip_space();
      const auto done = at_word("select") ? read_select(steps) : read_path(steps, true);
      if (!done) return std::unexpected(done.error());
    } while (take('|'));
    if (!at_end()) return unknown(at_);
    auto path = steps.take();
    if (path == "$") return std::unexpected("\".\" is the whole object; name what goes");
    return path;
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (!at_end() && kSpace.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  [[nodiscard]] bool at_word(std::string_view word) const {
    return text_.substr(at_).starts_with(word) &&
           (at_ + word.size() == text_.size() || !in_name(text_[at_ + word.size()]));
  }
  bool take_word(std::string_view word) {
    if (!at_word(word)) return false;
    at_ += word.size();
    return true;
  }

  [[nodiscard]] std::unexpected<std::string> fail(std::size_t at, std::string_view what) const {
    std::size_t position = 1;
    for (std::size_t i = 0; i < at; ++i) {
      if ((static_cast<unsigned char>(text_[i]) & 0xC0U) != 0x80U) ++position;
    }
    return std::unexpected(fmt::format("{} (position {})", what, position));
  }
  [[nodiscard]] std::unexpected<std::string> unknown(std::size_t at) const {
    if (at >= text_.size()) return fail(text_.size(), "the expression is not complete");
    return fail(at, fmt::format("\"{}\" is not known here; known are .a, .\"x.y\", [0], [], ? and, "
                                "behind [], | select(.k == \"v\")",
                                base::cut_utf8(text_.substr(at), 40)));
  }

  Text read_string() {
    const auto open = at_++;
    while (!at_end() && text_[at_] != '"') {
      if (text_[at_] == '\\' && text_.substr(at_ + 1).starts_with('(')) return unknown(at_);
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (!take('"')) return fail(open, "the quoted text is not closed");
    // Texts of jq are those of JSON.
    const auto document = base::json::Document::parse(text_.substr(open, at_ - open));
    if (!document) return fail(open, "the quoted text is none of JSON");
    return std::string(document->root().as_string());
  }

  Text read_integer() {
    const auto start = at_;
    take('-');
    const auto digits = at_;
    while (is_digit(peek())) ++at_;
    if (at_ == digits) return unknown(start);
    return std::string(text_.substr(start, at_ - start));
  }

  /// A path from its dot on. `each`: [] may be in it.
  Done read_path(Steps& steps, bool each) {
    const auto dot = at_;
    if (!take('.')) return unknown(dot);
    if (peek() == '.') return unknown(dot);
    if (begins_name(peek()) || peek() == '"') {
      if (auto done = read_key(steps); !done) return done;
    }
    return read_steps(steps, each);
  }

  Done read_key(Steps& steps) {
    if (peek() == '"') {
      auto name = read_string();
      if (!name) return std::unexpected(name.error());
      steps.key(*name);
      return {};
    }
    const auto start = at_;
    while (in_name(peek())) ++at_;
    steps.key(text_.substr(start, at_ - start));
    return {};
  }

  Done read_steps(Steps& steps, bool each) {
    while (true) {
      skip_space();
      const auto start = at_;
      if (take('?')) continue;
      Done done;
      if (take('.')) {
        if (peek() == '[')
          done = read_bracket(steps, each);
        else if (begins_name(peek()) || peek() == '"')
          done = read_key(steps);
        else
          return unknown(start);
      } else if (peek() == '[') {
        done = read_bracket(steps, each);
      } else {
        return {};
      }
      if (!done) return done;
    }
  }

  Done read_bracket(Steps& steps, bool each) {
    const auto open = at_++;
    skip_space();
    if (take(']')) {
      if (!each) return fail(open, "[] cannot stand in a condition");
      steps.each();
      return {};
    }
    auto inner = peek() == '"' ? read_string() : read_integer();
    if (!inner) return std::unexpected(inner.error());
    const bool key = text_[at_ - 1] == '"';
    skip_space();
    if (!take(']')) return unknown(open);
    key ? steps.key(*inner) : steps.index(*inner);
    return {};
  }

  Done read_select(Steps& steps) {
    const auto start = at_;
    if (!steps.at_each()) return fail(start, "select stands behind []");
    take_word("select");
    skip_space();
    if (!take('(')) return unknown(start);
    auto condition = read_condition();
    if (!condition) return std::unexpected(condition.error());
    if (!take(')')) return unknown(at_);
    steps.only(*condition);
    return read_steps(steps, true);
  }

  /// Up to the ")" that it does not take.
  Text read_condition() {
    if (depth_ >= kMaxDepth) return fail(at_, "the condition is nested too deeply");
    ++depth_;
    auto condition = read_choice();
    while (condition && take('|')) {
      skip_space();
      if (!take_word("not")) return unknown(at_);
      skip_space();
      condition = fmt::format("!({})", *condition);
    }
    --depth_;
    return condition;
  }

  Text read_choice() {
    return joined("or", " || ", [&] { return joined("and", " && ", [&] { return read_term(); }); });
  }

  /// Several of what `read` gives with a word in between.
  template <class Read>
  Text joined(std::string_view word, std::string_view sign, const Read& read) {
    std::vector<std::string> parts;
    do {
      auto part = read();
      if (!part) return part;
      parts.push_back(std::move(*part));
      skip_space();
    } while (take_word(word));
    if (parts.size() == 1) return std::move(parts.front());
    for (auto& part : parts) part = "(" + part + ")";
    return base::join(parts, sign);
  }

  Text read_term() {
    skip_space();
    if (take('(')) {
      auto inner = read_condition();
      if (!inner) return inner;
      if (!take(')')) return unknown(at_);
      return inner;
    }
    auto left = read_operand();
    if (!left) return left;
    skip_space();
    const auto start = at_;
    while (!at_end() && std::string_view("=!<>").find(peek()) != std::string_view::npos) ++at_;
    const auto sign = text_.substr(start, at_ - start);
    if (sign.empty()) return fail(start, "a comparison is expected, such as == \"v\" or != null");
    if (sign != "==" && sign != "!=" && sign != "<" && sign != "<=" && sign != ">" && sign != ">=")
      return unknown(start);
    skip_space();
    auto right = read_operand();
    if (!right) return right;
    return fmt::format("{} {} {}", *left, sign, *right);
  }

  Text read_operand() {
    const auto start = at_;
    if (peek() == '"') {
      auto text = read_string();
      return text ? Text(in_quotes(*text)) : text;
    }
    if (peek() == '-' || is_digit(peek())) {
      take('-');
      while (in_name(peek()) || peek() == '.' ||
             ((peek() == '+' || peek() == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E')))
        ++at_;
      const auto number = base::json::Document::parse(text_.substr(start, at_ - start));
      if (!number || !number->root().is_number()) return unknown(start);
      return std::string(text_.substr(start, at_ - start));
    }
    for (const auto* word : {"true", "false", "null"}) {
      if (take_word(word)) return std::string(word);
    }
    Steps steps("@");
    auto done = read_path(steps, false);
    if (!done) return std::unexpected(done.error());
    return steps.take();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::expected<std::string, std::string> jsonpath_of_jq(std::string_view text) {
  text = base::trim(text);
  if (text.empty()) return std::unexpected("the expression is empty");
  return Reader(text).read();
}

}  // namespace kollect::extract
