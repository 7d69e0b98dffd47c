// Named formats of Kubernetes: names of objects, labels, URIs, dates.
#include <algorithm>
#include <chrono>

#include "base/hash.h"
#include "base/strings.h"
#include "cel/functions.h"
#include "cel/opaque.h"

namespace kollect::cel {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_alnum(char c) {
  return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z');
}

bool all(std::string_view text, bool (*test)(char)) {
  return std::all_of(text.begin(), text.end(), test);
}

bool dns1035_label(std::string_view text) {
  return base::is_dns1123_label(text) && is_lower(text[0]);
}

/// A prefix to which more is added may end in '-'.
std::string without_dash(std::string_view text) {
  std::string copy(text);
  if (copy.size() > 1 && copy.back() == '-') copy.back() = 'a';
  return copy;
}
bool label_prefix(std::string_view text) {
  return base::is_dns1123_label(without_dash(text));
}
bool subdomain_prefix(std::string_view text) {
  return base::is_dns1123_subdomain(without_dash(text));
}
bool dns1035_prefix(std::string_view text) {
  return dns1035_label(without_dash(text));
}

bool name_part(std::string_view text) {
  const auto inner = [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= 63 && is_alnum(text.front()) && is_alnum(text.back()) &&
         all(text, inner);
}

bool label_value(std::string_view text) {
  return text.empty() || name_part(text);
}

bool qualified(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return name_part(text);
  return base::is_dns1123_subdomain(text.substr(0, slash)) && name_part(text.substr(slash + 1));
}

/// 8, 4, 4, 4 and 12 hexadecimal digits; each dash between them may be missing.
bool uuid(std::string_view text) {
  std::size_t digits = 0;
  bool dash_before = false;
  for (const char c : text) {
    const bool between = digits == 8 || digits == 12 || digits == 16 || digits == 20;
    const bool hex = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!hex && (c != '-' || !between || dash_before)) return false;
    dash_before = !hex;
    digits += hex ? 1 : 0;
  }
  return digits == 32;
}

bool byte(std::string_view text) {
  return !text.empty() && base::base64_decode(text, false).has_value();
}

bool date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const std::size_t n : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (!is_digit(text[n])) return false;
  }
  const auto number = [&](std::size_t from, std::size_t count) {
    int value = 0;
    for (const char c : text.substr(from, count)) value = value * 10 + (c - '0');
    return value;
  };
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)),
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

/// "NN:NN", both at most these.
bool clock_pair(std::string_view text, std::string_view hours, std::string_view minutes) {
  return text.size() == 5 && text[2] == ':' && all(text.substr(0, 2), is_digit) &&
         all(text.substr(3), is_digit) && text.substr(0, 2) <= hours && text.substr(3) <= minutes;
}

/// RFC 3339 with letters of either case and any year of four digits.
bool date_time(std::string_view text) {
  if (text.size() < 20 || !date(text.substr(0, 10)) || (text[10] != 'T' && text[10] != 't') ||
      text[16] != ':' || !clock_pair(text.substr(11, 5), "23", "59")) {
    return false;
  }
  const auto seconds = text.substr(17, 2);
  if (!all(seconds, is_digit) || seconds > "59") return false;
  text.remove_prefix(19);
  if (text[0] == '.' || text[0] == ',') {
    const auto end = text.find_first_not_of("0123456789", 1);
    if (end == 1 || end == std::string_view::npos) return false;
    text.remove_prefix(end);
  }
  if (text == "Z" || text == "z") return true;
  return (text[0] == '+' || text[0] == '-') && clock_pair(text.substr(1), "99", "99");
}

struct Format {
  std::string_view name;
  bool (*test)(std::string_view);
  std::string_view meaning;
};

