// Well-formed CEL expressions from bytes, so that a fuzzer reaches evaluation and not only the
// parser.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/functions.h"
#include "cel/types.h"

namespace kollect::fuzz {

/// Reads choices from the fuzzer's bytes; past their end every choice is the first.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}
  std::size_t below(std::size_t count) {
    return next_ == end_ || count == 0 ? 0 : *next_++ % count;
  }
  template <std::size_t Count>
  std::string_view of(const std::array<std::string_view, Count>& texts) {
    return texts[below(Count)];
  }
  [[nodiscard]] bool spent() const { return next_ == end_; }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

/// Makes one expression of type dyn over a variable `object`. Calls take arguments of the declared
/// types most of the time, so that they do something; now and then of any type, as users do.
class ExpressionMaker {
 public:
  explicit ExpressionMaker(Choices& choices) : choices_(choices) {
    collect(false);
    collect(true);
  }

  std::string make() {
    std::string text;
    write(text, cel::TypeKind::kDyn, 5);
    return text;
  }

 private:
  struct Call {
    std::string_view name;
    bool member;
    const cel::Overload* overload;
  };
  using Kind = cel::TypeKind;

  void collect(bool member) {
    const cel::Registry& registry = cel::Registry::instance();
    for (const std::string& name : registry.names(member)) {
      for (const cel::Function& function : registry.find(name, member)) {
        for (const cel::Overload& overload : function.overloads)
          calls_.push_back({function.name, member, &overload});
      }
    }
  }

  Kind some_kind() {
    static constexpr std::array kKinds{Kind::kInt,      Kind::kString,   Kind::kDouble,
                                       Kind::kBool,     Kind::kUint,     Kind::kBytes,
                                       Kind::kList,     Kind::kMap,      Kind::kTimestamp,
                                       Kind::kDuration, Kind::kOptional, Kind::kNull};
    return kKinds[choices_.below(kKinds.size())];
  }

  void write(std::string& out, Kind kind, int depth) {
    if (kind == Kind::kParameter || (kind == Kind::kDyn && choices_.below(2) == 0))
      kind = some_kind();
    if (depth <= 0 || choices_.spent() || out.size() > 4096) return literal(out, kind);
    switch (choices_.below(8)) {
      case 0:
        return literal(out, kind);
      case 1:
        return path(out);
      case 2:
        return ternary(out, kind, depth - 1);
      case 3:
        return operation(out, kind, depth - 1);
      case 4:
        return macro(out, kind, depth - 1);
      case 5:
        return index(out, kind, depth - 1);
      default:
        return call(out, kind, depth - 1);
    }
  }

  void literal(std::string& out, Kind kind) {
    static constexpr std::array<std::string_view, 8> kInts{
        "0", "1", "-1", "3", "9223372036854775807", "-9223372036854775808", "64", "1000"};
    static constexpr std::array<std::string_view, 4> kUints{"0u", "1u", "18446744073709551615u",
                                                            "7u"};
    static constexpr std::array<std::string_view, 6> kDoubles{
        "0.0", "-0.0", "1.5", "1e308", "5e-324", "9007199254740993.0"};
    static constexpr std::array<std::string_view, 12> kStrings{"''",
                                                               "'a'",
                                                               "'ab,cd'",
                                                               "'\\u00e4\\U0001F600'",
                                                               "'10.0.0.0/8'",
                                                               "'100Mi'",
                                                               "'1.2.3-rc.1'",
                                                               "'%s %d %.3f'",
                                                               "'(a+)+b'",
                                                               "'2026-11-28T00:00:00Z'",
                                                               "'https://a.example:1/b?c=d'",
                                                               "'\\x00'"};
    static constexpr std::array<std::string_view, 3> kBytes{"b''", "b'\\xff\\x00a'", "b'YQ=='"};
    static constexpr std::array<std::string_view, 3> kTimes{"timestamp('1970-01-01T00:00:00Z')",
                                                            "timestamp('9999-12-31T23:59:59.999Z')",
                                                            "timestamp('0001-01-01T00:00:00Z')"};
    static constexpr std::array<std::string_view, 3> kSpans{"duration('1h')", "duration('-0.5ms')",
                                                            "duration('315576000000s')"};
    static constexpr std::array<std::string_view, 4> kLists{"[]", "[1, 2, 3]", "['b', 'a']",
                                                            "[[1], [2.0, 'x'], null]"};
    static constexpr std::array<std::string_view, 4> kMaps{
        "{}", "{'a': 1, 'b': [2]}", "{1: 'x', 2u: 'y', true: null}", "{'k': {'k': {'k': 0}}}"};
    static constexpr std::array<std::string_view, 3> kOptionals{"optional.none()", "optional.of(1)",
                                                                "optional.ofNonZeroValue('')"};
    static constexpr std::array<std::string_view, 4> kTypes{"int", "type(1.0)", "list",
                                                            "type(null)"};
    static constexpr std::array<std::string_view, 4> kOpaques{
        "quantity('1.5Gi')", "url('https://a.example')", "ip('10.0.0.1')", "semver('1.2.3')"};
    switch (kind) {
      case Kind::kInt:
        out += choices_.of(kInts);
        return;
      case Kind::kUint:
        out += choices_.of(kUints);
        return;
      case Kind::kDouble:
        out += choices_.of(kDoubles);
        return;
      case Kind::kString:
        out += choices_.of(kStrings);
        return;
      case Kind::kBytes:
        out += choices_.of(kBytes);
        return;
      case Kind::kBool:
        out += choices_.below(2) == 0 ? "true" : "false";
        return;
      case Kind::kTimestamp:
        out += choices_.of(kTimes);
        return;
      case Kind::kDuration:
        out += choices_.of(kSpans);
        return;
      case Kind::kList:
        out += choices_.of(kLists);
        return;
      case Kind::kMap:
        out += choices_.of(kMaps);
        return;
      case Kind::kOptional:
        out += choices_.of(kOptionals);
        return;
      case Kind::kType:
        out += choices_.of(kTypes);
        return;
      case Kind::kOpaque:
        out += choices_.of(kOpaques);
        return;
      default:
        out += "null";
        return;
    }
  }

