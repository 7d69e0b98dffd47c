#include "sandbox/call.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "sandbox/protobuf.h"

namespace kollect::sandbox {

using base::json::Value;

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::kGet:
      return "get";
    case Verb::kList:
      return "list";
    case Verb::kWatch:
      return "watch";
    case Verb::kCreate:
      return "create";
    case Verb::kUpdate:
      return "update";
    case Verb::kPatch:
      return "patch";
    case Verb::kDelete:
      return "delete";
    case Verb::kDeleteCollection:
      return "deletecollection";
  }
  return "get";
}

std::string Call::parameter(const std::string& key) const {
  const auto it = parameters.find(key);
  return it == parameters.end() ? std::string() : it->second;
}

bool Call::flag(const std::string& key) const {
  const std::string value = parameter(key);
  return value == "true" || value == "1";
}

namespace {

std::optional<Verb> verb_of(const Call& call, const std::string& method) {
  if (method == "GET" || method == "HEAD") {
    if (!call.name.empty()) return Verb::kGet;
    return call.flag("watch") ? Verb::kWatch : Verb::kList;
  }
  if (method == "POST") return Verb::kCreate;
  if (method == "PUT") return Verb::kUpdate;
  if (method == "PATCH") return Verb::kPatch;
  if (method == "DELETE") return call.name.empty() ? Verb::kDeleteCollection : Verb::kDelete;
  return std::nullopt;
}

/// Behind the version: [namespaces/NS/]plural[/name[/subresource]].
bool read_resource(const std::vector<std::string>& steps, std::size_t at, const std::string& group,
                   const std::string& version, const Catalog& catalog, Call& call) {
  const auto step = [&](std::size_t i) { return i < steps.size() ? steps[i] : std::string(); };
  const bool scoped = step(at) == "namespaces" && steps.size() >= at + 3 &&
                      catalog.find(group, version, step(at + 2)) != nullptr &&
                      !(group.empty() && (step(at + 2) == "status" || step(at + 2) == "finalize"));
  if (scoped) {
    call.ns = step(at + 1);
    at += 2;
  }
  call.served = catalog.find(group, version, step(at));
  if (!call.served || (scoped && !call.served->namespaced) || steps.size() > at + 3) return false;
  call.name = step(at + 1);
  call.subresource = step(at + 2);
  // One object of a namespaced kind is named with its namespace.
  return call.name.empty() || call.served->namespaced == scoped;
}

}  // namespace

std::optional<Call> read_call(const http::ServerRequest& request, const Catalog& catalog) {
  std::vector<std::string> steps;
  for (const auto part : base::split(request.path, '/')) {
    if (part.empty()) continue;
    auto plain = base::percent_decode(part);
    if (!plain) return std::nullopt;
    steps.push_back(std::move(*plain));
  }
  Call call;
  call.request = &request;
  for (const auto& [key, value] : request.parameters()) call.parameters.emplace(key, value);
  bool known = false;
  if (steps.size() >= 3 && steps[0] == "api") {
    known = read_resource(steps, 2, "", steps[1], catalog, call);
  } else if (steps.size() >= 4 && steps[0] == "apis") {
    known = read_resource(steps, 3, steps[1], steps[2], catalog, call);
  }
  if (!known) return std::nullopt;
  const auto verb = verb_of(call, request.method);
  if (!verb) return std::nullopt;
  call.verb = *verb;
  return call;
}

namespace {

Status option_not_supported(const Call& call, const char* field, std::string_view given,
                            std::string_view supported) {
  const bool deletes = call.verb == Verb::kDelete || call.verb == Verb::kDeleteCollection;
  const char* kind = deletes                      ? "DeleteOptions"
                     : call.verb == Verb::kCreate ? "CreateOptions"
                     : call.verb == Verb::kPatch  ? "PatchOptions"
                                                  : "UpdateOptions";
  return invalid(
      "meta.k8s.io", kind, "",
      {{"FieldValueNotSupported", field,
        fmt::format("Unsupported value: \"{}\": supported values: {}", given, supported)}});
}

}  // namespace

Outcome<> check_write_options(const Call& call) {
  const std::string dry = call.parameter("dryRun");
  if (!dry.empty() && dry != "All") {
    return std::unexpected(option_not_supported(call, "dryRun", dry, "\"All\""));
  }
  const std::string policy = call.parameter("propagationPolicy");
  if (!policy.empty() && policy != "Background" && policy != "Foreground" && policy != "Orphan") {
    return std::unexpected(option_not_supported(call, "propagationPolicy", policy,
                                                "\"Background\", \"Foreground\", \"Orphan\""));
  }
  return {};
}

void take_delete_options(Call& call, const Value& options) {
  const Value* dry = options.find("dryRun");
  if (dry != nullptr && dry->is_array() && !dry->as_array().empty()) {
    const Value& first = dry->as_array().front();
    call.parameters["dryRun"] = first.is_string() ? first.as_string() : "?";
  }
  const std::string_view policy = options.text("propagationPolicy");
  if (!policy.empty()) call.parameters["propagationPolicy"] = policy;
}

Outcome<Value> read_manifest(const http::ServerRequest& request) {
  const std::string type(request.header("content-type").value_or("application/json"));
  if (type.find("protobuf") != std::string::npos) return read_protobuf(request.body);
  if (type.find("cbor") != std::string::npos) {
    return std::unexpected(unsupported_media("application/json, application/yaml"));
  }
  if (type.find("yaml") != std::string::npos) {
    auto value = base::yaml::read_one(request.body);
    if (!value) return std::unexpected(bad_request(value.error().message));
    return std::move(*value);
  }
  const auto document = base::json::Document::parse(request.body);
  if (!document) return std::unexpected(bad_request(document.error().message));
  return base::json::to_value(document->root());
}

}  // namespace kollect::sandbox
