// A small API server with Secrets and objects of ours, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "http/client.h"
#include "kube/client.h"
#include "manager/connection/probe.h"
#include "manager/leader/fence.h"
#include "manager/object_cache.h"
#include "manager/sink_registry.h"
#include "manager/telemetry/telemetry.h"
#include "manager/writer.h"
#include "support/http_server.h"

namespace kollect::manager::testing {

using base::json::Object;
using base::json::Value;

inline Value parsed(const std::string& text) {
  auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  return document ? base::json::to_value(document->root()) : Value(Object());
}

/// JSON with single quotes for double ones.
inline Value json(std::string text) {
  std::ranges::replace(text, '\'', '"');
  return parsed(text);
}

inline void merge(Value& target, const Value& patch) {
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) {
      target.as_object().erase(key);
    } else if (value.is_object()) {
      Value& place = target.as_object()[key];
      if (!place.is_object()) place = Value(Object());
      merge(place, value);
    } else {
      target.as_object().set(key, value);
    }
  }
}

/// Objects by path; keeps generation and resourceVersion as a server does.
class SmallServer {
 public:
  SmallServer() : server_([this](const auto& request) { return answer(request); }) {}
  [[nodiscard]] std::string url() const { return server_.url(); }

  void put(const std::string& path, Value object) {
    const std::scoped_lock lock(mutex_);
    touch(object);
    objects_.insert_or_assign(path, std::move(object));
  }
  /// The object as it is; null when there is none.
  [[nodiscard]] Value at(const std::string& path) const {
    const std::scoped_lock lock(mutex_);
    const auto it = objects_.find(path);
    return it != objects_.end() ? it->second : Value();
  }
  void secret(const std::string& name, const std::map<std::string, std::string>& data,
              const char* annotations = "{}", const std::string& ns = "shop") {
    Object encoded;
    for (const auto& [key, value] : data) encoded.set(key, base::base64_encode(value));
    Value object = json("{'metadata':{'uid':'" + name + "','annotations':" + annotations + "}}");
    object.as_object().set("data", Value(std::move(encoded)));
    put("/api/v1/namespaces/" + ns + "/secrets/" + name, std::move(object));
  }
  /// "PATCH …/status" and the like, but for reads; and reasons of events.
  std::vector<std::string> take_writes() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(writes_, {});
  }

 private:
  void touch(Value& object) {
    Value& metadata = object.as_object()["metadata"];
    if (!metadata.is_object()) metadata = Value(Object());
    metadata.as_object().set("resourceVersion", std::to_string(++version_));
  }
  kollect::testing::Reply answer(const kollect::testing::Received& request) {
    using kollect::testing::Reply;
    const std::scoped_lock lock(mutex_);
    std::string path = request.path();
    if (request.method == "POST") {
      const Value event = parsed(request.body);
      writes_.push_back("event " + std::string(event.text("type")) + " " +
                        std::string(event.text("reason")));
      return Reply::json(request.body, 201);
    }
    if (request.method != "GET") {
      writes_.push_back(request.method + " " + path.substr(path.rfind('/') + 1));
    }
    if (path.ends_with("/status")) path.resize(path.size() - 7);
    const auto it = objects_.find(path);
    if (it == objects_.end()) {
      return Reply::json(R"({"kind":"Status","code":404,"reason":"NotFound"})", 404);
    }
    if (request.method == "PATCH") {
      merge(it->second, parsed(request.body));
      touch(it->second);
    }
    const Reply reply = Reply::json(base::json::canonical(it->second));
    if (request.method == "DELETE") objects_.erase(it);
    return reply;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Value> objects_;
  std::vector<std::string> writes_;
  int version_ = 0;
  kollect::testing::HttpServer server_;
};

/// Caches with what a test puts there, and everything that controllers need. Namespace "shop".
class Connections : public ::testing::Test {
 protected:
  static constexpr const char* kOurs = "/apis/kollect.dev/v1alpha1/namespaces/shop/";

