// Path templates, branches, option keys and endpoints (spec: crds 4.7 to 4.9, 4.11).
#include <algorithm>
#include <array>

#include "admission/admission.h"
#include "admission/checks.h"
#include "base/address_guard.h"
#include "base/strings.h"

namespace kollect::admission {

namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The first {word} whose letters all fit `letter` and which `known` does not list.
template <std::size_t N>
std::optional<std::string_view> unknown_placeholder(std::string_view text, bool (*letter)(char),
                                                    const std::array<std::string_view, N>& known) {
  for (std::size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    std::size_t end = open + 1;
    while (end < text.size() && letter(text[end])) {
      ++end;
    }
    if (end == open + 1 || end == text.size() || text[end] != '}') {
      continue;
    }
    const std::string_view word = text.substr(open + 1, end - open - 1);
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      return word;
    }
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 5> kOfDocuments = {"cluster", "namespace", "name",
                                                          "generation", "extension"};
constexpr std::array<std::string_view, 12> kOfRows = {"cluster",    "namespace",
                                                      "name",       "targetNamespace",
                                                      "targetName", "sourceNamespace",
                                                      "sourceName", "group",
                                                      "kind",       "uid",
                                                      "generation", "extension"};

template <std::size_t N>
std::optional<std::string> unknown_word(std::string_view text, bool (*letter)(char),
                                        const std::array<std::string_view, N>& known) {
  const auto word = unknown_placeholder(text, letter, known);
  if (!word) {
    return std::nullopt;
  }
  return fmt::format("{{{}}} is not known here; placeholders are {{{}}}", *word,
                     fmt::join(known, "}, {"));
}

}  // namespace

std::optional<std::string> placeholder_problem(std::string_view text, TemplateOf what) {
  return what == TemplateOf::kRows ? unknown_word(text, is_letter, kOfRows)
                                   : unknown_word(text, is_lower, kOfDocuments);
}

std::optional<std::string> document_template_problem(std::string_view text) {
  text = base::trim(text);
  if (text.empty()) {
    return std::nullopt;
  }
  if (text.starts_with('/') || contains(text, "..")) {
    return "must be a relative path without \"..\"";
  }
  if (!contains(text, "{namespace}") || !contains(text, "{name}")) {
    return "must contain {namespace} and {name}, or inventories would overwrite each other";
  }
  return placeholder_problem(text, TemplateOf::kDocuments);
}

std::optional<std::string> row_template_problem(std::string_view text) {
  text = base::trim(text);
  if (text.empty()) {
    return std::nullopt;
  }
  if (contains(text, "..")) {
    return "must not contain \"..\"";
  }
  if (auto problem = placeholder_problem(text, TemplateOf::kRows)) {
    return problem;
  }
  if (!contains(text, "{sourceName}") && !contains(text, "{name}") && !contains(text, "{uid}")) {
    return "must contain {sourceName}, {name} or {uid}, or rows would overwrite each other";
  }
  return std::nullopt;
}

std::optional<std::string> branch_problem(std::string_view text) {
  text = base::trim(text);
  if (text.empty()) {
    return std::nullopt;
  }
  const bool refused = text.front() == '-' || contains(text, "..") || text.front() == '.' ||
                       text.back() == '.' || text.ends_with(".lock") || text == "@" ||
                       contains(text, "@{") || text.starts_with("refs/");
  const auto allowed = [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '/' || c == '-';
  };
  if (refused || !(is_letter(text.front()) || is_digit(text.front())) ||
      !std::all_of(text.begin(), text.end(), allowed)) {
    return fmt::format(
        "\"{}\" is no branch name: letters, digits and . _ / - are allowed, \"..\", \"refs/\" in "
        "front and \".lock\" behind are not",
        text);
  }
  return std::nullopt;
}

bool looks_like_credential(std::string_view key) {
  constexpr std::array<std::string_view, 13> kWords = {
      "password",   "passwd",      "secret",     "token",     "apikey",
      "api_key",    "accesskey",   "access_key", "secretkey", "secret_key",
      "privatekey", "private_key", "credential"};
  const std::string lower = base::to_lower(key);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return contains(lower, word); });
}

namespace {

/// Scheme in front of "://", lower-case; none when there is no such text.
std::optional<std::string> scheme_of(std::string_view url) {
  const std::size_t at = url.find("://");
  return at == std::string_view::npos ? std::nullopt
                                      : std::optional(base::to_lower(url.substr(0, at)));
}

std::optional<std::string> refuse_host(std::string_view host, const Settings& settings) {
  return base::AddressGuard(settings.allow_private_sinks, settings.allow_loopback_sinks)
      .refuse_host(host);
}

}  // namespace

std::optional<std::string> url_problem(std::string_view url, const Settings& settings) {
  url = base::trim(url);
  if (settings.allow_local_sinks && base::to_lower(url.substr(0, 5)) == "file:") {
    return std::nullopt;
  }
  return base::AddressGuard(settings.allow_private_sinks, settings.allow_loopback_sinks)
      .refuse_url(url);
}

std::optional<std::string> git_endpoint_problem(std::string_view endpoint,
                                                const Settings& settings) {
  endpoint = base::trim(endpoint);
  if (scheme_of(endpoint) || base::to_lower(endpoint.substr(0, 5)) == "file:") {
    return url_problem(endpoint, settings);
  }
  // git@host:path: the part before the first ":" names a host when it holds no "/".
  const std::size_t colon = endpoint.find(':');
  if (colon == std::string_view::npos || contains(endpoint.substr(0, colon), "/")) {
    return std::nullopt;
  }
  std::string_view host = endpoint.substr(0, colon);
  if (const std::size_t sign = host.rfind('@'); sign != std::string_view::npos) {
    host.remove_prefix(sign + 1);
  }
  return refuse_host(host, settings);
}

std::optional<std::string> object_store_endpoint_problem(std::string_view endpoint,
                                                         const Settings& settings) {
  const auto scheme = scheme_of(base::trim(endpoint));
  if (!scheme || *scheme == "s3" || *scheme == "gs" || *scheme == "az") {
    return std::nullopt;
  }
  return url_problem(endpoint, settings);
}

std::optional<std::string> broker_problem(std::string_view broker, const Settings& settings) {
  broker = base::trim(broker);
  if (scheme_of(broker)) {
    return url_problem(broker, settings);
  }
  std::string_view host = broker;
  if (host.starts_with('[')) {
    host = host.substr(0, host.find(']') + 1);
  } else if (std::count(host.begin(), host.end(), ':') == 1) {
    host = host.substr(0, host.find(':'));
  }
  return host.empty() ? std::nullopt : refuse_host(host, settings);
}

}  // namespace kollect::admission
