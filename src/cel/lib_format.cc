// format() of the strings extension.
#include <fmt/format.h>

#include <cmath>

#include "base/strings.h"
#include "cel/functions.h"
#include "cel/text.h"

namespace kollect::cel {

namespace {

constexpr std::size_t kMaxOutput = std::size_t{16} << 20U;
constexpr int kMaxPrecision = 1000;
constexpr int kMaxDepth = 64;

/// Writes one call's output; the first problem ends it.
class Formatter {
 public:
  explicit Formatter(Evaluation& evaluation) : evaluation_(evaluation) {}

  Value format(std::string_view pattern, const Value& args) {
    ListCursor cursor(args);
    for (std::size_t at = 0; at < pattern.size() && !failed();) {
      if (pattern[at] != '%') {
        const auto next = std::min(pattern.find('%', at), pattern.size());
        out_ += pattern.substr(at, next - at);
        at = next;
        continue;
      }
      ++at;
      if (at < pattern.size() && pattern[at] == '%') {
        out_ += '%';
        ++at;
        continue;
      }
      int precision = -1;
      if (!read_precision(pattern, at, precision)) break;
      if (at == pattern.size()) {
        fail("a formatting clause is not complete");
        break;
      }
      Value value;
      if (std::string_view("sdfebxXo").find(pattern[at]) == std::string_view::npos) {
        fail("there is no such formatting clause");
      } else if (!cursor.next(value)) {
        fail("there are fewer arguments than formatting clauses");
      } else {
        clause(pattern[at], precision, value);
      }
      ++at;
    }
    // What was written before a mistake was work as well.
    const bool paid = evaluation_.charge(out_.size() / 10);
    if (failed()) return error_;
    if (!paid) return evaluation_.over_budget();
    return evaluation_.string(out_);
  }

 private:
  [[nodiscard]] bool failed() const { return error_.is_error(); }

  void fail(std::string_view message) {
    if (!failed()) error_ = evaluation_.error(message);
  }

  void misfit(char clause, const Value& value) {
    if (!failed()) {
      error_ = evaluation_.errorf("the formatting clause %{} does not take {}", clause,
                                  type_name(value));
    }
  }

  bool read_precision(std::string_view pattern, std::size_t& at, int& precision) {
    if (at >= pattern.size() || pattern[at] != '.') return true;
    const std::size_t first = ++at;
    precision = 0;
    while (at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9') {
      precision = precision * 10 + (pattern[at++] - '0');
      if (precision > kMaxPrecision) {
        fail("the precision of a formatting clause is too large");
        return false;
      }
    }
    if (at == first) fail("a formatting clause has a point but no precision");
    return !failed();
  }

  void clause(char kind, int precision, const Value& value) {
    switch (kind) {
      case 's':
        return text(value, 0);
      case 'd':
        return decimal(value);
      case 'f':
      case 'e':
        return floating(kind, precision < 0 ? 6 : precision, value);
      case 'b':
        if (value.kind == Kind::kBool) {
          out_ += value.boolean ? '1' : '0';
          return;
        }
        return integer(kind, value);
      case 'o':
        return integer(kind, value);
      default:
        return hexadecimal(kind, value);
    }
  }

  void decimal(const Value& value) {
    if (value.kind == Kind::kDouble) {
      out_ += double_text(value.d, true);
    } else {
      integer('d', value);
    }
  }

  void integer(char kind, const Value& value) {
    if (value.kind != Kind::kInt && value.kind != Kind::kUint) return misfit(kind, value);
    const bool negative = value.kind == Kind::kInt && value.i < 0;
    const std::uint64_t magnitude = negative ? 0 - value.u : value.u;
    if (negative) out_ += '-';
    auto to = std::back_inserter(out_);
    if (kind == 'd') fmt::format_to(to, "{}", magnitude);
    if (kind == 'b') fmt::format_to(to, "{:b}", magnitude);
    if (kind == 'o') fmt::format_to(to, "{:o}", magnitude);
    if (kind == 'x') fmt::format_to(to, "{:x}", magnitude);
    if (kind == 'X') fmt::format_to(to, "{:X}", magnitude);
  }

