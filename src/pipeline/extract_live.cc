#include "pipeline/extract_live.h"

#include <fmt/format.h>

#include "base/json/write.h"
#include "http/client.h"
#include "kube/client.h"
#include "kube/kubeconfig.h"

namespace kollect::pipeline {
namespace {

using base::json::View;

/// Passes objects on until it has had enough.
class PageReceiver final : public kube::ListReceiver {
 public:
  PageReceiver(const kube::Resource& resource, const LiveCluster::Receiver& receiver,
               std::stop_source& enough)
      : receiver_(receiver), enough_(enough) {
    handler_.item_api_version = resource.group.empty()
                                    ? resource.version
                                    : fmt::format("{}/{}", resource.group, resource.version);
    handler_.item_kind = resource.kind;
    handler_.on_item = [this](View item) -> base::Result<> {
      if (done_) return {};
      taken_ = true;
      if (receiver_.take(item)) return {};
      done_ = true;
      enough_.request_stop();
      return {};
    };
    // One odd object costs itself, never its page.
    handler_.on_bad_item = [this](const base::Error& error) {
      if (receiver_.on_bad && !done_) receiver_.on_bad(error);
    };
  }

  base::Result<> begin() override {
    if (!taken_) return {};
    return base::retryable("the list broke off behind its first objects; run it again");
  }

  base::Result<> page(std::string_view text) override {
    auto head = base::json::walk_list(text, handler_);
    if (!head) return head.error();
    return {};
  }

  [[nodiscard]] bool done() const { return done_; }

 private:
  const LiveCluster::Receiver& receiver_;
  std::stop_source& enough_;
  base::json::ListHandler handler_;
  bool taken_ = false;
  bool done_ = false;
};

/// Exit code of the session; partial as well when objects could not be read.
base::Result<int> extract_live(const Invocation& invocation, LiveCluster& cluster,
                               const LiveOptions& live, ExtractSession& session) {
  NamespaceLabels labels;
  if (session.wants_namespaces()) {
    auto read = cluster.namespaces();
    if (!read && read.error().kind != base::ErrorKind::kDenied) return read.error();
    if (read)
      labels = std::move(*read);
    else
      fmt::print(invocation.err, "kollect: namespaceLabels is empty: {}\n", read.error().message);
  }
  const auto take = [&](View object) { return session.object(object, labels.of(object)); };
  std::uint64_t unreadable = 0;
  const auto on_bad = [&](const base::Error& error) {
    ++unreadable;
    fmt::print(invocation.err, "kollect: an object cannot be read: {}\n", error.message);
  };
  KL_TRY(cluster.list(session.kind(), live.ns, live.selector, {.take = take, .on_bad = on_bad}));
  const int code = session.finish();
  return unreadable > 0 ? cli::kExitPartial : code;
}

}  // namespace

struct LiveCluster::Impl {
  Impl(base::Context run, kube::ClusterConfig config, kube::ClientOptions options)
      : context(std::move(run)),
        client(std::make_shared<http::Client>(), std::move(config), std::move(options), nullptr) {}

  base::Context context;
  kube::Client client;
  kube::Discovery discovery;
};

LiveCluster::LiveCluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LiveCluster::LiveCluster(LiveCluster&&) noexcept = default;
LiveCluster& LiveCluster::operator=(LiveCluster&&) noexcept = default;
LiveCluster::~LiveCluster() = default;

base::Result<LiveCluster> LiveCluster::open(const Invocation& invocation, const LiveOptions& live) {
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
  auto impl = std::make_unique<Impl>(invocation.context(), std::move(resolved), std::move(options));
  KL_ASSIGN(impl->discovery, impl->client.discover(impl->context));
  return LiveCluster(std::move(impl));
}

base::Result<> LiveCluster::list(const api::GroupVersionKind& kind, const std::string& ns,
                                 const std::string& selector, const Receiver& receiver) {
  KL_ASSIGN(const kube::Discovery::Found found,
            impl_->discovery.find(kind.group, kind.version, kind.kind));
  std::stop_source enough;
  kube::ListQuery query;
  query.resource = found.resource;
  query.ns = found.resource.namespaced ? ns : "";
  query.label_selector = selector;
  PageReceiver pages(found.resource, receiver, enough);
  const auto listed =
      impl_->client.list(impl_->context.with_stop(enough.get_token()), query, pages);
  if (!listed && !pages.done()) return listed.error();
  return {};
}

base::Result<NamespaceLabels> LiveCluster::namespaces() {
  NamespaceLabels labels;
  const auto take = [&](View ns) {
    labels.note(ns);
    return true;
  };
  KL_TRY(list({"", "v1", "Namespace"}, "", "", {.take = take}));
  return labels;
}

base::Result<std::vector<base::json::Document>> LiveCluster::sample(
    const api::GroupVersionKind& kind, std::size_t limit) {
  std::vector<base::json::Document> documents;
  const auto keep = [&](std::string_view text) {
    if (auto document = base::json::Document::parse(text)) {
      documents.push_back(std::move(*document));
    }
  };
  const auto take = [&](View object) {
    keep(base::json::compact(object));
    return documents.size() < limit;
  };
  KL_TRY(list(kind, "", "", {.take = take}));
  const auto definitions =
      impl_->discovery.find("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
  const auto found = impl_->discovery.find(kind.group, kind.version, kind.kind);
  if (definitions && found && !kind.group.empty()) {
    const auto text = impl_->client.get(impl_->context, definitions->resource, "",
                                        found->resource.plural + "." + kind.group);
    // Built-in kinds have none, and not everybody may read them.
    if (text) keep(*text);
  }
  return documents;
}

int run_extract_live(const Invocation& invocation, const ExtractOptions& options,
                     const LiveOptions& live) {
  const auto fail = [&](const base::Error& error) {
    fmt::print(invocation.err, "{} extract: {}\n", invocation.program, error.message);
    return cli::kExitFailed;
  };
  auto session = ExtractSession::create(options, invocation.out, invocation.err);
  if (!session) return fail(session.error());
  auto cluster = LiveCluster::open(invocation, live);
  if (!cluster) return fail(cluster.error());
  const auto code = extract_live(invocation, *cluster, live, *session);
  return code ? *code : fail(code.error());
}

}  // namespace kollect::pipeline
