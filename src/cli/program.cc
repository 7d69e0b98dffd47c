#include "cli/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>

#include "base/heap.h"
#include "base/strings.h"
#include "cli/error_stream.h"
#include "cli/signals.h"

#ifndef KOLLECT_VERSION
#define KOLLECT_VERSION "dev"
#endif
#ifndef KOLLECT_COMMIT
#define KOLLECT_COMMIT "unknown"
#endif
#ifndef KOLLECT_BUILD_DATE
#define KOLLECT_BUILD_DATE "unknown"
#endif

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace kollect::cli {
namespace {

std::string help_text(const Invocation& invocation) {
  std::string out = fmt::format(
      "{0}: Kubernetes inventory, to files, Git, SQLite and sinks.\n\nUsage: {0} COMMAND "
      "[flags]\n\nCommands:\n",
      invocation.program);
  for (const Command& command : *invocation.commands) {
    if (command.summary.empty()) continue;
    out += fmt::format("  {:<12} {}\n", command.name, command.summary);
  }
  return out +
         fmt::format("\n{0} COMMAND --help tells the flags. {0} --version tells the version.\n",
                     invocation.program);
}

const Command* find_command(const Invocation& invocation, std::string_view name) {
  const auto it = std::ranges::find(*invocation.commands, name, &Command::name);
  return it == invocation.commands->end() ? nullptr : &*it;
}

int unknown(const Invocation& invocation, const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : *invocation.commands) {
    if (!command.summary.empty()) names.emplace_back(command.name);
  }
  const auto near = base::near_names(word, names);
  fmt::print(invocation.err, "{0}: there is no {1} \"{2}\"{3}; see {0} --help\n",
             invocation.program, word.starts_with('-') ? "flag" : "command", word,
             near.empty() ? "" : "; did you mean " + base::join(near, ", ") + "?");
  return kExitFailed;
}

int help(const Invocation& invocation, const std::vector<std::string>& args) {
  if (args.empty()) {
    fmt::print(invocation.out, "{}", help_text(invocation));
    return kExitOk;
  }
  const Command* command = find_command(invocation, args.front());
  if (command == nullptr) return unknown(invocation, args.front());
  return command->run(invocation, {"--help"});
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> env;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

}  // namespace

const char* version() {
  return KOLLECT_VERSION;
}

const char* commit() {
  return KOLLECT_COMMIT;
}

int run_program(const Invocation& invocation) {
  if (invocation.args.empty()) return help(invocation, {});
  const std::string& word = invocation.args.front();
  const std::vector<std::string> rest(invocation.args.begin() + 1, invocation.args.end());
  if (word == "help") return help(invocation, rest);
  if (word == "-h" || word == "--help") return help(invocation, {});
  if (word == "-v" || word == "--version") {
    fmt::print(invocation.out, "{} {} (commit {}, built {})\n", invocation.program, KOLLECT_VERSION,
               KOLLECT_COMMIT, KOLLECT_BUILD_DATE);
    return kExitOk;
  }
  const Command* command = find_command(invocation, word);
  if (command == nullptr) return unknown(invocation, word);
  return command->run(invocation, rest);
}

int main(int argc, char** argv, const std::vector<Command>& commands, const base::Clock& clock) {
  try {
    base::keep_heap_small();
    fill_standard_descriptors();
    const SignalWatch signals;
    const ErrorStream errors(STDERR_FILENO);
    Invocation invocation;
    if (errors.file() != nullptr) invocation.err = errors.file();
    invocation.program = argc > 0 ? std::string(base_name(argv[0])) : "kollect";
    invocation.args.assign(argv + std::min(argc, 1), argv + argc);
    invocation.env = environment();
    invocation.in_is_terminal = isatty(STDIN_FILENO) == 1;
    invocation.err_is_terminal = isatty(STDERR_FILENO) == 1;
    invocation.clock = &clock;
    invocation.commands = &commands;
    invocation.stop = signals.stop_token();
    invocation.signal = &signals.number();
    const int code = run_program(invocation);
    if (std::fflush(stdout) != 0 && code == kExitOk) return kExitFailed;
    return code;
  } catch (const std::exception& error) {
    // Not fmt::print, which throws when nobody reads it.
    (void)std::fputs(fmt::format("kollect: {}\n", error.what()).c_str(), stderr);
    return kExitFailed;
  }
}

}  // namespace kollect::cli
