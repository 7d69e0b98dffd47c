// For tests: a command of the room run in this process.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/memory_stream.h"
#include "install/commands.h"

namespace kollect::install::testing {

struct RunResult {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs commands with a temporary folder as their home.
class Program {
 public:
  Program() : folder_(*base::TempDir::create()) { env["HOME"] = folder_.path().string(); }

  /// The path of a file with this text.
  std::string file(const std::string& name, std::string_view text) const {
    (void)base::write_file_atomic(folder_.path() / name, text);
    return (folder_.path() / name).string();
  }
  [[nodiscard]] RunResult run(const std::string& command, const std::vector<std::string>& args,
                              std::string input = {}) const {
    base::MemoryStream out;
    base::MemoryStream err;
    std::FILE* in =
        input.empty() ? std::fopen("/dev/null", "r") : fmemopen(input.data(), input.size(), "r");
    cli::Invocation invocation;
    invocation.env = env;
    invocation.in = in;
    invocation.out = out.file();
    invocation.err = err.file();
    invocation.clock = &clock_;
    int code = -1;
    for (const cli::Command& one : commands()) {
      if (one.name == command) code = one.run(invocation, args);
    }
    std::fclose(in);
    return {.code = code, .out = out.text(), .err = err.text()};
  }

  std::map<std::string, std::string> env;

 private:
  base::TempDir folder_;
  base::SystemClock clock_;
};

}  // namespace kollect::install::testing
