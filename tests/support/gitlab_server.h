// A stand-in for GitLab, or for Gitea and Forgejo: the REST calls about one project by their public
// API references (docs.gitlab.com/api, docs.gitea.com/api) and its repository by the real Git
// server of scripts/servers/git.sh behind it. Pushes are real; merge requests are in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/git_server.h"
#include "support/http_server.h"

namespace kollect::testing {

/// Thread-safe.
class GitLabServer {
 public:
  enum class Forge { kGitLab, kGitea };
  /// What the owner of a token may do. Guests do not see the project.
  enum class Role { kGuest, kReporter, kDeveloper };

  struct Options {
    Forge forge = Forge::kGitLab;
    std::string project = "grp/sub/inv";
    CertificateAndKey certificate = {};  ///< not empty: https
  };
  struct MergeRequest {
    std::int64_t iid = 0;
    std::string source;
    std::string target;
    std::string title;
    std::string state = "opened";  ///< opened, locked, closed, merged
    bool auto_merge = false;
    std::int64_t source_project = 7;  ///< the project itself is 7
  };

  static constexpr const char* kToken = "glpat-demo-0123456789";

  /// The token kToken is a Developer's. The repository has a first commit on main.
  explicit GitLabServer(Options options);
  GitLabServer() : GitLabServer(Options()) {}

  /// Endpoint of the repository.
  [[nodiscard]] std::string endpoint() const;
  /// The bare repository behind it.
  [[nodiscard]] const std::filesystem::path& repository() const { return repository_; }
  /// API calls so far as "METHOD target", without those of Git.
  [[nodiscard]] std::vector<std::string> calls() const;
  void forget_calls();
  /// How often something was pushed.
  [[nodiscard]] int pushes() const;

  void grant(const std::string& token, Role role);
  /// True: everything is answered 502 by the proxy before a server that is not there.
  void set_away(bool away) { away_ = away; }
  /// The next calls whose "METHOD path" begins so get this answer.
  void answer_next(const std::string& begins, int status, const std::string& body, int times = 1);
  /// So many questions to merge are answered 405 first, as while it checks.
  void check_for(int calls);
  /// With a pipeline auto-merge waits for pass_pipelines(); without, what may merge is merged.
  void use_pipelines() { pipelines_ = true; }
  void pass_pipelines();

  [[nodiscard]] std::vector<MergeRequest> requests() const;
  std::int64_t add(MergeRequest request);
  void change(std::int64_t iid, const std::function<void(MergeRequest&)>& edit);
  /// Merges with a merge commit, as a reviewer would.
  void merge(std::int64_t iid);

  /// Output of git in the repository, which must succeed.
  std::string git(const std::vector<std::string>& args) const;
  /// Commit of a branch, "" when there is none.
  [[nodiscard]] std::string tip(const std::string& branch) const;
  /// A commit on a branch by somebody else that writes one file.
  void commit(const std::string& branch, const std::string& path, const std::string& text) const;

 private:
  struct Prepared {
    std::string begins;
    int status = 0;
    std::string body;
    int times = 0;
  };
  Reply answer(const Received& request);
  Reply repository_call(const Received& request);
  Reply api_call(const Received& request);
  std::optional<Reply> prepared(const std::string& call);
  [[nodiscard]] std::optional<Role> role_of(const std::string& token) const;
  Reply list(const Received& request);
  Reply open(const Received& request);
  Reply edit(const Received& request, MergeRequest& one);
  Reply accept(const Received& request, MergeRequest& one);
  void look_at_branches();
  void merge_now(MergeRequest& one);
  [[nodiscard]] MergeRequest* find(std::int64_t iid);
  [[nodiscard]] bool is_gitea() const { return options_.forge == Forge::kGitea; }
  [[nodiscard]] std::string written(const MergeRequest& one) const;

  const Options options_;
  GitServer& git_ = GitServer::shared();
  std::string name_;
  std::filesystem::path repository_;
  mutable std::recursive_mutex mutex_;
  std::map<std::string, Role> roles_;
  std::vector<MergeRequest> requests_;
  std::vector<Prepared> prepared_;
  std::vector<std::string> calls_;
  int pushes_ = 0;
  int checks_ = 0;
  bool pipelines_ = false;
  std::atomic<bool> away_ = false;
  HttpServer server_;  // last: its threads use the rest
};

}  // namespace kollect::testing
