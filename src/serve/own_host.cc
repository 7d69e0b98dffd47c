#include "serve/own_host.h"

#include <arpa/inet.h>

#include <string>

#include "base/strings.h"

namespace kollect::serve {

bool names_this_machine(std::string_view host) {
  if (host.starts_with('[')) {
    return host.starts_with("[::1]") && (host.size() == 5 || host[5] == ':');
  }
  std::string name = base::to_lower(host.substr(0, host.find(':')));
  if (name.ends_with('.')) name.pop_back();
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  in_addr address{};
  // The whole text must be an address: 127.0.0.1.example is a name like any other.
  return inet_pton(AF_INET, name.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24U) == 127;
}

bool is_for_this_machine(const http::ServerRequest& request) {
  const auto host = request.header("host");
  return !host || names_this_machine(*host);
}

}  // namespace kollect::serve
