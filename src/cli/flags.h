// Flags of the commands: one parser, one way to fail (spec: pipeline 1).
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "cli/invocation.h"

namespace kollect::cli {

/// Parses the arguments behind the command's name. The command goes on when nothing is returned,
/// else it ends with the returned code: 0 after --help (text on stdout), 2 after a flag error (one
/// line and a pointer to the help).
std::optional<int> parse_flags(CLI::App& app, const Invocation& invocation,
                               const std::vector<std::string>& args);

/// A single-valued flag: given twice, the last counts.
template <class T>
CLI::Option* add_flag_value(CLI::App& app, const std::string& name, T& value,
                            const std::string& help) {
  return app.add_option(name, value, help)->take_last();
}
/// A flag that may be repeated; each takes one value.
CLI::Option* add_flag_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                           const std::string& help);

/// For flags whose empty value is a mistake, mostly that of a variable that is not set.
CLI::Validator not_empty();

/// The duration that a flag got. Error (configuration): names the flag and says how to write one.
base::Result<base::Duration> duration_flag(std::string_view flag, std::string_view text);

}  // namespace kollect::cli
