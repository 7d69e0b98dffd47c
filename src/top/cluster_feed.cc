#include <fmt/format.h>

#include "install/sink_uses.h"
#include "install/state.h"
#include "top/feed.h"

namespace kollect::top {

using base::json::Value;
using install::State;

namespace {

class ClusterFeed final : public Feed {
 public:
  ClusterFeed(std::unique_ptr<kube::Client> client, std::string ns)
      : client_(std::move(client)), ns_(std::move(ns)) {}

  base::Result<Picture> look(const base::Context& context) override {
    Picture picture;
    const std::string& name = client_->config().context_name;
    picture.source = fmt::format("cluster {}{}", name, ns_.empty() ? "" : ", namespace " + ns_);
    picture.at = context.clock().now();
    picture.targets = 0;
    for (const char* kind : {"KollectTarget", "KollectClusterTarget"}) {
      KL_ASSIGN(const auto targets, read(context, kind));
      *picture.targets += targets.size();
      for (const Value& target : targets) note(picture, target, install::state_of(target));
    }
    for (const char* kind : {"KollectInventory", "KollectClusterInventory"}) {
      KL_ASSIGN(const auto inventories, read(context, kind));
      for (const Value& one : inventories) add_inventory(picture, one, name);
    }
    KL_ASSIGN(const auto uses, install::read_sink_uses(*client_, context, ns_));
    for (const install::SinkUse& use : uses) add_sink(picture, use);
    finish(picture);
    return picture;
  }

 private:
  /// Whoever may not read kinds of the whole cluster still has a namespace.
  base::Result<std::vector<Value>> read(const base::Context& context, const std::string& kind) {
    auto objects = install::list_ours(*client_, context, kind, ns_);
    if (!objects && !ns_.empty() && kind.starts_with("KollectCluster") &&
        objects.error().kind == base::ErrorKind::kDenied) {
      return std::vector<Value>();
    }
    if (!objects) return objects.error().with_prefix(kind);
    return objects;
  }

  static void note(Picture& picture, const Value& object, const State& state) {
    if (!state.is_bad()) return;
    const Value* status = object.find("status");
    const Value* condition =
        status == nullptr
            ? nullptr
            : install::find_condition(*status, state.word == "Degraded" ? "Degraded" : "Ready");
    picture.problems.push_back({.kind = std::string(object.text("kind")),
                                .ns = install::namespace_in(object),
                                .name = install::name_in(object),
                                .reason = state.reason.empty() ? state.word : state.reason,
                                .message = state.message,
                                .since = condition == nullptr
                                             ? std::string()
                                             : std::string(condition->text("lastTransitionTime"))});
  }

  static void add_inventory(Picture& picture, const Value& object, const std::string& cluster) {
    const State state = install::state_of(object);
    const auto rows = install::status_number(object, "itemCount").value_or(0);
    picture.inventories.push_back(
        {.cluster = cluster,
         .ns = install::namespace_in(object),
         .name = install::name_in(object),
         .rows = static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows)),
         .exported_at = install::status_text(object, "lastExportTime"),
         .state = state.word,
         .reason = state.reason,
         .message = state.message});
    note(picture, object, state);
  }

  static void add_sink(Picture& picture, const install::SinkUse& use) {
    picture.sinks.push_back({.name = use.sink,
                             .type = use.type,
                             .inventory = use.inventory,
                             .state = use.state.word,
                             .reason = use.state.reason,
                             .exported_at = use.last_export,
                             .message = use.state.message});
  }

  std::unique_ptr<kube::Client> client_;
  std::string ns_;
};

}  // namespace

base::Result<std::unique_ptr<Feed>> cluster_feed(const cli::Invocation& invocation,
                                                 const install::ClusterFlags& flags) {
  KL_ASSIGN(auto client, install::open_cluster(invocation, flags));
  // An overview is of everything unless somebody asks for less.
  std::string ns = flags.ns;
  return std::make_unique<ClusterFeed>(std::move(client), std::move(ns));
}

}  // namespace kollect::top
