#include "sinks/google/network.h"

#include <cstdlib>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sinks::google {

namespace {

/// Answers are small, but for results of queries, which come in pages of at most 10 MB.
constexpr std::size_t kLargestAnswer = std::size_t{64} << 20U;

}  // namespace

base::Result<http::Response> fetch(const base::Context& context, const Network& network,
                                   http::Request request) {
  request.guard = network.guard;
  request.tls = network.tls;
  request.connect_timeout = network.connect_timeout;
  request.max_body_bytes = kLargestAnswer;
  KL_TRY(http::pin_addresses(request, network.resolver));
  return network.client->fetch(context, request);
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || base::trim(value).empty()) return std::nullopt;
    return std::string(base::trim(value));
  };
}

std::string form(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out;
  for (const auto& [name, value] : members) {
    if (!out.empty()) out += '&';
    out.append(name).append("=").append(base::percent_encode(value));
  }
  return out;
}

}  // namespace kollect::sinks::google
