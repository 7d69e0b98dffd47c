// Checks of what runs.
#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "api/codec.h"
#include "base/strings.h"
#include "install/doctor.h"
#include "install/state.h"

namespace kollect::install {

using base::json::Value;

namespace {

constexpr const char* kApplyDefinitions = "kollect crds | kubectl apply --server-side -f -";

/// The first field below `ours` that `theirs` does not have; "" when there is none.
std::string missing_field(const Value& ours, const Value* theirs, const std::string& path) {
  if (theirs == nullptr) return path;
  if (const Value* properties = ours.find("properties")) {
    if (properties->is_object()) {
      for (const auto& [name, schema] : properties->as_object()) {
        const std::string below = path.empty() ? name : path + "." + name;
        const Value* there = theirs->at_path({"properties", name});
        if (std::string found = missing_field(schema, there, below); !found.empty()) return found;
      }
    }
  }
  if (const Value* items = ours.find("items")) {
    return missing_field(*items, theirs->find("items"), path + "[]");
  }
  return {};
}

/// The schema of our version; nullptr: it is not served.
const Value* served_schema(const Value& definition) {
  for (const Value& version : list_at(definition, {"spec", "versions"})) {
    const Value* served = version.find("served");
    if (version.text("name") != api::kVersion) continue;
    if (served != nullptr && served->is_bool() && !served->as_bool()) continue;
    return version.at_path({"schema", "openAPIV3Schema"});
  }
  return nullptr;
}

Finding wrong(std::string about, std::string text, std::string hint = {}) {
  return {.level = Level::kWrong,
          .about = std::move(about),
          .text = std::move(text),
          .hint = std::move(hint)};
}

/// The value of --flag=value, or "" when it is not there; "true" for a flag alone.
std::string flag_of(const std::vector<std::string>& args, std::string_view flag) {
  std::string value;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == flag) {
      const bool next = i + 1 < args.size() && !args[i + 1].starts_with("-");
      value = next ? args[i + 1] : "true";
    } else if (args[i].starts_with(std::string(flag) + "=")) {
      value = args[i].substr(flag.size() + 1);
    }
  }
  return value;
}

/// Arguments of the operator's container; nothing when there is none.
std::vector<std::string> arguments_of(const Value& deployment) {
  for (const Value& container : list_at(deployment, {"spec", "template", "spec", "containers"})) {
    std::vector<std::string> all;
    for (const char* member : {"command", "args"}) {
      for (const Value& one : list_at(container, {member})) {
        if (one.is_string()) all.push_back(one.as_string());
      }
    }
    const bool entry = !all.empty() && all.front().ends_with("manager");
    if (entry || std::ranges::find(all, "operator") != all.end() ||
        container.text("name") == "manager") {
      return all;
    }
  }
  return {};
}

/// Why a pod does not run, in the words of its node; "" when it does.
std::string trouble_of(const Value& pod) {
  for (const Value& status : list_at(pod, {"status", "containerStatuses"})) {
    const std::string reason = text_at(status, {"state", "waiting", "reason"});
    std::string message = text_at(status, {"state", "waiting", "message"});
    if (reason.empty() || reason == "ContainerCreating") continue;
    const std::string last = text_at(status, {"lastState", "terminated", "reason"});
    if (!last.empty()) message = fmt::format("it ended with {}; {}", last, message);
    return fmt::format("{}: {}", reason, message);
  }
  for (const Value& condition : list_at(pod, {"status", "conditions"})) {
    if (condition.text("type") == "PodScheduled" && condition.text("status") == "False") {
      return fmt::format("{}: {}", condition.text("reason"), condition.text("message"));
    }
  }
  return {};
}

}  // namespace

std::string Operator::user() const {
  return fmt::format("system:serviceaccount:{}:{}", ns, account);
}

bool Operator::reads(const std::string& object_ns) const {
  if (object_ns.empty()) return !mode.tenant;
  const auto& watched = mode.watch_namespaces;
  return watched.empty() || std::ranges::find(watched, object_ns) != watched.end();
}

