// A project at the stand-in of GitLab and a gitlab sink on it, for tests.
#pragma once

#include <gmock/gmock.h>

#include "base/files.h"
#include "base/strings.h"
#include "sinks/factory.h"
#include "sinks/testing.h"
#include "support/gitlab_server.h"

namespace kollect::sinks::gitlab {

using kollect::testing::GitLabServer;

inline constexpr const char* kBranch = "kollect/x/t";  ///< of the inventory of plain_export()

class GitLabFixture : public ::testing::Test {
 protected:
  explicit GitLabFixture(GitLabServer::Options options = {}) : server_(std::move(options)) {
    auto made = base::TempDir::create();
    EXPECT_TRUE(made.has_value());
    temp_.emplace(std::move(*made));
    spec_.type = "gitlab";
    spec_.endpoint = server_.endpoint();
    spec_.cluster = "c";
    spec_.secret_ref.emplace().name = "gitlab-token";
    settings().mode = "merge_request";
    settings().target_branch = "main";
    secret_["token"] = base::Secret(std::string(GitLabServer::kToken) + "\n");
    options_.guard_addresses = false;
    options_.mirror_dir = temp_->path() / "mirrors";
  }

  api::MergeRequest& settings() {
    if (!spec_.gitlab) spec_.gitlab.emplace();
    if (!spec_.gitlab->merge_request) spec_.gitlab->merge_request.emplace();
    return *spec_.gitlab->merge_request;
  }
  void use_tree() {
    auto& layout = spec_.layout.emplace();
    layout.mode = "perResource";
    layout.content = "attributes";
  }

  std::unique_ptr<Sink> sink() const {
    api::SnapshotSink whole;
    whole.metadata.name = "review";
    whole.spec = spec_;
    auto made = make_snapshot_sink(whole, secret_, ca_pem_, options_);
    EXPECT_TRUE(made.has_value()) << (made.has_value() ? "" : made.error().message);
    return made.has_value() ? std::move(*made) : nullptr;
  }
  base::Result<ExportReport> run(const inventory::RowSet& rows, bool dry_run = false) const {
    return sink()->export_all(base::Context::background(), {sinks::testing::plain_export(rows)},
                              dry_run);
  }
  ExportReport must_run(const inventory::RowSet& rows, bool dry_run = false) const {
    const auto report = run(rows, dry_run);
    EXPECT_TRUE(report.has_value()) << (report.has_value() ? "" : report.error().message);
    return report.has_value() ? *report : ExportReport{};
  }
  base::Error must_fail(const inventory::RowSet& rows) const {
    const auto report = run(rows);
    EXPECT_FALSE(report.has_value());
    return report.has_value() ? base::Error{} : report.error();
  }

  std::string show(const std::string& branch, const std::string& path) const {
    return server_.git({"show", branch + ":" + path});
  }
  std::vector<std::string> listing(const std::string& branch) const {
    std::vector<std::string> out;
    const auto text = server_.git({"ls-tree", "-r", "--name-only", branch});
    for (const auto line : base::split(text, '\n')) out.emplace_back(line);
    return out;
  }
  /// The one request; fails the test when there are others.
  GitLabServer::MergeRequest only_request() const {
    const auto all = server_.requests();
    EXPECT_THAT(all, ::testing::SizeIs(1));
    return all.empty() ? GitLabServer::MergeRequest{} : all.front();
  }
  void expect_rebuilt_on(const std::string& branch, const std::string& target) const {
    EXPECT_EQ(server_.git({"rev-parse", branch + "^@"}), server_.tip(target));
  }

  GitLabServer server_;
  std::optional<base::TempDir> temp_;
  api::SnapshotSinkSpec spec_;
  SecretData secret_;
  std::optional<std::string> ca_pem_;
  SinkOptions options_;
  const inventory::RowSet one_ = sinks::testing::pods({{"n", "a"}});
  const inventory::RowSet two_ = sinks::testing::pods({{"n", "a"}, {"n", "b"}});
};

}  // namespace kollect::sinks::gitlab
