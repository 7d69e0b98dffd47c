// What the outside world gives to a command; tests give their own.
#pragma once

#include <atomic>
#include <cstdio>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/result.h"

namespace kollect::cli {

struct Command;

/// Arguments, environment, streams and the stop signal of one run of the program. Nothing is owned.
struct Invocation {
  std::string program = "kollect";
  std::vector<std::string> args;  ///< without the program's name
  std::map<std::string, std::string> env;
  std::FILE* in = stdin;
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  bool in_is_terminal = false;
  bool err_is_terminal = false;
  const base::Clock* clock = nullptr;
  std::stop_token stop;
  /// Number of the signal that asked to stop (SIGINT, SIGTERM), 0 before.
  const std::atomic<int>* signal = nullptr;
  /// All commands of the program: for help and completion.
  const std::vector<Command>* commands = nullptr;

  /// All of `in`, to its end. Error: cancelled when the stop is asked first.
  [[nodiscard]] base::Result<std::string> read_in() const;
  [[nodiscard]] base::Context context() const { return base::Context(*clock, stop); }
  /// 130, 143 when a signal came, else `code`.
  [[nodiscard]] int exit_code(int code) const {
    const int number = signal != nullptr ? signal->load() : 0;
    return number != 0 ? 128 + number : code;
  }
};

/// A command of the program. Those without a summary are not shown.
struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Invocation& invocation, const std::vector<std::string>& args);
};

/// Exit codes of spec pipeline 11.
inline constexpr int kExitOk = 0;
inline constexpr int kExitPartial = 1;
inline constexpr int kExitFailed = 2;

}  // namespace kollect::cli
