// A scripted API server for tests: objects, lists in pages, watches, rights, and whatever a test
// wants to go wrong.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "kube/client.h"
#include "support/http_server.h"

namespace kollect::testing {

/// Holds whoever comes until it is opened.
class Gate {
 public:
  /// Of the server: waits until open().
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Of the test: waits until somebody stands before it.
  bool wait_for_arrival() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return arrived_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

class FakeKube {
 public:
  using Hook = std::function<std::optional<Reply>(const Received&)>;

  struct Object {
    std::string plural;
    std::string ns;  ///< "" for cluster-scoped
    std::string name;
    std::string uid;
    std::map<std::string, std::string> labels = {};
    std::map<std::string, std::string> annotations = {};
    std::string value = {};  ///< data.value; left out when empty
  };

  static Object config_map(const std::string& ns, const std::string& name,
                           const std::string& value = "v") {
    return {.plural = "configmaps",
            .ns = ns,
            .name = name,
            .uid = "uid-" + ns + "-" + name,
            .value = value};
  }

  FakeKube() : server_([this](const Received& request) { return answer(request); }) {
    serve({"", "v1", "Namespace", "namespaces", false, {"list", "watch"}});
    serve({"", "v1", "ConfigMap", "configmaps", true, {"list", "watch"}});
    serve({"", "v1", "Node", "nodes", false, {"list", "watch"}});
    serve({"apiextensions.k8s.io",
           "v1",
           "CustomResourceDefinition",
           "customresourcedefinitions",
           false,
           {"list", "watch"}});
  }
  ~FakeKube() {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  FakeKube(const FakeKube&) = delete;
  FakeKube& operator=(const FakeKube&) = delete;

  kube::Client client() {
    kube::ClusterConfig config;
    config.server = server_.url();
    kube::ClientOptions options;
    options.retries = 0;
    options.list_restarts = 0;
    return kube::Client(std::make_shared<http::Client>(), config, options, nullptr);
  }

  // What there is.
  void serve(const kube::Resource& resource) {
    const std::scoped_lock lock(mutex_);
    resources_[resource.plural] = resource;
  }
  void stop_serving(const std::string& plural) {
    const std::scoped_lock lock(mutex_);
    resources_.erase(plural);
  }
  void put(const Object& object) {
    const std::scoped_lock lock(mutex_);
    const bool known = objects_.contains(key_of(object));
    ++version_;
    Stored stored{.object = object, .json = text_of(object, version_)};
    log_.push_back({.version = version_,
                    .type = known ? "MODIFIED" : "ADDED",
                    .plural = object.plural,
                    .ns = object.ns,
                    .json = stored.json});
    objects_[key_of(object)] = std::move(stored);
    changed_.notify_all();
  }
  void remove(const std::string& plural, const std::string& ns, const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find({plural, ns, name});
    if (found == objects_.end()) return;
    ++version_;
    log_.push_back({.version = version_,
                    .type = "DELETED",
                    .plural = plural,
                    .ns = ns,
                    .json = text_of(found->second.object, version_)});
    objects_.erase(found);
    changed_.notify_all();
  }
  void put_namespace(const std::string& name, std::map<std::string, std::string> labels = {},
                     std::map<std::string, std::string> annotations = {}) {
    put({.plural = "namespaces",
         .ns = {},
         .name = name,
         .uid = "ns-" + name,
         .labels = std::move(labels),
         .annotations = std::move(annotations)});
  }

  /// All objects of a resource: where they live, and their text.
  std::vector<std::pair<Object, std::string>> objects(const std::string& plural) const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::pair<Object, std::string>> all;
    for (const auto& [key, stored] : objects_) {
      if (stored.object.plural == plural) all.emplace_back(stored.object, stored.json);
    }
    return all;
  }

  // What goes wrong.
  /// Asked first for every request; runs on the server's threads.
  void hook(Hook hook) {
    const std::scoped_lock lock(mutex_);
    hook_ = std::move(hook);
  }
  /// Rights, by plural and namespace of lists, watches and reviews.
  void allow_if(std::function<bool(const std::string&, const std::string&)> allowed) {
    const std::scoped_lock lock(mutex_);
    allowed_ = std::move(allowed);
  }
  /// Ends all watches; with `forget` they cannot go on where they were.
  void cut_watches(bool forget = false) {
    const std::scoped_lock lock(mutex_);
    ++cuts_;
    if (forget) {
      log_.clear();
      forgotten_ = version_;
    }
    changed_.notify_all();
  }