std::vector<Operator> operators_in(const std::vector<Value>& deployments) {
  std::vector<Operator> found;
  for (const Value& deployment : deployments) {
    const std::vector<std::string> args = arguments_of(deployment);
    if (args.empty()) continue;
    Operator one{.ns = namespace_in(deployment),
                 .name = name_in(deployment),
                 .account = text_at(deployment, {"spec", "template", "spec", "serviceAccountName"}),
                 .mode = {}};
    if (one.account.empty()) one.account = "default";
    one.mode.tenant = flag_of(args, "--tenant-mode") == "true";
    one.mode.watch_namespaces = comma_list(flag_of(args, "--watch-namespaces"));
    one.mode.default_included = comma_list(flag_of(args, "--default-included-namespaces"));
    one.mode.default_excluded = comma_list(flag_of(args, "--default-excluded-namespaces"));
    one.mode.own_namespace = one.ns;
    one.mode.all_secrets = false;
    const std::string metrics = flag_of(args, "--metrics-bind-address");
    // In tenant mode there is no such right, and nobody can scrape.
    one.mode.metrics = !metrics.empty() && metrics != "0" && !one.mode.tenant &&
                       flag_of(args, "--metrics-secure") != "false";
    one.mode.read_api = flag_of(args, "--inventory-http-enabled") == "true" &&
                        (flag_of(args, "--inventory-auth-mode").empty() ||
                         flag_of(args, "--inventory-auth-mode") == "kubernetes") &&
                        !one.mode.tenant;
    const std::string id = flag_of(args, "--leader-elect-id");
    one.mode.lease_namespace = flag_of(args, "--leader-elect-namespace");
    const std::string shards = flag_of(args, "--shards");
    std::from_chars(shards.data(), shards.data() + shards.size(), one.mode.shards);
    if (flag_of(args, "--leader-elect") != "true" && one.mode.shards == 0) {
      one.mode.lease.clear();
    } else if (!id.empty()) {
      one.mode.lease = id;
    }
    if (flag_of(args, "--webhook-self-signed") == "true") {
      const auto or_default = [&](const char* flag, const char* otherwise) {
        const std::string name = flag_of(args, flag);
        return name.empty() ? std::string(otherwise) : name;
      };
      one.mode.webhook_secret = or_default("--webhook-secret", kDefaultWebhookSecret);
      one.mode.webhook_configuration =
          or_default("--webhook-configuration", kDefaultWebhookConfiguration);
    }
    found.push_back(std::move(one));
  }
  return found;
}

Findings check_definitions(const std::vector<Value>& definitions) {
  Findings findings;
  for (const api::KindInfo& info : api::kinds()) {
    const std::string name = info.plural + "." + api::kGroup;
    const auto found =
        std::ranges::find_if(definitions, [&](const Value& one) { return name_in(one) == name; });
    if (found == definitions.end()) {
      findings.push_back(wrong(info.kind, "this kind is not there", kApplyDefinitions));
      continue;
    }
    const Value* schema = served_schema(*found);
    if (schema == nullptr) {
      findings.push_back(
          wrong(info.kind, fmt::format("{} is not served", api::kApiVersion), kApplyDefinitions));
      continue;
    }
    const Value* status = found->find("status");
    const Value* established = status == nullptr ? nullptr : find_condition(*status, "Established");
    if (established == nullptr || established->text("status") != "True") {
      findings.push_back(wrong(info.kind, "the API server does not serve this kind yet",
                               "kubectl describe crd " + name));
    }
    const Value ours = api::crd(info.kind);
    const std::string field = missing_field(*served_schema(ours), schema, "");
    if (!field.empty()) {
      findings.push_back(wrong(info.kind,
                               fmt::format("its definition is of an older version, without the "
                                           "field {}",
                                           field),
                               kApplyDefinitions));
    }
  }
  if (findings.empty()) {
    findings.push_back({.about = "definitions",
                        .text = fmt::format("all {} kinds are there", api::kinds().size())});
  }
  return findings;
}

Finding check_deployment(const Value& deployment, const std::vector<Value>& pods) {
  const std::string about = "operator " + place_of(deployment);
  const std::int64_t wanted = number_at(deployment, {"spec", "replicas"}, 1);
  const std::int64_t available = number_at(deployment, {"status", "availableReplicas"}, 0);
  if (wanted == 0) {
    return wrong(about, "is scaled to zero",
                 fmt::format("kubectl -n {} scale deployment {} --replicas=1",
                             namespace_in(deployment), name_in(deployment)));
  }
  if (available >= wanted) {
    return {.about = about, .text = fmt::format("{} of {} available", available, wanted)};
  }
  for (const Value& pod : pods) {
    if (const std::string trouble = trouble_of(pod); !trouble.empty()) {
      return wrong(
          about,
          fmt::format("{} of {} available; pod {}: {}", available, wanted, name_in(pod), trouble),
          fmt::format("kubectl -n {} logs deployment/{}", namespace_in(deployment),
                      name_in(deployment)));
    }
  }
  return wrong(about,
               fmt::format("{} of {} available{}", available, wanted,
                           pods.empty() ? "; it has no pods" : ""),
               fmt::format("kubectl -n {} describe deployment {}; kubectl -n {} logs deployment/{}",
                           namespace_in(deployment), name_in(deployment), namespace_in(deployment),
                           name_in(deployment)));
}

