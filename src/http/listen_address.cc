#include "http/listen_address.h"

#include <fmt/format.h>

#include <charconv>

namespace kollect::http {

base::Result<> read_listen_address(std::string_view text, ServerOptions& options) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = colon == std::string_view::npos ? "" : text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (code != std::errc() || end != port.data() + port.size()) {
    return base::configuration(fmt::format("\"{}\" is not HOST:PORT", text));
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  options.address = host;
  return {};
}

}  // namespace kollect::http
