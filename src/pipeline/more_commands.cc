// Flags of validate, extract, query and diff.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/flags.h"
#include "pipeline/commands.h"
#include "pipeline/diff.h"
#include "pipeline/extract_command.h"
#include "pipeline/extract_live.h"
#include "pipeline/query.h"
#include "pipeline/validate_command.h"

namespace kollect::pipeline {
namespace {

int fail(const Invocation& invocation, std::string_view command, const base::Error& error) {
  fmt::print(invocation.err, "{} {}: {}\n", invocation.program, command, error.message);
  return invocation.exit_code(kExitFailed);
}

/// For `validate --sample live`: some objects of a profile's kind, and the labels of namespaces for
/// one that reads them and may know them. The cluster is opened for the first profile.
base::Result<Sample> live_sample(const Invocation& invocation, const LiveOptions& live,
                                 const api::ProfileSpec& profile,
                                 std::optional<LiveCluster>& cluster) {
  constexpr std::size_t kPerKind = 50;
  if (!cluster) {
    KL_ASSIGN(cluster, LiveCluster::open(invocation, live));
  }
  Sample sample;
  KL_ASSIGN(sample.objects, cluster->sample(profile.target_gvk, kPerKind));
  if (wants_namespace_labels(profile)) {
    sample.namespaces = cluster->namespaces().value_or(NamespaceLabels());
  }
  return sample;
}

}  // namespace

int run_validate_command(const Invocation& invocation, const std::vector<std::string>& args) {
  ValidateOptions o;
  LiveOptions live;
  CLI::App app(
      "Checks manifests of kollect.dev by schema and admission rules. No cluster is needed.",
      "validate");
  cli::add_flag_list(app, "--config", o.config, "Configuration folder or file (repeatable)");
  app.add_option("files", o.files, "Files, folders or - instead of --config, judged one by one");
  cli::add_flag_list(app, "--existing", o.existing,
                     "File with objects that rules look up (repeatable)");
  cli::add_flag_list(app, "--sample", o.samples,
                     "Manifest file (or the word live) to try the profiles on (repeatable)");
  cli::add_flag_value(app, "--kubeconfig", live.kubeconfig, "For --sample live");
  cli::add_flag_value(app, "--context", live.context, "For --sample live");
  app.add_flag("--json", o.json, "A JSON line per document");
  app.add_flag("--tenant-mode", o.tenant_mode, "Judge as an operator in tenant mode does");
  app.add_flag("--allow-private-sinks", o.allow_private_sinks, "Accept private addresses");
  app.add_flag("--allow-loopback-sinks", o.allow_loopback_sinks,
               "Accept loopback and private addresses");
  app.add_flag("--check-env", o.check_env, "Variables and files that placeholders name must exist");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  if (o.config.empty() == o.files.empty()) {
    return fail(invocation, "validate",
                base::configuration("give either --config or files as arguments"));
  }
  if (std::ranges::find(o.files, "-") != o.files.end()) {
    auto input = invocation.read_in();
    if (!input) return fail(invocation, "validate", input.error());
    o.stdin_text = std::move(*input);
  }
  o.env = invocation.env;
  std::optional<LiveCluster> cluster;
  if (std::erase(o.samples, "live") > 0) {
    o.live = [&](const api::ProfileSpec& profile) {
      return live_sample(invocation, live, profile, cluster);
    };
  }
  const ValidateReport report = run_validate(o);
  fmt::print(invocation.out, "{}", report.out);
  std::fflush(invocation.out);
  fmt::print(invocation.err, "{}", report.err);
  return report.exit_code;
}

int run_extract_command(const Invocation& invocation, const std::vector<std::string>& args) {
  ExtractOptions o;
  LiveOptions live;
  bool from_cluster = false;
  std::uint64_t limit = 0;
  CLI::App app("Tries a profile on objects: a JSON line per object with its row or error.",
               "extract");
  cli::add_flag_value(app, "--profile", o.profile, "File with a KollectProfile");
  cli::add_flag_value(app, "--profile-spec", o.profile_spec, "File with a profile's spec alone");
  app.add_option("inputs", o.inputs, "Files, folders or - with objects");
  app.add_flag("--live", from_cluster, "Objects from a cluster");
  cli::add_flag_value(app, "--kubeconfig", live.kubeconfig, "For --live");
  cli::add_flag_value(app, "--context", live.context, "For --live; default: current");
  cli::add_flag_value(app, "--namespace", live.ns, "For --live; default: all");
  cli::add_flag_value(app, "--selector", live.selector, "For --live: label selector");
  CLI::Option* limited = cli::add_flag_value(app, "--limit", limit, "At most so many objects");
  cli::add_flag_value(app, "--cluster", o.cluster, "Value of `cluster` in CEL");
  const auto list_flag = [&app](const char* flag, std::vector<std::string>& into,
                                const char* help) {
    app.add_option(flag, into, help)->delimiter(',')->allow_extra_args(false);
  };
  list_flag("--scrub-keys", o.extract.scrub_keys,
            "Sensitive keys beside the built-in ones, by commas");
  list_flag("--sensitive-kinds", o.extract.sensitive_kinds,
            "group/Kind,…: whole export needs an opt-in");
  cli::add_flag_value(app, "--helm-release-max-bytes", o.extract.helm_release_max_bytes,
                      "Unpacked size of a Helm release; default: 32 MiB");
  app.add_flag("--explain", o.explain, "What each attribute yielded, its cost and time");
  app.add_flag("--table", o.table, "Columns instead of JSON lines");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  if (limited->count() > 0) o.limit = limit;
  if (o.profile.empty() == o.profile_spec.empty()) {
    return fail(invocation, "extract",
                base::configuration("give either --profile or --profile-spec"));
  }
  if (from_cluster != o.inputs.empty()) {
    return fail(invocation, "extract",
                base::configuration("objects come either from files, folders or - as arguments, or "
                                    "from --live"));
  }
  return invocation.exit_code(from_cluster ? run_extract_live(invocation, o, live)
                                           : run_extract(invocation, o));
}

int run_query_command(const Invocation& invocation, const std::vector<std::string>& args) {
  QueryOptions o;
  std::string file;
  std::string format = "table";
  CLI::App app("Runs one reading SQL statement over an inventory in SQLite.", "query");
  app.add_option("file", file, "SQLite file")->required();
  app.add_option("sql", o.sql, "Statement; without one: the tables and views and their columns");
  cli::add_flag_value(app, "--format", format, "table (default), json, csv");
  cli::add_flag_value(app, "--max-width", o.max_cell_width, "Width of table cells, 0: no limit");
  app.add_flag("--expand-json", o.expand_json, "With json: JSON in cells as JSON, not as text");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  auto parsed = parse_query_format(format);
  if (!parsed) return fail(invocation, "query", parsed.error());
  o.format = *parsed;
  o.file = file;
  const auto rows = run_query(invocation.context(), o, invocation.out);
  if (!rows) return fail(invocation, "query", rows.error());
  return std::fflush(invocation.out) == 0 ? kExitOk : kExitFailed;
}

int run_diff_command(const Invocation& invocation, const std::vector<std::string>& args) {
  DiffOptions o;
  bool exit_code = false;
  CLI::App app(
      "Shows what appeared, changed and went between two inventories: envelopes, row files, "
      "output folders or SQLite files (FILE@TIME for an earlier moment).",
      "diff");
  app.add_option("before", o.before, "Older inventory")->required();
  app.add_option("after", o.after, "Newer inventory")->required();
  app.add_flag("--json", o.json, "One JSON object");
  app.add_flag("--exit-code", exit_code, "Exit with 1 when there are differences");
  cli::add_flag_value(app, "--table", o.table, "Table of SQLite files");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const auto no_color = invocation.env.find("NO_COLOR");
  o.color = invocation.out == stdout && isatty(STDOUT_FILENO) == 1 &&
            (no_color == invocation.env.end() || no_color->second.empty());
  const auto summary = run_diff(invocation.context(), o, invocation.out);
  if (!summary) return fail(invocation, "diff", summary.error());
  if (std::fflush(invocation.out) != 0) return kExitFailed;
  return exit_code && summary->differs() ? kExitPartial : kExitOk;
}

}  // namespace kollect::pipeline
