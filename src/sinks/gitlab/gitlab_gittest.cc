// Merge requests against the stand-in of GitLab with real pushes (spec: sinks 8, K-33 to K-37;
// field-credentials-in-git-errors).
#include "sinks/gitlab/gitlab_fixture.h"

namespace kollect::sinks::gitlab {
namespace {

using namespace sinks::testing;  // NOLINT: the room's own helpers
using kollect::testing::TestAuthority;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kRequests = "/api/v4/projects/grp%2Fsub%2Finv/merge_requests";

class GitLab : public GitLabFixture {};

TEST_F(GitLab, ABranchAndARequestPerInventory) {
  const auto main = server_.tip("main");
  const auto report = must_run(one_);
  EXPECT_EQ(report.written, 1U);
  EXPECT_EQ(server_.tip("main"), main);
  expect_rebuilt_on(kBranch, "main");
  EXPECT_THAT(listing(kBranch), ElementsAre("README.md", "inventory/x/t.yaml"));
  const auto request = only_request();
  EXPECT_EQ(request.source, kBranch);
  EXPECT_EQ(request.target, "main");
  EXPECT_EQ(request.title, "kollect inventory export: x/t");
  EXPECT_EQ(request.state, "opened");
  EXPECT_THAT(server_.git({"log", "-1", "--format=%s|%an <%ae>", kBranch}),
              AllOf(StartsWith("chore(c/x/t): export 1 items @ "),
                    HasSubstr("|kollect <kollect@kollect.dev>")));  // K-33
  EXPECT_THAT(server_.calls(), ElementsAre("GET " + std::string(kRequests) +
                                               "?source_branch=kollect%2Fx%2Ft&state=opened",
                                           "POST " + std::string(kRequests)));
}

TEST_F(GitLab, WhatIsProposedAlreadyIsNotPushedAgain) {
  for (const char* mode : {"document", "perResource", "split"}) {
    SCOPED_TRACE(mode);
    spec_.layout.emplace().mode = mode;
    settings().branch_prefix = mode;
    for (const char* format : {"yaml", "json"}) {
      spec_.serialization.emplace().format = format;
      must_run(one_);
      const auto pushes = server_.pushes();
      const auto tip = server_.tip(fmt::format("{}/x/t", mode));
      // The time of an export alone is no change, with and without a mirror.
      for (const bool keep_mirror : {true, false}) {
        if (!keep_mirror) std::filesystem::remove_all(options_.mirror_dir);
        auto later = plain_export(one_);
        later.exported_at += std::chrono::hours(1);
        const auto report = sink()->export_all(base::Context::background(), {later}, false);
        ASSERT_TRUE(report.has_value()) << report.error().message;
        EXPECT_EQ(report->written, 0U);
        EXPECT_EQ(server_.pushes(), pushes);
        EXPECT_EQ(server_.tip(fmt::format("{}/x/t", mode)), tip);
      }
    }
  }
  EXPECT_THAT(server_.requests(), SizeIs(3));
}

TEST_F(GitLab, RebuiltOnTheTargetsTip) {
  must_run(one_);
  server_.commit("main", "by-hand.txt", "1\n");
  must_run(two_);
  expect_rebuilt_on(kBranch, "main");
  EXPECT_THAT(listing(kBranch), ElementsAre("README.md", "by-hand.txt", "inventory/x/t.yaml"));
  // A tip that moved alone, too.
  server_.commit("main", "by-hand.txt", "2\n");
  must_run(two_);
  expect_rebuilt_on(kBranch, "main");
  // And over what others put on the branch.
  server_.commit(kBranch, "stray.txt", "x");
  must_run(two_);
  expect_rebuilt_on(kBranch, "main");
  EXPECT_THAT(listing(kBranch), Not(::testing::Contains("stray.txt")));
  only_request();
}

TEST_F(GitLab, MergedMeansNothingToDo) {
  must_run(one_);
  server_.merge(1);
  const auto pushes = server_.pushes();
  server_.forget_calls();
  must_run(one_);
  EXPECT_EQ(server_.pushes(), pushes);
  only_request();
  // The branch stands still; none is open. Without the branch nothing has to be asked.
  EXPECT_THAT(server_.calls(), SizeIs(1));
  server_.git({"update-ref", "-d", "refs/heads/kollect/x/t"});
  server_.forget_calls();
  must_run(one_);
  EXPECT_THAT(server_.calls(), IsEmpty());
  // The next change opens another one.
  must_run(two_);
  EXPECT_THAT(server_.requests(), SizeIs(2));
  EXPECT_EQ(server_.requests().back().state, "opened");
  expect_rebuilt_on(kBranch, "main");
}

TEST_F(GitLab, EmptyRequestIsClosed) {
  must_run(one_);
  server_.merge(1);
  must_run(two_);
  const auto proposed = server_.tip(kBranch);
  // Back to what the target has: what was proposed is to be merged no more.
  must_run(one_);
  EXPECT_EQ(server_.tip(kBranch), proposed);
  EXPECT_EQ(server_.requests().back().state, "closed");
  must_run(two_);
  EXPECT_THAT(server_.requests(), SizeIs(3));
  EXPECT_EQ(server_.requests().back().state, "opened");
}

TEST_F(GitLab, ClosedByHandIsOpenedAgain) {
  must_run(one_);
  server_.change(1, [](auto& request) { request.state = "closed"; });
  must_run(one_);
  EXPECT_THAT(server_.requests(), SizeIs(2));
  EXPECT_EQ(server_.requests().back().state, "opened");
}

TEST_F(GitLab, TitleIsCorrected) {
  settings().title_template = "Inventory {namespace}/{name}";
  must_run(one_);
  EXPECT_EQ(only_request().title, "Inventory x/t");
  settings().title_template = "{name} of {namespace} {cluster}";
  must_run(one_);
  EXPECT_EQ(only_request().title, "t of x {cluster}");
  // A reviewer's mark stays.
  server_.change(1, [](auto& request) { request.title = "Draft: " + request.title; });
  must_run(one_);
  EXPECT_EQ(only_request().title, "Draft: t of x {cluster}");
}

TEST_F(GitLab, OtherTargetsAndForksAreOthers) {
  // More than a page of them.
  for (int i = 0; i < 25; ++i) {
    server_.add({.source = kBranch, .target = fmt::format("other-{}", i), .title = "o"});
  }
  server_.add({.source = kBranch, .target = "main", .title = "fork's", .source_project = 8});
  server_.git({"update-ref", "refs/heads/kollect/x/t", server_.tip("main")});
  must_run(one_);
  ASSERT_THAT(server_.requests(), SizeIs(27));
  EXPECT_EQ(server_.requests().back().target, "main");
  server_.forget_calls();
  must_run(one_);
  EXPECT_THAT(server_.requests(), SizeIs(27));
  EXPECT_THAT(server_.calls(), ElementsAre(Not(HasSubstr("page=")), HasSubstr("&page=2")));
  EXPECT_EQ(server_.requests()[25].title, "fork's");
}

TEST_F(GitLab, ExistsAlreadyIsDone) {
  must_run(one_);
  // About to merge: not listed, and no second one may be opened.
  server_.change(1, [](auto& request) { request.state = "locked"; });
  must_run(two_);
  only_request();
}

TEST_F(GitLab, AutoMergeWithPipelines) {
  settings().auto_merge = true;
  server_.use_pipelines();
  server_.check_for(1);
  const auto report = must_run(one_);  // 405 while it checks: no failure
  EXPECT_THAT(report.warnings, IsEmpty());
  EXPECT_FALSE(only_request().auto_merge);
  must_run(one_);
  EXPECT_TRUE(only_request().auto_merge);
  server_.forget_calls();
  must_run(one_);
  EXPECT_THAT(server_.calls(), SizeIs(1));  // set already
  must_run(two_);                           // a push takes it away
  EXPECT_TRUE(only_request().auto_merge);
  server_.pass_pipelines();
  EXPECT_EQ(only_request().state, "merged");
  EXPECT_THAT(show("main", "inventory/x/t.yaml"), HasSubstr("name: b"));
}

TEST_F(GitLab, AutoMergeMergesAtOnceWhereNothingIsInTheWay) {
  settings().auto_merge = true;
  must_run(one_);
  EXPECT_EQ(only_request().state, "merged");
  EXPECT_THAT(show("main", "inventory/x/t.yaml"), HasSubstr("name: a"));
}

TEST_F(GitLab, AutoMergeNeverFailsTheExport) {
  settings().auto_merge = true;
  for (const int status : {401, 403, 404, 500}) {
    server_.answer_next("PUT", status, "{\"message\":\"no\"}");
    const auto report = must_run(one_);
    ASSERT_THAT(report.warnings, SizeIs(1)) << status;
    EXPECT_THAT(report.warnings.front(),
                AllOf(StartsWith("auto-merge: "), HasSubstr(fmt::to_string(status))));
  }
  for (const int status : {405, 406, 409, 422}) {
    server_.answer_next("PUT", status, "{\"message\":\"not yet\"}");
    EXPECT_THAT(must_run(one_).warnings, IsEmpty()) << status;
  }
  EXPECT_EQ(only_request().state, "opened");
}

TEST_F(GitLab, SeveralInventories) {
  const auto writer = sink();
  const auto report = writer->export_all(base::Context::background(),
                                         {plain_export(one_, "t"), plain_export(two_, "u")}, false);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->written, 2U);
  EXPECT_THAT(listing("kollect/x/t"), ElementsAre("README.md", "inventory/x/t.yaml"));
  EXPECT_THAT(listing("kollect/x/u"), ElementsAre("README.md", "inventory/x/u.yaml"));
  ASSERT_THAT(server_.requests(), SizeIs(2));
  server_.merge(1);
  server_.merge(2);
  EXPECT_THAT(listing("main"),
              ElementsAre("README.md", "inventory/x/t.yaml", "inventory/x/u.yaml"));
}

TEST_F(GitLab, SeveralClustersHaveBranchesOfTheirOwn) {
  options_.default_document_template = "inventory/{cluster}/{namespace}/{name}{extension}";
  const auto writer = sink();
  for (const char* cluster : {"eu", "us"}) {
    auto exp = plain_export(one_);
    exp.cluster = cluster;
    ASSERT_TRUE(writer->export_all(base::Context::background(), {exp}, false).has_value());
  }
  EXPECT_NE(server_.tip("kollect/eu/x/t"), "");
  EXPECT_NE(server_.tip("kollect/us/x/t"), "");
  EXPECT_THAT(server_.requests(), SizeIs(2));
}

TEST_F(GitLab, DryRunTouchesNothing) {
  const auto report = must_run(one_, true);
  ASSERT_THAT(report.changes, SizeIs(1));
  EXPECT_EQ(report.changes.front().path, "inventory/x/t.yaml");
  EXPECT_EQ(server_.pushes(), 0);
  EXPECT_THAT(server_.calls(), IsEmpty());
}

TEST_F(GitLab, ErrorsSayWhatToDo) {
  secret_["token"] = base::Secret("glpat-wrong-987654");
  auto error = must_fail(one_);
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("gitlab-token"), HasSubstr("401"), Not(HasSubstr("glpat"))));
  server_.grant("glpat-guest-987654", GitLabServer::Role::kGuest);
  secret_["token"] = base::Secret("glpat-guest-987654");
  error = must_fail(one_);
  EXPECT_EQ(error.kind, base::ErrorKind::kNotFound);
  server_.grant("glpat-reporter-987654", GitLabServer::Role::kReporter);
  secret_["token"] = base::Secret("glpat-reporter-987654");
  error = must_fail(one_);
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_THAT(error.message, AllOf(HasSubstr("403"), Not(HasSubstr("glpat"))));
  secret_["token"] = base::Secret(GitLabServer::kToken);
  settings().target_branch = "release";
  error = must_fail(one_);
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("no branch release to merge into"));
}

