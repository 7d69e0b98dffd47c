// The REST API of Gitea and Forgejo, version 1 (docs.gitea.com/api: pull requests, repositories).
#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/value.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sinks/gitlab/forge.h"

namespace kollect::sinks::gitlab {

namespace {

namespace json = base::json;

constexpr int kMostPages = 100;

std::string_view text_at(const json::View& object, std::initializer_list<std::string_view> keys) {
  const auto value = object.at_path(keys);
  return value && value->is_string() ? value->as_string() : std::string_view();
}

OpenRequest request_of(const json::View& object) {
  OpenRequest out;
  const auto number = object.find("number");
  if (number && number->is_number()) out.number = number->number().i;
  out.title = object.text("title");
  return out;
}

std::string encoded_segments(std::string_view project) {
  std::vector<std::string> out;
  for (const auto segment : base::split(project, '/')) out.push_back(base::percent_encode(segment));
  return base::join(out, "/");
}

class Gitea final : public Forge {
 public:
  explicit Gitea(Api& api)
      : api_(api),
        repository_("/api/v1/repos/" + encoded_segments(api.options().place.project)),
        pulls_(repository_ + "/pulls") {}

  base::Result<> check(const base::Context& context) override {
    return must_do(context, {"GET", repository_, "", "look at the repository"});
  }

  base::Result<std::optional<OpenRequest>> find(const base::Context& context,
                                                const Branches& branches) override {
    const auto first =
        fmt::format("{}?head={}&state=open", pulls_, base::percent_encode(branches.source));
    Call call{"GET", first, "", "list pull requests"};
    for (int page = 2; page <= kMostPages; ++page) {
      KL_ASSIGN(const auto answer, send(context, call));
      KL_ASSIGN(const auto listed, api_.read(call, answer));
      for (const auto one : listed.root().items()) {
        // Servers that do not know the filter list everything.
        if (text_at(one, {"head", "ref"}) != branches.source) continue;
        if (text_at(one, {"base", "ref"}) != branches.target) continue;
        if (text_at(one, {"head", "repo", "full_name"}) !=
            text_at(one, {"base", "repo", "full_name"})) {
          continue;
        }
        return std::optional(request_of(one));
      }
      const auto link = answer.header("link");
      if (!link || link->find("rel=\"next\"") == std::string::npos) break;
      call.path = fmt::format("{}&page={}", first, page);
    }
    return std::optional<OpenRequest>();
  }

  base::Result<std::optional<OpenRequest>> open(const base::Context& context,
                                                const Branches& branches,
                                                const std::string& title) override {
    json::Object body;
    body.set("base", branches.target);
    body.set("head", branches.source);
    body.set("source_branch", branches.source);
    body.set("target_branch", branches.target);
    body.set("title", title);
    const Call call{"POST", pulls_, json::compact(json::Value(std::move(body))),
                    "open a pull request"};
    KL_ASSIGN(const auto answer, send(context, call));
    if (answer.status == 409) return std::optional<OpenRequest>();
    KL_ASSIGN(const auto opened, api_.read(call, answer));
    return std::optional(request_of(opened.root()));
  }

  base::Result<> set_title(const base::Context& context, std::int64_t number,
                           const std::string& title) override {
    json::Object body;
    body.set("title", title);
    return must_do(context, {"PATCH", path(number), json::compact(json::Value(std::move(body))),
                             "change a pull request's title"});
  }

  base::Result<> close(const base::Context& context, std::int64_t number) override {
    return must_do(context,
                   {"PATCH", path(number), R"({"state":"closed"})", "close a pull request"});
  }

  base::Result<bool> merge_when_ready(const base::Context& context, std::int64_t number,
                                      const std::string& commit) override {
    json::Object body;
    body.set("Do", "merge");
    body.set("head_commit_id", commit);
    body.set("merge_when_checks_succeed", true);
    const Call call{"POST", path(number) + "/merge", json::compact(json::Value(std::move(body))),
                    "set auto-merge"};
    KL_ASSIGN(const auto answer, send(context, call));
    const int status = answer.status;
    if (status == 409) return true;  // it is set already
    if (status == 405 || status == 406 || status == 422) return false;
    if (status >= 300) return api_.failure(call, answer);
    return true;
  }

 private:
  [[nodiscard]] std::string path(std::int64_t number) const {
    return fmt::format("{}/{}", pulls_, number);
  }

  base::Result<http::Response> send(const base::Context& context, const Call& call) {
    const auto& token = api_.token().reveal();
    const auto& user = api_.options().user;
    const auto authorization =
        user.empty() ? "token " + token
                     : "Basic " + base::base64_encode(fmt::format("{}:{}", user, token));
    return api_.send(context, call, {{"Authorization", authorization}});
  }

  base::Result<> must_do(const base::Context& context, const Call& call) {
    KL_ASSIGN(const auto answer, send(context, call));
    if (answer.status >= 300) return api_.failure(call, answer);
    return {};
  }

  Api& api_;
  const std::string repository_;
  const std::string pulls_;
};

}  // namespace

std::unique_ptr<Forge> make_gitea(Api& api) {
  return std::make_unique<Gitea>(api);
}

}  // namespace kollect::sinks::gitlab
