#include "install/rights.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace kollect::install {

namespace {

const std::vector<std::string> kRead = {"get", "list", "watch"};
const std::vector<std::string> kKeep = {"get", "list", "patch", "watch"};
/// Read, take finalizers and annotations away, write the status.
void keep(Rights& rights, const std::string& ns, const std::string& plural) {
  rights.allow(ns, api::kGroup, plural, kKeep);
  rights.allow(ns, api::kGroup, plural + "/status", {"patch"});
  // Asked for by clusters that guard owner references.
  rights.allow(ns, api::kGroup, plural + "/finalizers", {"update"});
}

}  // namespace

void Rights::allow(const std::string& ns, const std::string& group, const std::string& resource,
                   const std::vector<std::string>& verbs, const std::string& name) {
  verbs_[{ns, group, resource, name}].insert(verbs.begin(), verbs.end());
}

void Rights::add(const Rights& other) {
  for (const auto& [key, verbs] : other.verbs_) verbs_[key].insert(verbs.begin(), verbs.end());
}

bool Rights::has(const std::string& ns, const Key& key, const std::string& verb,
                 bool any_name) const {
  const auto& [own, group, resource, name] = key;
  const auto found = verbs_.find({ns, group, resource, any_name ? std::string() : name});
  return found != verbs_.end() && found->second.contains(verb);
}

void Rights::simplify() {
  for (auto it = verbs_.begin(); it != verbs_.end();) {
    const auto& [ns, group, resource, name] = it->first;
    std::erase_if(it->second, [&](const std::string& verb) {
      return (!name.empty() && has(ns, it->first, verb, true)) ||
             (!ns.empty() && (has("", it->first, verb, true) || has("", it->first, verb, false)));
    });
    it = it->second.empty() ? verbs_.erase(it) : std::next(it);
  }
}

std::map<std::string, std::vector<Rule>> Rights::rules() const {
  // First names that share everything else, then resources that do.
  using Named = std::tuple<std::string, std::string, std::string, std::set<std::string>, bool>;
  std::map<Named, std::vector<std::string>> names;
  for (const auto& [key, verbs] : verbs_) {
    const auto& [ns, group, resource, name] = key;
    auto& list = names[{ns, group, resource, verbs, name.empty()}];
    if (!name.empty()) list.push_back(name);
  }
  using Same =
      std::tuple<std::string, std::string, std::set<std::string>, std::vector<std::string>>;
  std::map<Same, std::vector<std::string>> resources;
  for (const auto& [key, list] : names) {
    const auto& [ns, group, resource, verbs, all] = key;
    resources[{ns, group, verbs, list}].push_back(resource);
  }
  std::map<std::string, std::vector<Rule>> made;
  for (const auto& [key, list] : resources) {
    const auto& [ns, group, verbs, named] = key;
    made[ns].push_back({.group = group,
                        .resources = list,
                        .names = named,
                        .verbs = std::vector<std::string>(verbs.begin(), verbs.end())});
  }
  return made;
}

std::vector<Rights::One> Rights::all() const {
  std::vector<One> found;
  for (const auto& [key, verbs] : verbs_) {
    const auto& [ns, group, resource, name] = key;
    for (const std::string& verb : verbs) {
      found.push_back({.ns = ns, .group = group, .resource = resource, .name = name, .verb = verb});
    }
  }
  return found;
}

std::string Mode::shard_lease(std::size_t part) const {
  return fmt::format("{}-shard-{}", lease, part);
}

Rights own_rights(const Mode& mode) {
  Rights rights;
  std::vector<std::string> places = mode.watch_namespaces;
  if (places.empty()) places.push_back(mode.tenant ? mode.own_namespace : std::string());
  for (const std::string& ns : places) {
    for (const char* plural : {"kollectprofiles", "kollectscopes"}) {
      rights.allow(ns, api::kGroup, plural, kRead);
    }
    for (const char* plural : {"kollecttargets", "kollectinventories", "kollectsnapshotsinks",
                               "kollectdatabasesinks", "kollecteventsinks"}) {
      keep(rights, ns, plural);
    }
    rights.allow(ns, api::kGroup, "kollectconnectiontests", kKeep);
    rights.allow(ns, api::kGroup, "kollectconnectiontests", {"delete"});
    rights.allow(ns, api::kGroup, "kollectconnectiontests/status", {"patch"});
    rights.allow(ns, "", "events", {"create"});
    if (mode.all_secrets) rights.allow(ns, "", "secrets", {"get"});
  }
  if (!mode.tenant) {
    rights.allow("", api::kGroup, "kollectclusterscopes", kRead);
    keep(rights, "", "kollectclustertargets");
    keep(rights, "", "kollectclusterinventories");
    rights.allow("", "", "namespaces", kRead);
    rights.allow("", "apiextensions.k8s.io", "customresourcedefinitions", kRead);
    rights.allow("", "authorization.k8s.io", "selfsubjectaccessreviews", {"create"});
    // Events about objects without a namespace are kept there.
    rights.allow("default", "", "events", {"create"});
  }
  if (!mode.lease.empty()) {
    const char* group = "coordination.k8s.io";
    rights.allow(mode.lease_home(), group, "leases", {"create"});
    std::vector<std::string> names = {mode.lease};
    for (std::size_t n = 0; n < mode.shards; ++n) names.push_back(mode.shard_lease(n));
    for (std::size_t n = 0; n < 2 * mode.shards; ++n) {
      names.push_back(fmt::format("{}-member-{}", mode.lease, n));
    }
    const bool one = mode.shards == 0;
    // Several cannot be watched by their names.
    rights.allow(mode.lease_home(), group, "leases", {"list", "watch"}, one ? mode.lease : "");
    for (const std::string& name : names) {
      rights.allow(mode.lease_home(), group, "leases", {"get", "patch"}, name);
    }
  }
  if (!mode.webhook_secret.empty()) {
    rights.allow(mode.own_namespace, "", "secrets", {"create"});
    rights.allow(mode.own_namespace, "", "secrets", {"get", "list", "watch", "patch"},
                 mode.webhook_secret);
    rights.allow("", "admissionregistration.k8s.io", "validatingwebhookconfigurations",
                 {"get", "list", "watch", "patch"}, mode.webhook_configuration);
  }
  if (mode.metrics || mode.read_api) {
    rights.allow("", "authentication.k8s.io", "tokenreviews", {"create"});
    rights.allow("", "authorization.k8s.io", "subjectaccessreviews", {"create"});
  }
  rights.simplify();
  return rights;
}

}  // namespace kollect::install
