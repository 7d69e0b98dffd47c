#include "sinks/gitlab/merge_requests.h"

#include <fmt/format.h>

#include <array>

namespace kollect::sinks::gitlab {

namespace {

/// Reviewers mark drafts by a word before the title (GitLab: "Draft:", Gitea also "WIP:").
std::string_view without_draft_mark(std::string_view title) {
  constexpr std::array<std::string_view, 5> kMarks = {"Draft: ", "[Draft] ", "(Draft) ",
                                                      "WIP: ", "[WIP] "};
  for (const auto mark : kMarks) {
    if (title.starts_with(mark)) return title.substr(mark.size());
  }
  return title;
}

}  // namespace

MergeRequests::MergeRequests(const GitLabOptions& options)
    : options_(options), api_(options), forge_(make_gitlab(api_)) {}

base::Result<bool> MergeRequests::is_gitlab(const base::Context& context) {
  const Call call{"GET", "/api/v4/version", "", "ask for the version"};
  KL_ASSIGN(const auto answer,
            api_.send(context, call, {{"PRIVATE-TOKEN", api_.token().reveal()}}));
  return answer.status != 404;
}

template <class T>
base::Result<T> MergeRequests::ask(const base::Context& context,
                                   const std::function<base::Result<T>(Forge&)>& call) {
  auto result = call(*forge_);
  if (result.has_value()) settled_ = true;
  if (settled_ || result.error().reason != kNotThisForge) return result;
  KL_ASSIGN(const bool gitlab, is_gitlab(context));
  settled_ = true;
  if (gitlab) return result;
  forge_ = make_gitea(api_);
  return call(*forge_);
}

base::Result<> MergeRequests::check(const base::Context& context) {
  return ask<void>(context, [&](Forge& forge) { return forge.check(context); });
}

base::Result<std::string> MergeRequests::ensure_open(const base::Context& context,
                                                     const Wanted& wanted) {
  using Found = std::optional<OpenRequest>;
  const auto find = [&](Forge& forge) { return forge.find(context, wanted.branches); };
  KL_ASSIGN(auto open, ask<Found>(context, find));
  bool fresh = wanted.pushed;
  if (open) {
    KL_TRY(mend_title(context, *open, wanted.title));
  } else {
    KL_ASSIGN(open, ask<Found>(context, [&](Forge& forge) {
                return forge.open(context, wanted.branches, wanted.title);
              }));
    fresh = true;
    // There is one although none was listed: opened in between, or about to merge.
    const bool unknown = !open || (options_.auto_merge && open->number == 0);
    if (unknown) {
      KL_ASSIGN(open, ask<Found>(context, find));
      if (open) KL_TRY(mend_title(context, *open, wanted.title));
    }
  }
  // A push takes auto-merge away, and the list may not know that yet.
  const bool wants_merge = options_.auto_merge && open && (fresh || !open->merges_by_itself);
  return wants_merge ? want_merge(context, open->number, wanted.commit) : std::string();
}

base::Result<> MergeRequests::mend_title(const base::Context& context, const OpenRequest& open,
                                         const std::string& title) {
  // An answer without a title says nothing about it.
  if (open.title.empty() || without_draft_mark(open.title) == title) return {};
  return ask<void>(context,
                   [&](Forge& forge) { return forge.set_title(context, open.number, title); });
}

std::string MergeRequests::want_merge(const base::Context& context, std::int64_t number,
                                      const std::string& commit) {
  const auto agreed = forge_->merge_when_ready(context, number, commit);
  if (agreed.has_value()) return {};
  return fmt::format("auto-merge: {}", agreed.error().message);
}

base::Result<> MergeRequests::ensure_closed(const base::Context& context,
                                            const Branches& branches) {
  KL_ASSIGN(const auto open, ask<std::optional<OpenRequest>>(context, [&](Forge& forge) {
              return forge.find(context, branches);
            }));
  if (!open) return {};
  return ask<void>(context, [&](Forge& forge) { return forge.close(context, open->number); });
}

}  // namespace kollect::sinks::gitlab
