#include "sinks/git/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sinks::git {

namespace {

/// Value of the first key that is there, without a newline at its end (K-16).
base::Secret pick(const SecretData& secret, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto at = secret.find(key);
    if (at == secret.end() || at->second.empty()) continue;
    std::string_view text = at->second.reveal();
    while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
    if (!text.empty()) return base::Secret(std::string(text));
  }
  return {};
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
}

bool is_safe_user(std::string_view user) {
  return !user.empty() && user.front() != '-' && std::all_of(user.begin(), user.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-+@").find(c) != std::string_view::npos;
  });
}

base::Result<> read_https(const SecretData& secret, Access& out) {
  const auto token = pick(secret, {"token"});
  out.password = token.empty() ? pick(secret, {"password"}) : token;
  const auto user = pick(secret, {"username"});
  if (!user.empty()) {
    out.user = user.reveal();
  } else if (!out.password.empty()) {
    out.user = token.empty() ? "git" : "x-access-token";
  }
  if (has_control(out.user) || has_control(out.password.reveal()) ||
      out.user.find(':') != std::string::npos) {
    return base::configuration(
        fmt::format("Secret {}: user name, password or token holds characters that cannot be sent",
                    out.secret_name),
        "bad-secret");
  }
  return {};
}

base::Result<> read_ssh(const SecretData& secret, const Remote& remote, Access& out) {
  out.ssh_key = pick(secret, {"ssh-privatekey", "identity", "id_rsa"});
  if (out.ssh_key.empty()) {
    return base::configuration(
        fmt::format("ssh to {} needs a Secret with ssh-privatekey (or identity, id_rsa)",
                    remote.shown()),
        "bad-secret");
  }
  const auto known_hosts = secret.find("known_hosts");
  if (known_hosts != secret.end()) out.known_hosts = known_hosts->second.reveal();
  if (base::trim(out.known_hosts).empty() && !out.insecure_skip_verify) {
    return base::configuration(
        fmt::format("ssh to {} needs the host's keys under known_hosts in Secret {}",
                    remote.shown(), out.secret_name),
        "bad-secret");
  }
  const auto user = pick(secret, {"username"});
  out.user = !user.empty() ? user.reveal() : remote.ssh_user.empty() ? "git" : remote.ssh_user;
  if (!is_safe_user(out.user)) {
    return base::configuration(fmt::format("Secret {}: username is no ssh user", out.secret_name),
                               "bad-secret");
  }
  return {};
}

/// Percent-encoded text with its hex digits in lower case.
std::string lower_hex(std::string text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] != '%') continue;
    text.replace(i + 1, 2, base::to_lower(text.substr(i + 1, 2)));
  }
  return text;
}

bool basic_auth_from_environment() {
  const char* value = std::getenv("KOLLECT_GIT_FORCE_BASIC_AUTH");
  if (value == nullptr) return false;
  const auto word = base::to_lower(base::trim(value));
  return word == "1" || word == "true" || word == "yes";
}

std::string config_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string_view protocol_of(Scheme scheme) {
  switch (scheme) {
    case Scheme::kHttps:
      return "https";
    case Scheme::kHttp:
      return "http";
    case Scheme::kSsh:
      return "ssh";
    case Scheme::kLocal:
      return "file";
  }
  return "https";
}

/// host:port:address,... as libcurl's resolve option reads it.
std::string resolve_entry(const Remote& remote, const std::vector<std::string>& addresses) {
  std::vector<std::string> written;
  for (const auto& address : addresses) {
    written.push_back(address.find(':') == std::string::npos ? address : "[" + address + "]");
  }
  return fmt::format("{}:{}:{}", remote.host, remote.port, base::join(written, ","));
}

base::Result<> add_http(const Remote& remote, const Access& access,
                        const std::vector<std::string>& addresses, std::string& config,
                        CommandSetup& setup) {
  // Redirects are not followed: their target would be neither checked nor meant for the
  // credentials.
  config += "[http]\n\tfollowRedirects = false\n\tlowSpeedLimit = 1\n\tlowSpeedTime = 60\n";
  if (remote.scheme == Scheme::kHttps) config += "\tsslVersion = tlsv1.2\n";
  if (access.insecure_skip_verify) config += "\tsslVerify = false\n";
  if (remote.scheme == Scheme::kHttps && !access.ca_pem.empty() && !access.insecure_skip_verify) {
    KL_ASSIGN(auto trust, base::PrivateFile::create(trust_with(access.ca_pem)));
    config += fmt::format("\tsslCAInfo = {}\n", trust.path());
    setup.files.push_back(std::move(trust));
  }
  if (!addresses.empty() && remote.host != addresses.front()) {
    config +=
        fmt::format("\tcurloptResolve = {}\n", config_quoted(resolve_entry(remote, addresses)));
  }
  if (access.password.empty() && access.user.empty()) return {};
  if (access.force_basic_auth) {
    const auto basic =
        base::base64_encode(fmt::format("{}:{}", access.user, access.password.reveal()));
    config += fmt::format("\textraHeader = \"Authorization: Basic {}\"\n", basic);
    return {};
  }
  KL_ASSIGN(auto answer, base::PrivateFile::create(fmt::format(
                             "username={}\npassword={}\n", access.user, access.password.reveal())));
  // The helper prints the answer; what git wants stored or erased is ignored.
  config += fmt::format("[credential]\n\thelper = \"!cat {}; :\"\n", answer.path());
  setup.files.push_back(std::move(answer));
  return {};
}

