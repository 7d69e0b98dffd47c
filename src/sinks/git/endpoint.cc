#include "sinks/git/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/hash.h"
#include "base/log.h"
#include "base/strings.h"

namespace kollect::sinks::git {

namespace {

bool is_word(char c, std::string_view more) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         more.find(c) != std::string_view::npos;
}

bool all_of_words(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return is_word(c, more); });
}

/// Hosts and users go to ssh's command line: nothing that reads as an option, nothing odd.
bool is_safe_host(std::string_view host) {
  return !host.empty() && host.front() != '-' && all_of_words(host, ".-_:%");
}
bool is_safe_user(std::string_view user) {
  return user.empty() || (user.front() != '-' && all_of_words(user, "._-+@"));
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
}

base::Error bad(std::string_view endpoint, std::string_view why) {
  return base::configuration(
      fmt::format("endpoint \"{}\" {}", base::Redactor().redact(endpoint), why), "bad-endpoint");
}

/// Splits "host:port" or "[v6]:port".
base::Result<> read_authority(std::string_view endpoint, std::string_view authority, Remote& out) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return bad(endpoint, "has no closing bracket");
    out.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!port.empty() && port.front() != ':') return bad(endpoint, "has text after the bracket");
  } else {
    const auto colon = authority.find(':');
    out.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (!is_safe_host(out.host)) return bad(endpoint, "has no usable host name");
  if (port.size() <= 1) return {};
  port.remove_prefix(1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (error != std::errc() || end != port.data() + port.size() || out.port == 0) {
    return bad(endpoint, "has no usable port");
  }
  out.port_given = true;
  return {};
}

std::string bracketed(const Remote& remote) {
  auto out = remote.host.find(':') == std::string::npos ? remote.host : "[" + remote.host + "]";
  if (remote.port_given) out += fmt::format(":{}", remote.port);
  return out;
}

/// Cuts "#branch=NAME" off; other fragments stay.
void cut_fragment(std::string& endpoint, Remote& out) {
  constexpr std::string_view kMark = "#branch=";
  const auto at = endpoint.rfind(kMark);
  if (at == std::string::npos || at + kMark.size() == endpoint.size()) return;
  if (endpoint.find('#', at + 1) != std::string::npos) return;
  out.branch = endpoint.substr(at + kMark.size());
  endpoint.resize(at);
}

base::Result<Remote> local(std::string_view endpoint, std::string_view path, Remote out) {
  if (path.empty() || has_control(path)) return bad(endpoint, "names no folder");
  std::error_code error;
  const auto whole = std::filesystem::absolute(std::filesystem::path(path), error);
  if (error) return bad(endpoint, "names no folder");
  out.scheme = Scheme::kLocal;
  out.path = whole.lexically_normal().string();
  out.url = out.path;
  return out;
}

base::Result<Remote> with_scheme(std::string_view endpoint, std::size_t scheme_end, Remote out) {
  const auto scheme = base::to_lower(endpoint.substr(0, scheme_end));
  auto rest = endpoint.substr(scheme_end + 3);
  if (scheme == "file") {
    if (rest.starts_with("localhost/")) rest.remove_prefix(9);
    if (!rest.starts_with('/'))
      return bad(endpoint, "must name a folder from the root: file:///path");
    // As git does: escapes are read, what is none is left as it is.
    return local(endpoint, base::percent_decode(rest).value_or(std::string(rest)), std::move(out));
  }
  if (scheme == "https") {
    out.scheme = Scheme::kHttps;
    out.port = 443;
  } else if (scheme == "http") {
    out.scheme = Scheme::kHttp;
    out.port = 80;
  } else if (scheme == "ssh") {
    out.scheme = Scheme::kSsh;
    out.port = 22;
  } else {
    return bad(endpoint, "has a scheme that is not supported; use https, http, ssh or file");
  }
  auto authority = rest.substr(0, rest.find('/'));
  const auto path = rest.substr(authority.size());
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    const auto user = authority.substr(0, std::min(at, authority.find(':')));
    if (out.scheme == Scheme::kSsh) out.ssh_user = user;
    authority.remove_prefix(at + 1);
  }
  KL_TRY(read_authority(endpoint, authority, out));
  if (path.size() < 2) return bad(endpoint, "has no path");
  out.path = path;
  out.url = fmt::format("{}://{}{}", scheme, bracketed(out), path);
  return out;
}

/// git@host:path, which means ssh://git@host/path (K-19).
base::Result<Remote> scp_like(std::string_view endpoint, std::size_t colon, Remote out) {
  auto authority = endpoint.substr(0, colon);
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    out.ssh_user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  auto path = endpoint.substr(colon + 1);
  if (path.starts_with(':')) return bad(endpoint, "names a helper of git, which is not supported");
  while (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return bad(endpoint, "has no path");
  out.scheme = Scheme::kSsh;
  out.port = 22;
  out.host = authority;
  if (!is_safe_host(out.host)) return bad(endpoint, "has no usable host name");
  out.path = fmt::format("/{}", path);
  out.url = fmt::format("ssh://{}{}", out.host, out.path);
  return out;
}

}  // namespace

std::string Remote::shown() const {
  if (scheme == Scheme::kLocal) return path;
  return bracketed(*this) + path;
}

base::Result<Remote> parse_remote(std::string_view endpoint) {
  std::string text(base::trim(endpoint));
  if (text.empty())
    return base::configuration("endpoint is empty: name the repository", "bad-endpoint");
  if (has_control(text)) return bad(text, "has control characters");
  Remote out;
  cut_fragment(text, out);
  base::Result<Remote> parsed = base::terminal("");
  const auto scheme_end = text.find("://");
  const auto colon = text.find(':');
  if (scheme_end != std::string::npos) {
    parsed = with_scheme(text, scheme_end, std::move(out));
  } else if (colon != std::string::npos && text.find('/') > colon && colon > 0) {
    parsed = scp_like(text, colon, std::move(out));
  } else {
    parsed = local(text, text, std::move(out));
  }
  if (parsed.has_value() && !is_safe_user(parsed->ssh_user)) return bad(text, "has no usable user");
  return parsed;
}

base::Result<std::string> check_branch(std::string_view name) {
  const auto branch = base::trim(name);
  const bool first_ok = !branch.empty() && is_word(branch.front(), "");
  if (!first_ok || !all_of_words(branch, "._/-") || branch.find("..") != std::string_view::npos ||
      branch.ends_with('.') || branch.ends_with(".lock") || branch.starts_with("refs/")) {
    return base::configuration(fmt::format("\"{}\" is no name for a branch", branch), "bad-branch");
  }
  return std::string(branch);
}

base::Result<std::string> choose_branch(std::string_view configured, const Remote& remote) {
  if (!base::trim(configured).empty()) return check_branch(configured);
  if (!base::trim(remote.branch).empty()) return check_branch(remote.branch);
  return std::string("main");
}

}  // namespace kollect::sinks::git
