#include "pipeline/run/cluster_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json/document.h"
#include "base/strings.h"
#include "pipeline/run/intake.h"

namespace kollect::pipeline {
namespace {

using base::json::View;

constexpr std::string_view kForbidden = "forbidden";

std::string reason_of(const base::Error& error) {
  if (!error.reason.empty()) return error.reason;
  return error.kind == base::ErrorKind::kDenied ? "forbidden" : "transient";
}

bool is_forbidden(const base::Error& error) {
  return error.reason == kForbidden;
}

std::string type_of(const kube::Resource& r) {
  return r.group.empty() ? fmt::format("{} ({})", r.kind, r.version)
                         : fmt::format("{} ({}/{})", r.kind, r.group, r.version);
}

/// Reads namespaces with labels and annotations.
class NamespaceReceiver final : public kube::ListReceiver {
 public:
  explicit NamespaceReceiver(select::Namespaces& namespaces) : namespaces_(namespaces) {}

  base::Result<> begin() override {
    namespaces_.clear();
    return {};
  }

  base::Result<> page(std::string_view text) override {
    base::json::ListHandler handler;
    handler.on_item = [&](View item) -> base::Result<> {
      const auto metadata = item.find("metadata");
      if (!metadata) return {};
      select::Namespace ns;
      ns.name = metadata->text("name");
      read(metadata->find("labels"), ns.labels);
      read(metadata->find("annotations"), ns.annotations);
      namespaces_[ns.name] = std::move(ns);
      return {};
    };
    auto head = base::json::walk_list(text, handler);
    if (!head) return head.error();
    return {};
  }

 private:
  static void read(std::optional<View> map, select::Labels& labels) {
    if (!map) return;
    for (const auto& [key, value] : map->members()) {
      if (value.is_string()) labels[std::string(key)] = value.as_string();
    }
  }
  select::Namespaces& namespaces_;
};

/// Hands objects to the intake; nothing of a page is kept.
class ObjectReceiver final : public kube::ListReceiver {
 public:
  ObjectReceiver(Intake& intake, const kube::Resource& resource, Progress& progress)
      : intake_(intake),
        type_{.group = resource.group,
              .version = resource.version,
              .kind = resource.kind,
              .namespaced = resource.namespaced},
        progress_(progress) {
    handler_.item_api_version = resource.group.empty()
                                    ? resource.version
                                    : fmt::format("{}/{}", resource.group, resource.version);
    handler_.item_kind = resource.kind;
    handler_.on_item = [this](View item) -> base::Result<> {
      intake_.object(item, type_);
      return {};
    };
    handler_.on_bad_item = [this](const base::Error& error) {
      for (Lane& lane : intake_.lanes()) {
        lane.batch.failures.add({.ns = {}, .name = "?", .uid = {}, .reason = error.message});
      }
    };
  }

  base::Result<> begin() override {
    intake_.clear();
    return {};
  }

  base::Result<> page(std::string_view text) override {
    const std::uint64_t objects = intake_.objects();
    const std::uint64_t before = rows();
    auto head = base::json::walk_list(text, handler_);
    if (!head) return head.error();
    progress_.add(intake_.objects() - objects, rows() - before);
    return {};
  }

 private:
  std::uint64_t rows() {
    std::uint64_t count = 0;
    for (const Lane& lane : intake_.lanes()) count += lane.batch.rows.size();
    return count;
  }

  Intake& intake_;
  ObjectType type_;
  Progress& progress_;
  base::json::ListHandler handler_;
};

class ClusterCollector {
 public:
  ClusterCollector(const base::Context& context, kube::Client& client, const Plan& plan,
                   const ClusterJob& job, Progress& progress)
      : context_(context), client_(client), plan_(plan), job_(job), progress_(progress) {}

  ContextResult run() {
    result_.context = job_.context;
    result_.cluster = job_.cluster;
    targets_.resize(plan_.targets.size());
    result_.targets.resize(plan_.targets.size());
    for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
      if (plan_.targets[i].suspended) result_.targets[i].status = TargetResult::Status::kSuspended;
    }
    if (!plan_.all_suspended()) collect();
    finish();
    return std::move(result_);
  }

 private:
  /// What a target needs and has got so far.
  struct TargetState {
    std::vector<kube::Resource> resources;
    std::vector<std::string> effective;
    bool learn = false;
    std::set<std::string> denied;
  };
  struct ResourceGroup {
    kube::Resource resource;
    std::vector<std::size_t> targets;
  };

  [[nodiscard]] bool active(std::size_t i) const {
    return result_.targets[i].status == TargetResult::Status::kOk;
  }

  void skip(std::size_t i, std::string reason, std::string message) {
    TargetResult& target = result_.targets[i];
    if (!active(i)) return;
    target.status = TargetResult::Status::kSkipped;
    target.reason = std::move(reason);
    target.message = std::move(message);
    target.data = TargetBatch();
  }

  void skip(std::size_t i, const base::Error& error) { skip(i, reason_of(error), error.message); }

