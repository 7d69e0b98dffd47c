// Settings, names and the conversation with the API, without a repository (spec: sinks 8).
#include <gmock/gmock.h>

#include "base/strings.h"
#include "sinks/factory.h"
#include "sinks/gitlab/merge_requests.h"
#include "sinks/gitlab/options.h"
#include "sinks/testing.h"
#include "support/http_server.h"

namespace kollect::sinks::gitlab {
namespace {

using namespace sinks::testing;  // NOLINT: the room's own helpers
using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::HasSubstr;
using ::testing::Not;

json::Value cases(const char* part) {
  const auto all = read_case("gitlab/gitlab.json");
  return *all.find(part);
}

api::SnapshotSink sink_at(const std::string& endpoint) {
  api::SnapshotSink out;
  out.metadata.name = "review";
  out.spec.type = "gitlab";
  out.spec.endpoint = endpoint;
  out.spec.secret_ref.emplace().name = "gitlab-token";
  auto& settings = out.spec.gitlab.emplace().merge_request.emplace();
  settings.mode = "merge_request";
  settings.target_branch = "main";
  return out;
}

SecretData token(const std::string& text = "glpat-demo") {
  SecretData out;
  out["token"] = base::Secret(text);
  return out;
}

TEST(GitLabNames, Branches) {
  const auto all = cases("branches");
  for (const auto& one : all.as_array()) {
    const InventoryId inventory{std::string(one.text("namespace")), std::string(one.text("name"))};
    EXPECT_EQ(branch_name(one.text("prefix"), inventory), one.text("branch"));
  }
}

TEST(GitLabNames, Titles) {
  const InventoryId inventory{"harbor-ops", "dock-ledger"};
  const auto all = cases("titles");
  for (const auto& one : all.as_array()) {
    EXPECT_EQ(request_title(one.text("template"), inventory), one.text("title"));
  }
  EXPECT_EQ(request_title("", inventory), "kollect inventory export: harbor-ops/dock-ledger");
  EXPECT_EQ(request_title(std::string(300, 'x'), inventory).size(), 255U);
  // What was inserted is not read again.
  EXPECT_EQ(request_title("{namespace}", {"{name}", "x"}), "{name}");
}

TEST(GitLabNames, Projects) {
  const auto all = cases("projects");
  for (const auto& one : all.as_array()) {
    const auto remote = git::parse_remote(one.text("endpoint"));
    // Without a path it is no address of a repository either.
    const auto place = remote.has_value() ? place_of(*remote) : base::Result<Place>(remote.error());
    ASSERT_EQ(place.has_value(), one.find("ok")->as_bool()) << one.text("endpoint");
    if (!place.has_value()) continue;
    EXPECT_EQ(place->project, one.text("project"));
    EXPECT_EQ(place->origin + "/api/v4", one.text("apiBase"));
  }
}

std::string refusal(const api::SnapshotSink& sink, const SecretData& secret) {
  const auto made = make_snapshot_sink(sink, secret, {}, {});
  EXPECT_FALSE(made.has_value());
  if (made.has_value()) return {};
  EXPECT_EQ(made.error().kind, base::ErrorKind::kConfiguration);
  return made.error().message;
}

TEST(GitLabSettings, MistakesAreNamed) {
  const auto good = sink_at("https://gitlab.example.org/g/p.git");
  EXPECT_TRUE(make_snapshot_sink(good, token(), {}, {}).has_value());
  EXPECT_THAT(refusal(good, {}), HasSubstr("Secret kollect-system/gitlab-token"));
  auto bad = good;
  bad.spec.gitlab->merge_request->target_branch = " ";
  EXPECT_THAT(refusal(bad, token()), HasSubstr("targetBranch is needed"));
  bad.spec.gitlab->merge_request->target_branch = "a..b";
  EXPECT_THAT(refusal(bad, token()), HasSubstr("targetBranch"));
  bad = good;
  bad.spec.gitlab->merge_request->branch_prefix = "in ventory";
  EXPECT_THAT(refusal(bad, token()), HasSubstr("branchPrefix"));
  bad = good;
  bad.spec.gitlab->merge_request->mode = "review";
  EXPECT_THAT(refusal(bad, token()), HasSubstr("mode is direct or merge_request"));
  bad = good;
  bad.spec.endpoint = "https://gitlab.example.org/.git";
  EXPECT_THAT(refusal(bad, token()), HasSubstr("names no project"));
  bad.spec.endpoint = "ssh://git@gitlab.example.org/g/p.git";
  auto ssh = token();
  ssh["ssh-privatekey"] = base::Secret("x");
  ssh["known_hosts"] = base::Secret("y");
  EXPECT_THAT(refusal(bad, ssh), HasSubstr("http(s)"));
}

TEST(GitLabSettings, GitBlockIsNotRead) {
  auto sink = sink_at("https://gitlab.example.org/g/p.git");
  sink.spec.git.emplace().commit_message = "mine";
  const auto made = gitlab_options(sink, token("t\n"), {});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->git.commit.subject, "");
  EXPECT_EQ(made->git.onto, "main");
  EXPECT_EQ(made->git.transport.access.password.reveal(), "t");  // K-16
  EXPECT_EQ(made->user, "");
}

/// Plays recorded answers in order and notes what does not fit.
class Recorded {
 public:
  explicit Recorded(json::Value requests)
      : requests_(std::move(requests)),
        server_([this](const Received& request) { return next(request); }) {}

