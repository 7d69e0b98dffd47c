// Our own objects as the API server has them, kept up to date by a watch.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/codec.h"
#include "api/types.h"
#include "base/json/document.h"
#include "base/json/value.h"
#include "base/result.h"
#include "kube/reflector.h"
#include "manager/work_queue.h"

namespace kollect::manager {

/// One object. Immutable.
template <class T>
struct Cached {
  base::json::Value manifest;  ///< as the server gave it, status included
  T object;                    ///< pruned and defaulted
  /// The manifest does not decode (written past our schema); `object` has its metadata only.
  std::optional<base::Error> problem;

  [[nodiscard]] const api::Metadata& meta() const { return object.metadata; }
  [[nodiscard]] bool deleting() const { return !object.metadata.deletion_timestamp.empty(); }
  [[nodiscard]] Key key() const { return {object.metadata.ns, object.metadata.name}; }
};

/// What happened to an object: `before` is null for a new one, `after` for one that went.
template <class T>
struct CacheEvent {
  std::shared_ptr<const Cached<T>> before;
  std::shared_ptr<const Cached<T>> after;
  [[nodiscard]] Key key() const { return after ? after->key() : before->key(); }
  /// Something besides status, resourceVersion and managedFields: our own status writes must not
  /// cause a pass.
  [[nodiscard]] bool matters() const;
};

/// One of our kinds, for the client.
kube::Resource resource_of(const std::string& kind);

/// Without status and the parts of metadata that every write changes.
base::json::Value without_status(const base::json::Value& manifest);

/// By their resource versions, which grow on every server that keeps them in etcd; where they are
/// no numbers, true.
bool is_newer(const base::json::Value& manifest, const base::json::Value& than);

/// Reads a manifest that a list or watch gave. `kind`: lists of typed resources leave it out.
template <class T>
Cached<T> read_cached(std::string_view kind, base::json::Value manifest);

/// Reflectors write, everybody reads. Thread-safe. `changed` runs on the reflector's thread.
template <class T>
class ObjectCache {
 public:
  using Ptr = std::shared_ptr<const Cached<T>>;
  explicit ObjectCache(std::string kind,
                       std::function<void(const CacheEvent<T>&)> changed = nullptr)
      : kind_(std::move(kind)), changed_(std::move(changed)) {}

