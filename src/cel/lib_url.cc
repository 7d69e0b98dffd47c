// URLs (format: RFC 3986, absolute URIs and absolute paths).
#include <algorithm>
#include <optional>
#include <vector>

#include "cel/functions.h"
#include "cel/opaque.h"

namespace kollect::cel {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Percent escapes decoded; none when one is broken.
std::optional<std::string> unescape(std::string_view text, bool plus_is_blank = false) {
  std::string out;
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] == '%') {
      if (n + 2 >= text.size() || hex_digit(text[n + 1]) < 0 || hex_digit(text[n + 2]) < 0)
        return std::nullopt;
      out += static_cast<char>(hex_digit(text[n + 1]) * 16 + hex_digit(text[n + 2]));
      n += 2;
    } else {
      out += text[n] == '+' && plus_is_blank ? ' ' : text[n];
    }
  }
  return out;
}

/// Characters that a path may hold without an escape.
bool plain_in_path(char c) {
  return is_letter(c) || is_digit(c) ||
         (c != '\0' && std::string_view("-_.~!$&'()*+,;=:@/[]").find(c) != std::string_view::npos);
}

bool valid_user_info(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) ||
           (c != '\0' && std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos);
  });
}

bool valid_port(std::string_view text) {
  return text.empty() || (text[0] == ':' && std::all_of(text.begin() + 1, text.end(), is_digit));
}

bool valid_host(std::string_view host) {
  if (host.starts_with('[')) {
    const auto close = host.rfind(']');
    return close != std::string_view::npos && valid_port(host.substr(close + 1));
  }
  const auto colon = host.rfind(':');
  if (colon != std::string_view::npos && !valid_port(host.substr(colon))) return false;
  const bool fine = std::all_of(host.begin(), host.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x80 || is_letter(c) || is_digit(c) ||
           (c != '\0' &&
            std::string_view("-_.~!$&'()*+,;=:[]<>\"%").find(c) != std::string_view::npos);
  });
  return fine && unescape(host).has_value();
}

/// Length of the scheme before ':', 0 when there is none.
std::size_t scheme_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  std::size_t n = 1;
  while (n < text.size() && (is_letter(text[n]) || is_digit(text[n]) || text[n] == '+' ||
                             text[n] == '-' || text[n] == '.'))
    ++n;
  return n < text.size() && text[n] == ':' ? n : 0;
}

std::optional<Url> parse_url(std::string_view text) {
  Url url;
  url.kind = OpaqueKind::kUrl;
  url.text = text;
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (text.empty() || std::any_of(text.begin(), text.end(), control)) return std::nullopt;
  std::string_view rest = text;
  if (const std::size_t length = scheme_length(text); length > 0) {
    url.scheme = text.substr(0, length);
    rest.remove_prefix(length + 1);
  } else if (!text.starts_with('/')) {
    return std::nullopt;
  }
  rest = rest.substr(0, rest.find('#'));
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  // "mailto:x": what follows the scheme is neither host nor path.
  if (!rest.starts_with('/')) return url;
  if (rest.starts_with("//") && (!url.scheme.empty() || !rest.starts_with("///"))) {
    const auto slash = std::min(rest.find('/', 2), rest.size());
    std::string_view authority = rest.substr(2, slash - 2);
    rest.remove_prefix(slash);
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
      if (!valid_user_info(authority.substr(0, at))) return std::nullopt;
      authority.remove_prefix(at + 1);
    }
    if (!valid_host(authority)) return std::nullopt;
    url.host = authority;
  }
  if (!unescape(rest)) return std::nullopt;
  url.path = rest;
  return url;
}

const Url* as_url(const Value& value) {
  return opaque_as<Url>(value, OpaqueKind::kUrl);
}

Value url(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  const auto parsed = parse_url(args[0].as_text());
  if (!parsed) return evaluation.error("the text is no URL");
  const auto* kept = evaluation.arena().make<Url>(*parsed);
  return kept == nullptr ? evaluation.out_of_memory() : Value::of_opaque(kept);
}

Value is_url(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  return Value::of_bool(parse_url(args[0].as_text()).has_value());
}

/// Where the port with its colon begins in a host.
std::size_t port_start(std::string_view host) {
  const auto colon = host.rfind(':');
  const auto bracket = host.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket))
    return host.size();
  return colon;
}

Value scheme(Evaluation& evaluation, const Value* args, std::size_t) {
  const Url* parsed = as_url(args[0]);
  if (parsed == nullptr) return evaluation.no_overload();
  std::string lower(parsed->scheme);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return evaluation.string(lower);
}

Value host(Evaluation& evaluation, const Value* args, std::size_t) {
  const Url* parsed = as_url(args[0]);
  return parsed == nullptr ? evaluation.no_overload() : Value::of_string(parsed->host);
}

Value host_name(Evaluation& evaluation, const Value* args, std::size_t) {
  const Url* parsed = as_url(args[0]);
  if (parsed == nullptr) return evaluation.no_overload();
  std::string_view name = parsed->host.substr(0, port_start(parsed->host));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return Value::of_string(name);
}

Value port(Evaluation& evaluation, const Value* args, std::size_t) {
  const Url* parsed = as_url(args[0]);
  if (parsed == nullptr) return evaluation.no_overload();
  std::string_view digits = parsed->host.substr(port_start(parsed->host));
  if (!digits.empty()) digits.remove_prefix(1);
  return Value::of_string(digits);
}

Value escaped_path(Evaluation& evaluation, const Value* args, std::size_t) {
  const Url* parsed = as_url(args[0]);
  if (parsed == nullptr) return evaluation.no_overload();
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : parsed->path) {
    if (c == '%' || plain_in_path(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return evaluation.string(out);
}

Value query(Evaluation& evaluation, const Value* args, std::size_t) {
  const Url* parsed = as_url(args[0]);
  if (parsed == nullptr) return evaluation.no_overload();
  // Values of one name stay in their order.
  std::vector<std::pair<std::string, std::vector<std::string>>> names;
  std::string_view left = parsed->query;
  while (!left.empty()) {
    const auto end = std::min(left.find('&'), left.size());
    const std::string_view pair = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto name = unescape(pair.substr(0, equals), true);
    auto value = unescape(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) continue;
    if (!evaluation.charge(1 + names.size())) return evaluation.over_budget();
    auto known =
        std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == *name; });
    if (known == names.end()) known = names.insert(known, {*name, {}});
    known->second.push_back(std::move(*value));
  }
  MapBuilder builder(evaluation, names.size());
  for (const auto& [name, values] : names) {
    ListBuilder list(evaluation, values.size());
    for (const auto& value : values) {
      if (!list.add(evaluation.string(value))) return list.failed();
    }
    const Value error = builder.add(evaluation.string(name), list.value());
    if (error.is_error()) return error;
  }
  return builder.value();
}

constexpr FunctionEntry kFunctions[] = {
    {"url", false, url, "string -> kubernetes.URL"},
    {"isURL", false, is_url, "string -> bool"},
    {"getScheme", true, scheme, "kubernetes.URL -> string"},
    {"getHost", true, host, "kubernetes.URL -> string"},
    {"getHostname", true, host_name, "kubernetes.URL -> string"},
    {"getPort", true, port, "kubernetes.URL -> string"},
    {"getEscapedPath", true, escaped_path, "kubernetes.URL -> string"},
    {"getQuery", true, query, "kubernetes.URL -> map(string, list(string))"},
};

}  // namespace

std::span<const FunctionEntry> url_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