Finding check_lease(const Operator& one, const Value& lease, base::WallTime now) {
  const std::string about = fmt::format("lease {}/{}", one.mode.lease_home(), one.mode.lease);
  const std::string holder = text_at(lease, {"spec", "holderIdentity"});
  if (holder.empty()) {
    return wrong(about, "nobody leads, so nothing is collected or exported",
                 "the logs of the operator say why");
  }
  const auto renewed = base::parse_rfc3339(text_at(lease, {"spec", "renewTime"}));
  const std::chrono::seconds length(number_at(lease, {"spec", "leaseDurationSeconds"}, 60));
  if (!renewed || *renewed + 2 * length < now) {
    return wrong(about,
                 fmt::format("{} leads, but has not said so since {}", holder,
                             text_at(lease, {"spec", "renewTime"})),
                 "is its pod still there?");
  }
  return {.about = about, .text = holder + " leads"};
}

Finding check_shards(const Operator& one, const std::vector<Value>& leases, base::WallTime now) {
  const std::string about =
      fmt::format("leases {}/{}-shard-*", one.mode.lease_home(), one.mode.lease);
  std::set<std::string> holders;
  std::vector<std::string> left;
  for (std::size_t n = 0; n < one.mode.shards; ++n) {
    const auto lease = std::ranges::find(leases, one.mode.shard_lease(n), name_in);
    const bool held = lease != leases.end() && check_lease(one, *lease, now).level == Level::kFine;
    if (held) {
      holders.insert(text_at(*lease, {"spec", "holderIdentity"}));
    } else {
      left.push_back(std::to_string(n));
    }
  }
  if (!left.empty()) {
    return wrong(about,
                 fmt::format("nobody works on part {} of {}, so their namespaces are not exported",
                             base::join(left, ", "), one.mode.shards),
                 "the logs of the operator say why");
  }
  return {.about = about,
          .text = fmt::format("{} parts, replicas that work on them: {}", one.mode.shards,
                              holders.size())};
}

Findings check_webhooks(const Value& configuration, const std::vector<Value>& services,
                        const std::vector<Value>& slices) {
  const std::string about = "webhooks " + name_in(configuration);
  for (const Value& webhook : list_at(configuration, {"webhooks"})) {
    const bool ours = std::ranges::any_of(list_at(webhook, {"rules"}), [](const Value& rule) {
      return std::ranges::any_of(list_at(rule, {"apiGroups"}), [](const Value& group) {
        return group.is_string() && group.as_string() == api::kGroup;
      });
    });
    const Value* service = webhook.at_path({"clientConfig", "service"});
    if (!ours || service == nullptr) continue;
    const bool strict = webhook.text("failurePolicy") != "Ignore";
    const std::string so =
        strict ? "so nothing of kollect.dev can be written" : "so what is written is not checked";
    const std::string place =
        fmt::format("{}/{}", service->text("namespace"), service->text("name"));
    const auto bad = [&](const std::string& text, const std::string& hint) {
      Finding finding = wrong(about, text + ", " + so, hint);
      if (!strict) finding.level = Level::kWarning;
      return Findings{finding};
    };
    if (text_at(webhook, {"clientConfig", "caBundle"}).empty()) {
      return bad("the API server is not told whom to trust (caBundle)",
                 "cert-manager writes it, or the operator with --webhook-self-signed");
    }
    if (std::ranges::none_of(services, [&](const Value& one) { return place_of(one) == place; })) {
      return bad(fmt::format("the Service {} is not there", place),
                 "kubectl delete validatingwebhookconfiguration " + name_in(configuration) +
                     ", when the operator was removed");
    }
    const bool answered = std::ranges::any_of(slices, [&](const Value& slice) {
      return namespace_in(slice) == service->text("namespace") &&
             text_at(slice, {"metadata", "labels", "kubernetes.io/service-name"}) ==
                 service->text("name") &&
             std::ranges::any_of(list_at(slice, {"endpoints"}), [](const Value& endpoint) {
               const Value* ready = endpoint.at_path({"conditions", "ready"});
               return ready == nullptr || !ready->is_bool() || ready->as_bool();
             });
    });
    if (!answered) {
      return bad(fmt::format("no pod behind the Service {} is ready", place),
                 fmt::format("kubectl -n {} get pods", service->text("namespace")));
    }
    return {{.about = about, .text = "are answered by " + place}};
  }
  return {};
}

}  // namespace kollect::install
