// Objects with their versions, and the events that made them: what etcd and the watch cache are to
// kube-apiserver, in memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sandbox/object_template.h"

namespace kollect::sandbox {

/// Content of an object without its type and resourceVersion: the text that stands behind
/// `"metadata":{"resourceVersion":"1",`. Either kept, or made from a template when asked. Cheap to
/// copy.
class Body {
 public:
  Body() = default;
  explicit Body(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}

  struct Generated {
    const class GeneratedSet* set = nullptr;
    std::uint32_t index = 0;
    std::uint32_t revision = 0;
  };
  explicit Body(Generated generated) : generated_(generated) {}

  [[nodiscard]] bool is_generated() const { return generated_.set != nullptr; }
  [[nodiscard]] const Generated& generated() const { return generated_; }
  /// Appends `"metadata":{...},...}` with the resourceVersion in it.
  void append(std::string& out, std::uint64_t rv) const;
  /// The text alone.
  [[nodiscard]] std::string text() const;

 private:
  std::shared_ptr<const std::string> text_;
  Generated generated_;
};

/// State of an object after one write. A deleted one keeps its last content for the event.
struct Version {
  std::uint64_t rv = 0;
  bool deleted = false;
  Body body;
  /// What it was before, as long as history reaches; guarded by the store's mutex.
  mutable std::shared_ptr<const Version> older;
};
using VersionPtr = std::shared_ptr<const Version>;

struct Event {
  std::string key;
  VersionPtr now;
  VersionPtr before;  ///< null: there was none
  [[nodiscard]] std::uint64_t rv() const { return now->rv; }
};

/// `count` objects with names in the order of their index, spread over namespaces in equal runs.
class GeneratedSet {
 public:
  /// `namespaces` 0: cluster-scoped.
  GeneratedSet(ObjectTemplate shape, std::string name_prefix, std::uint32_t count,
               std::uint32_t namespaces, std::uint64_t first_rv, std::uint64_t seed);

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::string key(std::uint32_t index) const;
  [[nodiscard]] std::optional<std::uint32_t> index_of(std::string_view key) const;
  /// Index of the first key that is not less.
  [[nodiscard]] std::uint32_t lower_bound(std::string_view key) const;
  /// Names of the namespaces of a set with so many.
  static std::string namespace_name(std::uint32_t number);
  void append(std::string& out, std::uint32_t index, std::uint32_t revision) const;

  // State of those without a version of their own; guarded by the store's mutex.
  std::vector<std::uint32_t> revisions;
  std::vector<std::uint64_t> rvs;

 private:
  ObjectTemplate shape_;
  std::string prefix_;
  std::uint32_t count_;
  std::uint32_t namespaces_;
  std::uint32_t per_namespace_;
  std::uint64_t seed_;
};

/// An object of a list.
struct Entry {
  std::string key;
  std::uint64_t rv = 0;
  Body body;
};

/// Keys are "namespace/name" or "name", as in etcd, in bytewise order. One history for all
/// resources (resourceVersions rise over the whole store), kept per resource up to a number of
/// events. Thread-safe. Resources are named "group/plural".
class Store {
 public:
  explicit Store(std::size_t history_events) : history_events_(history_events) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] std::uint64_t rv() const;
  /// The newest state, none when it does not exist.
  [[nodiscard]] std::optional<Entry> get(const std::string& resource, const std::string& key) const;
  /// Writes and tells watchers; the new resourceVersion.
  std::uint64_t put(const std::string& resource, const std::string& key, Body body);
  /// Deletes with `last` as the content of the event.
  std::uint64_t remove(const std::string& resource, const std::string& key, Body last);
  /// Adds generated objects to an empty resource.
  void add_generated(const std::string& resource, ObjectTemplate shape,
                     const std::string& name_prefix, std::uint32_t count, std::uint32_t namespaces,
                     std::uint64_t seed);
  /// Raises the revision of a generated object, unless it was written or deleted by somebody.
  void touch_generated(const std::string& resource, std::uint32_t index);
  /// Deletes one; false when it is not there or was written by somebody.
  bool remove_generated(const std::string& resource, std::uint32_t index);
  /// Brings a deleted one back with a higher revision.
  void restore_generated(const std::string& resource, std::uint32_t index);

  /// A stretch of a list.
  struct Page {
    std::vector<Entry> entries;
    std::string next;  ///< go on from here; empty: the end was reached
  };
  /// Existing objects of the state at `rv`, with keys from `from` on that begin with `prefix`; at
  /// most `most` of them. None when history no longer reaches back so far.
  [[nodiscard]] std::optional<Page> page(const std::string& resource, std::uint64_t rv,
                                         const std::string& from, const std::string& prefix,
                                         std::size_t most) const;
  /// Objects that exist, of one namespace or (empty) of all.
  [[nodiscard]] std::size_t count(const std::string& resource, const std::string& ns) const;

  /// Events after `after`, at most `most`.
  struct Events {
    bool too_old = false;
    std::uint64_t oldest = 0;  ///< of too_old: the oldest resourceVersion that can be resumed
    std::vector<Event> events;
    std::uint64_t rv = 0;  ///< everything up to here has been given
    std::uint64_t epoch = 0;
  };
  [[nodiscard]] Events events(const std::string& resource, std::uint64_t after,
                              std::size_t most) const;
  /// `wake` is called after every write to the resource, until the handle is gone. It must be quick
  /// and must not call the store.
  [[nodiscard]] std::shared_ptr<void> subscribe(const std::string& resource,
                                                std::function<void()> wake);

  /// As a restarted server: nothing before now can be resumed or paged. Watches see a new epoch.
  void forget_history();
  [[nodiscard]] std::uint64_t epoch() const;
  /// The resourceVersion from which on states can be read.
  [[nodiscard]] std::uint64_t oldest(const std::string& resource) const;

  struct Counts {
    std::uint64_t objects = 0;
    std::uint64_t events = 0;  ///< since the beginning
    std::uint64_t history = 0;
    std::uint64_t watches = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  struct Resource {
    std::map<std::string, VersionPtr> heads;
    std::unique_ptr<GeneratedSet> generated;
    std::deque<Event> history;
    std::uint64_t oldest = 0;
    std::unordered_map<std::string, std::size_t> live;  ///< per namespace
    std::size_t live_total = 0;
    std::vector<std::weak_ptr<std::function<void()>>> wakes;
  };

  void write(Resource& resource, const std::string& key, Body body, bool deleted);
  /// The newest version of a generated object as it was made, null when somebody wrote it.
  static VersionPtr made(const Resource& resource, std::uint32_t index);
  void trim(Resource& resource, std::size_t keep);
  static VersionPtr head(const Resource& resource, const std::string& key);
  static void note_live(Resource& resource, std::string_view key, int change);

  std::size_t history_events_;
  mutable std::mutex mutex_;
  std::uint64_t rv_ = 1;
  std::uint64_t epoch_ = 0;
  std::uint64_t events_ = 0;
  std::unordered_map<std::string, Resource> resources_;
};

}  // namespace kollect::sandbox
