// A bare repository on disk and a git sink on it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "base/strings.h"
#include "sinks/factory.h"
#include "sinks/git/git_command.h"
#include "sinks/testing.h"

namespace kollect::sinks::git {

class GitFixture : public ::testing::Test {
 protected:
  GitFixture() {
    auto made = base::TempDir::create();
    EXPECT_TRUE(made.has_value());
    temp_.emplace(std::move(*made));
    repository_ = temp_->path() / "repo.git";
    spec_.type = "git";
    spec_.endpoint = repository_.string();
    spec_.git.emplace();
    options_.allow_local = true;
    options_.guard_addresses = false;
    options_.mirror_dir = temp_->path() / "mirrors";
    git({"init", "--quiet", "--bare", "-b", "main", repository_.string()});
  }

  /// Standard output of a git command; fails the test when git does.
  static std::string git(std::vector<std::string> args) { return run_git(std::move(args)).out; }
  std::string in_repo(std::vector<std::string> args) const {
    args.insert(args.begin(), {"--git-dir", repository_.string()});
    return git(std::move(args));
  }
  std::vector<std::string> listing() const {
    std::vector<std::string> out;
    const auto text = in_repo({"ls-tree", "-r", "--name-only", "main"});
    for (const auto line : base::split(text, '\n')) {
      if (!line.empty()) out.emplace_back(line);
    }
    return out;
  }
  std::string show(const std::string& path) const { return in_repo({"show", "main:" + path}); }
  int commits() const { return std::stoi(in_repo({"rev-list", "--count", "main"})); }

  std::unique_ptr<Sink> sink() const {
    api::SnapshotSink whole;
    whole.metadata.name = "ledger-git";
    whole.spec = spec_;
    auto made = make_snapshot_sink(whole, secret_, ca_pem_, options_);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return made.has_value() ? std::move(*made) : nullptr;
  }
  base::Result<ExportReport> run(const std::vector<Export>& exports, bool dry_run = false) const {
    return sink()->export_all(base::Context::background(), exports, dry_run);
  }
  ExportReport must_run(const std::vector<Export>& exports, bool dry_run = false) const {
    auto report = run(exports, dry_run);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.has_value() ? *report : ExportReport{};
  }

  /// Somebody else's commit: writes one file on top of the branch.
  void human(const std::string& path, const std::string& text) const {
    const auto work = temp_->path() / "human";
    std::filesystem::remove_all(work);
    git({"clone", "--quiet", repository_.string(), work.string()});
    std::filesystem::create_directories((work / path).parent_path());
    std::ofstream(work / path) << text;
    git({"-C", work.string(), "add", "-A"});
    git({"-C", work.string(), "commit", "--quiet", "-m", "by hand"});
    git({"-C", work.string(), "push", "--quiet", "origin", "HEAD:main"});
  }
  void hook(const std::string& name, const std::string& script) const {
    const auto path = repository_ / "hooks" / name;
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }

  std::optional<base::TempDir> temp_;
  std::filesystem::path repository_;
  api::SnapshotSinkSpec spec_;
  SecretData secret_;
  std::optional<std::string> ca_pem_;
  SinkOptions options_;
};

}  // namespace kollect::sinks::git