constexpr Format kFormats[] = {
    {"dns1123Label", base::is_dns1123_label,
     "must be at most 63 lower-case letters, digits and '-', with a letter or digit at both ends"},
    {"dns1123Subdomain", base::is_dns1123_subdomain,
     "must be at most 253 lower-case letters, digits, '-' and '.', each part with a letter or "
     "digit at both ends"},
    {"dns1035Label", dns1035_label,
     "must be at most 63 lower-case letters, digits and '-', with a letter first and a letter or "
     "digit last"},
    {"dns1123LabelPrefix", label_prefix, "must be the beginning of a DNS label"},
    {"dns1123SubdomainPrefix", subdomain_prefix, "must be the beginning of a DNS subdomain"},
    {"dns1035LabelPrefix", dns1035_prefix,
     "must be the beginning of a DNS label that starts with a letter"},
    {"qualifiedName", qualified,
     "must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional DNS prefix "
     "and '/'"},
    {"labelValue", label_value,
     "must be empty or at most 63 letters, digits, '-', '_' and '.', with a letter or digit at "
     "both ends"},
    {"uri", is_uri, "must be a URI"},
    {"uuid", uuid, "must be a UUID"},
    {"byte", byte, "must be base64"},
    {"date", date, "must be a date such as 2006-01-02"},
    {"datetime", date_time, "must be an RFC 3339 time"},
};

Value wrap(Evaluation& evaluation, std::size_t index) {
  auto* format = evaluation.arena().make<NamedFormat>();
  if (format == nullptr) return evaluation.out_of_memory();
  format->kind = OpaqueKind::kFormat;
  format->index = static_cast<std::uint8_t>(index);
  return Value::of_opaque(format);
}

Value named(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  for (std::size_t n = 0; n < std::size(kFormats); ++n) {
    if (kFormats[n].name == args[0].as_text()) return evaluation.some(wrap(evaluation, n));
  }
  return Evaluation::none();
}

template <std::size_t kIndex>
Value constant(Evaluation& evaluation, const Value*, std::size_t) {
  return wrap(evaluation, kIndex);
}

/// None when the text has the format, else a list of what is wrong.
Value validate(Evaluation& evaluation, const Value* args, std::size_t) {
  const auto* format = opaque_as<NamedFormat>(args[0], OpaqueKind::kFormat);
  if (format == nullptr || args[1].kind != Kind::kString) return evaluation.no_overload();
  if (!evaluation.charge(args[1].count / 10)) return evaluation.over_budget();
  const Format& known = kFormats[format->index];
  if (known.test(args[1].as_text())) return Evaluation::none();
  ListBuilder list(evaluation, 1);
  if (!list.add(Value::of_string(known.meaning))) return list.failed();
  return evaluation.some(list.value());
}

constexpr std::string_view kConstant = "-> kubernetes.NamedFormat";

constexpr FunctionEntry kFunctions[] = {
    {"format.named", false, named, "string -> optional(kubernetes.NamedFormat)"},
    {"validate", true, validate, "kubernetes.NamedFormat, string -> optional(list(string))"},
    {"format.dns1123Label", false, constant<0>, kConstant},
    {"format.dns1123Subdomain", false, constant<1>, kConstant},
    {"format.dns1035Label", false, constant<2>, kConstant},
    {"format.dns1123LabelPrefix", false, constant<3>, kConstant},
    {"format.dns1123SubdomainPrefix", false, constant<4>, kConstant},
    {"format.dns1035LabelPrefix", false, constant<5>, kConstant},
    {"format.qualifiedName", false, constant<6>, kConstant},
    {"format.labelValue", false, constant<7>, kConstant},
    {"format.uri", false, constant<8>, kConstant},
    {"format.uuid", false, constant<9>, kConstant},
    {"format.byte", false, constant<10>, kConstant},
    {"format.date", false, constant<11>, kConstant},
    {"format.datetime", false, constant<12>, kConstant},
};

}  // namespace

std::string_view format_name(const NamedFormat& format) {
  return kFormats[format.index].name;
}

std::span<const FunctionEntry> named_format_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
