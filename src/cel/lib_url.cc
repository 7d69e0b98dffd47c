// URLs (format: RFC 3986, absolute URIs and absolute paths; RFC 6874 for zones of addresses).
#include <algorithm>
#include <optional>
#include <vector>

#include "base/strings.h"
#include "cel/address.h"
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
bool one_of(char c, std::string_view set) {
  return c != '\0' && set.find(c) != std::string_view::npos;
}
bool unreserved(char c) {
  return is_letter(c) || is_digit(c) || one_of(c, "-_.~");
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// What a part of a URL may hold beside letters, digits and "-_.~".
struct Rules {
  std::string_view written;  ///< as it is
  std::string_view escaped;  ///< as it is when the part has to be escaped anew
};
constexpr Rules kPath = {"!$&'()*+,;=:@/[]", "$&+,/:;=@"};
constexpr Rules kFragment = {"!$&'()*+,;=:@/?[]", "!()*$&+,/:;=?@"};
constexpr Rules kUser = {"!$&'()*+,;=:%@._-~", "$&+,;="};
constexpr std::string_view kHost = "!$&'()*+,;=:[]<>\"";

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

std::string escape(std::string_view text, std::string_view plain) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (unreserved(c) || one_of(c, plain)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

/// The part as written when it needs no other escapes, else decoded and escaped anew.
std::optional<std::string> normal(std::string_view text, const Rules& rules) {
  const auto decoded = unescape(text);
  if (!decoded) return std::nullopt;
  const bool fine = std::all_of(text.begin(), text.end(), [&](char c) {
    return unreserved(c) || c == '%' || one_of(c, rules.written);
  });
  return fine ? std::string(text) : escape(*decoded, rules.escaped);
}

/// "" or ":" and digits.
bool valid_port(std::string_view text) {
  return text.empty() || (text[0] == ':' && std::all_of(text.begin() + 1, text.end(), is_digit));
}

/// A name of a host, decoded. Only bytes beyond ASCII, and '%', may be escaped; in the zone of an
/// address also a blank and what a name may hold anyway.
std::optional<std::string> decode_host(std::string_view text, bool zone) {
  const auto plain = [](char c) {
    return static_cast<unsigned char>(c) >= 0x80 || unreserved(c) || one_of(c, kHost);
  };
  const auto decoded = unescape(text);
  if (!decoded) return std::nullopt;
  for (std::size_t n = 0; n < text.size(); ++n) {
    if (text[n] != '%') {
      if (!plain(text[n])) return std::nullopt;
      continue;
    }
    const char c = static_cast<char>(hex_digit(text[n + 1]) * 16 + hex_digit(text[n + 2]));
    const bool beyond_ascii = static_cast<unsigned char>(c) >= 0x80;
    if (c != '%' && (zone ? !plain(c) && c != ' ' : !beyond_ascii)) return std::nullopt;
    n += 2;
  }
  return decoded;
}

/// "[::1%25eth0]:80", decoded.
std::optional<std::string> bracketed_host(std::string_view host) {
  const auto close = host.rfind(']');
  if (close == std::string_view::npos || !valid_port(host.substr(close + 1))) return std::nullopt;
  const std::string_view inside = host.substr(1, close - 1);
  const auto percent = std::min(inside.find("%25"), inside.size());
  const auto address = decode_host(inside.substr(0, percent), false);
  const auto zone = decode_host(inside.substr(percent), true);
  if (!address || !zone || *zone == "%") return std::nullopt;
  const auto parsed = parse_address(*address);
  if (!parsed || !parsed->v6 || (!zone->empty() && is_mapped(*parsed))) return std::nullopt;
  return '[' + *address + *zone + ']' + std::string(host.substr(close + 1));
}

std::optional<std::string> normal_host(std::string_view host, std::string_view scheme) {
  const auto open = host.rfind('[');
  if (open == 0) return bracketed_host(host);
  if (open != std::string_view::npos) return std::nullopt;
  // Lists of hosts with ports are common in URLs of data bases, but not of the web.
  const bool web = scheme == "http" || scheme == "https";
  const auto colon = web ? host.find(':') : host.rfind(':');
  if (colon != std::string_view::npos && !valid_port(host.substr(colon))) return std::nullopt;
  return decode_host(host, false);
}

struct Parsed {
  std::string text;
  std::string scheme;
  std::string host;
  std::string path;
  std::string query;
};

/// Length of the scheme before ':', 0 when there is none.
std::size_t scheme_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  std::size_t n = 1;
  while (n < text.size() && (is_letter(text[n]) || is_digit(text[n]) || one_of(text[n], "+-.")))
    ++n;
  return n < text.size() && text[n] == ':' ? n : 0;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// "user:password@", escaped anew; none when it holds what it may not.
std::optional<std::string> normal_user(std::string_view text) {
  const bool fine = std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter(c) || is_digit(c) || one_of(c, kUser.written);
  });
  const auto colon = std::min(text.find(':'), text.size());
  const auto name = unescape(text.substr(0, colon));
  const auto password = unescape(text.substr(std::min(colon + 1, text.size())));
  if (!fine || !name || !password) return std::nullopt;
  std::string out = escape(*name, kUser.escaped);
  if (colon < text.size()) out += ':' + escape(*password, kUser.escaped);
  return out + '@';
}

