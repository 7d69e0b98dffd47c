// One merge request per inventory: opened, kept up to date, closed (spec: sinks 8, K-35 to K-37).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sinks/gitlab/forge.h"

namespace kollect::sinks::gitlab {

/// Speaks with whatever forge the host turns out to be: GitLab, unless it answers 404 (or 405) and
/// has no GitLab version either; then Gitea or Forgejo. Borrows the options. One thread at a time.
class MergeRequests {
 public:
  explicit MergeRequests(const GitLabOptions& options);

  /// The token may see the project.
  base::Result<> check(const base::Context& context);

  struct Wanted {
    Branches branches;
    std::string title;
    std::string commit;   ///< what stands on the source branch
    bool pushed = false;  ///< by this export
  };
  /// Exactly one is open, with this title; auto-merge is asked for where the sink wants it. The
  /// answer is a warning about auto-merge, empty without: it never fails. Errors: as of Forge.
  base::Result<std::string> ensure_open(const base::Context& context, const Wanted& wanted);
  /// None is open between these branches.
  base::Result<> ensure_closed(const base::Context& context, const Branches& branches);

 private:
  /// Runs a call; once more with the other forge where this one is none.
  template <class T>
  base::Result<T> ask(const base::Context& context,
                      const std::function<base::Result<T>(Forge&)>& call);
  base::Result<bool> is_gitlab(const base::Context& context);
  base::Result<> mend_title(const base::Context& context, const OpenRequest& open,
                            const std::string& title);
  std::string want_merge(const base::Context& context, std::int64_t number,
                         const std::string& commit);

  const GitLabOptions& options_;
  Api api_;
  std::unique_ptr<Forge> forge_;
  bool settled_ = false;  ///< which forge it is
};

}  // namespace kollect::sinks::gitlab
