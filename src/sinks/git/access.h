// Credentials and trust for one git command (spec: sinks 7.2, K-22, K-23;
// field-credentials-in-git-errors).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/log.h"
#include "base/private_file.h"
#include "base/result.h"
#include "base/secret.h"
#include "sinks/git/endpoint.h"
#include "sinks/sink.h"

namespace kollect::sinks::git {

/// What a sink's Secret, CA and settings say. Value type.
struct Access {
  std::string user;       ///< of https or ssh
  base::Secret password;  ///< token or password; empty: anonymous
  base::Secret ssh_key;
  std::string known_hosts;
  std::string ca_pem;  ///< added to the system's trust
  bool insecure_skip_verify = false;
  bool force_basic_auth = false;
  std::string secret_name;
};

/// Reads the Secret's keys for the remote's scheme. Errors (configuration): a type that does not
/// fit the scheme, ssh without key or host keys, control characters in a value.
base::Result<Access> read_access(const api::SnapshotSinkSpec& spec, const SecretData& secret,
                                 const std::optional<std::string>& ca_pem, const Remote& remote);

/// The system's trust store and these certificates in one text.
std::string trust_with(const std::string& extra_pem);

/// Adds every form in which the credentials could show up in a text.
void add_secrets(const Access& access, base::Redactor& redactor);

/// Environment of a git command and the private files that it names; keep it until the command has
/// ended.
struct CommandSetup {
  std::map<std::string, std::string> env;
  std::vector<base::PrivateFile> files;
};

/// `address`: the checked numeric address to connect to; empty: git resolves the name itself.
base::Result<CommandSetup> command_setup(const Remote& remote, const Access& access,
                                         const std::vector<std::string>& addresses);

}  // namespace kollect::sinks::git
