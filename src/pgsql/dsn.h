// The connection string, and where it leads (spec: sinks 11.1, 16.4; K-15).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address_guard.h"
#include "base/context.h"
#include "base/private_file.h"
#include "base/resolve.h"
#include "base/result.h"
#include "base/secret.h"
#include "pgsql/connection.h"

namespace kollect::pgsql {

struct DsnOptions {
  base::Secret dsn;  ///< URL or key=value form, all parameters of libpq
  std::optional<std::string> ca_pem;
  bool insecure_skip_verify = false;
  std::string sslmode;  ///< options.sslmode; empty: as the connection string says
  std::string application_name = "kollect";
  std::vector<Setting> defaults;  ///< of libpq's parameters, where the string has none
  std::shared_ptr<const base::AddressGuard> guard;  ///< none: nothing is refused
  bool allow_local = false;                         ///< with a guard: local sockets may be used
  base::Resolver resolver;  ///< none: with a guard the system's, without one libpq's own
  base::Duration connect_timeout = std::chrono::seconds(30);
};

/// Checks what can be checked without the network. Errors (configuration) name the parameter, never
/// its value.
base::Result<> check_dsn(const DsnOptions& options);

/// Tries the hosts one after the other within the time limit. Every address of every host is
/// checked before the first is dialled, and the checked number is what is dialled; the name stays
/// for TLS.
base::Result<Connection> connect(const base::Context& context, const DsnOptions& options);

}  // namespace kollect::pgsql