  void hexadecimal(char kind, const Value& value) {
    if (value.kind != Kind::kString && value.kind != Kind::kBytes) return integer(kind, value);
    const std::string_view digits = kind == 'x' ? "0123456789abcdef" : "0123456789ABCDEF";
    for (const char c : value.as_text()) {
      const auto byte = static_cast<unsigned char>(c);
      out_ += digits[byte >> 4U];
      out_ += digits[byte & 15U];
    }
    bound();
  }

  void floating(char kind, int precision, const Value& value) {
    if (!value.is_number()) return misfit(kind, value);
    const double number = value.kind == Kind::kDouble ? value.d
                          : value.kind == Kind::kInt  ? static_cast<double>(value.i)
                                                      : static_cast<double>(value.u);
    if (!std::isfinite(number)) {
      out_ += double_text(number, true);
    } else if (kind == 'f') {
      fmt::format_to(std::back_inserter(out_), "{:.{}f}", number, precision);
    } else {
      fmt::format_to(std::back_inserter(out_), "{:.{}e}", number, precision);
    }
    bound();
  }

  void bound() {
    if (out_.size() > kMaxOutput && !failed()) error_ = evaluation_.out_of_memory();
  }

  void text(const Value& value, int depth) {
    if (failed() || depth > kMaxDepth)
      return fail("the value is nested too deeply for a formatting clause");
    if (!evaluation_.charge(1)) {
      error_ = evaluation_.over_budget();
      return;
    }
    switch (value.kind) {
      case Kind::kNull:
        out_ += "null";
        break;
      case Kind::kBool:
        out_ += value.boolean ? "true" : "false";
        break;
      case Kind::kInt:
      case Kind::kUint:
        integer('d', value);
        break;
      case Kind::kDouble:
        out_ += double_text(value.d, true);
        break;
      case Kind::kString:
      case Kind::kType:
        out_ += value.as_text();
        break;
      case Kind::kBytes:
        out_ += base::sanitize_utf8(value.as_text());
        break;
      case Kind::kTimestamp:
        out_ += timestamp_text(value);
        break;
      case Kind::kDuration:
        out_ += duration_text(value);
        break;
      case Kind::kList:
        list(value, depth);
        break;
      case Kind::kMap:
        map(value, depth);
        break;
      default:
        misfit('s', value);
    }
    bound();
  }

  void list(const Value& value, int depth) {
    out_ += '[';
    Value item;
    bool first = true;
    for (ListCursor cursor(value); !failed() && cursor.next(item); first = false) {
      if (!first) out_ += ", ";
      text(item, depth + 1);
    }
    out_ += ']';
  }

  // Entries are sorted by the text of their keys.
  void map(const Value& value, int depth) {
    const auto sorted = sorted_entries(evaluation_, value);
    std::vector<std::pair<std::string, const Value*>> entries;
    for (std::size_t n = 0; n < sorted.count && !failed(); ++n) {
      std::string outer = std::move(out_);
      out_.clear();
      text(sorted.entries[n].key, depth + 1);
      entries.emplace_back(std::move(out_), &sorted.entries[n].value);
      out_ = std::move(outer);
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    out_ += '{';
    bool first = true;
    for (const auto& [key, entry] : entries) {
      if (!first) out_ += ", ";
      first = false;
      out_ += key;
      out_ += ": ";
      text(*entry, depth + 1);
    }
    out_ += '}';
  }

  Evaluation& evaluation_;
  std::string out_;
  Value error_;
};

Value format(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString || args[1].kind != Kind::kList) return evaluation.no_overload();
  return Formatter(evaluation).format(args[0].as_text(), args[1]);
}

constexpr FunctionEntry kFunctions[] = {{"format", true, format, "string, list(dyn) -> string"}};

}  // namespace

std::span<const FunctionEntry> format_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