  void SetUp() override {
    fence_.open();
    for (kube::ObjectReceiver* feed : {&snapshot_feed_, &database_feed_, &event_feed_}) {
      feed->begin_list();
      feed->end_list();
    }
  }
  static Value manifest(const std::string& name, const std::string& spec,
                        const std::string& annotations, int generation) {
    return json("{'metadata':{'name':'" + name + "','namespace':'shop','uid':'uid-" + name +
                "','generation':" + std::to_string(generation) + ",'annotations':" + annotations +
                "},'spec':" + spec + "}");
  }
  /// Puts an object on the server and into the cache as its watch would; the status stays.
  template <class Feed>
  void apply(Feed& feed, const std::string& plural, const std::string& name,
             const std::string& spec, const std::string& annotations = "{}", int generation = 1) {
    Value object = manifest(name, spec, annotations, generation);
    const Value before = server_.at(kOurs + plural + "/" + name);
    if (!before.is_null() && before.find("status") != nullptr) {
      object.as_object().set("status", *before.find("status"));
    }
    server_.put(kOurs + plural + "/" + name, std::move(object));
    watch(feed, plural, name);
  }
  template <class Feed>
  void watch(Feed& feed, const std::string& plural, const std::string& name) {
    const auto document = base::json::Document::from_value(server_.at(kOurs + plural + "/" + name));
    feed.object(document.root());
  }
  void database(const std::string& spec, const std::string& annotations = "{}",
                int generation = 1) {
    apply(database_feed_, "kollectdatabasesinks", "db", spec, annotations, generation);
  }
  /// A SQLite file: below a folder, or below a file, where it cannot be.
  void file_sink(bool good, const std::string& more = "", const std::string& annotations = "{}",
                 int generation = 1) {
    database(std::string("{'type':'sqlite','sqlite':{'path':'") + (good ? "a.db" : "wall/a.db") +
                 "'}" + more + "}",
             annotations, generation);
  }
  void build_wall() { ASSERT_TRUE(base::write_file_atomic(folder_.path() / "wall", "a file")); }
  void tear_down_wall() { std::filesystem::remove(folder_.path() / "wall"); }

  static sinks::SinkOptions sink_options(const std::filesystem::path& folder) {
    sinks::SinkOptions options;
    options.guard_addresses = false;
    options.sqlite_dir = folder;
    return options;
  }

  /// "Type=Status/Reason" of all conditions, in the order of types.
  std::set<std::string> conditions(const std::string& path) {
    std::set<std::string> found;
    const Value object = server_.at(kOurs + path);
    const Value* list = object.is_null() ? nullptr : object.at_path({"status", "conditions"});
    if (list == nullptr) return found;
    for (const Value& one : list->as_array()) {
      found.insert(std::string(one.text("type")) + "=" + std::string(one.text("status")) + "/" +
                   std::string(one.text("reason")));
    }
    return found;
  }

  base::TempDir folder_ = *base::TempDir::create();
  base::ManualClock clock_{*base::parse_rfc3339("2026-02-03T04:05:06Z")};
  base::Context context_{clock_, {}};
  SmallServer server_;
  kube::Client client_{std::make_shared<http::Client>(),
                       [this] {
                         kube::ClusterConfig config;
                         config.server = server_.url();
                         return config;
                       }(),
                       kube::ClientOptions{}, nullptr};
  Fence fence_{clock_};
  base::Redactor redactor_;
  Writer writer_{client_, nullptr, fence_};
  SecretReader secrets_{client_, clock_, redactor_};
  ObjectCache<api::SnapshotSink> snapshots_{"KollectSnapshotSink"};
  ObjectCache<api::DatabaseSink> databases_{"KollectDatabaseSink"};
  ObjectCache<api::EventSink> events_{"KollectEventSink"};
  kube::ObjectReceiver& snapshot_feed_ = snapshots_.feed("");
  kube::ObjectReceiver& database_feed_ = databases_.feed("");
  kube::ObjectReceiver& event_feed_ = events_.feed("");
  metrics::Registry metrics_;
  Telemetry telemetry_{metrics_};
  SinkRegistry registry_{{.snapshot = snapshots_, .database = databases_, .event = events_},
                         secrets_,
                         clock_,
                         sink_options(folder_.path()),
                         {},
                         fence_,
                         telemetry_};
};

}  // namespace kollect::manager::testing
