// Routes about the store itself and about Kollect's own objects.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/json/write.h"
#include "readapi/answers.h"
#include "readapi/problems.h"
#include "readapi/service_impl.h"

namespace kollect::readapi {
namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;

constexpr const char* kSchemaVersion = "kollect.dev/v1alpha1";
constexpr std::uint64_t kMostProblems = 100;

struct KindOfList {
  std::string_view list;
  std::string_view kind;
  std::string_view resource;
  bool namespaced = true;
};

/// What is read for /v1alpha1/status/LIST.
constexpr std::array<KindOfList, 10> kLists = {{
    {"inventories", "KollectInventory", "kollectinventories"},
    {"targets", "KollectTarget", "kollecttargets"},
    {"clusterinventories", "KollectClusterInventory", "kollectclusterinventories", false},
    {"clustertargets", "KollectClusterTarget", "kollectclustertargets", false},
    {"sinks", "KollectSnapshotSink", "kollectsnapshotsinks"},
    {"sinks", "KollectDatabaseSink", "kollectdatabasesinks"},
    {"sinks", "KollectEventSink", "kollecteventsinks"},
    {"profiles", "KollectProfile", "kollectprofiles"},
    {"scopes", "KollectScope", "kollectscopes"},
    {"scopes", "KollectClusterScope", "kollectclusterscopes", false},
}};

Value strings_or_null(const std::optional<std::vector<std::string>>& list) {
  if (!list) return nullptr;
  Array out;
  for (const std::string& one : *list) out.emplace_back(one);
  return out;
}

bool seen(const std::optional<std::vector<std::string>>& list, const std::string& text) {
  return !list || std::ranges::find(*list, text) != list->end();
}

Value with_schema(Array items) {
  Object out;
  out.set("schemaVersion", kSchemaVersion);
  out.set("items", std::move(items));
  return out;
}

http::Answer answer_of(const Call& call, const Value& value) {
  return json_answer(call.request, base::json::compact(value) + "\n");
}

/// By the moment, whatever its fraction looks like.
bool before(const std::string& a, const std::string& b) {
  const auto left = base::parse_rfc3339(a);
  const auto right = base::parse_rfc3339(b);
  return left && right ? *left < *right : a < b;
}

/// The inventories of which exports are the newest and the oldest; null before one was.
struct Freshness {
  const InventoryState* freshest = nullptr;
  const InventoryState* stalest = nullptr;

  void note(const InventoryState& one) {
    if (one.exported_at.empty()) return;
    if (freshest == nullptr || before(freshest->exported_at, one.exported_at)) freshest = &one;
    if (stalest == nullptr || before(one.exported_at, stalest->exported_at)) stalest = &one;
  }
};

Value place(const InventoryState* inventory) {
  if (inventory == nullptr) return nullptr;
  Object out;
  out.set("cluster", inventory->cluster);
  out.set("namespace", inventory->ns);
  out.set("name", inventory->name);
  out.set("exportedAt", inventory->exported_at);
  return out;
}

}  // namespace

http::Answer Service::Impl::meta(Call& call) {
  const Abilities abilities = parts.source.abilities();
  Object can;
  can.set("history", abilities.history);
  can.set("objects", abilities.objects && parts.objects != nullptr);
  can.set("stream", abilities.stream);
  can.set("fleet", static_cast<bool>(options.fleet));
  // Known is not enough to say what somebody may see.
  const auto ask = [&](const std::string& ns) {
    return parts.access.decide(
        context(options.request_limit), call.caller(),
        {.verb = "list", .resource = "kollectinventories", .ns = ns, .name = {}});
  };
  const std::string& ns = call.query.filter.ns;
  Verdict verdict = ask("");
  if (verdict.kind == Verdict::Kind::kForbidden) {
    const bool one = !ns.empty() && ask(ns).kind == Verdict::Kind::kAllowed;
    verdict = {.sight = call.verdict.sight};
    verdict.sight.namespaces = one ? std::vector<std::string>{ns} : std::vector<std::string>{};
  }
  if (verdict.kind != Verdict::Kind::kAllowed) return refusal(verdict);
  Object access;
  access.set("namespaces", strings_or_null(verdict.sight.namespaces));
  access.set("clusters", strings_or_null(verdict.sight.clusters));
  Object out;
  out.set("schemaVersion", kSchemaVersion);
  out.set("version", options.version);
  out.set("store", abilities.store);
  out.set("abilities", std::move(can));
  out.set("authMode", parts.access.mode());
  out.set("now", base::format_rfc3339_seconds(parts.clock.now()));
  out.set("access", std::move(access));
  return answer_of(call, out);
}

http::Answer Service::Impl::status(Call& call) {
  // Who may not know whether a list exists is told that first.
  std::optional<Verdict> denied;
  bool any = false;
  Array items;
  const RowFilter& filter = call.query.filter;
  for (const KindOfList& one : kLists) {
    if (one.list != call.routed.name) continue;
    const std::string ns = one.namespaced ? filter.ns : "";
    const Verdict verdict = parts.access.decide(
        context(options.request_limit), call.caller(),
        {.verb = "list", .resource = std::string(one.resource), .ns = ns, .name = {}});
    if (verdict.kind == Verdict::Kind::kForbidden) {
      if (!denied) denied = verdict;
      continue;
    }
    if (verdict.kind != Verdict::Kind::kAllowed) return refusal(verdict);
    any = true;
    // Cluster-wide things beside those of one namespace are not what was asked for.
    if (parts.objects == nullptr || (!one.namespaced && !filter.ns.empty())) continue;
    for (Value& object : parts.objects->statuses(one.kind, ns)) {
      const std::string place(object.text("namespace"));
      if (!seen(verdict.sight.namespaces, place)) continue;
      if (!filter.name.empty() && object.text("name") != filter.name) continue;
      items.push_back(std::move(object));
    }
  }
  if (!any && denied) return refusal(*denied);
  if (parts.objects == nullptr) {
    return error_answer(501, "NoObjects", "this store has rows alone; objects are in the cluster");
  }
  const auto total = static_cast<std::uint64_t>(items.size());
  const std::uint64_t first = std::min(call.query.offset, total);
  const std::uint64_t last = first + std::min(call.query.limit, total - first);
  Array part(std::make_move_iterator(items.begin() + static_cast<std::ptrdiff_t>(first)),
             std::make_move_iterator(items.begin() + static_cast<std::ptrdiff_t>(last)));
  Value out = with_schema(std::move(part));
  if (total > 0) {
    Object pagination;
    pagination.set("limit", call.query.limit);
    pagination.set("offset", call.query.offset);
    pagination.set("total", total);
    pagination.set("hasMore", last < total);
    out.as_object().set("pagination", std::move(pagination));
  }
  return answer_of(call, out);
}