base::Result<std::string> ssh_command(const Remote& remote, const Access& access,
                                      const std::vector<std::string>& addresses,
                                      CommandSetup& setup) {
  // OpenSSH refuses a key file without a newline at its end.
  KL_ASSIGN(auto key, base::PrivateFile::create(access.ssh_key.reveal() + "\n"));
  std::vector<std::string> options = {"BatchMode=yes",
                                      "IdentitiesOnly=yes",
                                      "IdentityAgent=none",
                                      "UpdateHostKeys=no",
                                      "PasswordAuthentication=no",
                                      "KbdInteractiveAuthentication=no",
                                      "ConnectTimeout=15",
                                      "ServerAliveInterval=15",
                                      "ServerAliveCountMax=4",
                                      "GlobalKnownHostsFile=/dev/null",
                                      "LogLevel=ERROR",
                                      "User=" + access.user};
  if (access.insecure_skip_verify) {
    options.insert(options.end(), {"StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"});
  } else {
    KL_ASSIGN(auto hosts, base::PrivateFile::create(access.known_hosts + "\n"));
    options.insert(options.end(),
                   {"StrictHostKeyChecking=yes", "UserKnownHostsFile=" + hosts.path()});
    setup.files.push_back(std::move(hosts));
  }
  if (!addresses.empty() && addresses.front() != remote.host) {
    // The checked number is dialled, the host key is the configured name's.
    options.push_back("HostName=" + addresses.front());
    options.push_back("HostKeyAlias=" + (remote.port == 22
                                             ? remote.host
                                             : fmt::format("[{}]:{}", remote.host, remote.port)));
  }
  auto command = fmt::format("ssh -F /dev/null -i {}", key.path());
  for (const auto& option : options) command += fmt::format(" -o '{}'", option);
  setup.files.push_back(std::move(key));
  return command;
}

}  // namespace

base::Result<Access> read_access(const api::SnapshotSinkSpec& spec, const SecretData& secret,
                                 const std::optional<std::string>& ca_pem, const Remote& remote) {
  Access out;
  const auto& reference = spec.git && spec.git->auth && spec.git->auth->secret_ref
                              ? spec.git->auth->secret_ref
                              : spec.secret_ref;
  if (reference) {
    out.secret_name =
        reference->ns.empty() ? reference->name : reference->ns + "/" + reference->name;
  }
  if (ca_pem) out.ca_pem = *ca_pem;
  out.insecure_skip_verify = spec.tls && spec.tls->insecure_skip_verify.value_or(false);
  out.force_basic_auth =
      (spec.git && spec.git->force_basic_auth.value_or(false)) || basic_auth_from_environment();
  const std::string type = spec.git && spec.git->auth ? base::to_lower(spec.git->auth->type) : "";
  const bool ssh = remote.scheme == Scheme::kSsh;
  if (!type.empty() && remote.scheme != Scheme::kLocal && (type == "ssh") != ssh) {
    return base::configuration(fmt::format("git.auth.type {} does not fit the endpoint {}",
                                           spec.git->auth->type, remote.shown()),
                               "bad-auth-type");
  }
  if (remote.scheme == Scheme::kLocal) return out;
  if (ssh) {
    KL_TRY(read_ssh(secret, remote, out));
  } else {
    KL_TRY(read_https(secret, out));
  }
  return out;
}

std::string trust_with(const std::string& extra_pem) {
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    const auto system = base::read_file(path, 8U << 20U);
    if (system.has_value()) return *system + "\n" + extra_pem;
  }
  return extra_pem;
}

void add_secrets(const Access& access, base::Redactor& redactor) {
  if (!access.password.empty()) {
    const auto& text = access.password.reveal();
    // Longest forms first: a masked part must not hide the rest of a longer one.
    redactor.add(base::base64_encode(fmt::format("{}:{}", access.user, text)));
    redactor.add(lower_hex(base::percent_encode(text)));
    redactor.add(base::percent_encode(text));
    redactor.add(text);
  }
  if (!access.ssh_key.empty()) {
    redactor.add(access.ssh_key.reveal());
    for (const auto line : base::split(access.ssh_key.reveal(), '\n')) {
      if (line.size() >= 32 && !line.starts_with("-----")) redactor.add(line);
    }
  }
}

base::Result<CommandSetup> command_setup(const Remote& remote, const Access& access,
                                         const std::vector<std::string>& addresses) {
  CommandSetup out;
  auto config = fmt::format(
      "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[fetch]\n\tunpackLimit = 1\n"
      "\twriteCommitGraph = false\n[push]\n\tdefault = nothing\n[safe]\n\tdirectory = *\n"
      "[protocol]\n\tallow = never\n[protocol \"{}\"]\n\tallow = always\n",
      protocol_of(remote.scheme));
  if (remote.scheme == Scheme::kHttp || remote.scheme == Scheme::kHttps) {
    KL_TRY(add_http(remote, access, addresses, config, out));
  } else if (remote.scheme == Scheme::kSsh) {
    KL_ASSIGN(out.env["GIT_SSH_COMMAND"], ssh_command(remote, access, addresses, out));
    out.env["GIT_SSH_VARIANT"] = "ssh";
  }
  KL_ASSIGN(auto file, base::PrivateFile::create(config));
  out.env["GIT_CONFIG_GLOBAL"] = file.path();
  out.env["GIT_CONFIG_SYSTEM"] = "/dev/null";
  out.env["GIT_CONFIG_NOSYSTEM"] = "1";
  out.env["GIT_ATTR_NOSYSTEM"] = "1";
  out.env["GIT_TERMINAL_PROMPT"] = "0";
  out.env["LC_ALL"] = "C";
  out.env["HOME"] = "/nonexistent";
  out.env["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
  out.files.push_back(std::move(file));
  return out;
}

}  // namespace kollect::sinks::git
