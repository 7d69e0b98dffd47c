#include "pipeline/collect_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/admission.h"
#include "base/strings.h"
#include "cli/flags.h"
#include "sinks/layout/words.h"

namespace kollect::pipeline {
namespace {

void add_input_flags(CLI::App& app, CollectOptions& o) {
  cli::add_flag_list(app, "--config", o.config,
                     "Configuration folder or file (required, repeatable)")
      ->check(cli::not_empty());
  cli::add_flag_value(app, "--kubeconfig", o.kubeconfig,
                      "Kubeconfig file; default $KUBECONFIG, then ~/.kube/config, then in-cluster");
  cli::add_flag_list(app, "--context", o.contexts,
                     "Context name or pattern, comma lists and repeats allowed; default: current");
  cli::add_flag_value(app, "--namespace", o.ns,
                      "Collect this namespace only, whatever the targets say; rows of others go");
  cli::add_flag_list(app, "--manifests", o.manifests,
                     "Objects from files, folders or - (stdin) instead of a cluster (repeatable)")
      ->check(cli::not_empty());
  cli::add_flag_list(app, "--cluster", o.clusters,
                     "Cluster name, or CONTEXT=NAME with several contexts (repeatable)");
}

void add_output_flags(CLI::App& app, CollectOptions& o) {
  cli::add_flag_value(app, "--output", o.output, "Folder for documents, or - for records on stdout")
      ->check(cli::not_empty());
  cli::add_flag_value(
      app, "--format", o.format,
      "With -: ndjson (default), yaml, json, rows; with a folder: yaml (default), json, "
      "ndjson");
  cli::add_flag_value(app, "--layout", o.layout,
                      "Layout in the folder: document (default), perResource, split");
  cli::add_flag_value(app, "--path-template", o.path_template,
                      "Path of documents (or of row files) in the folder");
  cli::add_flag_value(app, "--sqlite", o.sqlite, "SQLite file for current rows and their history")
      ->check(cli::not_empty());
  app.add_flag("--no-sinks", o.no_sinks, "Leave the sinks of the configuration aside");
  app.add_flag("--prune", o.prune,
               "Remove documents of targets that left the configuration from the folder");
  app.add_flag("--dry-run", o.dry_run, "Collect and compare, write nothing");
  app.add_flag("--allow-private-sinks", o.allow_private_sinks, "Let sinks be on private addresses");
  app.add_flag("--allow-loopback-sinks", o.allow_loopback_sinks,
               "Let sinks be on loopback and private addresses: for trying out on one machine");
}

void add_run_flags(CLI::App& app, CollectOptions& o) {
  cli::add_flag_value(app, "--parallel", o.parallel, "Contexts at a time (default 4)");
  cli::add_flag_value(app, "--timeout", o.timeout, "Limit for the whole run (default 10m)");
  cli::add_flag_value(app, "--summary", o.summary,
                      "text, json or none on stderr at the end; default: text on a terminal");
  cli::add_flag_value(app, "--summary-file", o.summary_file, "Also write the summary as JSON there")
      ->check(cli::not_empty());
  app.add_flag("--strict", o.strict, "Count every warning as a configuration error");
  cli::add_flag_value(app, "--log-level", o.log_level, "debug, info (default), warn, error");
  cli::add_flag_value(app, "--log-format", o.log_format,
                      "text or json; default: text on a terminal, else json");
}

base::Result<> check_format(CollectOptions& o) {
  if (!o.format.empty() && o.output.empty()) {
    return base::configuration("--format needs --output");
  }
  if (o.output == "-") {
    if (o.format.empty()) return {};
    KL_ASSIGN(o.record_format, parse_record_format(o.format));
    return {};
  }
  if (!o.format.empty()) {
    if (o.format != "yaml" && o.format != "json" && o.format != "ndjson") {
      return base::configuration(
          fmt::format("--format {} is none of yaml, json, ndjson", o.format));
    }
    KL_ASSIGN(o.layout_spec.format, sinks::parse_format(o.format));
  }
  return {};
}

base::Result<> check_layout(CollectOptions& o) {
  using sinks::LayoutMode;
  o.layout_spec.mode = o.layout.empty() ? LayoutMode::kDocument : sinks::layout_mode(o.layout);
  if (!o.layout_spec.mode) {
    return base::configuration(
        fmt::format("--layout {} is none of document, perResource, split", o.layout));
  }
  if ((!o.layout.empty() || !o.path_template.empty()) && (o.output.empty() || o.output == "-")) {
    return base::configuration("--layout and --path-template need --output with a folder");
  }
  const auto what = o.layout_spec.mode == LayoutMode::kDocument ? admission::TemplateOf::kDocuments
                                                                : admission::TemplateOf::kRows;
  if (const auto problem = admission::placeholder_problem(o.path_template, what)) {
    return base::configuration("--path-template: " + *problem);
  }
  if (o.layout_spec.mode == LayoutMode::kDocument) {
    o.layout_spec.document_template = o.path_template;
  } else {
    o.layout_spec.row_template = o.path_template;
  }
  return {};
}

base::Result<> check_summary(const Invocation& invocation, CollectOptions& o) {
  if (o.summary == "text" || (o.summary.empty() && invocation.err_is_terminal)) {
    o.summary_form = SummaryForm::kText;
  } else if (o.summary == "json") {
    o.summary_form = SummaryForm::kJson;
  } else if (o.summary.empty() || o.summary == "none") {
    o.summary_form = SummaryForm::kNone;
  } else {
    return base::configuration(fmt::format("--summary {} is none of text, json, none", o.summary));
  }
  return {};
}

}  // namespace

std::optional<int> parse_collect_flags(const Invocation& invocation,
                                       const std::vector<std::string>& args,
                                       CollectOptions& options) {
  CLI::App app(
      "Collects an inventory once: from kubeconfig contexts or manifest files to files, "
      "stdout, SQLite or sinks.",
      "collect");
  add_input_flags(app, options);
  add_output_flags(app, options);
  add_run_flags(app, options);
  return cli::parse_flags(app, invocation, args);
}

base::Result<> check_collect_options(const Invocation& invocation, CollectOptions& o) {
  if (o.config.empty()) {
    return base::configuration("--config is required: the folder with profiles and targets");
  }
  KL_ASSIGN(o.level, base::parse_log_level(o.log_level));
  if (!o.log_format.empty() && o.log_format != "text" && o.log_format != "json") {
    return base::configuration(fmt::format("--log-format {} is none of text, json", o.log_format));
  }
  const bool text = o.log_format.empty() ? invocation.err_is_terminal : o.log_format == "text";
  o.log_form = text ? base::LogFormat::kText : base::LogFormat::kJson;
  if (o.output == "-" && !o.format.empty()) KL_TRY(check_format(o));
  if (o.output == "-" && o.dry_run) {
    return base::configuration("--dry-run writes nothing, so --output - has nothing to show");
  }
  KL_TRY(check_format(o));
  KL_TRY(check_layout(o));
  KL_TRY(check_summary(invocation, o));
  KL_ASSIGN(o.time_limit, cli::duration_flag("--timeout", o.timeout));
  if (o.time_limit <= base::Duration::zero()) {
    return base::configuration("--timeout must be longer than zero");
  }
  if (o.parallel < 1) return base::configuration("--parallel must be at least 1");
  if (!o.manifests.empty() && (!o.contexts.empty() || !o.kubeconfig.empty())) {
    return base::configuration("--manifests does not go together with --context or --kubeconfig");
  }
  return {};
}

base::Result<std::map<std::string, std::string>> cluster_names(
    const CollectOptions& options, const std::vector<std::string>& contexts) {
  std::map<std::string, std::string> names;
  for (const std::string& context : contexts) names[context] = context;
  std::map<std::string, std::string> given;
  for (const std::string& value : options.clusters) {
    // Context names may hold "=", so the longest one that fits in front counts.
    std::string context;
    for (const std::string& candidate : contexts) {
      if (value.starts_with(candidate + "=") && candidate.size() >= context.size()) {
        context = candidate;
      }
    }
    std::string name = context.empty() ? value : value.substr(context.size() + 1);
    if (context.empty()) {
      if (contexts.size() != 1) {
        return base::configuration(fmt::format(
            "--cluster {}: with several contexts it is CONTEXT=NAME, with a chosen context",
            value));
      }
      context = contexts.front();
    }
    if (base::trim(name).empty()) return base::configuration("--cluster needs a name");
    if (!given.emplace(context, name).second) {
      return base::configuration(fmt::format("--cluster names context {} twice", context));
    }
  }
  for (auto& [context, name] : given) {
    const auto twin = std::ranges::find_if(
        given, [&](const auto& other) { return other.first != context && other.second == name; });
    if (twin != given.end()) {
      return base::configuration(fmt::format("--cluster gives the name {} twice", name));
    }
    names[context] = name;
  }
  return names;
}

}  // namespace kollect::pipeline
