#include "sinks/git/transport.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::sinks::git {

namespace {

constexpr int kTries = 3;

/// The status line of `git push --porcelain` for our branch: flag, refs, text; empty when there is
/// none.
std::string status_line(std::string_view out) {
  for (const auto line : base::split(out, '\n')) {
    if (line.size() > 2 && line[1] == '\t') return std::string(line);
  }
  return {};
}

}  // namespace

Transport::Transport(TransportOptions options) : options_(std::move(options)) {
  add_secrets(options_.access, redactor_);
}

base::Error Transport::failure(std::string_view doing, std::string_view text) const {
  return git_error({&options_.remote, &redactor_, options_.access.secret_name}, doing, text);
}

base::Result<std::vector<std::string>> Transport::checked_addresses() const {
  const auto& remote = options_.remote;
  std::vector<std::string> none;
  const auto* guard = options_.guard.get();
  if (guard == nullptr && (!options_.resolver || remote.scheme == Scheme::kLocal)) return none;
  if (remote.scheme == Scheme::kLocal) {
    return base::configuration(
        "local repositories are not allowed: only an operator with --allow-local-sinks takes them",
        "address-refused");
  }
  const auto refuse = [&](const std::string& reason) {
    return base::configuration(fmt::format("endpoint {} is refused: {}", remote.shown(), reason),
                               "address-refused");
  };
  if (guard != nullptr) {
    if (const auto reason = guard->refuse_host(remote.host)) return refuse(*reason);
  }
  if (base::is_numeric_address(remote.host)) return none;
  KL_ASSIGN(auto addresses,
            options_.resolver ? options_.resolver(remote.host) : base::resolve_host(remote.host));
  if (addresses.empty()) {
    return base::retryable(fmt::format("{} has no address", remote.host), "unreachable");
  }
  for (const auto& address : addresses) {
    if (guard == nullptr) break;
    if (const auto reason = guard->refuse_address(address)) return refuse(*reason);
  }
  return addresses;
}

base::Result<base::CommandResult> Transport::run(const base::Context& context,
                                                 std::vector<std::string> args) const {
  KL_ASSIGN(const auto addresses, checked_addresses());
  KL_ASSIGN(const auto setup, command_setup(options_.remote, options_.access, addresses));
  base::Command command;
  command.program = "git";
  command.args = std::move(args);
  command.env = setup.env;
  // The other side is a child of git then. It finishes or gives up when git is gone, as a server
  // would.
  command.helpers_end_alone = options_.remote.scheme == Scheme::kLocal;
  auto result = base::run(context, command);
  if (!result.has_value() && result.error().kind == base::ErrorKind::kNotFound) {
    return base::terminal("the git program is not installed (looked in the system's folders)",
                          "no-git");
  }
  return result;
}

base::Result<base::CommandResult> Transport::read(
    const base::Context& context, std::string_view doing, const std::vector<std::string>& args,
    const std::function<bool(const base::CommandResult&)>& fine) const {
  for (int attempt = 1;; ++attempt) {
    KL_ASSIGN(auto result, run(context, args));
    if (fine(result)) return result;
    auto error = failure(doing, result.err);
    if (error.kind != base::ErrorKind::kRetryable || attempt == kTries) return error;
    if (!context.sleep(std::chrono::seconds(attempt))) return error;
  }
}

base::Result<bool> Transport::fetch(const base::Context& context,
                                    const std::filesystem::path& git_dir, const std::string& branch,
                                    int depth, const std::string& into) const {
  KL_ASSIGN(const auto result,
            read(context, "fetch from",
                 {"--git-dir=" + git_dir.string(), "fetch", "--quiet", "--no-tags",
                  "--no-recurse-submodules", "--no-write-fetch-head", "--update-shallow",
                  fmt::format("--depth={}", depth), "--", options_.remote.url,
                  fmt::format("+refs/heads/{}:{}", branch, into)},
                 [](const base::CommandResult& done) {
                   return done.exit_code == 0 || is_missing_branch(done.err);
                 }));
  return result.exit_code == 0;
}

base::Result<std::vector<std::optional<std::string>>> Transport::tips(
    const base::Context& context, const std::vector<std::string>& branches) const {
  std::vector<std::string> args = {"ls-remote", "--quiet", "--", options_.remote.url};
  for (const auto& branch : branches) args.push_back("refs/heads/" + branch);
  KL_ASSIGN(const auto result, read(context, "list", args, [](const base::CommandResult& done) {
              return done.exit_code == 0;
            }));
  std::vector<std::optional<std::string>> out(branches.size());
  // The patterns also find refs that end in the same words.
  for (const auto line : base::split(result.out, '\n')) {
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      if (line.substr(tab + 1) == "refs/heads/" + branches[i]) out[i] = line.substr(0, tab);
    }
  }
  return out;
}

base::Result<std::optional<std::string>> Transport::tip(const base::Context& context,
                                                        const std::string& branch) const {
  KL_ASSIGN(auto found, tips(context, {branch}));
  return std::move(found.front());
}

base::Result<PushResult> Transport::push(const base::Context& context,
                                         const std::filesystem::path& git_dir,
                                         const std::string& commit, const std::string& branch,
                                         const std::optional<std::string>& lease) const {
  const auto ref = "refs/heads/" + branch;
  std::vector<std::string> args = {"--git-dir=" + git_dir.string(), "push", "--porcelain",
                                   "--no-verify", "--no-recurse-submodules"};
  if (lease) args.push_back(fmt::format("--force-with-lease={}:{}", ref, *lease));
  args.insert(args.end(), {"--", options_.remote.url, fmt::format("{}:{}", commit, ref)});
  KL_ASSIGN(const auto result, run(context, std::move(args)));
  if (result.exit_code == 0) return PushResult{};
  const auto status = status_line(result.out);
  const auto text = result.err + "\n" + status;
  PushResult out;
  out.error = failure("push to", text);
  if (lease && status.find("[remote rejected]") != std::string::npos &&
      status.find("non-fast-forward") != std::string::npos) {
    out.what = PushResult::What::kDeclined;
    out.error =
        base::terminal(fmt::format("git push to {}: the server takes no forced pushes to {}: {}",
                                   options_.remote.shown(), branch, redactor_.redact(status)),
                       "refused");
  } else if (status.starts_with('!') && is_race(text)) {
    out.what = PushResult::What::kRace;
    out.lock = redactor_.redact(lock_held(text));
  } else if (status.starts_with('!')) {
    out.what = PushResult::What::kDeclined;
    if (out.error.kind == base::ErrorKind::kRetryable) out.error.reason = "push-rejected";
  } else {
    out.what = PushResult::What::kFailed;
  }
  return out;
}

base::Result<> Transport::probe(const base::Context& context) const {
  KL_ASSIGN(const auto result,
            run(context, {"ls-remote", "--quiet", "--heads", "--", options_.remote.url}));
  if (result.exit_code != 0) return failure("list", result.err);
  return {};
}

}  // namespace kollect::sinks::git
