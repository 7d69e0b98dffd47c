// Where a server listens, as people write it.
#pragma once

#include <string_view>

#include "base/result.h"
#include "http/server.h"

namespace kollect::http {

/// Reads HOST:PORT into address and port: ":8081" is all addresses, "[::1]:0" an IPv6 address and a
/// free port, "8081" a port on all addresses. Error: configuration.
base::Result<> read_listen_address(std::string_view text, ServerOptions& options);

}  // namespace kollect::http
