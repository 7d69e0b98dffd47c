#include "base/resolve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>

namespace kollect::base {

bool is_numeric_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> buffer{};
  return ::inet_pton(AF_INET, host.c_str(), buffer.data()) == 1 ||
         ::inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), buffer.data()) == 1;
}

Result<std::vector<std::string>> resolve_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (code != 0) {
    return retryable(fmt::format("cannot resolve {}: {}", host, ::gai_strerror(code)),
                     "unreachable");
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  std::vector<std::string> out;
  for (const auto* at = list; at != nullptr; at = at->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(at->ai_addr, at->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      out.emplace_back(text.data());
    }
  }
  return out;
}

}  // namespace kollect::base
