// `kollect doctor`: reading a cluster for the checks of doctor.h.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/codec.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "install/cluster.h"
#include "install/commands.h"
#include "install/doctor.h"
#include "install/objects.h"
#include "install/state.h"

namespace kollect::install {

using base::json::Object;
using base::json::Value;

namespace {

constexpr const char* kOperatorLabels =
    "app.kubernetes.io/name=kollect,control-plane=controller-manager";

class Examination {
 public:
  Examination(kube::Client& client, base::Context context, const base::Clock& clock, std::string ns)
      : client_(client), context_(std::move(context)), clock_(clock), ns_(std::move(ns)) {}

  /// Error: the server cannot be asked at all.
  base::Result<Findings> run() {
    KL_ASSIGN(const http::Response version, client_.request(context_, "GET", "/version"));
    if (version.status != 200) {
      return base::denied(
          fmt::format("the API server answers {} to a question for its version", version.status));
    }
    definitions();
    operators();
    our_objects();
    for (const Operator& one : operators_) {
      if (ns_.empty() || one.reads(ns_)) rights(one);
    }
    secrets();
    webhooks();
    const Findings objects = check_objects(objects_, operators_, clock_.now());
    findings_.insert(findings_.end(), objects.begin(), objects.end());
    return std::move(findings_);
  }

 private:
  void add(Level level, std::string about, std::string text, std::string hint = {}) {
    findings_.push_back({.level = level,
                         .about = std::move(about),
                         .text = std::move(text),
                         .hint = std::move(hint)});
  }

  /// What there is of a resource; a note when it may not be read or cannot be.
  std::vector<Value> read(const char* about, const kube::Resource& resource, const std::string& ns,
                          const std::string& labels = {}) {
    auto found = list_all(client_, context_, resource, ns, labels);
    if (found) return std::move(*found);
    not_seen(about, resource.plural, ns, found.error());
    return {};
  }

  void not_seen(const std::string& about, const std::string& what, const std::string& ns,
                const base::Error& why) {
    const bool denied = why.kind == base::ErrorKind::kDenied;
    add(Level::kNote, about,
        denied ? fmt::format("you may not read {}{}", what, ns.empty() ? "" : " in namespace " + ns)
               : "could not be looked at: " + why.message);
  }

  void definitions() {
    const std::size_t before = findings_.size();
    const auto found = read("definitions",
                            resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition",
                                     "customresourcedefinitions", false),
                            "");
    if (findings_.size() > before) return;
    for (const Value& one : found) {
      for (kube::Resource& served : served_by(one)) known_.push_back(std::move(served));
    }
    for (Finding& one : check_definitions(found)) findings_.push_back(std::move(one));
  }

  void operators() {
    auto deployments = deployments_of_operators();
    operators_ = operators_in(deployments);
    const auto foreign = [&](const Operator& one) { return !ns_.empty() && !one.reads(ns_); };
    std::erase_if(deployments, [&](const Value& deployment) {
      return std::ranges::any_of(operators_, [&](const Operator& one) {
        return foreign(one) && place_of(deployment) == one.ns + "/" + one.name;
      });
    });
    for (const Value& deployment : deployments) {
      const auto pods = read("operator", resource("", "v1", "Pod", "pods"),
                             namespace_in(deployment), kOperatorLabels);
      findings_.push_back(check_deployment(deployment, pods));
    }
    for (const Operator& one : operators_) {
      if (one.mode.lease.empty() || foreign(one)) continue;
      if (one.mode.shards == 0) {
        lease(one);
      } else {
        shards(one);
      }
    }
  }

  /// Of the namespace that is looked at; where it has none, of all, since one operator may work for
  /// many. Whoever may not look there is told nothing: that is no fault of the namespace.
  std::vector<Value> deployments_of_operators() {
    const auto deployments = resource("apps", "v1", "Deployment", "deployments");
    auto everywhere = list_all(client_, context_, deployments, "", kOperatorLabels);
    if (!everywhere && !ns_.empty()) {
      auto own = list_all(client_, context_, deployments, ns_, kOperatorLabels);
      return own ? std::move(*own) : std::vector<Value>();
    }
    if (!everywhere) {
      not_seen("operator", "deployments", "", everywhere.error());
      return {};
    }
    if (operators_in(*everywhere).empty()) {
      add(Level::kWarning, "operator",
          fmt::format("there is no Deployment with the labels {}", kOperatorLabels),
          "docs/install.md tells how to install one");
    }
    return std::move(*everywhere);
  }

