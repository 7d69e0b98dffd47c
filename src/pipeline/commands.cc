#include "pipeline/commands.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/flags.h"
#include "cli/program.h"
#include "pipeline/collect_command.h"
#include "pipeline/init_command.h"

namespace kollect::pipeline {
namespace {

base::Result<> write_kind_pages(const std::filesystem::path& folder) {
  KL_TRY(base::write_file_atomic(folder / "README.md", api::kinds_page()));
  for (const api::KindInfo& kind : api::kinds()) {
    KL_TRY(base::write_file_atomic(folder / (kind.singular + ".md"), api::kind_page(kind.kind)));
  }
  return {};
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = {
      {"collect", "Collect an inventory once", run_collect},
      {"init", "Write a first configuration, by questions or from flags", run_init_command},
      {"validate", "Check a configuration without a cluster", run_validate_command},
      {"extract", "Try a profile on objects", run_extract_command},
      {"probe", "Try the connections of sinks", run_probe_command},
      {"query", "SQL over an inventory in SQLite", run_query_command},
      {"diff", "What changed between two inventories", run_diff_command},
      {"cel", "Evaluate a CEL expression", run_cel_command},
      {"crds", "Print the CustomResourceDefinitions", run_crds},
      {"completion", "Print a completion script for bash, zsh, fish or powershell", run_completion},
      {"__complete", "", run_complete_words},
  };
  return kCommands;
}

int run_program(const Invocation& invocation) {
  Invocation whole = invocation;
  whole.commands = &commands();
  return cli::run_program(whole);
}

int run_crds(const Invocation& invocation, const std::vector<std::string>& args) {
  CLI::App app("Prints the CustomResourceDefinitions of kollect.dev as YAML.", "crds");
  std::string docs;
  cli::add_flag_value(app, "--docs", docs,
                      "Write a page of documentation per kind to this folder instead");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  if (!docs.empty()) {
    const auto written = write_kind_pages(docs);
    if (written) return kExitOk;
    fmt::print(invocation.err, "{} crds: {}\n", invocation.program, written.error().message);
    return invocation.exit_code(kExitFailed);
  }
  const std::string yaml = api::crds_yaml();
  const bool written = std::fwrite(yaml.data(), 1, yaml.size(), invocation.out) == yaml.size();
  return written && std::fflush(invocation.out) == 0 ? kExitOk : kExitFailed;
}

int run_init_command(const Invocation& invocation, const std::vector<std::string>& args) {
  InitOptions o;
  std::string names;
  std::string namespaces;
  CLI::App app("Writes a first profile and target, by questions or from flags.", "init");
  cli::add_flag_value(app, "--kubeconfig", o.kubeconfig, "Kubeconfig file");
  cli::add_flag_value(app, "--context", o.context, "Context (one name); default: current");
  cli::add_flag_value(app, "--output-dir", o.output_dir,
                      "Folder to write to (default ./collect-config)");
  cli::add_flag_value(app, "--target-namespace", o.target_namespace,
                      "Namespace of profile and target (default kollect-system)");
  cli::add_flag_list(app, "--sensitive", o.sensitive,
                     "GROUP/KIND whose objects are treated like Secrets");
  cli::add_flag_list(app, "--kind", o.kinds, "Kind, for example deployments.apps (repeatable)");
  app.add_flag("--all", o.all, "Every kind that the cluster has, noise left out");
  cli::add_flag_value(app, "--attributes", o.attributes, "preset (default), all, none");
  app.add_option("--namespaces", o.namespaces, "Namespaces, comma separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  cli::add_flag_value(app, "--namespace-selector", o.namespace_selector,
                      "Label selector of namespaces");
  cli::add_flag_value(app, "--selector", o.selector, "Label selector of objects");
  app.add_option("--names", o.names, "Object names, comma separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  cli::add_flag_value(app, "--name", o.name, "Name of profile and target");
  app.add_flag("--yes", o.yes, "Write without a review");
  app.add_flag("--force", o.force, "Overwrite existing files");
  app.add_flag("--sample", o.sample, "Read objects to propose attributes");
  app.add_flag("--sample-sensitive", o.sample_sensitive, "Read sensitive objects as well");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const base::Logger log(
      {.level = base::LogLevel::kInfo,
       .format = invocation.err_is_terminal ? base::LogFormat::kText : base::LogFormat::kJson,
       .out = invocation.err},
      *invocation.clock);
  const auto no_color = invocation.env.find("NO_COLOR");
  const InitTerminal terminal{
      .in = invocation.in,
      .out = invocation.err,
      .in_is_terminal = invocation.in_is_terminal,
      .colour = no_color == invocation.env.end() || no_color->second.empty()};
  return invocation.exit_code(run_init(invocation.context(), o, terminal, invocation.env, log));
}

}  // namespace kollect::pipeline
