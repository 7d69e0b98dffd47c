#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "http/client.h"
#include "install/sink_uses.h"
#include "install/state.h"
#include "top/feed.h"

namespace kollect::top {

using base::json::Object;
using base::json::Value;
using install::State;

namespace {

std::string text(const Value& value, std::string_view member) {
  return std::string(value.text(member));
}

std::uint64_t count(const Value& value, std::string_view member) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, install::number_at(value, {member})));
}

/// A ResourceStatus as the object that it was made of, for state_of().
Value object_of(const Value& resource) {
  Object metadata;
  for (const char* member : {"name", "namespace", "generation"}) {
    if (const Value* found = resource.find(member)) metadata.set(member, *found);
  }
  Object status;
  for (const char* member : {"conditions", "observedGeneration"}) {
    if (const Value* found = resource.find(member)) status.set(member, *found);
  }
  Object out;
  out.set("kind", text(resource, "kind"));
  out.set("metadata", std::move(metadata));
  if (!status.empty()) out.set("status", std::move(status));
  return out;
}

/// `status` of a SinkExport (spec: runtime 13.3) in the words of install/state.h.
State state_of_export(const Value& one) {
  const std::string_view status = one.text("status");
  const bool bad = status == "degraded";
  const char* word = bad ? "Failed" : status == "ok" || status == "debounced" ? "Ready" : "";
  return {.word = word,
          .reason = text(one, "reason"),
          .message = bad ? text(one, "message") : std::string()};
}

class ServerFeed final : public Feed {
 public:
  explicit ServerFeed(ServerOptions options) : options_(std::move(options)) {}

  base::Result<> prepare() {
    if (options_.ca_file.empty()) return {};
    auto tls = std::make_shared<http::TlsOptions>();
    KL_ASSIGN(tls->ca_pem, base::read_file(options_.ca_file));
    tls_ = std::move(tls);
    return {};
  }

  base::Result<Picture> look(const base::Context& context) override {
    KL_ASSIGN(const Value meta, ask(context, "meta"));
    KL_ASSIGN(const Value overview, ask(context, "overview"));
    KL_ASSIGN(const Value inventories, ask(context, "inventories"));
    Picture picture;
    picture.source = fmt::format("{} ({})", http::redact_url(options_.url), meta.text("store"));
    picture.at = context.clock().now();
    for (const Value& one : install::list_at(inventories, {"items"})) {
      picture.inventories.push_back({.cluster = text(one, "cluster"),
                                     .ns = text(one, "namespace"),
                                     .name = text(one, "name"),
                                     .rows = count(one, "rows"),
                                     .exported_at = text(one, "exportedAt"),
                                     .state = {},
                                     .reason = {},
                                     .message = {}});
    }
    for (const Value& one : install::list_at(overview, {"problems"})) {
      picture.problems.push_back({.kind = text(one, "kind"),
                                  .ns = text(one, "namespace"),
                                  .name = text(one, "name"),
                                  .reason = text(one, "reason"),
                                  .message = text(one, "message"),
                                  .since = text(one, "since")});
    }
    picture.problem_count = count(overview, "problemCount");
    const Value* objects = meta.at_path({"abilities", "objects"});
    if (objects != nullptr && objects->is_bool() && objects->as_bool()) {
      picture.targets = count(overview, "targets");
      KL_TRY(add_objects(context, picture));
    }
    finish(picture);
    return picture;
  }

 private:
  base::Result<> add_objects(const base::Context& context, Picture& picture) {
    for (const char* route : {"status/inventories", "status/clusterinventories"}) {
      KL_ASSIGN(const auto all, list(context, route));
      for (const Value& one : all) add_inventory(picture, one);
    }
    KL_ASSIGN(const auto sinks, list(context, "status/sinks"));
    for (const Value& sink : sinks) {
      if (!install::list_at(sink, {"usedBy"}).empty()) continue;
      const State state = install::state_of(object_of(sink));
      picture.sinks.push_back({.name = fmt::format("{}/{}", family_of(sink.text("kind")),
                                                   install::place_of(object_of(sink))),
                               .type = install::text_at(sink, {"spec", "type"}),
                               .inventory = install::kNobody,
                               .state = state.word,
                               .reason = state.reason,
                               .exported_at = {},
                               .message = state.message});
    }
    return {};
  }