  [[nodiscard]] Ptr get(const Key& key) const {
    const std::scoped_lock lock(mutex_);
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->second;
  }
  /// In the order of names.
  [[nodiscard]] std::vector<Ptr> in_namespace(const std::string& ns) const {
    const std::scoped_lock lock(mutex_);
    std::vector<Ptr> found;
    for (auto it = objects_.lower_bound({ns, ""}); it != objects_.end() && it->first.ns == ns;
         ++it) {
      found.push_back(it->second);
    }
    return found;
  }
  [[nodiscard]] std::vector<Ptr> all() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Ptr> found;
    for (const auto& [key, object] : objects_) found.push_back(object);
    return found;
  }
  /// The first lists of all feeds are complete; with `ns`: of the one that has this namespace.
  [[nodiscard]] bool synced() const {
    const std::scoped_lock lock(mutex_);
    return !feeds_.empty() &&
           std::ranges::all_of(feeds_, [](const auto& feed) { return feed->synced(); });
  }
  [[nodiscard]] bool synced(const std::string& ns) const {
    const std::scoped_lock lock(mutex_);
    const Feed* feed = feed_of(ns);
    return feed != nullptr && feed->synced();
  }
  [[nodiscard]] bool any_synced() const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(feeds_, [](const auto& feed) { return feed->synced(); });
  }
  /// Why a first list is not complete, where waiting does not mend it (no right, kind not served).
  /// What is not known then is unknown, not absent.
  [[nodiscard]] std::optional<base::Error> lookup_error() const {
    const std::scoped_lock lock(mutex_);
    const auto it = std::ranges::find_if(
        feeds_, [](const auto& feed) { return feed->lookup_error().has_value(); });
    return it != feeds_.end() ? (*it)->lookup_error() : std::nullopt;
  }
  [[nodiscard]] std::optional<base::Error> lookup_error(const std::string& ns) const {
    const std::scoped_lock lock(mutex_);
    const Feed* feed = feed_of(ns);
    return feed != nullptr ? feed->lookup_error() : std::nullopt;
  }
  /// Neither synced nor known to fail.
  [[nodiscard]] bool waiting() const {
    const std::scoped_lock lock(mutex_);
    return feeds_.empty() ||
           std::ranges::any_of(feeds_, [](const auto& feed) { return feed->waiting(); });
  }
  [[nodiscard]] bool waiting(const std::string& ns) const {
    const std::scoped_lock lock(mutex_);
    const Feed* feed = feed_of(ns);
    return feed != nullptr && feed->waiting();
  }
  /// What the reflector of the feed of `ns` says. True: that is news for lookup_error().
  bool tell(const std::string& ns, const std::optional<base::Error>& error) {
    if (!error || error->kind == base::ErrorKind::kRetryable) return false;
    const std::scoped_lock lock(mutex_);
    const auto it =
        std::ranges::find_if(feeds_, [&](const auto& feed) { return feed->ns() == ns; });
    return it != feeds_.end() && (*it)->fail(*error);
  }
  /// An answer of our own write, so that the next pass sees it before the watch brings it. Only a
  /// known object is replaced, and only by a newer one: the watch may have brought somebody's
  /// later change while the answer was on its way.
  void put(base::json::Value manifest) { store(std::move(manifest), true); }

  /// What a reflector of one namespace ("": of all) writes to; owned by the cache.
  kube::ObjectReceiver& feed(const std::string& ns) {
    const std::scoped_lock lock(mutex_);
    feeds_.push_back(std::make_unique<Feed>(*this, ns));
    return *feeds_.back();
  }

 private:
  static std::string_view text_at(base::json::View object, std::string_view member) {
    const auto metadata = object.find("metadata");
    return metadata ? metadata->text(member) : std::string_view();
  }
  /// A complete list of one namespace (or all) says what is gone.
  class Feed final : public kube::ObjectReceiver {
   public:
    Feed(ObjectCache& cache, std::string ns) : cache_(cache), ns_(std::move(ns)) {}
    void begin_list() override { listed_.clear(); }
    void object(base::json::View object) override {
      listed_.insert(cache_.store(base::json::to_value(object)));
    }
    void deleted(base::json::View object) override {
      cache_.remove({.ns = std::string(text_at(object, "namespace")),
                     .name = std::string(text_at(object, "name"))});
    }
    void end_list() override {
      for (const auto& known : cache_.all()) {
        if ((ns_.empty() || known->key().ns == ns_) && !listed_.contains(known->key())) {
          cache_.remove(known->key());
        }
      }
      listed_.clear();
      const std::scoped_lock lock(cache_.mutex_);
      synced_ = true;
    }
    // The cache's mutex is held.
    [[nodiscard]] const std::string& ns() const { return ns_; }
    [[nodiscard]] bool synced() const { return synced_; }
    [[nodiscard]] bool waiting() const { return !synced_ && !error_; }
    [[nodiscard]] std::optional<base::Error> lookup_error() const {
      return synced_ ? std::nullopt : error_;
    }
    bool fail(const base::Error& error) {
      if (!waiting()) return false;
      error_ = error;
      return true;
    }

   private:
    ObjectCache& cache_;
    const std::string ns_;
    std::set<Key> listed_;
    bool synced_ = false;
    std::optional<base::Error> error_;
  };
  /// The feed that brings the objects of a namespace; null: none does.
  [[nodiscard]] const Feed* feed_of(const std::string& ns) const {
    const auto it = std::ranges::find_if(
        feeds_, [&](const auto& feed) { return feed->ns().empty() || feed->ns() == ns; });
    return it != feeds_.end() ? it->get() : nullptr;
  }

  Key store(base::json::Value manifest, bool only_newer = false) {
    auto fresh = std::make_shared<const Cached<T>>(read_cached<T>(kind_, std::move(manifest)));
    CacheEvent<T> event{.before = nullptr, .after = fresh};
    {
      const std::scoped_lock lock(mutex_);
      const auto known = objects_.find(fresh->key());
      if (only_newer &&
          (known == objects_.end() || !is_newer(fresh->manifest, known->second->manifest))) {
        return fresh->key();
      }
      Ptr& place = objects_[fresh->key()];
      event.before = place;
      place = fresh;
    }
    if (changed_) changed_(event);
    return fresh->key();
  }
  void remove(const Key& key) {
    CacheEvent<T> event;
    {
      const std::scoped_lock lock(mutex_);
      const auto it = objects_.find(key);
      if (it == objects_.end()) return;
      event.before = std::move(it->second);
      objects_.erase(it);
    }
    if (changed_) changed_(event);
  }

  const std::string kind_;
  const std::function<void(const CacheEvent<T>&)> changed_;
  mutable std::mutex mutex_;
  std::map<Key, Ptr> objects_;
  std::vector<std::unique_ptr<Feed>> feeds_;
};

template <class T>
bool CacheEvent<T>::matters() const {
  if (!before || !after) return true;
  return !(without_status(before->manifest) == without_status(after->manifest));
}

template <class T>
Cached<T> read_cached(std::string_view kind, base::json::Value manifest) {
  Cached<T> cached;
  manifest.as_object().set("apiVersion", api::kApiVersion);
  manifest.as_object().set("kind", std::string(kind));
  cached.manifest = std::move(manifest);
  base::json::Value copy = cached.manifest;
  api::prune_and_default(kind, copy);
  if (auto decoded = api::decode<T>(copy)) {
    cached.object = std::move(*decoded);
    return cached;
  } else {
    cached.problem = decoded.error();
  }
  const auto text = [&](std::string_view member) {
    const base::json::Value* value = cached.manifest.at_path({"metadata", member});
    return value != nullptr && value->is_string() ? value->as_string() : std::string();
  };
  api::Metadata& meta = cached.object.metadata;
  meta.name = text("name");
  meta.ns = text("namespace");
  meta.uid = text("uid");
  meta.deletion_timestamp = text("deletionTimestamp");
  return cached;
}

}  // namespace kollect::manager