  void collect() {
    auto discovery = client_.discover(context_);
    if (!discovery) {
      result_.error = discovery.error();
      return;
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) resolve_kinds(i, *discovery);
    if (needs_namespaces()) settle_namespaces();
    for (const ResourceGroup& group : groups()) list_group(group);
  }

  void resolve_kinds(std::size_t i, const kube::Discovery& discovery) {
    if (!active(i)) return;
    for (const api::GroupVersionKind& gvk : plan_.targets[i].selection.kinds()) {
      auto found = discovery.find(gvk.group, gvk.version, gvk.kind);
      if (!found) {
        skip(i, found.error());
        return;
      }
      if (found->other_version) {
        result_.warnings.push_back(
            fmt::format("target {}: {} is not served in version {}, read in {}",
                        plan_.targets[i].title(), gvk.kind, gvk.version, found->resource.version));
      }
      result_.targets[i].cluster_scoped |= !found->resource.namespaced;
      targets_[i].resources.push_back(std::move(found->resource));
    }
  }

  [[nodiscard]] bool is_namespaced(std::size_t i) const {
    return std::ranges::any_of(targets_[i].resources, &kube::Resource::namespaced);
  }

  [[nodiscard]] bool needs_namespaces() const {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      if (active(i) && is_namespaced(i)) return true;
    }
    return false;
  }

  void settle_namespaces() {
    NamespaceReceiver receiver(result_.namespaces);
    kube::ListQuery query;
    query.resource = {.group = {},
                      .version = "v1",
                      .kind = "Namespace",
                      .plural = "namespaces",
                      .namespaced = false,
                      .verbs = {"list"}};
    progress_.set_kind(job_.context, "Namespace");
    const auto listed = client_.list(context_, query, receiver);
    result_.namespaces_listed = listed.has_value();
    if (!listed) result_.namespaces.clear();
    if (listed && !job_.only_namespace.empty() &&
        !result_.namespaces.contains(job_.only_namespace)) {
      result_.warnings.push_back(
          fmt::format("{}: there is no namespace {}", job_.context, job_.only_namespace));
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      if (listed) {
        // Of targets that are not read as well: inventories ask whether they take part.
        targets_[i].effective =
            plan_.targets[i].selection.namespaces(result_.namespaces, {}).effective;
        result_.targets[i].effective = targets_[i].effective;
      }
      if (listed || !active(i) || !is_namespaced(i)) continue;
      if (is_forbidden(listed.error())) {
        settle_unlisted(i, listed.error());
      } else {
        skip(i, listed.error());
      }
    }
  }

  /// Without the right to list namespaces explicit names count as they are (selection L-12).
  void settle_unlisted(std::size_t i, const base::Error& error) {
    const select::Selection& selection = plan_.targets[i].selection;
    if (selection.uses_namespace_selectors()) {
      skip(i, "namespaces-unreadable",
           "the target selects namespaces by labels, and listing namespaces is not allowed: " +
               error.message);
      return;
    }
    if (selection.included_namespaces().empty()) {
      targets_[i].learn = true;
      return;
    }
    select::Namespaces named;
    for (const std::string& name : selection.included_namespaces()) named[name].name = name;
    targets_[i].effective = selection.namespaces(named, {}).effective;
    result_.targets[i].effective = targets_[i].effective;
  }