  /// "KollectDatabaseSink" to "database"
  static std::string family_of(std::string_view kind) {
    for (const std::string_view part : {"Kollect", "Cluster"}) {
      if (kind.starts_with(part)) kind.remove_prefix(part.size());
    }
    if (kind.ends_with("Sink")) kind.remove_suffix(std::string_view("Sink").size());
    return base::to_lower(kind);
  }

  static void add_inventory(Picture& picture, const Value& resource) {
    const State state = install::state_of(object_of(resource));
    const std::string ns = text(resource, "namespace");
    const std::string name = text(resource, "name");
    const auto found = std::ranges::find_if(picture.inventories, [&](const Inventory& one) {
      return one.ns == ns && one.name == name;
    });
    if (found != picture.inventories.end()) {
      found->state = state.word;
      found->reason = state.reason;
      found->message = state.message;
    }
    for (const Value& one : install::list_at(resource, {"sinkExports"})) {
      const State how = state_of_export(one);
      const std::string sink = text(one, "sink");
      const std::size_t slash = sink.find('/');
      // A sink stands in the namespace of the inventory unless it is said.
      const std::string where = one.text("namespace").empty() ? ns : text(one, "namespace");
      const std::string place = where.empty() || slash == std::string::npos
                                    ? sink
                                    : sink.substr(0, slash + 1) + where + sink.substr(slash);
      picture.sinks.push_back({.name = place,
                               .type = text(one, "type"),
                               .inventory = ns.empty() ? name : ns + "/" + name,
                               .state = how.word,
                               .reason = how.reason,
                               .exported_at = text(one, "lastExportTime"),
                               .message = how.message});
    }
  }

  /// All pages of a list.
  base::Result<std::vector<Value>> list(const base::Context& context, const std::string& route) {
    constexpr std::size_t kPage = 5000;
    std::vector<Value> out;
    while (true) {
      KL_ASSIGN(const Value page,
                ask(context, fmt::format("{}?limit={}&offset={}", route, kPage, out.size())));
      const auto& items = install::list_at(page, {"items"});
      out.insert(out.end(), items.begin(), items.end());
      const Value* more = page.at_path({"pagination", "hasMore"});
      if (more == nullptr || !more->is_bool() || !more->as_bool() || items.empty()) return out;
    }
  }

  base::Result<Value> ask(const base::Context& context, const std::string& route) {
    http::Request request;
    request.url = options_.url + "/v1alpha1/" + route;
    request.headers.emplace_back("Accept", "application/json");
    request.tls = tls_;
    if (!options_.token_file.empty()) {
      KL_ASSIGN(const std::string token, base::read_file(options_.token_file));
      request.bearer_token = base::Secret(std::string(base::trim(token)));
    }
    KL_ASSIGN(const http::Response response, http_.fetch(context, request));
    const auto document = base::json::Document::parse(response.body);
    const Value value = document ? base::json::to_value(document->root()) : Value();
    constexpr int kGood = 200;
    if (response.status == kGood && value.is_object()) return value;
    std::string words = install::text_at(value, {"error", "message"});
    constexpr int kUnauthorized = 401;
    if (response.status == kUnauthorized && options_.token_file.empty()) {
      words += words.empty() ? "give --token-file" : "; give --token-file";
    }
    if (words.empty()) words = "this is no answer of a read API";
    return base::terminal(fmt::format("{}/v1alpha1/{}: {}: {}", http::redact_url(options_.url),
                                      route, response.status, words));
  }

  ServerOptions options_;
  std::shared_ptr<const http::TlsOptions> tls_;
  http::Client http_;
};

}  // namespace

base::Result<std::unique_ptr<Feed>> server_feed(ServerOptions options) {
  if (!options.url.starts_with("http://") && !options.url.starts_with("https://")) {
    return base::configuration(fmt::format("--server {}: give a URL, as in http://127.0.0.1:8082",
                                           http::redact_url(options.url)));
  }
  while (options.url.ends_with('/')) options.url.pop_back();
  auto feed = std::make_unique<ServerFeed>(std::move(options));
  KL_TRY(feed->prepare());
  return feed;
}

}  // namespace kollect::top
