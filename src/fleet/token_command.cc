#include "fleet/token_command.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/value.h"
#include "base/json/write.h"
#include "cli/flags.h"
#include "fleet/tokens.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

int run_token_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  CLI::App app(
      "Makes a token for TOKENS_FILE of fleet serve. The token is printed once and kept nowhere; "
      "the entry has its hash. A tokens file is {\"tokens\": [entries]}, in YAML or JSON.",
      "fleet token");
  std::string name;
  std::vector<std::string> roles;
  std::string dns;
  CLI::App* make = app.add_subcommand("new", "a new token and its entry");
  make->add_option("NAME", name, "who it is for; the actor of the audit trail")->required();
  cli::add_flag_list(*make, "--role", roles, "reader, writer or auditor; may be repeated")
      ->required()
      ->check(CLI::IsMember({"reader", "writer", "auditor"}));
  cli::add_flag_value(*make, "--cluster-dns", dns,
                      "good for the polls of this cluster alone (with --role reader)");
  app.require_subcommand(1);
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  const base::Secret token = make_token();
  Object entry;
  entry.set("name", name);
  Array list;
  for (const std::string& role : roles) list.emplace_back(role);
  entry.set("roles", std::move(list));
  if (!dns.empty()) entry.set("cluster_dns", dns);
  entry.set("sha256", base::sha256_hex(token.reveal()));
  const std::string text = base::json::compact(Value(std::move(entry)));
  if (const auto fine = parse_tokens("{\"tokens\": [" + text + "]}"); !fine) {
    fmt::print(invocation.err, "{} fleet token: {}\n", invocation.program, fine.error().message);
    return cli::kExitFailed;
  }
  fmt::print(invocation.out, "{{\"token\":\"{}\",\"entry\":{}}}\n", token.reveal(), text);
  return cli::kExitOk;
}

}  // namespace kollect::fleet