  std::string url() const { return server_.url(); }
  void expect_all_asked() const { EXPECT_EQ(at_, requests_.as_array().size()); }

 private:
  Reply next(const Received& request) {
    if (at_ == requests_.as_array().size()) {
      ADD_FAILURE() << "one too many: " << request.method << " " << request.target;
      return Reply::json("{}", 500);
    }
    const auto& one = requests_.as_array()[at_++];
    EXPECT_EQ(request.method, one.text("method"));
    const std::string query(one.text("query"));
    EXPECT_EQ(request.target, std::string(one.text("path")) + (query.empty() ? "" : "?" + query));
    for (const auto& [name, value] : one.find("headers")->as_object()) {
      EXPECT_EQ(request.header(base::to_lower(name)), value.as_string()) << request.target;
    }
    const auto* body = one.find("body");
    EXPECT_EQ(request.body, body == nullptr ? "" : json::canonical(*body));
    const auto* response = one.find("response");
    return Reply::json(std::string(response->text("body")),
                       static_cast<int>(response->find("status")->as_int()));
  }

  const json::Value requests_;
  std::size_t at_ = 0;
  HttpServer server_;
};

class GitLabFlows : public ::testing::TestWithParam<std::string> {};

TEST_P(GitLabFlows, AsRecorded) {
  json::Value flow;
  const auto all = cases("mergeRequestFlows");
  for (const auto& one : all.as_array()) {
    if (one.text("flow") == GetParam()) flow = one;
  }
  const Recorded server(*flow.find("requests"));
  const auto secret = GetParam() == "no-token" ? SecretData() : token();
  const auto options = gitlab_options(sink_at(server.url() + "/grp/sub/inv.git"), secret, {});
  const bool fails = flow.find("error")->as_bool();
  if (options.has_value()) {
    MergeRequests requests(*options);
    const auto opened = requests.ensure_open(base::Context::background(),
                                             {{"kollect/harbor-ops/dock-ledger", "main"},
                                              request_title("", {"harbor-ops", "dock-ledger"}),
                                              "0123456789012345678901234567890123456789",
                                              true});
    EXPECT_EQ(opened.has_value(), !fails) << (opened.has_value() ? "" : opened.error().message);
  } else {
    EXPECT_TRUE(fails) << options.error().message;
  }
  server.expect_all_asked();
}

INSTANTIATE_TEST_SUITE_P(All, GitLabFlows,
                         ::testing::Values("none-open", "open-same-target", "open-other-target",
                                           "gitea-404", "list-500", "create-409", "no-token",
                                           "gitlab-404"),
                         [](const auto& one) { return base::replace_all(one.param, "-", "_"); });

base::Error failure_of(int status, const std::string& body) {
  auto options =
      gitlab_options(sink_at("https://gitlab.example.org/g/p.git"), token("glpat-9876543210"), {});
  EXPECT_TRUE(options.has_value());
  const Api api(*options);
  http::Response answer;
  answer.status = status;
  answer.body = body;
  return api.failure({"GET", "/x", "", "list merge requests"}, answer);
}

TEST(GitLabErrors, Classes) {
  using base::ErrorKind;
  EXPECT_EQ(failure_of(401, "").kind, ErrorKind::kDenied);
  EXPECT_EQ(failure_of(403, "").kind, ErrorKind::kDenied);
  EXPECT_EQ(failure_of(404, "").kind, ErrorKind::kNotFound);
  EXPECT_EQ(failure_of(422, "").kind, ErrorKind::kTerminal);
  EXPECT_EQ(failure_of(302, "").kind, ErrorKind::kTerminal);
  for (const int status : {429, 500, 502, 503, 504}) {
    EXPECT_EQ(failure_of(status, "").kind, ErrorKind::kRetryable) << status;
  }
  EXPECT_THAT(failure_of(403, "").message,
              HasSubstr("gitlab.example.org/g/p.git: list merge requests (HTTP 403)"));
  EXPECT_THAT(failure_of(403, "").message, HasSubstr("Secret kollect-system/gitlab-token"));
}

TEST(GitLabErrors, BodyIsCutAndRedacted) {
  const auto text = failure_of(500, "a\nglpat-9876543210 " + std::string(1000, 'z')).message;
  EXPECT_THAT(text, HasSubstr("(HTTP 500): a *** zzz"));
  EXPECT_THAT(text, Not(HasSubstr("glpat-9876543210")));
  EXPECT_EQ(std::ranges::count(text, 'z'), 240 - 6);
}

}  // namespace
}  // namespace kollect::sinks::gitlab
