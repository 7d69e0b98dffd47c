#include "manager/writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/codec.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

std::string path_of(const Subject& subject, std::string_view sub_resource = {}) {
  const api::KindInfo* info = api::find_kind(subject.kind);
  std::string path = fmt::format("/apis/{}/{}", api::kGroup, api::kVersion);
  if (!subject.key.ns.empty()) path += "/namespaces/" + subject.key.ns;
  path += fmt::format("/{}/{}", info->plural, subject.key.name);
  if (!sub_resource.empty()) path += fmt::format("/{}", sub_resource);
  return path;
}

/// The message of a Status answer, else the number.
std::string told_by(const http::Response& response) {
  if (const auto document = base::json::Document::parse(response.body)) {
    if (const auto message = document->root().text("message"); !message.empty()) {
      return std::string(message);
    }
  }
  return fmt::format("status {}", response.status);
}

base::Result<Value> read_answer(const http::Response& response, const Subject& subject) {
  const std::string what = fmt::format("{} {}", subject.kind, subject.key.text());
  if (response.status >= 200 && response.status < 300) {
    KL_ASSIGN(const base::json::Document document, base::json::Document::parse(response.body));
    return base::json::to_value(document.root());
  }
  const std::string message = what + ": " + told_by(response);
  switch (response.status) {
    case 409:
      return base::conflict(message);
    case 404:
      return base::not_found(message);
    case 401:
    case 403:
      return base::denied(message, "forbidden");
    case 400:
    case 422:
      return base::terminal(message);
    default:
      return base::retryable(message);
  }
}

}  // namespace

Subject subject_of(const std::string& kind, const Value& manifest) {
  const auto text = [&](std::string_view member) {
    const Value* value = manifest.at_path({"metadata", member});
    return value != nullptr && value->is_string() ? value->as_string() : std::string();
  };
  return {.kind = kind,
          .key = {.ns = text("namespace"), .name = text("name")},
          .uid = text("uid"),
          .resource_version = text("resourceVersion")};
}

bool has_finalizer(const Value& manifest, std::string_view finalizer) {
  const Value* list = manifest.at_path({"metadata", "finalizers"});
  if (list == nullptr || !list->is_array()) return false;
  return std::ranges::any_of(list->as_array(), [&](const Value& one) {
    return one.is_string() && one.as_string() == finalizer;
  });
}

base::Result<Value> Writer::patch_status(const base::Context& context, const Subject& subject,
                                         const Value& patch) {
  KL_ASSIGN(const http::Response response,
            client_.request(context, "PATCH", path_of(subject, "status"),
                            base::json::compact(patch), "application/merge-patch+json"));
  return read_answer(response, subject);
}

base::Result<Value> Writer::set_finalizer(const base::Context& context, const Value& manifest,
                                          const Subject& subject, const std::string& finalizer,
                                          bool present) {
  Array list;
  if (const Value* before = manifest.at_path({"metadata", "finalizers"});
      before != nullptr && before->is_array()) {
    for (const Value& one : before->as_array()) {
      if (!one.is_string() || one.as_string() != finalizer) list.push_back(one);
    }
  }
  if (present) list.emplace_back(finalizer);
  Object metadata;
  metadata.set("finalizers", std::move(list));
  metadata.set("resourceVersion", subject.resource_version);
  Object patch;
  patch.set("metadata", Value(std::move(metadata)));
  KL_ASSIGN(const http::Response response,
            client_.request(context, "PATCH", path_of(subject), base::json::compact(Value(patch)),
                            "application/merge-patch+json"));
  return read_answer(response, subject);
}

void Writer::event(const base::Context& context, const Subject& subject, const std::string& topic,
                   bool warning, const std::string& reason, const std::string& message) {
  {
    const std::scoped_lock lock(mutex_);
    std::string& told = told_[subject.uid][topic];
    if (told == reason) return;
    told = reason;
  }
  const base::WallTime now = clock_.now();
  const std::string ns = subject.key.ns.empty() ? "default" : subject.key.ns;
  Object involved;
  involved.set("apiVersion", api::kApiVersion);
  involved.set("kind", subject.kind);
  involved.set("name", subject.key.name);
  if (!subject.key.ns.empty()) involved.set("namespace", subject.key.ns);
  involved.set("uid", subject.uid);
  Object metadata;
  metadata.set("name", fmt::format("{}.{:x}", subject.key.name, now.time_since_epoch().count()));
  metadata.set("namespace", ns);
  const std::string component = base::to_lower(subject.kind) + "-controller";
  Object source;
  source.set("component", component);
  Object event;
  event.set("apiVersion", "v1");
  event.set("kind", "Event");
  event.set("metadata", Value(std::move(metadata)));
  event.set("involvedObject", Value(std::move(involved)));
  event.set("type", warning ? "Warning" : "Normal");
  event.set("reason", reason);
  event.set("message", message.substr(0, 1024));
  event.set("source", Value(std::move(source)));
  event.set("reportingComponent", component);
  event.set("firstTimestamp", base::format_rfc3339_seconds(now));
  event.set("lastTimestamp", base::format_rfc3339_seconds(now));
  event.set("count", 1);
  const auto response =
      client_.request(context, "POST", fmt::format("/api/v1/namespaces/{}/events", ns),
                      base::json::compact(Value(std::move(event))));
  if (log_ == nullptr) return;
  if (!response) {
    log_->debug("an event could not be written", {{"error", response.error().message}});
  } else if (response->status >= 300) {
    log_->debug("an event was refused", {{"error", told_by(*response)}});
  }
}

void Writer::end_topic(const Subject& subject, const std::string& topic) {
  const std::scoped_lock lock(mutex_);
  if (const auto it = told_.find(subject.uid); it != told_.end()) it->second.erase(topic);
}

void Writer::forget(const Subject& subject) {
  const std::scoped_lock lock(mutex_);
  told_.erase(subject.uid);
}

}  // namespace kollect::manager