TEST_F(GitLab, ApiErrorsAfterThePushAreMadeGood) {
  for (const int status : {401, 403, 404, 500}) {
    SCOPED_TRACE(status);
    const auto body = fmt::format("{{\"message\":\"about {}\"}}", GitLabServer::kToken);
    server_.answer_next("POST", status, body);
    const auto error = must_fail(one_);
    EXPECT_THAT(error.message, AllOf(HasSubstr(fmt::format("(HTTP {})", status)),
                                     HasSubstr("about ***"), Not(HasSubstr("glpat"))));
  }
  EXPECT_THAT(server_.requests(), IsEmpty());
  EXPECT_EQ(server_.pushes(), 1);
  must_run(one_);
  only_request();
  EXPECT_EQ(server_.pushes(), 1);
}

TEST_F(GitLab, BranchThatMovesMeanwhileIsBuiltAgain) {
  must_run(one_);
  server_.commit("other", "stray.txt", "x");
  // Between our look and our push somebody else moves the branch, once.
  const auto hook = server_.repository() / "hooks" / "pre-receive";
  const auto script =
      base::write_file_atomic(hook,
                              "#!/bin/sh\n[ -e moved ] && exit 0\n: >moved\n"
                              "exec env -u GIT_QUARANTINE_PATH -u GIT_OBJECT_DIRECTORY "
                              "git update-ref refs/heads/kollect/x/t refs/heads/other\n");
  ASSERT_TRUE(script.has_value());
  std::filesystem::permissions(hook, std::filesystem::perms(0755));
  must_run(two_);
  EXPECT_TRUE(std::filesystem::exists(server_.repository() / "moved"));
  EXPECT_EQ(server_.pushes(), 3);
  expect_rebuilt_on(kBranch, "main");
  EXPECT_THAT(listing(kBranch), ElementsAre("README.md", "inventory/x/t.yaml"));
  EXPECT_THAT(show(kBranch, "inventory/x/t.yaml"), HasSubstr("name: b"));
}

