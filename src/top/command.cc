#include "top/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/json/write.h"
#include "cli/flags.h"
#include "top/feed.h"
#include "top/live.h"
#include "top/sheet.h"

namespace kollect::top {

namespace {

struct Flags {
  install::ClusterFlags cluster;
  ServerOptions server;
  std::string store;
  std::string table;
  std::string interval = "2s";
  std::string output = "text";
  bool once = false;
};

base::Result<std::unique_ptr<Feed>> open(const cli::Invocation& invocation, const Flags& flags) {
  const bool cluster = !flags.cluster.kubeconfig.empty() || !flags.cluster.context.empty() ||
                       !flags.cluster.ns.empty();
  const bool server = !flags.server.url.empty();
  const bool store = !flags.store.empty();
  if (int{cluster} + int{server} + int{store} > 1) {
    return base::configuration(
        "give one of --server, --store, and what names a cluster (--kubeconfig, --context, "
        "--namespace)");
  }
  if (!server && (!flags.server.token_file.empty() || !flags.server.ca_file.empty())) {
    return base::configuration("--token-file and --ca-file go with --server");
  }
  if (!store && !flags.table.empty()) return base::configuration("--table goes with --store");
  if (server) return server_feed(flags.server);
  if (store) return store_feed(flags.store, flags.table);
  return cluster_feed(invocation, flags.cluster);
}

base::Result<> print_once(const cli::Invocation& invocation, Feed& feed, bool json) {
  KL_ASSIGN(const Picture picture, feed.look(invocation.context()));
  fmt::print(invocation.out, "{}",
             json ? base::json::pretty(to_json(picture)) : plain_text(picture));
  if (std::fflush(invocation.out) != 0) return base::terminal("the output cannot be written");
  return {};
}

base::Result<> run(const cli::Invocation& invocation, const Flags& flags) {
  if (flags.output != "text" && flags.output != "json") {
    return base::configuration(fmt::format("--output {}: text or json", flags.output));
  }
  KL_ASSIGN(const base::Duration interval, cli::duration_flag("--interval", flags.interval));
  constexpr auto kShortest = std::chrono::milliseconds(200);
  if (interval < kShortest) {
    return base::configuration(fmt::format("--interval {}: 200ms or more", flags.interval));
  }
  KL_ASSIGN(const auto feed, open(invocation, flags));
  const bool json = flags.output == "json";
  const bool terminal = isatty(fileno(invocation.in)) == 1 && isatty(fileno(invocation.out)) == 1;
  if (flags.once || json || !terminal) return print_once(invocation, *feed, json);
  return run_live(invocation, *feed, interval);
}

}  // namespace

int run_top_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  Flags flags;
  CLI::App app(
      "Clusters, inventories, sinks and problems, looked at again and again. Of the cluster of the "
      "kubeconfig unless --server or --store is given. Keys: q ends, left and right or 1 to 4 "
      "choose the "
      "table, up and down the row, Enter shows all of it, / filters, s and o choose the order, r "
      "looks now. Without a terminal as with --once. NO_COLOR is heeded.",
      "top");
  cli::add_flag_value(app, "--server", flags.server.url,
                      "URL of a read API (kollect operator, kollect serve)");
  cli::add_flag_value(app, "--token-file", flags.server.token_file,
                      "File with the token for --server, read before each look");
  cli::add_flag_value(app, "--ca-file", flags.server.ca_file,
                      "PEM file with the authorities of --server; default: the system's");
  cli::add_flag_value(app, "--store", flags.store,
                      "What a sink writes to: sqlite:FILE or postgres:URL, as for kollect serve");
  cli::add_flag_value(app, "--table", flags.table, "Table of --store (inventory)");
  install::add_cluster_flags(app, flags.cluster, false);
  cli::add_flag_value(app, "-n,--namespace", flags.cluster.ns,
                      "Namespace; default: all of the cluster");
  app.add_flag("--once", flags.once, "Print everything once and end");
  cli::add_flag_value(app, "--interval", flags.interval, "Time between looks (2s)");
  cli::add_flag_value(app, "-o,--output", flags.output,
                      "text, or json for programs, which is printed once (text)");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const auto done = run(invocation, flags);
  if (!done) return install::failed(invocation, "top", done.error());
  return invocation.exit_code(cli::kExitOk);
}

}  // namespace kollect::top
