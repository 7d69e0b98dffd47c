#include "sinks/gitlab/options.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::sinks::gitlab {

namespace {

constexpr std::size_t kLongestTitle = 255;

/// Without blanks and slashes at both ends.
std::string_view bare(std::string_view text) {
  constexpr std::string_view kEnds = " \t\r\n/";
  const auto first = text.find_first_not_of(kEnds);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kEnds) - first + 1);
}

base::Error wrong(const api::SnapshotSink& sink, std::string_view why, const char* reason) {
  return base::configuration(fmt::format("sink {}: {}", sink.metadata.name, why), reason);
}

}  // namespace

base::Result<Place> place_of(const git::Remote& remote) {
  if (remote.scheme != git::Scheme::kHttps && remote.scheme != git::Scheme::kHttp) {
    return base::configuration("type gitlab needs an http(s) endpoint", "bad-endpoint");
  }
  Place out;
  auto path = remote.path.substr(0, remote.path.find_first_of("?#"));
  while (path.ends_with('/')) path.pop_back();
  if (path.ends_with(".git")) path.resize(path.size() - 4);
  out.project = bare(path);
  if (out.project.empty()) {
    return base::configuration(
        fmt::format("endpoint {} names no project: https://HOST/GROUP/PROJECT.git is needed",
                    remote.shown()),
        "bad-endpoint");
  }
  const auto host =
      remote.host.find(':') == std::string::npos ? remote.host : "[" + remote.host + "]";
  out.origin =
      fmt::format("{}://{}", remote.scheme == git::Scheme::kHttps ? "https" : "http", host);
  if (remote.port_given) out.origin += fmt::format(":{}", remote.port);
  return out;
}

std::string branch_name(std::string_view prefix, const InventoryId& inventory) {
  prefix = bare(prefix);
  if (prefix.empty()) prefix = "kollect";
  return fmt::format("{}/{}/{}", prefix, bare(inventory.ns), bare(inventory.name));
}

std::string request_title(std::string_view title_template, const InventoryId& inventory) {
  auto title = base::trim(title_template);
  if (title.empty()) title = "kollect inventory export: {namespace}/{name}";
  std::string out;
  while (!title.empty()) {
    if (title.starts_with("{namespace}")) {
      out += inventory.ns;
      title.remove_prefix(11);
    } else if (title.starts_with("{name}")) {
      out += inventory.name;
      title.remove_prefix(6);
    } else {
      out += title.front();
      title.remove_prefix(1);
    }
  }
  return std::string(base::cut_utf8(out, kLongestTitle));
}

bool wants_merge_requests(const api::SnapshotSinkSpec& spec) {
  return spec.gitlab && spec.gitlab->merge_request &&
         spec.gitlab->merge_request->mode == "merge_request";
}

base::Result<GitLabOptions> gitlab_options(const api::SnapshotSink& sink, const SecretData& auth,
                                           const std::optional<std::string>& ca_pem) {
  const auto& settings = *sink.spec.gitlab->merge_request;
  GitLabOptions out;
  auto plain = sink;
  plain.spec.git.reset();
  KL_ASSIGN(out.git, git_sink_options(plain, auth, ca_pem));
  auto place = place_of(out.git.transport.remote);
  if (!place.has_value()) return wrong(sink, place.error().message, "bad-endpoint");
  out.place = std::move(*place);
  if (base::trim(settings.target_branch).empty()) {
    return wrong(sink, "gitlab.mergeRequest.targetBranch is needed for mode merge_request",
                 "bad-branch");
  }
  auto target = git::check_branch(settings.target_branch);
  if (!target.has_value()) {
    return target.error().with_prefix("gitlab.mergeRequest.targetBranch");
  }
  out.git.onto = std::move(*target);
  out.branch_prefix = settings.branch_prefix;
  if (const auto fits = git::check_branch(branch_name(out.branch_prefix, {"n", "i"}));
      !fits.has_value()) {
    return fits.error().with_prefix("gitlab.mergeRequest.branchPrefix");
  }
  const auto& access = out.git.transport.access;
  if (access.password.empty()) {
    return wrong(sink,
                 fmt::format("merge requests need an API token under token or password in {}",
                             access.secret_name.empty() ? "the Secret that spec.secretRef names"
                                                        : "Secret " + access.secret_name),
                 "bad-secret");
  }
  // Only a name that the Secret has itself; what git is told without one is no account.
  if (const auto user = auth.find("username"); user != auth.end() && !user->second.empty()) {
    out.user = access.user;
  }
  out.title_template = settings.title_template;
  out.auto_merge = settings.auto_merge.value_or(false);
  return out;
}

}  // namespace kollect::sinks::gitlab
