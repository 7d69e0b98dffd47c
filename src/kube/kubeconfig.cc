#include "kube/kubeconfig.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/strings.h"
#include "kube/kubeconfig_data.h"

namespace kollect::kube {

namespace {

constexpr std::size_t kMaxFile = 16U << 20U;
constexpr const char* kInClusterName = "in-cluster";

std::string env_or_empty(const std::map<std::string, std::string>& env, const char* name) {
  const auto it = env.find(name);
  return it == env.end() ? std::string() : it->second;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::vector<std::filesystem::path> default_paths(const std::map<std::string, std::string>& env) {
  std::vector<std::filesystem::path> paths;
  const std::string list = env_or_empty(env, "KUBECONFIG");
  if (!list.empty()) {
    for (const std::string_view part : base::split(list, ':')) {
      if (!part.empty()) paths.emplace_back(part);
    }
    return paths;
  }
  const std::string home = env_or_empty(env, "HOME");
  if (!home.empty()) paths.push_back(std::filesystem::path(home) / ".kube" / "config");
  return paths;
}

/// The mounted service account's settings; none when there is no account.
base::Result<std::optional<ClusterConfig>> mounted_account(
    const std::map<std::string, std::string>& env, const std::filesystem::path& folder) {
  const std::string host = env_or_empty(env, "KUBERNETES_SERVICE_HOST");
  const std::string port = env_or_empty(env, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty() || !is_there(folder / "token")) {
    return std::optional<ClusterConfig>();
  }
  ClusterConfig config;
  config.context_name = kInClusterName;
  const bool ipv6 = host.find(':') != std::string::npos;
  config.server = fmt::format("https://{}:{}", ipv6 ? "[" + host + "]" : host, port);
  config.token_file = folder / "token";
  KL_ASSIGN(config.ca_pem, base::read_file(folder / "ca.crt", kMaxFile));
  if (auto ns = base::read_file(folder / "namespace", 4096)) {
    config.default_namespace = base::trim(*ns);
  }
  config.identity_key = config.server;
  return std::optional(std::move(config));
}

}  // namespace

base::Result<Kubeconfig> Kubeconfig::load(const std::vector<std::filesystem::path>& paths) {
  auto impl = std::make_shared<Impl>();
  for (const auto& path : paths) {
    impl->origin += (impl->origin.empty() ? "" : ", ") + path.string();
    if (paths.size() > 1 && !is_there(path)) continue;
    auto text = base::read_file(path, kMaxFile);
    if (!text) {
      return base::configuration(fmt::format("kubeconfig: {}", text.error().message));
    }
    KL_TRY(merge_file(*impl, path, *text));
  }
  return Kubeconfig(std::move(impl));
}

base::Result<Kubeconfig> Kubeconfig::load_default(const std::string& flag_path,
                                                  const std::map<std::string, std::string>& env,
                                                  const std::filesystem::path& service_account) {
  if (!flag_path.empty()) return load({flag_path});
  const auto paths = default_paths(env);
  if (std::ranges::any_of(paths, is_there)) return load(paths);
  KL_ASSIGN(auto account, mounted_account(env, service_account));
  if (account) {
    auto impl = std::make_shared<Impl>();
    impl->in_cluster = std::move(account);
    impl->current_context = kInClusterName;
    impl->origin = "the mounted service account";
    return Kubeconfig(std::move(impl));
  }
  std::string looked;
  for (const auto& path : paths) looked += (looked.empty() ? "" : ", ") + path.string();
  return base::configuration(
      fmt::format("no kubeconfig: {} does not exist; name one with --kubeconfig or $KUBECONFIG",
                  looked.empty() ? "~/.kube/config" : looked));
}

std::vector<std::string> Kubeconfig::context_names() const {
  if (impl_->in_cluster) return {kInClusterName};
  std::vector<std::string> names;
  for (const auto& [name, entry] : impl_->contexts) names.push_back(name);
  return names;
}

const std::string& Kubeconfig::current_context() const {
  return impl_->current_context;
}

}  // namespace kollect::kube
