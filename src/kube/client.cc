#include "kube/client.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/write.h"
#include "kube/api_error.h"
#include "kube/discoverer.h"
#include "kube/pager.h"
#include "kube/sender.h"

namespace kollect::kube {

struct Client::Impl {
  Sender sender;
};

std::string_view accept_of(bool metadata_only, bool list) {
  if (!metadata_only) return "application/json";
  return list ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
              : "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
}

Client::Client(std::shared_ptr<http::Client> http, ClusterConfig config, ClientOptions options,
               const base::Logger* log)
    : impl_(new Impl{.sender{std::move(http), std::move(config), std::move(options), log}}) {}

Client::~Client() = default;

base::Result<Discovery> Client::discover(const base::Context& context) {
  return Discoverer(impl_->sender).run(context);
}

base::Result<ListOutcome> Client::list(const base::Context& context, const ListQuery& query,
                                       ListReceiver& receiver) {
  return std::make_shared<Pager>(impl_->sender, context, query)->run(receiver);
}

base::Result<std::string> Client::get(const base::Context& context, const Resource& resource,
                                      std::string_view ns, std::string_view name) {
  Call call;
  call.path = resource.path(ns) + "/" + base::percent_encode(name);
  const std::string label =
      fmt::format("get {} {}{}{}", resource.plural, ns, ns.empty() ? "" : "/", name);
  KL_ASSIGN(http::Response response, impl_->sender.expect_success(context, call, label));
  return std::move(response.body);
}

base::Result<bool> Client::can_i(const base::Context& context, std::string_view verb,
                                 const Resource& resource, std::string_view ns) {
  base::json::Object attributes;
  attributes.set("group", resource.group);
  attributes.set("namespace", ns);
  attributes.set("resource", resource.plural);
  attributes.set("verb", verb);
  attributes.set("version", resource.version);
  base::json::Object spec;
  spec.set("resourceAttributes", std::move(attributes));
  base::json::Object review;
  review.set("apiVersion", "authorization.k8s.io/v1");
  review.set("kind", "SelfSubjectAccessReview");
  review.set("spec", std::move(spec));
  Call call;
  call.method = "POST";
  call.path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  call.body = base::json::compact(base::json::Value(std::move(review)));
  call.content_type = "application/json";
  // It changes nothing at the server, whatever its method.
  KL_ASSIGN(const http::Response response,
            impl_->sender.expect_success(context, call, "access review"));
  auto document = base::json::Document::parse_borrowed(response.body);
  const auto allowed = document ? document->root().at_path({"status", "allowed"}) : std::nullopt;
  if (!allowed || !allowed->is_bool()) {
    return base::retryable("access review: the answer says neither yes nor no", "transient");
  }
  return allowed->as_bool();
}

base::Result<http::Response> Client::request(const base::Context& context, std::string method,
                                             std::string path, std::string body,
                                             std::string content_type) {
  Call call;
  call.again = method == "GET" || method == "HEAD" ? Again::kAlways : Again::kNever;
  call.method = std::move(method);
  call.path = std::move(path);
  if (!body.empty()) call.content_type = std::move(content_type);
  call.body = std::move(body);
  return impl_->sender.send(context, call);
}

const ClusterConfig& Client::config() const {
  return impl_->sender.config();
}

Sender& Client::sender() {
  return impl_->sender;
}

RequestCounts Client::request_counts() const {
  return impl_->sender.request_counts();
}

std::vector<std::string> Client::server_warnings() const {
  return impl_->sender.warnings();
}

}  // namespace kollect::kube
