#include "manager/writer.h"

#include <algorithm>

#include "api/codec.h"
#include "base/strings.h"

namespace kollect::manager {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

kube::ObjectRef ref_of(const Subject& subject) {
  const api::KindInfo* info = api::find_kind(subject.kind);
  kube::Resource resource;
  resource.group = api::kGroup;
  resource.version = api::kVersion;
  resource.kind = subject.kind;
  resource.plural = info->plural;
  resource.namespaced = !subject.key.ns.empty();
  return {.resource = std::move(resource), .ns = subject.key.ns, .name = subject.key.name};
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
  const auto fence = fences_.of(subject.key.ns);
  const Fence::Work work(*fence, context);
  return objects_.patch_status(work.context(), ref_of(subject), patch);
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
  return patch_metadata(context, subject, std::move(metadata));
}

base::Result<Value> Writer::patch_metadata(const base::Context& context, const Subject& subject,
                                           Object metadata) {
  Object patch;
  patch.set("metadata", Value(std::move(metadata)));
  const auto fence = fences_.of(subject.key.ns);
  const Fence::Work work(*fence, context);
  return objects_.patch(work.context(), ref_of(subject),
                        kube::at_version(std::move(patch), subject.resource_version));
}

base::Result<> Writer::remove(const base::Context& context, const Subject& subject) {
  const auto fence = fences_.of(subject.key.ns);
  const Fence::Work work(*fence, context);
  return objects_.remove(work.context(), ref_of(subject), subject.uid);
}

void Writer::event(const base::Context& context, const Subject& subject, const std::string& topic,
                   bool warning, const std::string& reason, const std::string& message,
                   bool logged) {
  if (!may_write(subject)) return;
  {
    const std::scoped_lock lock(mutex_);
    std::string& told = told_[subject.uid][topic];
    if (told == reason) return;
    told = reason;
  }
  if (warning && !logged && log_ != nullptr) {
    log_->warn("an object has a problem", {{"kind", subject.kind},
                                           {"namespace", subject.key.ns},
                                           {"name", subject.key.name},
                                           {"reason", reason},
                                           {"error", message}});
  }
  const auto fence = fences_.of(subject.key.ns);
  const Fence::Work work(*fence, context);
  const auto written =
      objects_.create_event(work.context(), ref_of(subject),
                            {.warning = warning,
                             .reason = reason,
                             .message = message,
                             .component = base::to_lower(subject.kind) + "-controller",
                             .uid = subject.uid});
  if (!written && log_ != nullptr) {
    log_->debug("an event could not be written", {{"error", written.error().message}});
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