  /// Of a hook: what would be answered.
  Reply answer_now(const Received& request) { return answer_truly(request); }

  [[nodiscard]] std::vector<Received> received() const { return server_.received(); }
  /// Lists and watches of a resource so far ("" as namespace: of all).
  [[nodiscard]] std::size_t requests(const std::string& plural, bool watch,
                                     const std::string& ns = {}) const {
    return std::ranges::count_if(server_.received(), [&](const Received& request) {
      return request.path().ends_with("/" + plural) && ns_of(request) == ns &&
             is_watch(request) == watch && request.method == "GET";
    });
  }
  static std::string ns_of(const Received& request) {
    const std::string path = request.path();
    const auto parts = base::split(path, '/');
    for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
      if (parts[i] == "namespaces") return std::string(parts[i + 1]);
    }
    return {};
  }
  static bool is_watch(const Received& request) {
    const std::string watch = request.query("watch");
    return watch == "1" || watch == "true";
  }
  static bool is_list(const Received& request, const std::string& plural) {
    return request.method == "GET" && request.path().ends_with("/" + plural) && !is_watch(request);
  }
  static Reply status(int code, const std::string& reason) {
    return Reply::json(fmt::format(R"({{"kind":"Status","apiVersion":"v1","status":"Failure",)"
                                   R"("reason":"{}","code":{},"message":"{}"}})",
                                   reason, code, reason),
                       code);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Stored {
    Object object;
    std::string json;
  };
  struct Event {
    std::uint64_t version;
    std::string type;
    std::string plural;
    std::string ns;
    std::string json;
  };
  static Key key_of(const Object& object) { return {object.plural, object.ns, object.name}; }

  static std::string map_text(const std::map<std::string, std::string>& map) {
    std::vector<std::string> members;
    for (const auto& [key, value] : map) {
      members.push_back(fmt::format(R"("{}":"{}")", key, value));
    }
    return "{" + base::join(members, ",") + "}";
  }
  static std::string text_of(const Object& object, std::uint64_t version) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}",{}"uid":"{}","resourceVersion":"{}","labels":{},)"
        R"("annotations":{}}},"data":{{{}}}}})",
        object.name, object.ns.empty() ? "" : fmt::format(R"("namespace":"{}",)", object.ns),
        object.uid, version, map_text(object.labels), map_text(object.annotations),
        object.value.empty() ? "" : fmt::format(R"("value":"{}")", object.value));
  }

  Reply answer(const Received& request) {
    Hook hook;
    {
      const std::scoped_lock lock(mutex_);
      hook = hook_;
    }
    if (hook) {
      if (auto reply = hook(request)) return *reply;
    }
    return answer_truly(request);
  }

  Reply answer_truly(const Received& request) {
    const std::string path = request.path();
    if (path == "/api" || path == "/apis") return discovery(path == "/api");
    if (path.ends_with("/selfsubjectaccessreviews")) return review(request);
    const std::string plural = path.substr(path.rfind('/') + 1);
    std::unique_lock lock(mutex_);
    const auto resource = resources_.find(plural);
    if (resource == resources_.end() || path != resource->second.path(ns_of(request))) {
      return status(404, "NotFound");
    }
    if (allowed_ && !allowed_(plural, ns_of(request))) return status(403, "Forbidden");
    return is_watch(request) ? watch(request, plural, lock) : list(request, plural);
  }

  Reply discovery(bool core) {
    const std::scoped_lock lock(mutex_);
    std::map<std::string, std::map<std::string, std::vector<std::string>>> groups;
    for (const auto& [plural, r] : resources_) {
      if (r.group.empty() != core) continue;
      groups[r.group][r.version].push_back(fmt::format(
          R"({{"resource":"{}","responseKind":{{"group":"{}","version":"{}","kind":"{}"}},)"
          R"("scope":"{}","verbs":["{}"]}})",
          plural, r.group, r.version, r.kind, r.namespaced ? "Namespaced" : "Cluster",
          fmt::join(r.verbs, "\",\"")));
    }
    std::vector<std::string> items;
    for (const auto& [group, versions] : groups) {
      std::vector<std::string> texts;
      for (const auto& [version, list] : versions) {
        texts.push_back(fmt::format(R"({{"version":"{}","freshness":"Current","resources":[{}]}})",
                                    version, base::join(list, ",")));
      }
      items.push_back(fmt::format(R"({{"metadata":{{"name":"{}"}},"versions":[{}]}})", group,
                                  base::join(texts, ",")));
    }
    Reply reply = Reply::json(
        fmt::format(R"({{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2",)"
                    R"("items":[{}]}})",
                    base::join(items, ",")));
    reply.headers = {
        {"Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}};
    return reply;
  }

  Reply review(const Received& request) {
    const auto document = base::json::Document::parse(request.body);
    const auto attributes = document->root().at_path({"spec", "resourceAttributes"});
    const std::string plural(attributes->text("resource"));
    const std::string ns(attributes->text("namespace"));
    const std::scoped_lock lock(mutex_);
    const bool allowed = !allowed_ || allowed_(plural, ns);
    return Reply::json(fmt::format(R"({{"status":{{"allowed":{}}}}})", allowed), 201);
  }

  /// In pages, all as the first one found it.
  Reply list(const Received& request, const std::string& plural) {
    const std::string ns = ns_of(request);
    std::string token = request.query("continue");
    if (token.empty()) {
      token = fmt::format("t{}", ++tokens_);
      auto& left = lists_[token];
      left.version = version_;
      for (const auto& [key, stored] : objects_) {
        if (stored.object.plural != plural) continue;
        if (!ns.empty() && stored.object.ns != ns) continue;
        left.items.push_back(stored.json);
      }
    }
    const auto found = lists_.find(token);
    if (found == lists_.end()) return status(410, "Expired");
    Left left = std::move(found->second);
    lists_.erase(found);
    const std::size_t limit = std::stoul("0" + request.query("limit"));
    std::vector<std::string> page;
    while (!left.items.empty() && (limit == 0 || page.size() < limit)) {
      page.push_back(std::move(left.items.front()));
      left.items.pop_front();
    }
    const std::uint64_t version = left.version;
    std::string next;
    if (!left.items.empty()) {
      next = fmt::format("t{}", ++tokens_);
      lists_[next] = std::move(left);
    }
    return Reply::json(fmt::format(
        R"({{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":"{}","continue":"{}"}},)"
        R"("items":[{}]}})",
        version, next, base::join(page, ",")));
  }

  /// Everything that is newer, or the next such thing; then the watch ends.
  Reply watch(const Received& request, const std::string& plural,
              std::unique_lock<std::mutex>& lock) {
    const std::uint64_t after = std::stoull("0" + request.query("resourceVersion"));
    const std::string ns = ns_of(request);
    const std::uint64_t cuts = cuts_;
    std::string text;
    changed_.wait(lock, [&] {
      if (after < forgotten_ || cuts_ != cuts || stopping_) return true;
      for (const Event& event : log_) {
        if (event.version <= after || event.plural != plural) continue;
        if (!ns.empty() && event.ns != ns) continue;
        text += fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", event.type, event.json);
      }
      return !text.empty();
    });
    // What happened before is forgotten, so what came after is not all.
    if (after < forgotten_) return status(410, "Expired");
    return Reply::json(text);
  }

  struct Left {
    std::uint64_t version = 0;
    std::deque<std::string> items;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, kube::Resource> resources_;
  std::map<Key, Stored> objects_;
  std::deque<Event> log_;
  std::uint64_t version_ = 100;
  std::uint64_t forgotten_ = 0;
  std::uint64_t cuts_ = 0;
  std::map<std::string, Left> lists_;
  std::uint64_t tokens_ = 0;
  Hook hook_;
  std::function<bool(const std::string&, const std::string&)> allowed_;
  bool stopping_ = false;
  HttpServer server_;
};

}  // namespace kollect::testing
