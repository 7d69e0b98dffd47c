// An ObjectReceiver that remembers what it was told, and waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kube/reflector.h"

namespace kollect::testing {

/// Keeps what a careful user of a reflector would keep. Thread-safe.
class ObjectRecorder : public kube::ObjectReceiver {
 public:
  void begin_list() override {
    note("begin");
    const std::scoped_lock lock(mutex_);
    seen_.clear();
    listing_ = true;
  }
  void object(base::json::View object) override {
    if (on_object) on_object(object);
    const auto [name, version] = identity(object);
    note("put " + name + "@" + version, [&] {
      objects_[name] = version;
      kinds_[name] =
          std::string(object.text("apiVersion")) + " " + std::string(object.text("kind"));
      if (listing_) seen_[name] = version;
    });
  }
  void deleted(base::json::View object) override {
    const auto [name, version] = identity(object);
    note("gone " + name + "@" + version, [&] {
      objects_.erase(name);
      seen_.erase(name);
    });
  }
  void end_list() override {
    note("end", [&] {
      objects_ = seen_;
      listing_ = false;
    });
  }

  /// What exists: name to resourceVersion.
  [[nodiscard]] std::map<std::string, std::string> objects() const {
    const std::scoped_lock lock(mutex_);
    return objects_;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, version] : objects()) names.push_back(name);
    return names;
  }
  /// apiVersion and kind of an object.
  [[nodiscard]] std::string type_of(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    return kinds_.at(name);
  }
  /// Calls in order: "begin", "put a@10", "gone a@12", "end".
  [[nodiscard]] std::vector<std::string> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  [[nodiscard]] std::size_t count(const std::string& call) const {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count(calls_, call));
  }
  /// Waits until it holds; looked at after every call and every few milliseconds. False after two
  /// minutes.
  bool wait(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::unique_lock lock(mutex_);
      const std::size_t before = calls_.size();
      changed_.wait_for(lock, std::chrono::milliseconds(3),
                        [&] { return calls_.size() != before; });
    }
    return true;
  }
  bool wait_for_names(const std::vector<std::string>& wanted) {
    return wait([&] { return names() == wanted; });
  }
  bool wait_for_call(const std::string& call, std::size_t times = 1) {
    return wait([&] { return count(call) >= times; });
  }
  /// Runs before an object is noted; set it before the reflector starts.
  std::function<void(base::json::View)> on_object;

 private:
  static std::pair<std::string, std::string> identity(base::json::View object) {
    const auto metadata = object.find("metadata");
    return {std::string(metadata->text("name")), std::string(metadata->text("resourceVersion"))};
  }
  void note(const std::string& call, const std::function<void()>& change = nullptr) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(call);
    if (change) change();
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> calls_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, std::string> seen_;
  std::map<std::string, std::string> kinds_;
  bool listing_ = false;
};

}  // namespace kollect::testing
