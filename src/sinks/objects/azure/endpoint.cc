#include "sinks/objects/azure/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace kollect::sinks::objects::azure {

namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr const char* kForm = "write https://ACCOUNT.blob.core.windows.net/container/prefix";

base::Error bad(const std::string& why) {
  return base::configuration("spec.endpoint " + why, "bad-endpoint");
}

/// Naming rules of containers; "$web" and "$root" are the service's own.
bool is_container(std::string_view name) {
  if (name == "$web" || name == "$root") return true;
  return name.size() >= 3 && name.size() <= 63 && !name.starts_with('-') && !name.ends_with('-') &&
         name.find("--") == std::string_view::npos &&
         name.find_first_not_of(std::string(kLower) + "-") == std::string_view::npos;
}

bool is_account(std::string_view name) {
  return !name.empty() && name.size() <= 63 &&
         name.find_first_not_of(std::string(kLower) + "-") == std::string_view::npos;
}

base::Result<std::vector<std::string>> segments_of(std::string_view path) {
  std::vector<std::string> out;
  for (const auto segment : base::split(path, '/')) {
    if (segment.empty()) continue;
    if (segment == "." || segment == "..") return bad("has a path with \".\" or \"..\"");
    out.emplace_back(segment);
  }
  return out;
}

base::Result<Endpoint> with_place(Endpoint out, const std::vector<std::string>& segments,
                                  std::size_t first) {
  if (!is_account(out.account)) {
    return bad(fmt::format("names no storage account; {}, or set options.account", kForm));
  }
  if (segments.size() <= first) return bad(fmt::format("names no container; {}", kForm));
  out.container = segments[first];
  if (!is_container(out.container)) {
    return bad(
        fmt::format("has the container \"{}\": 3 to 63 lower-case letters, digits and single "
                    "hyphens are allowed",
                    out.container));
  }
  out.prefix =
      base::join({segments.begin() + static_cast<std::ptrdiff_t>(first) + 1, segments.end()}, "/");
  return out;
}

/// Host of a URL without its port.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

base::Result<Endpoint> parse_url(std::string_view scheme, std::string_view rest,
                                 std::string_view account) {
  const auto host = base::to_lower(rest.substr(0, rest.find('/')));
  if (host.empty()) return bad("has no host");
  if (host.find('@') != std::string::npos) {
    return bad("must not hold user information; credentials belong into the Secret");
  }
  KL_ASSIGN(const auto segments, segments_of(rest.substr(host.size())));
  Endpoint out;
  // The port that the scheme has anyway is not sent.
  const std::string_view port = scheme == "https" ? ":443" : ":80";
  const auto end = host.size() - (host.ends_with(port) ? port.size() : 0);
  out.service = fmt::format("{}://{}", scheme, host.substr(0, end));
  out.account = std::string(account);
  const auto name = name_of(host);
  if (const auto blob = name.find(".blob."); blob != std::string_view::npos) {
    // Some accounts have a zone between their name and the domain.
    const auto told = std::string(name.substr(0, name.find('.')));
    if (!account.empty() && account != told) {
      return bad(
          fmt::format("is of the account \"{}\", options or Secret say \"{}\"", told, account));
    }
    out.account = told;
  } else if (account.empty() || (!segments.empty() && segments.front() == account)) {
    out.account_in_path = true;
    out.account = segments.empty() ? "" : segments.front();
  }
  return with_place(std::move(out), segments, out.account_in_path ? 1 : 0);
}

}  // namespace

std::string Endpoint::base_path() const {
  return account_in_path ? fmt::format("/{}/{}", account, container) : "/" + container;
}

std::string Endpoint::shown() const {
  return service + base_path();
}

bool Endpoint::is_azure() const {
  constexpr std::array<std::string_view, 4> kDomains = {
      ".blob.core.windows.net", ".blob.core.chinacloudapi.cn", ".blob.core.usgovcloudapi.net",
      ".blob.storage.azure.net"};
  if (!service.starts_with("https://")) return false;
  const auto host = std::string_view(service).substr(std::string_view("https://").size());
  return std::ranges::any_of(kDomains, [host](auto domain) { return host.ends_with(domain); });
}

base::Result<Endpoint> parse_endpoint(std::string_view text, std::string_view account) {
  text = base::trim(text);
  if (text.find('?') != std::string_view::npos) {
    return bad("must not have a query; a shared access signature belongs into the Secret");
  }
  if (text.find_first_of("# \t\r\n") != std::string_view::npos) {
    return bad("must be a URL without fragment and blanks");
  }
  const auto end = text.find("://");
  const auto scheme =
      end == std::string_view::npos ? std::string() : base::to_lower(text.substr(0, end));
  const auto rest = scheme.empty() ? text : text.substr(end + 3);
  if (scheme == "http" || scheme == "https") return parse_url(scheme, rest, account);
  if (!scheme.empty() && scheme != "az") {
    return bad(fmt::format("has the scheme \"{}\"; use az or https", scheme));
  }
  KL_ASSIGN(const auto segments, segments_of(rest));
  Endpoint out;
  out.account = std::string(account);
  out.service = fmt::format("https://{}.blob.core.windows.net", account);
  return with_place(std::move(out), segments, 0);
}

}  // namespace kollect::sinks::objects::azure
