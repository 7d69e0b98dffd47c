#include "pipeline/extract_live.h"

#include <fmt/format.h>

#include "base/json/write.h"
#include "http/client.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"

namespace kollect::pipeline {
namespace {

using base::json::View;

struct Cluster {
  std::unique_ptr<kube::Client> client;
  kube::Resource resource;
};

base::Result<Cluster> open_cluster(const base::Context& context, const Invocation& invocation,
                                   const LiveOptions& live, const api::GroupVersionKind& kind) {
  KL_ASSIGN(const kube::Kubeconfig config,
            kube::Kubeconfig::load_default(live.kubeconfig, invocation.env));
  std::vector<std::string> patterns;
  if (!live.context.empty()) patterns.push_back(live.context);
  KL_ASSIGN(const kube::ContextSelection selection, kube::select_contexts(config, patterns));
  if (selection.names.size() != 1) {
    return base::configuration(fmt::format("--context {} means {} contexts, one is needed",
                                           live.context, selection.names.size()));
  }
  KL_ASSIGN(kube::ClusterConfig resolved, config.resolve(selection.names.front()));
  kube::ClientOptions options;
  options.env = invocation.env;
  Cluster cluster;
  cluster.client = std::make_unique<kube::Client>(std::make_shared<http::Client>(),
                                                  std::move(resolved), std::move(options), nullptr);
  KL_ASSIGN(const kube::Discovery discovery, cluster.client->discover(context));
  KL_ASSIGN(const kube::Discovery::Found found,
            discovery.find(kind.group, kind.version, kind.kind));
  cluster.resource = found.resource;
  return cluster;
}

/// Passes objects on until it has had enough.
class Receiver final : public kube::ListReceiver {
 public:
  using Take = std::function<bool(View)>;
  Receiver(const kube::Resource& resource, Take take, std::stop_source& enough)
      : take_(std::move(take)), enough_(enough) {
    handler_.item_api_version = resource.group.empty()
                                    ? resource.version
                                    : fmt::format("{}/{}", resource.group, resource.version);
    handler_.item_kind = resource.kind;
    handler_.on_item = [this](View item) -> base::Result<> {
      if (done_) return {};
      if (take_(item)) return {};
      done_ = true;
      enough_.request_stop();
      return {};
    };
  }

  base::Result<> begin() override {
    if (!started_) {
      started_ = true;
      return {};
    }
    return base::retryable("the list broke off and objects were printed already; run it again");
  }

  base::Result<> page(std::string_view text) override {
    auto head = base::json::walk_list(text, handler_);
    if (!head) return head.error();
    return {};
  }

  [[nodiscard]] bool done() const { return done_; }

 private:
  Take take_;
  std::stop_source& enough_;
  base::json::ListHandler handler_;
  bool started_ = false;
  bool done_ = false;
};

base::Result<> list_live(const Invocation& invocation, const LiveOptions& live,
                         const api::GroupVersionKind& kind, const Receiver::Take& take) {
  std::stop_source enough;
  const base::Context outer = invocation.context();
  const base::Context context = outer.with_stop(enough.get_token());
  KL_ASSIGN(const Cluster cluster, open_cluster(outer, invocation, live, kind));
  kube::ListQuery query;
  query.resource = cluster.resource;
  query.ns = cluster.resource.namespaced ? live.ns : "";
  query.label_selector = live.selector;
  Receiver receiver(cluster.resource, take, enough);
  const auto listed = cluster.client->list(context, query, receiver);
  if (!listed && !receiver.done()) return listed.error();
  return {};
}

}  // namespace

int run_extract_live(const Invocation& invocation, const ExtractOptions& options,
                     const LiveOptions& live) {
  const auto fail = [&](const base::Error& error) {
    fmt::print(invocation.err, "{} extract: {}\n", invocation.program, error.message);
    return kExitFailed;
  };
  auto session = ExtractSession::create(options, invocation.out, invocation.err);
  if (!session) return fail(session.error());
  std::map<std::string, std::map<std::string, std::string>> labels;
  if (session->wants_namespaces()) {
    auto listed = list_live(invocation, {live.kubeconfig, live.context, "", ""},
                            {"", "v1", "Namespace"}, [&](View ns) {
                              const auto metadata = ns.find("metadata");
                              if (!metadata) return true;
                              auto& own = labels[std::string(metadata->text("name"))];
                              if (const auto map = metadata->find("labels")) {
                                for (const auto& [key, value] : map->members()) {
                                  own[std::string(key)] = value.as_string();
                                }
                              }
                              return true;
                            });
    if (!listed) return fail(listed.error());
  }
  auto listed = list_live(invocation, live, session->kind(), [&](View object) {
    const auto metadata = object.find("metadata");
    const auto ns = metadata ? labels.find(std::string(metadata->text("namespace"))) : labels.end();
    return session->object(object, ns == labels.end() ? nullptr : &ns->second);
  });
  if (!listed) return fail(listed.error());
  return session->finish();
}

base::Result<std::vector<base::json::Document>> read_live_objects(const Invocation& invocation,
                                                                  const LiveOptions& live,
                                                                  const api::GroupVersionKind& kind,
                                                                  std::size_t limit) {
  std::vector<base::json::Document> documents;
  KL_TRY(list_live(invocation, live, kind, [&](View object) {
    auto document = base::json::Document::parse(base::json::compact(object));
    if (document) documents.push_back(std::move(*document));
    return limit == 0 || documents.size() < limit;
  }));
  return documents;
}

}  // namespace kollect::pipeline
