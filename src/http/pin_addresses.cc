#include <curl/curl.h>
#include <fmt/format.h>

#include <memory>

#include "http/client.h"

namespace kollect::http {

namespace {

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string host_of(const std::string& text) {
  const std::unique_ptr<CURLU, UrlDeleter> url(curl_url());
  char* host = nullptr;
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK ||
      curl_url_get(url.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK) {
    return {};
  }
  std::string copy(host);
  curl_free(host);
  if (copy.starts_with('[') && copy.ends_with(']')) copy = copy.substr(1, copy.size() - 2);
  return copy;
}

}  // namespace

base::Result<> pin_addresses(Request& request, const base::Resolver& resolver) {
  if (!request.guard && !resolver) return {};
  const auto host = host_of(request.url);
  const auto refuse = [&](const std::string& reason) {
    return base::denied(fmt::format("{}: {}", host, reason), "address-refused");
  };
  if (request.guard) {
    if (const auto reason = request.guard->refuse_host(host)) return refuse(*reason);
  }
  // What is no URL is told by the request itself.
  if (host.empty() || base::is_numeric_address(host)) return {};
  KL_ASSIGN(auto addresses, resolver ? resolver(host) : base::resolve_host(host));
  if (addresses.empty()) {
    return base::retryable(fmt::format("{} has no address", host), "unreachable");
  }
  for (const auto& address : addresses) {
    if (!request.guard) break;
    if (const auto reason = request.guard->refuse_address(address)) return refuse(*reason);
  }
  request.addresses = std::move(addresses);
  return {};
}

}  // namespace kollect::http