  void path(std::string& out) {
    static constexpr std::array<std::string_view, 12> kPaths{"object.metadata.labels",
                                                             "object.metadata.name",
                                                             "object.spec.n",
                                                             "object.spec.f",
                                                             "object.spec.list",
                                                             "object.spec.containers",
                                                             "object.spec.?missing.?deeper",
                                                             "object.spec.big",
                                                             "object.missing",
                                                             "object.metadata.labels['a.b/c']",
                                                             "object[?'spec'].orValue({})",
                                                             "has(object.spec.q)"};
    if (!names_.empty() && choices_.below(2) == 0) {
      out += names_[choices_.below(names_.size())];
      return;
    }
    out += choices_.of(kPaths);
  }

  void ternary(std::string& out, Kind kind, int depth) {
    out += '(';
    write(out, Kind::kBool, depth);
    out += " ? ";
    write(out, kind, depth);
    out += " : ";
    write(out, kind, depth);
    out += ')';
  }

  void operation(std::string& out, Kind kind, int depth) {
    static constexpr std::array<std::string_view, 9> kConditions{"==", "!=", "<",  "<=", ">",
                                                                 ">=", "&&", "||", "in"};
    static constexpr std::array<std::string_view, 5> kArithmetic{"+", "-", "*", "/", "%"};
    out += '(';
    if (kind == Kind::kBool) {
      const std::string_view sign = choices_.of(kConditions);
      const Kind side = sign == "&&" || sign == "||" ? Kind::kBool : some_kind();
      write(out, side, depth);
      out.append(" ").append(sign).append(" ");
      write(out, sign == "in" ? Kind::kList : side, depth);
    } else {
      write(out, kind, depth);
      out.append(" ").append(choices_.of(kArithmetic)).append(" ");
      write(out, kind, depth);
    }
    out += ')';
  }

  void macro(std::string& out, Kind kind, int depth) {
    static constexpr std::array<std::string_view, 5> kMacros{"all", "exists", "exists_one",
                                                             "filter", "map"};
    const std::string name = "v" + std::to_string(names_.size());
    const std::string_view which = choices_.of(kMacros);
    if (choices_.below(6) == 0) {
      out.append("cel.bind(").append(name).append(", ");
      write(out, some_kind(), depth);
    } else {
      write(out, choices_.below(3) == 0 ? Kind::kMap : Kind::kList, depth);
      out.append(".").append(which).append("(").append(name);
    }
    out += ", ";
    names_.push_back(name);
    write(out, which == "map" ? kind : Kind::kBool, depth);
    names_.pop_back();
    out += ')';
  }

  void index(std::string& out, Kind kind, int depth) {
    const bool list = choices_.below(2) == 0;
    out += list ? "[" : "{'k': ";
    write(out, kind, depth);
    out += list ? "]" : "}";
    out += choices_.below(4) == 0 ? "[?" : "[";
    write(out, list ? Kind::kInt : Kind::kString, 0);
    out += ']';
  }

  void call(std::string& out, Kind kind, int depth) {
    // A function with the wanted result when one is met soon, else any.
    const Call* chosen = nullptr;
    for (int tries = 0; tries < 4; ++tries) {
      chosen = &calls_[(choices_.below(256) * 256 + choices_.below(256)) % calls_.size()];
      if (chosen->overload->result != nullptr && chosen->overload->result->kind == kind) break;
    }
    const auto& args = chosen->overload->args;
    std::size_t first = 0;
    if (chosen->member && !args.empty()) {
      argument(out, *args[0], depth);
      out += '.';
      first = 1;
    }
    out.append(chosen->name).append("(");
    for (std::size_t at = first; at < args.size(); ++at) {
      if (at > first) out += ", ";
      argument(out, *args[at], depth);
    }
    out += ')';
  }

  void argument(std::string& out, const cel::Type& type, int depth) {
    write(out, choices_.below(16) == 0 ? some_kind() : type.kind, depth);
  }

  Choices& choices_;
  std::vector<Call> calls_;
  std::vector<std::string> names_;
};

}  // namespace kollect::fuzz