  void lease(const Operator& one) {
    const auto text =
        client_.get(context_, resource("coordination.k8s.io", "v1", "Lease", "leases"),
                    one.mode.lease_home(), one.mode.lease);
    const std::string about = fmt::format("lease {}/{}", one.mode.lease_home(), one.mode.lease);
    if (!text && text.error().kind == base::ErrorKind::kNotFound) {
      findings_.push_back(check_lease(one, Value(Object()), clock_.now()));
      return;
    }
    const auto document = text ? base::json::Document::parse(*text)
                               : base::Result<base::json::Document>(text.error());
    if (!document) {
      return not_seen(about, "it", "", document.error());
    }
    findings_.push_back(check_lease(one, base::json::to_value(document->root()), clock_.now()));
  }

  void shards(const Operator& one) {
    const auto leases =
        list_all(client_, context_, resource("coordination.k8s.io", "v1", "Lease", "leases"),
                 one.mode.lease_home(), "");
    if (!leases) return not_seen("leases", "leases", one.mode.lease_home(), leases.error());
    findings_.push_back(check_shards(one, *leases, clock_.now()));
  }

  void our_objects() {
    std::vector<std::string> denied;
    for (const api::KindInfo& info : api::kinds()) {
      auto found = list_ours(client_, context_, info.kind, ns_);
      if (!found) {
        // A kind that is not there was told already.
        if (found.error().kind == base::ErrorKind::kDenied) {
          denied.push_back(info.plural);
        }
        continue;
      }
      for (const Value& one : *found) (void)take(typed_, one);
      objects_[info.kind] = std::move(*found);
    }
    if (!denied.empty()) {
      not_seen("objects", base::join(denied, ", "), ns_, base::denied(""));
    }
  }

  /// Whether an operator's account may do it; nothing when that cannot be asked.
  std::optional<bool> may(const Operator& who, const Rights::One& what) {
    Object attributes;
    attributes.set("namespace", what.ns);
    attributes.set("group", what.group);
    const std::size_t slash = what.resource.find('/');
    attributes.set("resource", what.resource.substr(0, slash));
    if (slash != std::string::npos) {
      attributes.set("subresource", what.resource.substr(slash + 1));
    }
    attributes.set("verb", what.verb);
    if (!what.name.empty()) attributes.set("name", what.name);
    Object spec;
    spec.set("user", who.user());
    spec.set("groups", base::json::Array{Value("system:serviceaccounts"),
                                         Value("system:serviceaccounts:" + who.ns),
                                         Value("system:authenticated")});
    spec.set("resourceAttributes", std::move(attributes));
    Object review;
    review.set("apiVersion", "authorization.k8s.io/v1");
    review.set("kind", "SubjectAccessReview");
    review.set("spec", std::move(spec));
    const auto answer =
        client_.request(context_, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                        base::json::compact(Value(std::move(review))));
    if (!answer || answer->status / 100 != 2) return std::nullopt;
    const auto document = base::json::Document::parse(answer->body);
    const auto allowed = document ? document->root().at_path({"status", "allowed"}) : std::nullopt;
    if (!allowed || !allowed->is_bool()) return std::nullopt;
    return allowed->as_bool();
  }

  /// Tells what of the rights is missing. False: nobody answers such questions.
  bool compare(const Operator& who, const std::string& about, const Rights& rights,
               const char* hint) {
    std::map<std::string, std::string> missing;  // verbs by what and where
    for (const Rights::One& one : rights.all()) {
      const auto allowed = may(who, one);
      if (!allowed) return false;
      if (*allowed) continue;
      const std::string group = one.group.empty() ? "" : "." + one.group;
      std::string& verbs = missing[fmt::format("{}{}{}{}", one.resource, group,
                                               one.name.empty() ? "" : " " + one.name,
                                               one.ns.empty() ? "" : " in namespace " + one.ns)];
      verbs += (verbs.empty() ? "" : ", ") + one.verb;
    }
    for (const auto& [what, verbs] : missing) {
      add(Level::kWrong, about, fmt::format("{} may not {} {}", who.user(), verbs, what), hint);
    }
    return true;
  }

