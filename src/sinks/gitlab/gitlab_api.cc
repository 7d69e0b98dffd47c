// GitLab's REST API, version 4 (docs.gitlab.com/api: merge requests, projects).
#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/value.h"
#include "base/json/write.h"
#include "sinks/gitlab/forge.h"

namespace kollect::sinks::gitlab {

namespace {

namespace json = base::json;

constexpr int kMostPages = 100;

std::int64_t integer(const json::View& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_number() ? value->number().i : 0;
}

OpenRequest request_of(const json::View& object) {
  OpenRequest out;
  out.number = integer(object, "iid");
  out.title = object.text("title");
  const auto set = object.find("merge_when_pipeline_succeeds");
  out.merges_by_itself = set && set->is_bool() && set->as_bool();
  return out;
}

class GitLab final : public Forge {
 public:
  explicit GitLab(Api& api)
      : api_(api),
        project_("/api/v4/projects/" + base::percent_encode(api.options().place.project)),
        requests_(project_ + "/merge_requests") {}

  base::Result<> check(const base::Context& context) override {
    return must_do(context, {"GET", project_, "", "look at the project"});
  }

  base::Result<std::optional<OpenRequest>> find(const base::Context& context,
                                                const Branches& branches) override {
    const auto first = fmt::format("{}?source_branch={}&state=opened", requests_,
                                   base::percent_encode(branches.source));
    Call call{"GET", first, "", "list merge requests"};
    for (int page = 0; page < kMostPages; ++page) {
      KL_ASSIGN(const auto answer, send(context, call));
      KL_ASSIGN(const auto listed, api_.read(call, answer));
      for (const auto one : listed.root().items()) {
        if (one.text("target_branch") != branches.target) continue;
        // A fork may have a branch of the same name.
        if (integer(one, "source_project_id") != integer(one, "target_project_id")) continue;
        return std::optional(request_of(one));
      }
      const auto next = answer.header("x-next-page");
      if (!next || next->empty()) break;
      call.path = fmt::format("{}&page={}", first, base::percent_encode(*next));
    }
    return std::optional<OpenRequest>();
  }

  base::Result<std::optional<OpenRequest>> open(const base::Context& context,
                                                const Branches& branches,
                                                const std::string& title) override {
    json::Object body;
    body.set("source_branch", branches.source);
    body.set("target_branch", branches.target);
    body.set("title", title);
    const Call call{"POST", requests_, json::compact(json::Value(std::move(body))),
                    "open a merge request"};
    KL_ASSIGN(const auto answer, send(context, call));
    if (answer.status == 409) return std::optional<OpenRequest>();
    KL_ASSIGN(const auto opened, api_.read(call, answer));
    return std::optional(request_of(opened.root()));
  }

  base::Result<> set_title(const base::Context& context, std::int64_t number,
                           const std::string& title) override {
    json::Object body;
    body.set("title", title);
    return must_do(context, {"PUT", path(number), json::compact(json::Value(std::move(body))),
                             "change a merge request's title"});
  }

  base::Result<> close(const base::Context& context, std::int64_t number) override {
    return must_do(context,
                   {"PUT", path(number), R"({"state_event":"close"})", "close a merge request"});
  }

  base::Result<bool> merge_when_ready(const base::Context& context, std::int64_t number,
                                      const std::string& commit) override {
    json::Object body;
    // The same by its old and its new name: servers ignore what they do not know.
    body.set("auto_merge", true);
    body.set("merge_when_pipeline_succeeds", true);
    body.set("sha", commit);
    const Call call{"PUT", path(number) + "/merge", json::compact(json::Value(std::move(body))),
                    "set auto-merge"};
    KL_ASSIGN(const auto answer, send(context, call));
    // While it checks what may be merged, and of a commit that it has not noticed yet.
    const int status = answer.status;
    if (status == 405 || status == 406 || status == 409 || status == 422) return false;
    if (status >= 300) return api_.failure(call, answer);
    return true;
  }

 private:
  [[nodiscard]] std::string path(std::int64_t number) const {
    return fmt::format("{}/{}", requests_, number);
  }

  base::Result<http::Response> send(const base::Context& context, const Call& call) {
    return api_.send(context, call, {{"PRIVATE-TOKEN", api_.token().reveal()}});
  }

  base::Result<> must_do(const base::Context& context, const Call& call) {
    KL_ASSIGN(const auto answer, send(context, call));
    if (answer.status >= 300) return api_.failure(call, answer);
    return {};
  }

  Api& api_;
  const std::string project_;
  const std::string requests_;
};

}  // namespace

std::unique_ptr<Forge> make_gitlab(Api& api) {
  return std::make_unique<GitLab>(api);
}

}  // namespace kollect::sinks::gitlab
