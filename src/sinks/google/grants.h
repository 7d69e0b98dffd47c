// The ways to an access token, each without memory. See credentials.h.
#pragma once

#include <string>
#include <string_view>

#include "base/json/document.h"
#include "sinks/google/credentials.h"

namespace kollect::sinks::google {

inline constexpr const char* kMetadataHost = "metadata.google.internal";

struct ServiceAccount {
  std::string email;
  std::string key_id;
  base::Secret private_key;  ///< PEM
  std::string token_uri;
};

/// Error: configuration, naming the member that is missing or wrong.
base::Result<ServiceAccount> read_service_account(base::json::View root);
/// Of at most 1 MiB. Error: configuration.
base::Result<base::Secret> read_small_file(const std::string& path);

base::Result<Granted> grant_of_key(const base::Context& context, const Network& network,
                                   const ServiceAccount& account, const std::string& scope);
base::Result<Granted> grant_of_external_account(const base::Context& context,
                                                const Network& network, base::json::View root,
                                                const std::string& scope);
base::Result<Granted> grant_of_metadata(const base::Context& context, const Network& network,
                                        const std::string& host, const std::string& scope);

}  // namespace kollect::sinks::google