base::Result<std::vector<InventoryState>> Service::Impl::inventory_states(const Call& call) {
  const Sight sight = call.narrow_sight();
  KL_ASSIGN(auto all, parts.source.inventories(context(options.request_limit), sight));
  std::erase_if(all, [&](const InventoryState& one) {
    return !seen(sight.namespaces, one.ns) || !seen(sight.clusters, one.cluster);
  });
  return all;
}

http::Answer Service::Impl::inventories(Call& call) {
  const auto all = inventory_states(call);
  if (!all) return error_answer(all.error(), parts.log);
  Array items;
  for (const InventoryState& one : *all) {
    Object item;
    item.set("cluster", one.cluster);
    item.set("namespace", one.ns);
    item.set("name", one.name);
    item.set("rows", one.rows);
    item.set("exportedAt", one.exported_at);
    item.set("generation", one.generation);
    item.set("checksum", one.checksum);
    items.emplace_back(std::move(item));
  }
  return answer_of(call, with_schema(std::move(items)));
}

http::Answer Service::Impl::clusters(Call& call) {
  const auto all = inventory_states(call);
  if (!all) return error_answer(all.error(), parts.log);
  struct Sum {
    std::uint64_t inventories = 0;
    std::uint64_t rows = 0;
    Freshness freshness;
  };
  std::map<std::string, Sum> sums;
  for (const InventoryState& one : *all) {
    Sum& sum = sums[one.cluster];
    ++sum.inventories;
    sum.rows += one.rows;
    sum.freshness.note(one);
  }
  const auto time = [](const InventoryState* of) { return of == nullptr ? "" : of->exported_at; };
  Array items;
  for (const auto& [cluster, sum] : sums) {
    Object item;
    item.set("cluster", cluster);
    item.set("inventories", sum.inventories);
    item.set("rows", sum.rows);
    item.set("exportedAt", time(sum.freshness.freshest));
    item.set("oldestExportedAt", time(sum.freshness.stalest));
    items.emplace_back(std::move(item));
  }
  return answer_of(call, with_schema(std::move(items)));
}

Survey Service::Impl::survey(const Call& call) {
  Survey out;
  if (parts.objects == nullptr) return out;
  const std::string& ns = call.query.filter.ns;
  const Sight sight = call.narrow_sight();
  for (const KindOfList& one : kLists) {
    if (!one.namespaced && !ns.empty()) continue;
    // The caller may list inventories; the conditions of anything else are told only in a list
    // that it may read.
    const bool inventories = one.resource == "kollectinventories";
    if (!inventories &&
        parts.access
                .decide(context(options.request_limit), call.caller(),
                        {.verb = "list", .resource = std::string(one.resource), .ns = ns})
                .kind != Verdict::Kind::kAllowed) {
      continue;
    }
    for (const Value& object : parts.objects->statuses(one.kind, ns)) {
      if (!seen(sight.namespaces, std::string(object.text("namespace")))) continue;
      if (one.list == "targets" || one.list == "clustertargets") ++out.targets;
      if (one.list == "sinks") ++out.sinks;
      if (auto problem = problem_of(object)) out.problems.push_back(std::move(*problem));
    }
  }
  std::ranges::sort(out.problems);
  return out;
}

http::Answer Service::Impl::overview(Call& call) {
  const auto all = inventory_states(call);
  if (!all) return error_answer(all.error(), parts.log);
  RowRequest count{.filter = call.query.filter, .sight = call.verdict.sight};
  count.limit = 1;
  const auto rows = parts.source.rows(context(options.request_limit), count);
  if (!rows) return error_answer(rows.error(), parts.log);
  std::set<std::string_view> names;
  Freshness freshness;
  for (const InventoryState& one : *all) {
    names.insert(one.cluster);
    freshness.note(one);
  }
  const Survey found = survey(call);
  const bool objects = parts.objects != nullptr;
  Object out;
  out.set("schemaVersion", kSchemaVersion);
  out.set("store", parts.source.abilities().store);
  out.set("rows", (*rows)->total());
  out.set("clusters", static_cast<std::uint64_t>(names.size()));
  out.set("inventories", static_cast<std::uint64_t>(all->size()));
  out.set("targets", objects ? Value(found.targets) : Value(nullptr));
  out.set("sinks", objects ? Value(found.sinks) : Value(nullptr));
  out.set("freshest", place(freshness.freshest));
  out.set("stalest", place(freshness.stalest));
  Array list;
  for (const Problem& problem : found.problems) {
    if (list.size() >= kMostProblems) break;
    list.emplace_back(problem.json());
  }
  out.set("problems", std::move(list));
  out.set("problemCount", static_cast<std::uint64_t>(found.problems.size()));
  return answer_of(call, out);
}

}  // namespace kollect::readapi
