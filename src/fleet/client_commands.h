// The client commands from inside: what the command line said, and what each command does with it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "cli/flags.h"
#include "fleet/client.h"
#include "fleet/drift_command.h"
#include "fleet/model.h"

namespace kollect::fleet {

/// Everything that the command line may say.
struct Said {
  std::string output;  ///< "", "table", "json"
  std::string id;
  std::string file;
  std::string cluster;
  std::string if_match;
  bool force = false;
  bool dry_run = false;
  bool version_only = false;
  bool enabled = true;
  // Catalog entries.
  std::string component_path, component_version, oci_url, oci_tag;
  std::string cluster_oci_tag, cluster_component_path;
  bool cluster_env_enabled = false;
  std::vector<std::string> depends_on, sets, labels, annotations;
  // Clusters.
  std::string cluster_name, cluster_dns, environment, vm_image, k0s_version, node_count;
  std::vector<std::string> clears;
  // Role bindings.
  std::string role;
  std::vector<std::string> subjects;
  std::vector<std::string> filters;
  // Rollouts.
  std::string note, from, from_cluster, to;
  std::vector<std::string> clusters, environments, selects;
  bool all = false;
  bool assign_missing = false;
  bool clear_overrides = false;
  std::string limit;
  // Restoring.
  std::string family, version, sequence;
};

/// One run of the program. A command is declared with the step that does it.
class Commands {
 public:
  explicit Commands(const cli::Invocation& invocation) : invocation_(invocation) {}

  /// Exit code.
  int run(const std::vector<std::string>& args);

 private:
  using Step = std::function<base::Result<>()>;
  /// A change of one record.
  struct Write {
    std::string method;
    Family family;
    std::string id;
    std::optional<base::json::Value> body = {};
    std::string part = {};            ///< of a cluster: "namespaces/x"
    base::json::Object dry_run = {};  ///< as an operation of a batch
  };

  // client_command.cc: the frame.
  void declare();
  void declare_family(const std::string& name, Family family);
  void declare_others();
  void declare_demo();
  CLI::App& noun(CLI::App& parent, const std::string& name, const std::string& help);
  CLI::App& command(CLI::App& parent, const std::string& name, const std::string& help, Step step);
  CLI::App& with_id(CLI::App& app);
  void add_write_flags(CLI::App& app, bool if_match = true);
  bool wants_table() const { return said_.output != "json"; }
  base::Result<> show(const base::json::Value& value) const;
  base::Result<> show_part(const std::string& name, const base::json::Value& value) const;
  void warn(const Told& told) const;
  base::Result<Told> call(const std::string& method, const std::string& path,
                          const std::optional<base::json::Value>& body = {},
                          const std::string& if_match = {});
  base::Result<> show_call(const std::string& method, const std::string& path,
                           const std::optional<base::json::Value>& body = {});
  base::Result<> show_poll(const std::string& what);
  /// A path with the filters of the command line.
  /// Path of a list with what --filter asks for.
  base::Result<std::string> filtered(std::string_view list) const;
  base::Result<> show_records(Family family);
  /// A list that is a member of the answer, or the answer itself.
  base::Result<> show_list(const std::string& name);
  base::Result<> show_record(Family family);
  base::Result<std::string> if_match() const;

  // client_records.cc: records.
  void declare_clusters(CLI::App& noun);
  void declare_components(CLI::App& noun);
  void declare_namespaces(CLI::App& noun);
  void declare_role_bindings(CLI::App& noun);
  void declare_references(CLI::App& noun, Family family);
  void add_overrides(CLI::App& app);
  void add_metadata(CLI::App& app);
  void add_cluster_members(CLI::App& app, bool required);
  void add_component_members(CLI::App& app, bool required);
  /// Does it, or shows what it would do (none then).
  base::Result<std::optional<base::json::Value>> write(const Write& write);
  base::Result<> write_and_show(const Write& write);
  base::Result<> remove(Family family);
  base::Result<> create_cluster();
  base::Result<> set_cluster();
  base::Result<base::json::Object> cluster_members() const;
  base::Result<> create_component();
  base::Result<> set_component();
  /// What the flags say of a catalog entry; `empty_too`: texts that are empty as well.
  base::json::Object component_members(bool empty_too) const;
  base::Result<> create_namespace();
  base::Result<> create_role_binding();
  base::Result<> patch_component();
  Write assignment(Family family) const;
  base::Result<> assign(Family family);
  base::Result<> unassign(Family family);

  // client_rollouts.cc: many records.
  void declare_rollouts();
  CLI::App& flow(CLI::App& parent, const std::string& kind, const std::string& help);
  base::Result<> roll_out(const std::string& kind);
  base::Result<base::json::Object> selector() const;
  base::Result<base::json::Value> read_file() const;
  base::Result<> show_changes(const base::json::Value& told) const;
  base::Result<> batch(base::json::Value body);
  base::Result<> batch_of_file();
  base::Result<> start_of_file();
  base::Result<> apply(bool dry_run);
  base::Result<> undo();
  base::Result<> restore();

  const cli::Invocation& invocation_;
  CLI::App app_{"The fleet API: its server, and what can be asked of it.", "fleet"};
  ClientOptions options_;
  std::string read_token_, write_token_;
  Said said_;
  DriftFlags drift_;
  Step chosen_;
  std::unique_ptr<FleetClient> client_;
};

/// KEY=VALUE texts; the value may be empty, the key may not.
base::Result<base::json::Object> pairs_of(const std::vector<std::string>& texts);
base::Error usage(std::string message);

}  // namespace kollect::fleet