  /// Each kind once, for all targets that need it (L-56).
  [[nodiscard]] std::vector<ResourceGroup> groups() const {
    std::vector<ResourceGroup> groups;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      if (!active(i)) continue;
      for (const kube::Resource& resource : targets_[i].resources) {
        auto it = std::ranges::find_if(groups, [&](const ResourceGroup& g) {
          return g.resource.group == resource.group && g.resource.kind == resource.kind &&
                 g.resource.version == resource.version;
        });
        if (it == groups.end()) it = groups.insert(it, {.resource = resource, .targets = {}});
        it->targets.push_back(i);
      }
    }
    return groups;
  }

  [[nodiscard]] std::vector<std::size_t> wanting(const ResourceGroup& group) const {
    std::vector<std::size_t> indexes;
    std::ranges::copy_if(group.targets, std::back_inserter(indexes),
                         [&](std::size_t i) { return active(i); });
    return indexes;
  }

  [[nodiscard]] std::vector<Lane> lanes(const std::vector<std::size_t>& indexes) const {
    std::vector<Lane> lanes;
    for (const std::size_t i : indexes) {
      lanes.push_back({.target = &plan_.targets[i],
                       .index = i,
                       .effective = targets_[i].effective,
                       .learn_namespaces = targets_[i].learn});
    }
    return lanes;
  }

  void list_group(const ResourceGroup& group) {
    progress_.set_kind(job_.context, group.resource.kind);
    if (!group.resource.namespaced) {
      list_into(group, "", wanting(group),
                [&](std::size_t i, const base::Error& e) { skip(i, e); });
      return;
    }
    std::set<std::string> wanted;
    bool learn = false;
    for (const std::size_t i : wanting(group)) {
      wanted.insert(targets_[i].effective.begin(), targets_[i].effective.end());
      learn = learn || targets_[i].learn;
    }
    if (wanted.size() > 1 || learn) {
      bool denied = false;
      list_into(group, "", wanting(group), [&](std::size_t i, const base::Error& error) {
        denied = denied || is_forbidden(error);
        if (!is_forbidden(error) || targets_[i].learn) skip(i, error);
      });
      if (!denied) return;
    }
    for (const std::string& ns : wanted) list_namespace(group, ns);
  }

  void list_namespace(const ResourceGroup& group, const std::string& ns) {
    std::vector<std::size_t> here = wanting(group);
    std::erase_if(here, [&](std::size_t i) {
      return !std::ranges::binary_search(targets_[i].effective, ns);
    });
    list_into(group, ns, here, [&](std::size_t i, const base::Error& error) {
      if (is_forbidden(error)) {
        targets_[i].denied.insert(ns);
        result_.targets[i].message = error.message;
      } else {
        skip(i, error);
      }
    });
  }

  template <class OnError>
  void list_into(const ResourceGroup& group, const std::string& ns,
                 const std::vector<std::size_t>& indexes, const OnError& on_error) {
    if (indexes.empty()) return;
    for (const kube::ListQuery& query : queries(group, ns, indexes)) {
      Intake intake(job_.cluster, result_.namespaces, lanes(indexes));
      ObjectReceiver receiver(intake, group.resource, progress_);
      const auto listed = client_.list(context_, query, receiver);
      for (Lane& lane : intake.lanes()) {
        if (listed) {
          merge(result_.targets[lane.index].data, lane.batch);
          continue;
        }
        base::Error error = listed.error();
        error.message = fmt::format("{}{}: {}", type_of(group.resource),
                                    ns.empty() ? "" : " in " + ns, error.message);
        on_error(lane.index, error);
      }
      if (!listed) return;
    }
  }

  /// One list; or, when a single target asks for a few names, one per name (spec: selection 5).
  /// What a single target filters by anyway the server may as well filter.
  [[nodiscard]] std::vector<kube::ListQuery> queries(
      const ResourceGroup& group, const std::string& ns,
      const std::vector<std::size_t>& indexes) const {
    constexpr std::size_t kMaxNames = 16;
    kube::ListQuery query;
    query.resource = group.resource;
    query.ns = ns;
    if (indexes.size() != 1) return {query};
    const select::Selection& selection = plan_.targets[indexes.front()].selection;
    query.label_selector = selection.server_label_selector();
    const std::set<std::string> names(selection.names().begin(), selection.names().end());
    const bool plain = std::ranges::all_of(names, [](const std::string& name) {
      return name.find_first_of(",=!\\") == std::string::npos && !name.empty();
    });
    if (names.empty() || names.size() > kMaxNames || !plain) return {query};
    std::vector<kube::ListQuery> queries;
    for (const std::string& name : names) {
      query.field_selector = "metadata.name=" + name;
      queries.push_back(query);
    }
    return queries;
  }

  static void merge(TargetBatch& into, TargetBatch& batch) {
    if (into.rows.empty()) {
      into.rows = std::move(batch.rows);
    } else {
      batch.rows.seal();
      into.rows.add_all(batch.rows);
    }
    into.failures.add_all(batch.failures);
    into.objects_seen += batch.objects_seen;
    into.type_mismatches += batch.type_mismatches;
    into.policy_errors.count += batch.policy_errors.count;
    if (!batch.policy_errors.last.empty()) into.policy_errors.last = batch.policy_errors.last;
  }

  void finish() {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      TargetResult& target = result_.targets[i];
      const auto& denied = targets_[i].denied;
      if (active(i) && !denied.empty()) {
        target.denied_namespaces.assign(denied.begin(), denied.end());
        if (denied.size() == targets_[i].effective.size()) {
          std::string message = target.message;
          skip(i, "forbidden", std::move(message));
        } else {
          target.status = TargetResult::Status::kPartial;
          target.reason = "forbidden";
        }
      }
      if (active(i) && target.data.failures.count() > 0) {
        target.status = TargetResult::Status::kPartial;
      }
      target.data.rows.seal();
    }
    for (std::string& warning : client_.server_warnings()) {
      result_.warnings.push_back(fmt::format("{}: {}", job_.context, warning));
    }
    if (result_.error) result_.targets.clear();
  }

  const base::Context& context_;
  kube::Client& client_;
  const Plan& plan_;
  const ClusterJob& job_;
  Progress& progress_;
  ContextResult result_;
  std::vector<TargetState> targets_;
};

}  // namespace

ContextResult collect_cluster(const base::Context& context, kube::Client& client, const Plan& plan,
                              const ClusterJob& job, Progress& progress) {
  return ClusterCollector(context, client, plan, job, progress).run();
}

}  // namespace kollect::pipeline
