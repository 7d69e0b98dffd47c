#include "kube/objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "kube/sender.h"

namespace kollect::kube {

using base::json::Object;
using base::json::Value;

namespace {

constexpr std::size_t kMostEventText = 1024;  ///< more is refused by the server
constexpr std::size_t kMostName = 253;        ///< RFC 1123 subdomain
constexpr std::string_view kMergePatch = "application/merge-patch+json";

std::string path_of(const ObjectRef& ref, std::string_view sub_resource = {}) {
  return fmt::format("{}/{}{}{}", ref.resource.path(ref.ns), base::percent_encode(ref.name),
                     sub_resource.empty() ? "" : "/", sub_resource);
}

std::string label_of(std::string_view verb, const Resource& resource, std::string_view ns,
                     std::string_view name) {
  return fmt::format("{} {} {}{}{}", verb, resource.plural, ns, ns.empty() ? "" : "/", name);
}

base::Result<Value> value_of(const http::Response& response, std::string_view label) {
  auto document = base::json::Document::parse_borrowed(response.body);
  if (!document) {
    return base::retryable(fmt::format("{}: the answer cannot be read", label), "transient");
  }
  return base::json::to_value(document->root());
}

bool names_a_version(const Value& patch) {
  return patch.at_path({"metadata", "resourceVersion"}) != nullptr;
}

/// Unique, and recognisable: the object's name as far as it may stand in a name, and the time.
std::string event_name(std::string_view object, base::WallTime now) {
  const std::string suffix = fmt::format(".{:016x}", now.time_since_epoch().count());
  std::string name = base::to_lower(object.substr(0, kMostName - suffix.size()));
  std::ranges::replace_if(
      name,
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.');
      },
      '-');
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
  while (!name.empty() && (name.front() == '.' || name.front() == '-')) name.erase(0, 1);
  return (name.empty() ? "event" : name) + suffix;
}

Value regarding(const ObjectRef& about, const std::string& uid) {
  const Resource& resource = about.resource;
  Object object;
  object.set("apiVersion",
             resource.group.empty() ? resource.version : resource.group + "/" + resource.version);
  object.set("kind", resource.kind);
  if (!about.ns.empty()) object.set("namespace", about.ns);
  object.set("name", about.name);
  if (!uid.empty()) object.set("uid", uid);
  return object;
}

}  // namespace

Value at_version(Value patch, std::string_view resource_version) {
  if (!patch.is_object()) patch = Object();
  Value& metadata = patch.as_object()["metadata"];
  if (!metadata.is_object()) metadata = Object();
  metadata.as_object().set("resourceVersion", resource_version);
  return patch;
}

base::Result<Value> Objects::get(const base::Context& context, const ObjectRef& ref) {
  KL_ASSIGN(const std::string text, client_.get(context, ref.resource, ref.ns, ref.name));
  auto document = base::json::Document::parse_borrowed(text);
  if (!document) return base::retryable("the answer cannot be read", "transient");
  return base::json::to_value(document->root());
}

base::Result<Value> Objects::create(const base::Context& context, const Resource& resource,
                                    std::string_view ns, const Value& object) {
  const Value* name = object.at_path({"metadata", "name"});
  const std::string label = label_of("create", resource, ns,
                                     name != nullptr && name->is_string() ? name->as_string() : "");
  Call call;
  call.method = "POST";
  call.path = resource.path(ns);
  call.body = base::json::compact(object);
  call.content_type = "application/json";
  call.again = Again::kUntaken;
  KL_ASSIGN(const http::Response response, client_.sender().expect_success(context, call, label));
  return value_of(response, label);
}

base::Result<Value> Objects::send_patch(const base::Context& context, const ObjectRef& ref,
                                        std::string_view sub_resource, const Value& patch) {
  const std::string label = label_of("patch", ref.resource, ref.ns, ref.name);
  Call call;
  call.method = "PATCH";
  call.path = path_of(ref, sub_resource);
  call.body = base::json::compact(patch);
  call.content_type = kMergePatch;
  // Twice the same is once; but a named version is another one after the first time.
  call.again = names_a_version(patch) ? Again::kUntaken : Again::kAlways;
  KL_ASSIGN(const http::Response response, client_.sender().expect_success(context, call, label));
  return value_of(response, label);
}

base::Result<Value> Objects::patch(const base::Context& context, const ObjectRef& ref,
                                   const Value& patch) {
  return send_patch(context, ref, "", patch);
}

base::Result<Value> Objects::patch_status(const base::Context& context, const ObjectRef& ref,
                                          const Value& patch) {
  return send_patch(context, ref, "status", patch);
}

base::Result<> Objects::remove(const base::Context& context, const ObjectRef& ref,
                               std::string_view uid) {
  Object options;
  options.set("apiVersion", "v1");
  options.set("kind", "DeleteOptions");
  options.set("propagationPolicy", "Background");
  if (!uid.empty()) {
    Object preconditions;
    preconditions.set("uid", uid);
    options.set("preconditions", std::move(preconditions));
  }
  Call call;
  call.method = "DELETE";
  call.path = path_of(ref);
  call.body = base::json::compact(Value(std::move(options)));
  call.content_type = "application/json";
  call.again = uid.empty() ? Again::kUntaken : Again::kAlways;
  KL_TRY(client_.sender().expect_success(context, call,
                                         label_of("delete", ref.resource, ref.ns, ref.name)));
  return {};
}

base::Result<> Objects::create_event(const base::Context& context, const ObjectRef& about,
                                     const Event& event) {
  // core/v1: every server takes it, and it is what `kubectl describe` looks for.
  const base::WallTime now = context.clock().now();
  const std::string ns = about.ns.empty() ? "default" : about.ns;
  const std::string time = base::format_rfc3339_seconds(now);
  Object metadata;
  metadata.set("name", event_name(about.name, now));
  metadata.set("namespace", ns);
  Object source;
  source.set("component", event.component);
  Object object;
  object.set("apiVersion", "v1");
  object.set("kind", "Event");
  object.set("metadata", std::move(metadata));
  object.set("involvedObject", regarding(about, event.uid));
  object.set("type", event.warning ? "Warning" : "Normal");
  object.set("reason", event.reason);
  object.set("message", base::sanitize_utf8(base::cut_utf8(event.message, kMostEventText)));
  object.set("source", std::move(source));
  object.set("firstTimestamp", time);
  object.set("lastTimestamp", time);
  object.set("count", 1);
  object.set("reportingComponent", event.component);
  object.set("reportingInstance", event.instance);
  Resource events;
  events.version = "v1";
  events.plural = "events";
  events.namespaced = true;
  KL_TRY(create(context, events, ns, object));
  return {};
}

}  // namespace kollect::kube
