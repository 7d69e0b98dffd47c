#include "sandbox/scale.h"

#include <fmt/format.h>

#include "base/json/write.h"
#include "sandbox/objects.h"
#include "sandbox/patch.h"

namespace kollect::sandbox {

using base::json::Object;
using base::json::Value;

namespace {

/// "a=b,c=d", of a selector or of the labels that it holds.
std::string selector_text(const Value& object) {
  const Value* labels = object.at_path({"spec", "selector", "matchLabels"});
  if (labels == nullptr) labels = object.at_path({"spec", "selector"});
  std::vector<std::string> parts;
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->as_object()) {
      if (value.is_string()) parts.push_back(fmt::format("{}={}", key, value.as_string()));
    }
  }
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ","));
}

std::int64_t number_at(const Value& object, const char* part, std::int64_t missing) {
  const Value* found = object.at_path({part, "replicas"});
  return found != nullptr && found->is_int() ? found->as_int() : missing;
}

Value scale_of(const Value& object) {
  Object metadata;
  for (const char* key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    const std::string_view text = metadata_text(object, key);
    if (!text.empty()) metadata.set(key, text);
  }
  Object spec;
  if (const std::int64_t wanted = number_at(object, "spec", 1); wanted != 0) {
    spec.set("replicas", wanted);
  }
  Object status;
  status.set("replicas", number_at(object, "status", 0));
  if (const std::string selector = selector_text(object); !selector.empty()) {
    status.set("selector", selector);
  }
  Object out;
  out.set("kind", "Scale");
  out.set("apiVersion", "autoscaling/v1");
  out.set("metadata", std::move(metadata));
  out.set("spec", std::move(spec));
  out.set("status", std::move(status));
  return out;
}

Outcome<Value> wanted_scale(const Call& call, Value current) {
  SB_ASSIGN(const Value sent, read_manifest(*call.request));
  if (call.verb == Verb::kUpdate) return sent;
  if (call.request->header("content-type").value_or("").starts_with("application/json-patch+")) {
    SB_TRY(json_patch(current, sent));
  } else {
    merge_patch(current, sent);
  }
  return current;
}

}  // namespace

Outcome<http::Answer> scale(const Call& call, Writer& writer, const Reader& reader) {
  if (call.verb != Verb::kGet && call.verb != Verb::kUpdate && call.verb != Verb::kPatch) {
    return std::unexpected(method_not_allowed());
  }
  const auto guard = writer.lock();
  SB_ASSIGN(const Entry entry, reader.entry(call));
  const Value object = to_manifest(*call.served, entry);
  if (call.verb == Verb::kGet) {
    return http::Answer::json(200, base::json::compact(scale_of(object)) + "\n");
  }
  SB_TRY(check_write_options(call));
  SB_ASSIGN(const Value wanted, wanted_scale(call, scale_of(object)));
  const std::int64_t replicas = number_at(wanted, "spec", 0);
  if (replicas < 0) {
    return std::unexpected(invalid(
        "autoscaling", "Scale", call.name,
        {{"FieldValueInvalid", "spec.replicas",
          fmt::format("Invalid value: {}: must be greater than or equal to 0", replicas)}}));
  }
  Object spec;
  spec.set("replicas", replicas);
  Object change;
  change.set("spec", std::move(spec));
  if (const std::string_view rv = metadata_text(wanted, "resourceVersion"); !rv.empty()) {
    Object metadata;
    metadata.set("resourceVersion", rv);
    change.set("metadata", std::move(metadata));
  }
  http::ServerRequest request = *call.request;
  std::erase_if(request.headers, [](const auto& one) { return one.first == "content-type"; });
  request.headers.emplace_back("content-type", "application/merge-patch+json");
  request.body = base::json::compact(Value(std::move(change)));
  Call whole = call;
  whole.subresource.clear();
  whole.request = &request;
  SB_ASSIGN(const auto written, writer.patch(whole));
  return http::Answer::json(
      200, base::json::compact(scale_of(to_manifest(*call.served, written.entry))) + "\n");
}

}  // namespace kollect::sandbox
