// From a context's name to the settings of its cluster and user.
#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "kube/kubeconfig.h"
#include "kube/kubeconfig_data.h"
#include "kube/pem.h"

namespace kollect::kube {

namespace {

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

/// Content of "<key>-data" (base64) or of the file "<key>"; the data win.
base::Result<std::string> data_or_file(const ConfigEntry& entry, const std::string& key) {
  KL_ASSIGN(const std::string data, entry.text(key + "-data"));
  if (!data.empty()) {
    auto bytes = base::base64_decode(data);
    if (!bytes) return entry.error(key + "-data", key + "-data is not base64");
    return bytes;
  }
  KL_ASSIGN(const std::string file, entry.text(key));
  if (file.empty()) return std::string();
  auto bytes = base::read_file(entry.path_of(file), 16U << 20U);
  if (!bytes) return entry.error(key, fmt::format("{}: {}", key, bytes.error().message));
  return bytes;
}

base::Result<> read_proxy(const ConfigEntry& entry, ClusterConfig& config) {
  KL_ASSIGN(config.proxy_url, entry.text("proxy-url"));
  const std::string& url = config.proxy_url;
  const bool known =
      url.starts_with("http://") || url.starts_with("https://") || url.starts_with("socks5://");
  if (!url.empty() && !known) {
    return entry.error("proxy-url", "proxy-url must begin with http://, https:// or socks5://");
  }
  return {};
}

base::Result<> read_exec_extension(const ConfigEntry& entry, ClusterConfig& config) {
  KL_ASSIGN(const auto extensions, entry.children("extensions"));
  for (const ConfigEntry& extension : extensions) {
    if (extension.value().text("name") != kExecExtension) continue;
    if (const auto* content = extension.value().find("extension")) {
      config.exec->cluster_config = *content;
    }
  }
  return {};
}

base::Result<> read_cluster(const ConfigEntry& entry, ClusterConfig& config) {
  KL_ASSIGN(config.server, entry.text("server"));
  if (config.server.empty()) return entry.error("server", "the cluster entry has no server");
  KL_ASSIGN(config.insecure_skip_verify, entry.flag("insecure-skip-tls-verify"));
  KL_ASSIGN(config.tls_server_name, entry.text("tls-server-name"));
  KL_TRY(read_proxy(entry, config));
  KL_ASSIGN(config.ca_pem, data_or_file(entry, "certificate-authority"));
  if (!config.ca_pem.empty()) {
    if (config.insecure_skip_verify) {
      return entry.error("insecure-skip-tls-verify",
                         "certificate-authority and insecure-skip-tls-verify exclude each other");
    }
    if (auto good = check_authorities(config.ca_pem); !good) {
      return entry.error("certificate-authority", "certificate-authority: " + good.error().message);
    }
  }
  if (config.server.find("://") == std::string::npos) {
    // Without a scheme: TLS when there is anything about TLS.
    const bool secure = !config.ca_pem.empty() || config.insecure_skip_verify;
    config.server.insert(0, secure ? "https://" : "http://");
  } else if (!config.server.starts_with("https://") && !config.server.starts_with("http://")) {
    return entry.error("server", "server must begin with https:// or http://");
  }
  while (config.server.ends_with('/')) config.server.pop_back();
  return {};
}

base::Result<> read_exec_env(const ConfigEntry& exec, ClusterConfig::Exec& out) {
  KL_ASSIGN(const auto variables, exec.children("env"));
  for (const ConfigEntry& variable : variables) {
    KL_ASSIGN(const std::string name, variable.text("name"));
    if (name.empty()) return variable.error("", "an env entry has no name");
    KL_ASSIGN(out.env[name], variable.text("value"));
  }
  return {};
}

base::Result<> read_exec(const ConfigEntry& user, ClusterConfig& config) {
  KL_ASSIGN(const auto exec, user.child("exec"));
  if (!exec) return {};
  ClusterConfig::Exec out;
  KL_ASSIGN(out.command, exec->text("command"));
  if (out.command.empty()) return exec->error("command", "exec has no command");
  KL_ASSIGN(out.api_version, exec->text("apiVersion"));
  if (out.api_version != "client.authentication.k8s.io/v1" &&
      out.api_version != "client.authentication.k8s.io/v1beta1") {
    return exec->error("apiVersion", fmt::format("exec apiVersion \"{}\" is not known; "
                                                 "client.authentication.k8s.io/v1 and v1beta1 are",
                                                 out.api_version));
  }
  KL_ASSIGN(out.args, exec->texts("args"));
  KL_TRY(read_exec_env(*exec, out));
  KL_ASSIGN(out.install_hint, exec->text("installHint"));
  KL_ASSIGN(out.provide_cluster_info, exec->flag("provideClusterInfo"));
  KL_ASSIGN(const std::string mode, exec->text("interactiveMode"));
  if (!mode.empty()) out.interactive_mode = mode;
  if (out.interactive_mode != "Never" && out.interactive_mode != "IfAvailable" &&
      out.interactive_mode != "Always") {
    return exec->error("interactiveMode", "interactiveMode must be Never, IfAvailable or Always");
  }
  out.base_dir = exec->folder();
  config.exec = std::move(out);
  return {};
}

base::Result<> read_impersonation(const ConfigEntry& user, ClusterConfig& config) {
  ClusterConfig::Impersonate as;
  KL_ASSIGN(as.user, user.text("as"));
  KL_ASSIGN(as.uid, user.text("as-uid"));
  KL_ASSIGN(as.groups, user.texts("as-groups"));
  KL_ASSIGN(const auto extra, user.child("as-user-extra"));
  if (extra) {
    for (const auto& [key, values] : extra->value().as_object()) {
      KL_ASSIGN(as.extra[key], extra->texts(key));
    }
  }
  if (as.user.empty()) {
    if (!as.uid.empty() || !as.groups.empty() || !as.extra.empty()) {
      return user.error("as-groups", "as-uid, as-groups and as-user-extra need as");
    }
    return {};
  }
  config.impersonate = std::move(as);
  return {};
}

base::Result<> read_certificate(const ConfigEntry& user, ClusterConfig& config) {
  KL_ASSIGN(config.client_cert_pem, data_or_file(user, "client-certificate"));
  KL_ASSIGN(std::string key, data_or_file(user, "client-key"));
  config.client_key_pem = base::Secret(std::move(key));
  if (config.client_cert_pem.empty() && config.client_key_pem.empty()) return {};
  if (config.client_cert_pem.empty() || config.client_key_pem.empty()) {
    return user.error("client-certificate", "client-certificate and client-key need each other");
  }
  if (auto good = check_pair(config.client_cert_pem, config.client_key_pem); !good) {
    return user.error("client-certificate", good.error().message);
  }
  return {};
}

base::Result<> read_user(const ConfigEntry& user, ClusterConfig& config) {
  KL_TRY(read_certificate(user, config));
  KL_ASSIGN(std::string token, user.text("token"));
  config.token = base::Secret(std::move(token));
  KL_ASSIGN(const std::string token_file, user.text("tokenFile"));
  if (!token_file.empty()) config.token_file = user.path_of(token_file);
  KL_ASSIGN(config.username, user.text("username"));
  KL_ASSIGN(std::string password, user.text("password"));
  config.password = base::Secret(std::move(password));
  KL_TRY(read_exec(user, config));
  KL_TRY(read_impersonation(user, config));
  const bool has_token = !config.token.empty() || !config.token_file.empty();
  if (has_token && !config.username.empty()) {
    return user.error("username", "token and username exclude each other");
  }
  if (user.has("auth-provider") && !has_token && !config.exec && config.username.empty()) {
    return user.error("auth-provider",
                      "auth-provider is no longer supported by Kubernetes clients; use exec");
  }
  return {};
}

/// Equal for two contexts that reach the same server in the same way as the same user (L-55).
std::string identity_of(const ClusterConfig& config, const ConfigEntry* user) {
  const std::string who = user == nullptr ? "" : base::json::canonical(user->value());
  return base::sha256_hex(config.server + '\n' + config.proxy_url + '\n' + config.tls_server_name +
                          '\n' + (user == nullptr ? "" : user->folder().string()) + '\n' + who);
}

base::Error about(const std::string& context, const base::Error& error) {
  return {error.kind, "context", fmt::format("context \"{}\": {}", context, error.message)};
}

base::Result<ClusterConfig> resolve_entries(const Kubeconfig::Impl& data, const std::string& name) {
  const auto context = data.contexts.find(name);
  if (context == data.contexts.end()) {
    return base::configuration(fmt::format("there is none of this name in {}", data.origin));
  }
  ClusterConfig config;
  config.context_name = name;
  const ConfigEntry& entry = context->second;
  KL_ASSIGN(config.default_namespace, entry.text("namespace"));
  KL_ASSIGN(const std::string cluster_name, entry.text("cluster"));
  const auto cluster = data.clusters.find(cluster_name);
  if (cluster == data.clusters.end()) {
    return entry.error("cluster", fmt::format("there is no cluster entry \"{}\"", cluster_name));
  }
  KL_ASSIGN(const std::string user_name, entry.text("user"));
  const auto user = data.users.find(user_name);
  if (user == data.users.end() && !user_name.empty()) {
    return entry.error("user", fmt::format("there is no user entry \"{}\"", user_name));
  }
  KL_TRY(read_cluster(cluster->second, config));
  const ConfigEntry* who = user == data.users.end() ? nullptr : &user->second;
  if (who != nullptr) KL_TRY(read_user(*who, config));
  if (config.exec) KL_TRY(read_exec_extension(cluster->second, config));
  config.identity_key = identity_of(config, who);
  return config;
}

}  // namespace

base::Result<ClusterConfig> Kubeconfig::resolve(const std::string& context) const {
  if (impl_->in_cluster && context == impl_->in_cluster->context_name) return *impl_->in_cluster;
  auto config = resolve_entries(*impl_, context);
  if (!config) return about(context, config.error());
  return config;
}

}  // namespace kollect::kube
