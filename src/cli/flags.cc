#include "cli/flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace kollect::cli {

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
    std::string message = error.what();
    std::ranges::replace(message, '\n', ' ');
    fmt::print(invocation.err, "{0} {1}: {2}; see {0} {1} --help\n", invocation.program,
               app.get_name(), message);
    return kExitFailed;
  }
}

CLI::Option* add_flag_list(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                           const std::string& help) {
  return app.add_option(name, values, help)->allow_extra_args(false);
}

base::Result<base::Duration> duration_flag(std::string_view flag, std::string_view text) {
  auto parsed = base::parse_duration(text);
  if (!parsed) return parsed.error().with_prefix(flag);
  return parsed;
}

}  // namespace kollect::cli
