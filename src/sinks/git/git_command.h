// The git program, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/process.h"

namespace kollect::sinks::git {

/// What git printed, with no settings but these; fails the test when git does.
inline base::CommandResult run_git(std::vector<std::string> args, std::string in = {}) {
  base::Command command;
  command.program = "git";
  command.args = std::move(args);
  command.stdin_text = std::move(in);
  command.env = {{"HOME", "/nonexistent"},       {"GIT_CONFIG_NOSYSTEM", "1"},
                 {"PATH", "/usr/bin:/bin"},      {"GIT_AUTHOR_NAME", "h"},
                 {"GIT_AUTHOR_EMAIL", "h@h"},    {"GIT_COMMITTER_NAME", "h"},
                 {"GIT_COMMITTER_EMAIL", "h@h"}, {"LC_ALL", "C"}};
  auto result = base::run(base::Context::background(), command);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  if (!result.has_value()) return {};
  EXPECT_EQ(result->exit_code, 0) << result->err;
  return std::move(*result);
}

}  // namespace kollect::sinks::git
