#include "fleet/api.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "fleet/api_call.h"

namespace kollect::fleet {

namespace {

/// `?dependencies=enabled` of a poll for components.
Outcome<bool> trims_dependencies(const Call& call) {
  const std::string wanted = call.parameter("dependencies").value_or("all");
  if (wanted != "all" && wanted != "enabled") {
    return bad_request("dependencies: must be all or enabled");
  }
  return wanted == "enabled";
}

constexpr std::string_view kOpenPaths[] = {"/health", "/ready", "/openapi.yaml", "/metrics"};

http::Answer typed_text(std::string text, const char* type) {
  http::Answer answer;
  answer.headers.emplace_back("Content-Type", type);
  answer.body = std::move(text);
  return answer;
}

}  // namespace

std::size_t Api::counted(Route route) {
  switch (route) {
    case Route::kComponents:
    case Route::kTrimmedComponents:
      return kFluxComponents;
    case Route::kNamespaces:
      return kFluxNamespaces;
    case Route::kRoleBindings:
      return kFluxRoleBindings;
    case Route::kClusters:
      break;
  }
  return kFluxClusters;
}

std::vector<Meter::RouteName> Api::route_names() {
  const std::string one = std::string(kFluxPath) + "/{cluster_dns}/";
  std::vector<Meter::RouteName> names = {{"", "none"}};
  for (const std::string_view path : kOpenPaths) names.push_back({"GET", std::string(path)});
  names.push_back({"GET", std::string(kFluxPath)});
  for (const char* what : {"platform-components", "namespaces", "rolebindings"}) {
    names.push_back({"GET", one + what});
  }
  for (const Row& row : rows()) {
    for (const Family family : kAllFamilies) {
      std::string path(row.path);
      for (const std::string_view mark : {"{family}", "{definitions}"}) {
        const auto at = path.find(mark);
        if (at != std::string::npos) path.replace(at, mark.size(), collection_of(family));
      }
      names.push_back({std::string(row.method), std::move(path)});
    }
  }
  return names;
}

http::Answer Api::answer(const http::ServerRequest& request) {
  const auto began = clock_.steady_now();
  Call call{.request = request,
            .method = request.method == "HEAD" ? "GET" : request.method,
            .segments = {},
            .actor = {}};
  const auto* found = std::ranges::find(kOpenPaths, request.path);
  const auto place = static_cast<std::size_t>(found - std::begin(kOpenPaths));
  if (found != std::end(kOpenPaths)) call.route = kHealth + place;
  http::Answer answer = call.route != kNoRoute ? open(call) : judged(call);
  if (watch_.meter != nullptr) {
    watch_.meter->count(call.route, answer.status, clock_.steady_now() - began);
  }
  return answer;
}

http::Answer Api::open(Call& call) const {
  if (call.method != "GET") return not_allowed("GET,HEAD");
  if (call.route == kOpenApi) return typed_text(options_.open_api, "application/yaml");
  if (call.route == kMetrics) {
    if (watch_.registry == nullptr) return no_route();
    return typed_text(watch_.registry->text(), metrics::kTextType);
  }
  if (call.route == kReady && leaving_) return refused(503, "store_error", "the service is ending");
  if (call.route == kReady && fleet_.trouble()) {
    return refused(503, "store_error", "the store does not answer");
  }
  http::Answer answer;
  answer.prepared = well_;
  return answer;
}

http::Answer Api::judged(Call& call) {
  http::Answer answer = admit(call);
  tell_refusal(call, answer.status);
  return answer;
}

http::Answer Api::admit(Call& call) {
  const std::string& path = call.request.path;
  call.actor = {.name = {},
                .request_id = fmt::format("{}", ++requests_),
                .source = call.request.peer,
                .method = call.request.method,
                .path = path};
  if (!options_.crud && !call.reads()) {
    return not_allowed(path.starts_with(kFluxPath) ? "GET,HEAD" : "");
  }
  bool readable = true;
  const std::string_view below = std::string_view(path).substr(path.starts_with('/') ? 1 : 0);
  for (const std::string_view part : base::split(below, '/')) {
    auto decoded = base::percent_decode(part);
    readable = readable && decoded && base::is_valid_utf8(*decoded);
    call.segments.push_back(std::move(decoded).value_or(""));
  }
  const auto tokens = tokens_.current();
  const Verdict verdict = tokens->judge(call.request, call.need());
  call.actor.name = verdict.name;
  if (verdict.status == 403) return refused(403, "forbidden", "the token is not for this");
  if (verdict.status != 200) {
    http::Answer answer = refused(401, "unauthorized", "a valid token is needed");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  if (!readable) return refused(bad_request("the path cannot be read").error());
  return serve(call);
}

http::Answer Api::serve(Call& call) {
  if (call.polls()) return flux(call);
  if (!options_.crud) return no_route();
  return crud(call);
}

/// Null: the query asks for nothing else than the whole.
Outcome<ReadyPtr> Api::part_of_fleet(const Call& call) const {
  FLEET_ASSIGN(ListQuery query, call.list_query());
  if (auto environment = call.parameter("environment")) {
    query.equal["environment"] = *std::move(environment);
  }
  const bool whole = query.equal.empty() && !query.shard && query.after.empty() &&
                     query.offset == 0 && !query.limit;
  return whole ? ReadyPtr() : fleet_.clusters(query);
}

http::Answer Api::flux(Call& call) {
  std::optional<Route> route;
  std::string dns;
  if (call.segments.size() == kListDepth) route = Route::kClusters;
  if (call.segments.size() == kClusterDepth) {
    dns = call.segments[kListDepth];
    const std::string& what = call.segments[kListDepth + 1];
    if (what == "platform-components") route = Route::kComponents;
    if (what == "namespaces") route = Route::kNamespaces;
    if (what == "rolebindings") route = Route::kRoleBindings;
  }
  if (!route) return no_route();
  call.route = counted(*route);
  if (call.method != "GET") return not_allowed("GET,HEAD");
  if (fleet_.contact_age() > options_.stale_limit) {
    return refused(503, "store_error", "the store has not answered for too long");
  }
  if (*route == Route::kComponents && !call.request.query.empty()) {
    const auto trimmed = trims_dependencies(call);
    if (!trimmed) return refused(trimmed.error());
    if (*trimmed) route = Route::kTrimmedComponents;
  }
  const Wish wish{.accept_encoding = call.request.header("accept-encoding"),
                  .if_none_match = call.request.header("if-none-match")};
  auto ready = fleet_.answer(*route, dns, wish);
  if (*route == Route::kClusters && !call.request.query.empty()) {
    auto part = part_of_fleet(call);
    if (!part) return refused(part.error());
    if (*part) ready = *std::move(part);
  }
  if (!ready) {
    if (ready.error().status == 404) polls_.see_unknown(dns, fleet_.now());
    return refused(ready.error());
  }
  if ((*ready)->dead) polls_.see_dead(dns, fleet_.now());
  http::Answer answer;
  answer.prepared = (*ready)->form(wish);
  answer.status = answer.prepared.status();
  if (fleet_.trouble()) {
    answer.headers.emplace_back("Warning", "110 - \"the store does not answer\"");
  }
  return answer;
}

namespace {

/// Segments of a pattern: "{family}" is the name of a collection, "{definitions}" of one that
/// clusters refer to, "{id}" and "{part}" anything that is not empty.
bool fits(std::string_view pattern, Call& call) {
  const auto wanted = base::split(pattern.substr(1), '/');
  if (wanted.size() != call.segments.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string& is = call.segments[i];
    if (wanted[i] == "{family}" || wanted[i] == "{definitions}") {
      const bool any = wanted[i] == "{family}";
      const auto* found =
          std::ranges::find_if(kAllFamilies, [&](Family one) { return is == collection_of(one); });
      if (found == std::end(kAllFamilies) || (!any && *found == Family::kCluster)) return false;
      (any ? call.family : call.definitions) = *found;
    } else if (wanted[i] == "{id}" || wanted[i] == "{part}") {
      if (is.empty()) return false;
      (wanted[i] == "{id}" ? call.id : call.part) = is;
    } else if (is != wanted[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::span<const Api::Row> Api::rows() {
  static constexpr Row kRows[] = {
      {"GET", "/{family}", &Api::list},
      {"POST", "/{family}", &Api::create},
      {"GET", "/{family}/{id}", &Api::show},
      {"PUT", "/{family}/{id}", &Api::update},
      {"PATCH", "/{family}/{id}", &Api::update},
      {"DELETE", "/{family}/{id}", &Api::remove},
      {"GET", "/clusters/{id}/{definitions}/{part}", &Api::show_reference},
      {"PUT", "/clusters/{id}/{definitions}/{part}", &Api::put_reference},
      {"DELETE", "/clusters/{id}/{definitions}/{part}", &Api::remove_reference},
      {"GET", "/clusters/{id}/patches/{part}", &Api::show_patches},
      {"PUT", "/clusters/{id}/patches/{part}", &Api::put_patches},
      {"DELETE", "/clusters/{id}/patches/{part}", &Api::remove_patches},
      {"POST", "/{family}/{id}/restore", &Api::restore},
      {"POST", "/batch", &Api::batch},
      {"GET", "/rollouts", &Api::rollouts},
      {"POST", "/rollouts", &Api::roll_out},
      {"GET", "/rollouts/{id}", &Api::rollout},
      {"POST", "/rollouts/{id}/undo", &Api::undo},
      {"GET", "/tombstones", &Api::tombstones},
      {"DELETE", "/tombstones/{id}", &Api::drop_tombstone},
      {"GET", "/unknown_polls", &Api::unknown_polls},
      {"GET", "/audit", &Api::audit},
      {"GET", "/drift", &Api::drift},
  };
  return kRows;
}

http::Answer Api::crud(Call& call) {
  Call known = call;
  std::string allow;
  for (const Row& row : rows()) {
    if (!fits(row.path, known)) continue;
    if (row.method == call.method) {
      const Family family = row.path.find("{definitions}") != std::string_view::npos
                                ? known.definitions
                                : known.family;
      call.route = kFirstRow + static_cast<std::size_t>(&row - rows().data()) * kFamilies +
                   static_cast<std::size_t>(family);
      auto outcome = (this->*row.handler)(known);
      return outcome ? *std::move(outcome) : refused(outcome.error());
    }
    if (!allow.empty()) allow += ',';
    allow += row.method == "GET" ? "GET,HEAD" : std::string(row.method);
  }
  return allow.empty() ? no_route() : not_allowed(allow);
}

void Api::tell(const Call& call, const Record& record) const {
  if (log_ == nullptr) return;
  log_->info("changed", {{"actor", call.actor.name},
                         {"method", call.request.method},
                         {"family", std::string(collection_of(call.family))},
                         {"id", std::string(record.data.text("id"))},
                         {"version", std::to_string(record.version)},
                         {"source", call.actor.source}});
}

}  // namespace kollect::fleet