  void rights(const Operator& who) {
    constexpr const char* kOwn = "kollect rbac, or rbac.create of the chart";
    constexpr const char* kMore = "kollect rbac FILES, or collector.rules of the chart";
    const std::string about = fmt::format("operator {}/{}", who.ns, who.name);
    const std::size_t before = findings_.size();
    if (!compare(who, about, own_rights(who.mode), kOwn)) {
      return add(Level::kNote, about, "what it may do could not be asked");
    }
    // What other operators read is not this one's.
    Objects mine = typed_;
    const auto others = [&](const auto& one) { return !who.reads(one.metadata.ns); };
    std::erase_if(mine.targets, others);
    std::erase_if(mine.cluster_targets, others);
    std::erase_if(mine.snapshot_sinks, others);
    std::erase_if(mine.database_sinks, others);
    std::erase_if(mine.event_sinks, others);
    if (mine.targets.empty() && mine.cluster_targets.empty()) mine.profiles.clear();
    const Namer namer = [&](const api::GroupVersionKind& kind) {
      return find_resource(known_, kind);
    };
    for (const TargetRights& target : collection_rights(mine, who.mode, namer)) {
      // What cannot be told is told by the target's status.
      if (target.rights && !compare(who, target.title, *target.rights, kMore)) return;
    }
    if (!compare(who, about, secret_rights(mine), kMore)) return;
    if (findings_.size() == before) add(Level::kFine, about, "may do all that it needs to");
  }

  /// Secrets that sinks name are there.
  void secrets() {
    for (const Rights::One& one : secret_rights(typed_).all()) {
      const auto found =
          client_.get(context_, resource("", "v1", "Secret", "secrets"), one.ns, one.name);
      if (found || found.error().kind != base::ErrorKind::kNotFound) continue;
      add(Level::kWrong, fmt::format("Secret {}/{}", one.ns, one.name),
          "is not there, but a sink names it");
    }
  }

  void webhooks() {
    const auto found =
        read("webhooks",
             resource("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
                      "validatingwebhookconfigurations", false),
             "");
    for (const Value& configuration : found) {
      if (check_webhooks(configuration, {}, {}).empty()) continue;
      const auto services = read("webhooks", resource("", "v1", "Service", "services"), "");
      const auto slices = read(
          "webhooks", resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"), "");
      for (Finding& one : check_webhooks(configuration, services, slices)) {
        findings_.push_back(std::move(one));
      }
    }
  }

  kube::Client& client_;
  base::Context context_;
  const base::Clock& clock_;
  std::string ns_;  ///< empty: all
  std::vector<kube::Resource> known_;
  std::vector<Operator> operators_;
  ObjectsByKind objects_;
  Objects typed_;
  Findings findings_;
};

}  // namespace

int run_doctor_command(const cli::Invocation& invocation, const std::vector<std::string>& args) {
  ClusterFlags flags;
  bool json = false;
  CLI::App app(
      "Looks for what is wrong with an installation: definitions, the operator and its rights, "
      "webhooks, objects. Nothing is changed. Exit code 0: nothing is wrong, 1: something is, 2: "
      "the cluster cannot be asked.",
      "doctor");
  add_cluster_flags(app, flags, false);
  cli::add_flag_value(app, "-n,--namespace", flags.ns,
                      "Look at this namespace only; default: all that you may read");
  app.add_flag("-A,--all-namespaces", flags.all_namespaces,
               "All that you may read, whatever --namespace says");
  app.add_flag("--json", json, "A JSON line per finding");
  if (const auto code = cli::parse_flags(app, invocation, args)) return *code;
  auto client = open_cluster(invocation, flags);
  if (!client) return failed(invocation, "doctor", client.error());
  // Without a namespace nothing is left to the context's: whoever asks wants to know it all.
  const std::string ns = flags.all_namespaces ? std::string() : flags.ns;
  const auto findings = Examination(**client, invocation.context(), *invocation.clock, ns).run();
  if (!findings) return failed(invocation, "doctor", findings.error());
  fmt::print(invocation.out, "{}", json ? report_json(*findings) : report(*findings));
  if (std::fflush(invocation.out) != 0) return cli::kExitFailed;
  const bool wrong =
      std::ranges::any_of(*findings, [](const Finding& one) { return one.level == Level::kWrong; });
  return wrong ? cli::kExitPartial : cli::kExitOk;
}

}  // namespace kollect::install