TEST_F(GitLab, BranchThatTakesNoForcedPushes) {
  server_.git({"config", "receive.denyNonFastForwards", "true"});
  must_run(one_);
  const auto error = must_fail(two_);
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("takes no forced pushes to kollect/x/t"));
}

TEST_F(GitLab, Probe) {
  const auto probe = [&] { return sink()->probe(base::Context::background()); };
  EXPECT_TRUE(probe().has_value());
  EXPECT_THAT(server_.calls(), ElementsAre("GET /api/v4/projects/grp%2Fsub%2Finv"));
  EXPECT_EQ(server_.tip(kBranch), "");
  server_.answer_next("GET", 401, "{\"message\":\"401 Unauthorized\"}");
  auto failed = probe();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, base::ErrorKind::kDenied);
  // 404 of a host that is GitLab: the token, not another forge (K-37).
  server_.answer_next("GET /api/v4/projects", 404, "{\"message\":\"404 Project Not Found\"}");
  failed = probe();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, base::ErrorKind::kNotFound);
  EXPECT_EQ(server_.calls().back(), "GET /api/v4/version");
  settings().target_branch = "release";
  EXPECT_FALSE(probe().has_value());
}

TEST_F(GitLab, GuardHoldsForBoth) {
  options_.guard_addresses = true;
  EXPECT_EQ(must_fail(one_).reason, "address-refused");
  EXPECT_THAT(server_.calls(), IsEmpty());
}

