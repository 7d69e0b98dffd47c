#include "cli/flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace kollect::cli {

namespace {

/// A word where a command was wanted, with the commands that it may have meant; empty: none.
std::string unknown_command(const CLI::App& app, const std::vector<std::string>& rest) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (names.empty() || rest.empty() || rest.front().starts_with('-')) return {};
  const auto near = base::near_names(rest.front(), names);
  return fmt::format("there is no command \"{}\"{}", rest.front(),
                     near.empty() ? "" : "; did you mean " + base::join(near, ", ") + "?");
}

/// A flag that is none, with the flags that it may have meant; empty: all are known.
std::string unknown_flag(const CLI::App& app, const std::vector<std::string>& rest) {
  const auto wrong =
      std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with("--"); });
  if (wrong == rest.end() || *wrong == "--") return {};
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  const std::string word = wrong->substr(0, wrong->find('='));
  const auto near = base::near_names(word, names);
  return fmt::format("there is no flag {}{}", word,
                     near.empty() ? "" : "; did you mean " + base::join(near, ", ") + "?");
}

/// What is wrong, by the innermost command that the arguments reached.
std::string flag_error(const CLI::App& app, const std::string& program, std::string message) {
  const CLI::App* at = &app;
  std::string name = program + " " + app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  std::ranges::replace(message, '\n', ' ');
  const std::vector<std::string> rest = app.remaining(true);
  std::string unknown = unknown_command(*at, rest);
  if (unknown.empty()) unknown = unknown_flag(*at, rest);
  return fmt::format("{0}: {1}; see {0} --help\n", name, unknown.empty() ? message : unknown);
}

}  // namespace

std::optional<int> parse_flags(CLI::App& app, const Invocation& invocation,
                               const std::vector<std::string>& args) {
  app.set_help_flag("-h,--help", "This text");
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(reversed);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    fmt::print(invocation.out, "{}", app.help(invocation.program));
    return kExitOk;
  } catch (const CLI::Error& error) {
    fmt::print(invocation.err, "{}", flag_error(app, invocation.program, error.what()));
    return kExitFailed;
  }
}

CLI::Option* add_flag_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                           const std::string& help) {
  return app.add_option(name, values, help)->allow_extra_args(false);
}

CLI::Validator not_empty() {
  return CLI::Validator([](const std::string& text) { return text.empty() ? "is empty" : ""; }, "");
}

base::Result<base::Duration> duration_flag(std::string_view flag, std::string_view text) {
  auto parsed = base::parse_duration(text);
  if (!parsed) return parsed.error().with_prefix(flag);
  return parsed;
}

}  // namespace kollect::cli