/// Takes "//user@host" off `rest` and writes its normal form to `text`.
bool take_authority(std::string_view& rest, Parsed& url, std::string& text) {
  const auto slash = std::min(rest.find('/', 2), rest.size());
  std::string_view authority = rest.substr(2, slash - 2);
  rest.remove_prefix(slash);
  std::string user;
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    const auto normal = normal_user(authority.substr(0, at));
    if (!normal) return false;
    user = *normal;
    authority.remove_prefix(at + 1);
  }
  const auto host = normal_host(authority, url.scheme);
  if (!host) return false;
  url.host = base::sanitize_utf8(*host);
  if (!host->empty() || !user.empty() || !rest.empty()) text += "//" + user + escape(*host, kHost);
  return true;
}

/// Without the fragment. `with_relative`: "//host/path" has a host, otherwise it is a path.
std::optional<Parsed> parse(std::string_view text, bool with_relative) {
  Parsed url;
  if (text == "*") {
    url.text = url.path = text;
    return url;
  }
  std::string_view rest = text;
  if (const std::size_t length = scheme_length(text); length > 0) {
    url.scheme = lower(text.substr(0, length));
    url.text = url.scheme + ':';
    rest.remove_prefix(length + 1);
  } else if (!text.starts_with('/')) {
    return std::nullopt;
  }
  const auto mark = rest.find('?');
  if (mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    // "mailto:x": what follows the scheme is neither host nor path.
    url.text += rest;
  } else {
    const bool has_authority = rest.starts_with("//") && (!url.scheme.empty() || with_relative) &&
                               (!url.scheme.empty() || !rest.starts_with("///"));
    if (has_authority && !take_authority(rest, url, url.text)) return std::nullopt;
    const auto path = normal(rest, kPath);
    if (!path) return std::nullopt;
    url.path = *path;
    url.text += *path;
  }
  if (mark != std::string_view::npos) url.text += '?' + url.query;
  return url;
}

std::optional<Parsed> parse_url(std::string_view text) {
  if (!is_uri(text)) return std::nullopt;
  const auto hash = std::min(text.find('#'), text.size());
  auto url = parse(text.substr(0, hash), true);
  if (!url) return std::nullopt;
  const auto fragment = normal(text.substr(std::min(hash + 1, text.size())), kFragment);
  if (!fragment) return std::nullopt;
  if (!fragment->empty()) url->text += '#' + *fragment;
  return url;
}

const Url* as_url(const Value& value) {
  return opaque_as<Url>(value, OpaqueKind::kUrl);
}

Value url(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  const auto parsed = parse_url(args[0].as_text());
  if (!parsed) return evaluation.error("the text is no URL");
  auto* kept = evaluation.arena().make<Url>();
  if (kept == nullptr) return evaluation.out_of_memory();
  kept->kind = OpaqueKind::kUrl;
  const auto keep = [&](const std::string& part, std::string_view& to) {
    to = evaluation.arena().copy(part);
    return part.empty() || !to.empty();
  };
  const bool all = keep(parsed->text, kept->text) && keep(parsed->scheme, kept->scheme) &&
                   keep(parsed->host, kept->host) && keep(parsed->path, kept->path) &&
                   keep(parsed->query, kept->query);
  return all ? Value::of_opaque(kept) : evaluation.out_of_memory();
}

Value is_url(Evaluation& evaluation, const Value* args, std::size_t) {
  if (args[0].kind != Kind::kString) return evaluation.no_overload();
  if (!evaluation.charge(args[0].count / 10)) return evaluation.over_budget();
  return Value::of_bool(is_uri(args[0].as_text()));
}

/// Where the port with its colon begins in a host.
std::size_t port_start(std::string_view host) {
  const auto colon = host.rfind(':');
  const auto bracket = host.rfind(']');
  const bool inside = bracket != std::string_view::npos && colon < bracket;
  if (colon == std::string_view::npos || inside || !valid_port(host.substr(colon)))
    return host.size();
  return colon;
}

template <std::string_view Url::*kPart>
Value part(Evaluation& evaluation, const Value* args, std::size_t) {
  const Url* parsed = as_url(args[0]);
  return parsed == nullptr ? evaluation.no_overload() : Value::of_string(parsed->*kPart);
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

Value query(Evaluation& evaluation, const Value* args, std::size_t) {
  const Url* parsed = as_url(args[0]);
  if (parsed == nullptr) return evaluation.no_overload();
  if (!evaluation.charge(parsed->query.size() / 10)) return evaluation.over_budget();
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
      if (!list.add(evaluation.string(base::sanitize_utf8(value)))) return list.failed();
    }
    const Value error = builder.add(evaluation.string(base::sanitize_utf8(name)), list.value());
    if (error.is_error()) return error;
  }
  return builder.value();
}

constexpr FunctionEntry kFunctions[] = {
    {"url", false, url, "string -> kubernetes.URL"},
    {"isURL", false, is_url, "string -> bool"},
    {"getScheme", true, part<&Url::scheme>, "kubernetes.URL -> string"},
    {"getHost", true, part<&Url::host>, "kubernetes.URL -> string"},
    {"getHostname", true, host_name, "kubernetes.URL -> string"},
    {"getPort", true, port, "kubernetes.URL -> string"},
    {"getEscapedPath", true, part<&Url::path>, "kubernetes.URL -> string"},
    {"getQuery", true, query, "kubernetes.URL -> map(string, list(string))"},
};

}  // namespace

bool is_uri(std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  return !text.empty() && std::none_of(text.begin(), text.end(), control) &&
         parse(text, false).has_value();
}

std::span<const FunctionEntry> url_functions() {
  return kFunctions;
}

}  // namespace kollect::cel
