// Flags of `kollect serve`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/secret.h"
#include "cli/invocation.h"
#include "http/server.h"
#include "readstore/store.h"

namespace kollect::serve {

enum class AuthMode { kToken, kKubernetes, kDisabled };

struct ServeOptions {
  readstore::StoreAddress store;
  std::string listen = "127.0.0.1:8082";
  http::ServerOptions server;  ///< address and port of it
  AuthMode auth = AuthMode::kToken;
  std::string token_file;
  std::string kubeconfig;
  std::string tls_cert;  ///< file names; empty: no TLS
  std::string tls_key;
  std::string fleet_url;
  std::string fleet_token_file;
  std::vector<std::string> cors_origins;
  std::size_t max_streams = 64;
  bool ui = true;
  base::LogLevel log_level = base::LogLevel::kInfo;
  /// Make the indexes of docs/read-api-stores.md and end.
  bool create_indexes = false;
  bool print_indexes = false;
  std::vector<std::string> index_attributes;
  bool index_search = false;
};

/// What was typed, before it is looked at.
struct ServeFlags {
  std::string store;
  std::string table;
  std::string auth_mode;
  std::string log_level = "info";
};

/// Reads the flags. An exit code where the command ends at once (help, a wrong flag); else settings
/// that fit together. Error (configuration): names the flag and what to give.
base::Result<std::optional<int>> read_serve_options(const cli::Invocation& invocation,
                                                    const std::vector<std::string>& args,
                                                    ServeOptions& options);

/// True: only programs of this machine can connect there.
bool is_loopback(std::string_view address);

}  // namespace kollect::serve
