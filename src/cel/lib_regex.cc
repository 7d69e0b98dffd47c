// The regex extension and find(), findAll() of Kubernetes.
#include <re2/re2.h>
#include <algorithm>

#include "cel/functions.h"
#include "cel/regex.h"
#include "cel/text.h"

namespace kollect::cel {

namespace {

constexpr std::size_t kMaxOutput = std::size_t{16} << 20U;

/// Pattern of a call and what is left of the text.
struct Search {
  const Regex* regex = nullptr;
  Value error;
};

Search prepare(Evaluation& evaluation, const Value& text, const Value& pattern) {
  Search search;
  if (text.kind != Kind::kString || pattern.kind != Kind::kString) {
    search.error = evaluation.no_overload();
    return search;
  }
  std::string error;
  search.regex = cached_regex(evaluation, pattern.as_text(), error);
  if (search.regex == nullptr) {
    search.error = evaluation.error(error);
  } else if (!evaluation.charge((1 + text.count / 10) * search.regex->weight())) {
    search.error = evaluation.over_budget();
    search.regex = nullptr;
  }
  return search;
}

/// Calls step(groups) for each match from left to right until it answers false; empty matches move
/// on by one character.
template <class Step>
void for_each_match(const Regex& regex, std::string_view text, int groups, Step step) {
  // A group that took no part has no pointer, so the text needs one.
  if (text.data() == nullptr) text = "";
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(groups));
  const re2::StringPiece whole(text.data(), text.size());
  std::size_t at = 0;
  std::size_t last_end = SIZE_MAX;
  while (at <= text.size() &&
         regex.re2().Match(whole, at, text.size(), re2::RE2::UNANCHORED, found.data(), groups)) {
    const auto begin = static_cast<std::size_t>(found[0].data() - text.data());
    const auto end = begin + found[0].size();
    // An empty match right behind the last one does not count.
    if (!(begin == end && begin == last_end) && !step(found, begin, end)) return;
    last_end = end;
    at = end;
    if (begin == end) {
      if (at >= text.size()) return;
      next_code_point(text, at);
    }
  }
}

Value piece(const re2::StringPiece& found) {
  return Value::of_string({found.data(), found.size()});
}

Value find(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto search = prepare(evaluation, args[0], args[1]);
  if (search.regex == nullptr) return search.error;
  Value result = Value::of_string({});
  for_each_match(*search.regex, args[0].as_text(), 1,
                 [&](const auto& found, std::size_t, std::size_t) {
                   result = piece(found[0]);
                   return false;
                 });
  return result;
}

/// How many matches the last of `given` arguments asks for; below nought, or without it, all.
std::int64_t most(const Value* args, std::size_t count, std::size_t given) {
  return count == given ? std::max<std::int64_t>(args[given - 1].i, -1) : -1;
}

Value find_all(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (count == 3 && args[2].kind != Kind::kInt) return evaluation.no_overload();
  const auto search = prepare(evaluation, args[0], args[1]);
  if (search.regex == nullptr) return search.error;
  std::int64_t left = most(args, count, 3);
  ListBuilder builder(evaluation);
  bool fine = true;
  if (left == 0) return builder.value();
  for_each_match(*search.regex, args[0].as_text(), 1,
                 [&](const auto& found, std::size_t, std::size_t) {
                   fine = evaluation.charge(1) && builder.add(piece(found[0]));
                   return fine && --left != 0;
                 });
  if (evaluation.over()) return evaluation.over_budget();
  return fine ? builder.value() : builder.failed();
}

/// The value of extract(): the group if there is one, else the whole match.
Value extract(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto search = prepare(evaluation, args[0], args[1]);
  if (search.regex == nullptr) return search.error;
  const int groups = search.regex->re2().NumberOfCapturingGroups();
  if (groups > 1) return evaluation.error("the pattern of extract() has more than one group");
  Value result = Evaluation::none();
  for_each_match(*search.regex, args[0].as_text(), groups + 1,
                 [&](const auto& found, std::size_t, std::size_t) {
                   const auto& part = found[static_cast<std::size_t>(groups)];
                   if (part.data() != nullptr) result = evaluation.some(piece(part));
                   return false;
                 });
  return result;
}

Value extract_all(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto search = prepare(evaluation, args[0], args[1]);
  if (search.regex == nullptr) return search.error;
  const int groups = search.regex->re2().NumberOfCapturingGroups();
  if (groups > 1) return evaluation.error("the pattern of extractAll() has more than one group");
  ListBuilder builder(evaluation);
  bool fine = true;
  for_each_match(*search.regex, args[0].as_text(), groups + 1,
                 [&](const auto& found, std::size_t, std::size_t) {
                   const auto& part = found[static_cast<std::size_t>(groups)];
                   fine =
                       evaluation.charge(1) && (part.data() == nullptr || builder.add(piece(part)));
                   return fine;
                 });
  if (evaluation.over()) return evaluation.over_budget();
  return fine ? builder.value() : builder.failed();
}

/// Appends the replacement: \0 to \9 are groups, \\ a backslash. False when it is written wrongly.
bool append_replacement(std::string& out, std::string_view replacement,
                        const std::vector<re2::StringPiece>& found) {
  for (std::size_t n = 0; n < replacement.size(); ++n) {
    if (replacement[n] != '\\') {
      out += replacement[n];
      continue;
    }
    if (++n == replacement.size()) return false;
    const char c = replacement[n];
    if (c == '\\') {
      out += c;
    } else if (c >= '0' && c <= '9' && static_cast<std::size_t>(c - '0') < found.size()) {
      const auto& group = found[static_cast<std::size_t>(c - '0')];
      out.append(group.data(), group.size());
    } else {
      return false;
    }
  }
  return true;
}

Value replace(Evaluation& evaluation, const Value* args, std::size_t count) {
  if (args[2].kind != Kind::kString || (count == 4 && args[3].kind != Kind::kInt)) {
    return evaluation.no_overload();
  }
  const bool texts = args[0].kind == Kind::kString && args[1].kind == Kind::kString;
  if (texts && count == 4 && args[3].i == 0) return args[0];
  const auto search = prepare(evaluation, args[0], args[1]);
  if (search.regex == nullptr) return search.error;
  const auto text = args[0].as_text();
  const int groups = search.regex->re2().NumberOfCapturingGroups();
  std::int64_t left = most(args, count, 4);
  std::string out;
  std::size_t copied = 0;
  bool fine = true;
  for_each_match(*search.regex, text, groups + 1,
                 [&](const auto& found, std::size_t begin, std::size_t end) {
                   out += text.substr(copied, begin - copied);
                   fine = append_replacement(out, args[2].as_text(), found);
                   copied = end;
                   return fine && out.size() < kMaxOutput &&
                          evaluation.charge(1 + args[2].count / 10) && --left != 0;
                 });
  if (evaluation.over()) return evaluation.over_budget();
  if (!fine)
    return evaluation.error("the replacement names a group that the pattern does not have");
  if (out.size() >= kMaxOutput) return evaluation.out_of_memory();
  out += text.substr(copied);
  return evaluation.string(out);
}

constexpr FunctionEntry kFunctions[] = {
    {"find", true, find, "string, string -> string"},
    {"findAll", true, find_all,
     "string, string -> list(string); string, string, int -> list(string)"},
    {"regex.extract", false, extract, "string, string -> optional(string)"},
    {"regex.extractAll", false, extract_all, "string, string -> list(string)"},
    {"regex.replace", false, replace,
     "string, string, string -> string; string, string, string, int -> string"},
};

}  // namespace

std::span<const FunctionEntry> regex_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
