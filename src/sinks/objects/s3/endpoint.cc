#include "sinks/objects/s3/endpoint.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::sinks::objects::s3 {

namespace {

base::Error bad(const std::string& why) {
  return base::configuration("spec.endpoint " + why, "bad-endpoint");
}

/// The port that the scheme has anyway is left out: clients do not send it, so it is not signed.
std::string without_default_port(std::string_view scheme, std::string_view host) {
  const std::string_view port = scheme == "https" ? ":443" : ":80";
  if (host.ends_with(port)) host.remove_suffix(port.size());
  return std::string(host);
}

base::Result<> split_place(std::string_view place, Endpoint& out) {
  const auto slash = place.find('/');
  out.bucket = std::string(place.substr(0, slash));
  if (out.bucket.empty()) {
    return bad("names no bucket; write s3://bucket/prefix or https://host/bucket/prefix");
  }
  if (slash == std::string_view::npos) return {};
  for (const auto segment : base::split(place.substr(slash + 1), '/')) {
    if (segment.empty()) continue;
    if (segment == "." || segment == "..") return bad("has a prefix with \".\" or \"..\"");
    if (!out.prefix.empty()) out.prefix += '/';
    out.prefix += segment;
  }
  return {};
}

base::Result<Endpoint> parse_url(std::string_view scheme, std::string_view rest) {
  const auto host = rest.substr(0, rest.find('/'));
  if (host.empty()) return bad("has no host");
  if (host.find('@') != std::string_view::npos) {
    return bad("must not hold user information; credentials belong into the Secret");
  }
  Endpoint out;
  out.path_style = true;
  out.service = fmt::format("{}://{}", scheme, without_default_port(scheme, base::to_lower(host)));
  KL_TRY(split_place(rest.size() == host.size() ? std::string_view() : rest.substr(host.size() + 1),
                     out));
  return out;
}

std::string_view host_of(std::string_view url) {
  return url.substr(url.find("://") + 3);
}

/// China has a domain of its own.
std::string_view domain_of(std::string_view region) {
  return region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

}  // namespace

std::string Endpoint::service_url(std::string_view region) const {
  if (!service.empty()) return service;
  return fmt::format("https://s3.{}.{}", region, domain_of(region));
}

std::string Endpoint::host(std::string_view region) const {
  const auto url = service_url(region);
  return path_style ? std::string(host_of(url)) : fmt::format("{}.{}", bucket, host_of(url));
}

std::string Endpoint::base_path() const {
  return path_style ? "/" + bucket : "";
}

std::string Endpoint::scheme() const {
  return service.starts_with("http:") ? "http" : "https";
}

std::string Endpoint::shown() const {
  if (service == kGoogle) return "gs://" + bucket;
  return service.empty() ? "s3://" + bucket : service + "/" + bucket;
}

base::Result<Endpoint> parse_endpoint(std::string_view text, bool google) {
  text = base::trim(text);
  if (text.find_first_of("?# \t\r\n") != std::string_view::npos) {
    return bad("must be a bucket or URL without query, fragment and blanks");
  }
  const auto scheme_end = text.find("://");
  const auto scheme = scheme_end == std::string_view::npos
                          ? std::string()
                          : base::to_lower(text.substr(0, scheme_end));
  const auto rest = scheme.empty() ? text : text.substr(scheme_end + 3);
  if (scheme == "http" || scheme == "https") return parse_url(scheme, rest);
  if (!scheme.empty() && scheme != (google ? "gs" : "s3")) {
    return bad(
        fmt::format("has the scheme \"{}\"; use {} or http(s)", scheme, google ? "gs" : "s3"));
  }
  Endpoint out;
  KL_TRY(split_place(rest, out));
  if (google) {
    out.service = kGoogle;
    out.path_style = true;
  } else {
    // A dot in the name would be a label more than the certificate's wildcard has, and what is no
    // label must not get into a host.
    out.path_style = !base::is_dns1123_label(out.bucket);
  }
  return out;
}

}  // namespace kollect::sinks::objects::s3
