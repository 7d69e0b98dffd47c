// Running another program (git, credential plugins).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/result.h"

namespace kollect::base {

/// What to run. The program is looked up in `search_path` only (or taken as it is when it holds a
/// slash); the environment is exactly `env`, nothing is inherited; no shell is involved.
struct Command {
  std::string program;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::string working_dir;  ///< empty: the current one
  std::string stdin_text;
  std::vector<std::string> search_path = {"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin",
                                          "/sbin"};
  std::size_t max_output = 64U << 20U;  ///< bytes kept of stdout; more is an error
  bool inherit_stdin = false;
  /// A program to be stopped gets SIGTERM alone, and its helpers end as their input does. For
  /// helpers that own something which outlives them, as the receiving side of a local repository
  /// does.
  bool helpers_end_alone = false;
};

struct CommandResult {
  int exit_code = 0;  ///< 128 + signal number when it died of a signal
  std::string out;
  std::string err;  ///< at most 64 KiB are kept
};

/// Runs to the end or to the context's deadline; then the whole process group gets SIGTERM (with
/// helpers_end_alone ten seconds after the program itself) and, when one of it still holds our
/// pipes two seconds later, SIGKILL. When this process is killed meanwhile, the program gets
/// SIGTERM. Errors: not_found (no such program), cancelled, terminal. A non-zero exit code is not
/// an error here.
Result<CommandResult> run(const Context& context, const Command& command);

}  // namespace kollect::base