class GitLabTls : public GitLabFixture {
 protected:
  GitLabTls() : GitLabTls(TestAuthority()) {}
  explicit GitLabTls(const TestAuthority& authority)
      : GitLabFixture({.certificate = authority.issue("gitlab", {"IP:127.0.0.1"})}),
        authority_pem_(authority.pem()) {}
  const std::string authority_pem_;
};

TEST_F(GitLabTls, OwnAuthorityHoldsForBoth) {
  const auto error = must_fail(one_);
  EXPECT_THAT(base::to_lower(error.message), HasSubstr("certificate"));
  ca_pem_ = authority_pem_;
  must_run(one_);
  only_request();
  EXPECT_TRUE(sink()->probe(base::Context::background()).has_value());
  ca_pem_.reset();
  spec_.tls.emplace().insecure_skip_verify = true;
  must_run(two_);
}

class Gitea : public GitLabFixture {
 protected:
  Gitea() : GitLabFixture({.forge = GitLabServer::Forge::kGitea, .project = "grp/inv"}) {}
};

TEST_F(Gitea, PullRequests) {
  server_.add({.source = kBranch, .target = "other", .title = "o"});
  for (int i = 0; i < 25; ++i) {
    server_.add({.source = fmt::format("b{}", i), .target = "main", .title = "o"});
    server_.git({"update-ref", fmt::format("refs/heads/b{}", i), server_.tip("main")});
  }
  const auto writer = sink();
  const auto run_once = [&](const inventory::RowSet& rows) {
    const auto report =
        writer->export_all(base::Context::background(), {plain_export(rows)}, false);
    EXPECT_TRUE(report.has_value()) << (report.has_value() ? "" : report.error().message);
  };
  run_once(one_);
  EXPECT_THAT(server_.calls(),
              ElementsAre(StartsWith("GET /api/v4/projects/grp%2Finv/merge_requests?"),
                          "GET /api/v4/version",
                          "GET /api/v1/repos/grp/inv/pulls?head=kollect%2Fx%2Ft&state=open",
                          HasSubstr("&page=2"), "POST /api/v1/repos/grp/inv/pulls"));
  ASSERT_THAT(server_.requests(), SizeIs(27));
  const auto mine = [&] { return server_.requests().back(); };
  EXPECT_EQ(mine().title, "kollect inventory export: x/t");
  server_.change(27, [](auto& request) { request.title = "hm"; });
  server_.forget_calls();
  run_once(one_);
  EXPECT_THAT(server_.calls(), Each(Not(HasSubstr("/api/v4/"))));  // it is known by now
  EXPECT_EQ(mine().title, "kollect inventory export: x/t");
  server_.merge(27);
  run_once(two_);
  run_once(one_);
  EXPECT_EQ(mine().iid, 28);
  EXPECT_EQ(mine().state, "closed");
}

TEST_F(Gitea, UserNameAndAutoMerge) {
  secret_["username"] = base::Secret("bot");
  settings().auto_merge = true;
  server_.use_pipelines();
  must_run(one_);
  EXPECT_TRUE(only_request().auto_merge);
  EXPECT_TRUE(sink()->probe(base::Context::background()).has_value());
  secret_["token"] = base::Secret("wrong-token-12345");
  EXPECT_EQ(must_fail(two_).kind, base::ErrorKind::kDenied);
}

}  // namespace
}  // namespace kollect::sinks::gitlab
