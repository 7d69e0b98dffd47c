#include "kube/exec_plugin.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/process.h"
#include "base/strings.h"
#include "kube/pem.h"

namespace kollect::kube {

using base::json::Object;

namespace {

constexpr base::Duration kTimeLimit = std::chrono::seconds(60);

base::Error trouble(const ClusterConfig::Exec& exec, std::string_view what) {
  return base::denied(fmt::format("credential program {}: {}", exec.command, what), "unauthorized");
}

/// The last line that a failed program wrote to stderr: nearly always its complaint.
std::string last_line(std::string_view text) {
  text = base::trim(text);
  const auto start = text.find_last_of("\r\n");
  if (start != std::string_view::npos) text.remove_prefix(start + 1);
  return base::sanitize_utf8(base::cut_utf8(text, 200));
}

Object cluster_info(const ClusterConfig& config) {
  Object cluster;
  cluster.set("server", config.server);
  if (!config.tls_server_name.empty()) cluster.set("tls-server-name", config.tls_server_name);
  if (config.insecure_skip_verify) cluster.set("insecure-skip-tls-verify", true);
  if (!config.ca_pem.empty()) {
    cluster.set("certificate-authority-data", base::base64_encode(config.ca_pem));
  }
  if (!config.proxy_url.empty()) cluster.set("proxy-url", config.proxy_url);
  if (!config.exec->cluster_config.is_null()) cluster.set("config", config.exec->cluster_config);
  return cluster;
}

base::Command command_of(const ClusterConfig& config, const std::map<std::string, std::string>& env,
                         bool interactive) {
  const ClusterConfig::Exec& exec = *config.exec;
  base::Command command;
  command.program = exec.command;
  if (exec.command.find('/') != std::string::npos) {
    command.program = (exec.base_dir / exec.command).string();
  }
  command.args = exec.args;
  command.env = env;
  for (const auto& [name, value] : exec.env) command.env[name] = value;
  command.env["KUBERNETES_EXEC_INFO"] = exec_info(config, interactive);
  if (const auto path = command.env.find("PATH"); path != command.env.end()) {
    command.search_path.clear();
    for (const std::string_view part : base::split(path->second, ':')) {
      if (!part.empty()) command.search_path.emplace_back(part);
    }
  }
  command.max_output = 4U << 20U;
  command.inherit_stdin = interactive;
  return command;
}

}  // namespace

std::string exec_info(const ClusterConfig& config, bool interactive) {
  Object spec;
  if (config.exec->provide_cluster_info) spec.set("cluster", cluster_info(config));
  spec.set("interactive", interactive);
  Object info;
  info.set("kind", "ExecCredential");
  info.set("apiVersion", config.exec->api_version);
  info.set("spec", std::move(spec));
  return base::json::compact(base::json::Value(std::move(info)));
}

base::Result<ExecCredential> parse_exec_output(std::string_view output,
                                               const std::string& api_version) {
  auto document = base::json::Document::parse_borrowed(output);
  if (!document || !document->root().is_object()) {
    return base::configuration("its output is not a JSON document");
  }
  const auto root = document->root();
  if (root.text("kind") != "ExecCredential") {
    return base::configuration("its output is not an ExecCredential");
  }
  if (root.text("apiVersion") != api_version) {
    return base::configuration(fmt::format("it answered in version \"{}\" when asked for \"{}\"",
                                           root.text("apiVersion"), api_version));
  }
  const auto status = root.find("status");
  if (!status) return base::configuration("its output has no status");
  ExecCredential out;
  out.token = base::Secret(std::string(base::trim(status->text("token"))));
  out.client_cert_pem = status->text("clientCertificateData");
  out.client_key_pem = base::Secret(std::string(status->text("clientKeyData")));
  if (out.client_cert_pem.empty() != out.client_key_pem.empty()) {
    return base::configuration("it gave a certificate without key or a key without certificate");
  }
  if (out.token.empty() && out.client_cert_pem.empty()) {
    return base::configuration("it gave neither a token nor a certificate");
  }
  if (!out.client_cert_pem.empty()) KL_TRY(check_pair(out.client_cert_pem, out.client_key_pem));
  if (const auto text = status->text("expirationTimestamp"); !text.empty()) {
    auto expires = base::parse_rfc3339(text);
    if (!expires) return base::configuration("its expirationTimestamp is not a time");
    out.expires = *expires;
  }
  return out;
}

base::Result<ExecCredential> run_exec_plugin(const base::Context& context,
                                             const ClusterConfig& config,
                                             const std::map<std::string, std::string>& env) {
  const ClusterConfig::Exec& exec = *config.exec;
  const bool interactive = exec.interactive_mode != "Never" && isatty(STDIN_FILENO) == 1;
  if (exec.interactive_mode == "Always" && !interactive) {
    return trouble(exec, "it needs a terminal (interactiveMode: Always)");
  }
  const auto limited = context.with_timeout(kTimeLimit);
  auto result = base::run(limited, command_of(config, env, interactive));
  if (!result) {
    KL_TRY(context.check());
    if (result.error().kind == base::ErrorKind::kNotFound) {
      const std::string hint(base::trim(exec.install_hint));
      return trouble(exec, hint.empty() ? "not found" : "not found; " + hint);
    }
    return trouble(exec, result.error().kind == base::ErrorKind::kCancelled
                             ? "no answer within 60 s"
                             : result.error().message);
  }
  if (result->exit_code != 0) {
    return trouble(exec,
                   fmt::format("exit code {}: {}", result->exit_code, last_line(result->err)));
  }
  auto credential = parse_exec_output(result->out, exec.api_version);
  if (!credential) return trouble(exec, credential.error().message);
  return credential;
}

}  // namespace kollect::kube
