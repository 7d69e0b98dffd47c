// A collector with a store, watched from outside: tests wait for what must come, never for time.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/codec.h"
#include "base/files.h"
#include "base/json/document.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "collector/collector.h"

namespace kollect::collector::testing {

inline const api::GroupVersionKind kDeployment{"apps", "v1", "Deployment"};
inline const api::GroupVersionKind kConfigMap{"", "v1", "ConfigMap"};

/// Options whose pauses are short; no test depends on how short.
inline CollectorOptions quick_options() {
  CollectorOptions options;
  options.access_ttl = std::chrono::milliseconds(50);
  options.discovery_retry = std::chrono::milliseconds(50);
  options.reflector.backoff_base = std::chrono::milliseconds(5);
  options.reflector.backoff_cap = std::chrono::milliseconds(100);
  return options;
}

/// Lists by pages of two: for scripted servers.
inline CollectorOptions paged_options() {
  CollectorOptions options = quick_options();
  options.reflector.watch_list = false;
  options.page_size = 2;
  return options;
}

/// Decodes a spec (YAML flow or block) as the kind's.
template <class T>
auto spec_of(const char* kind, const std::string& yaml) {
  auto spec = base::yaml::read_one(yaml.empty() ? "{}" : yaml);
  EXPECT_TRUE(spec.has_value()) << yaml;
  base::json::Value manifest(base::json::Object{});
  manifest.as_object()["apiVersion"] = base::json::Value(api::kApiVersion);
  manifest.as_object()["kind"] = base::json::Value(kind);
  base::json::Value metadata(base::json::Object{});
  metadata.as_object()["name"] = base::json::Value("t");
  manifest.as_object()["metadata"] = metadata;
  manifest.as_object()["spec"] = *spec;
  auto decoded = api::decode<T>(manifest);
  EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
  return decoded ? decoded->spec : decltype(decoded->spec){};
}

struct TargetText {
  std::string spec = {};  ///< KollectTarget's
  api::GroupVersionKind kind = kDeployment;
  /// name and path of one attribute
  std::pair<std::string, std::string> attribute = {"name", "$.metadata.name"};
};

/// Config maps with their value.
inline TargetText maps(const std::string& spec = {}) {
  return {.spec = spec, .kind = kConfigMap, .attribute = {"value", "$.data.value"}};
}

inline extract::Program program_of(const api::GroupVersionKind& kind,
                                   const std::pair<std::string, std::string>& attribute) {
  api::ProfileSpec profile;
  profile.target_gvk = kind;
  api::Attribute one;
  one.name = attribute.first;
  one.path = attribute.second;
  profile.attributes.push_back(one);
  extract::Program::CompileInput input;
  input.spec = &profile;
  auto program = extract::Program::compile(input);
  EXPECT_TRUE(program.has_value()) << program.error().front().message;
  return *program;
}

inline select::Selection selection_of(const api::TargetSpec& spec,
                                      const api::GroupVersionKind& kind) {
  auto selection = select::Selection::compile(
      {.common = &spec,
       .namespace_selector = spec.namespace_selector ? &*spec.namespace_selector : nullptr,
       .label_selector = spec.label_selector ? &*spec.label_selector : nullptr,
       .names = &spec.names,
       .opt_in = spec.watch_mode == "OptIn"},
      kind);
  EXPECT_TRUE(selection.has_value()) << selection.error().message;
  return *selection;
}

inline inventory::Owner target_owner(const std::string& name, const std::string& ns = "ops") {
  return {.owner_class = inventory::OwnerClass::kTarget, .ns = ns, .name = name};
}

inline inventory::Owner cluster_owner(const std::string& name, const std::string& ns = "") {
  return {.owner_class = inventory::OwnerClass::kClusterTarget, .ns = ns, .name = name};
}

inline Registration registration_of(const inventory::Owner& owner, const TargetText& text,
                                    std::vector<std::string> effective) {
  const auto spec = spec_of<api::Target>("KollectTarget", text.spec);
  return {.target = owner,
          .selection = selection_of(spec, text.kind),
          .program = program_of(text.kind, text.attribute),
          .effective = std::move(effective),
          .fingerprint = fmt::format("{} {} {} {}", text.spec, text.kind.kind, text.attribute.first,
                                     text.attribute.second),
          .cluster = "test"};
}

/// Stands still until it is moved; whoever sleeps on it waits for that.
class StepClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override { return manual_.now(); }
  [[nodiscard]] base::SteadyTime steady_now() const override { return manual_.steady_now(); }
  bool sleep(base::Duration how_long, const std::stop_token& stop) const override {
    std::unique_lock lock(mutex_);
    const auto until = base::SteadyTime::max() - steady_now() > how_long ? steady_now() + how_long
                                                                         : base::SteadyTime::max();
    return moved_.wait(lock, stop, [&] { return steady_now() >= until; }) && !stop.stop_requested();
  }
  void advance(base::Duration by) const {
    const std::scoped_lock lock(mutex_);
    manual_.advance(by);
    moved_.notify_all();
  }

 private:
  base::ManualClock manual_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any moved_;
};

/// A collector with its own store.
class Stage {
 public:
  explicit Stage(kube::Client& client, CollectorOptions options = quick_options(),
                 const base::Clock* clock = nullptr)
      : collector(client, store, clock != nullptr ? *clock : system_, nullptr, std::move(options)) {
    store.on_change([this](const inventory::Owner&) { ring(); });
    collector.on_signal([this](const inventory::Owner&) { ring(); });
    collector.on_refused([this](const Refusal& refusal) {
      const std::string there = rows(refusal.target);
      const std::scoped_lock lock(mutex_);
      refusals_.push_back(fmt::format("{}{} while there are {}", fmt::join(refusal.namespaces, ","),
                                      refusal.everything ? "*" : "", there));
    });
    collector.on_namespaces_changed([this] { ring(); });
    collector.on_kinds_changed([this] { ring(); });
    collector.start();
  }
  /// What was judged before the namespaces were known is judged again: who counts requests waits.
  bool knows_namespaces() {
    return wait([&] { return collector.namespaces().known; });
  }

  /// What was refused, and the rows at that time.
  std::vector<std::string> refusals() {
    const std::scoped_lock lock(mutex_);
    return refusals_;
  }

  void ring() {
    const std::scoped_lock lock(mutex_);
    ++rings_;
    changed_.notify_all();
  }

  /// Waits until it holds; looks again after everything that the collector tells, and now and
  /// then for what it does not.
  bool wait(const std::function<bool()>& holds) {
    constexpr auto kNowAndThen = std::chrono::milliseconds(20);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds()) {
      std::unique_lock lock(mutex_);
      if (std::chrono::steady_clock::now() > deadline) return false;
      const std::uint64_t seen = rings_;
      changed_.wait_for(lock, kNowAndThen, [&] { return rings_ != seen; });
    }
    return true;
  }

  /// "ns/name ns/name" of the owner's rows, sorted.
  std::string rows(const inventory::Owner& owner) {
    return texts(owner, [](const inventory::RowView& row) {
      return row.ns.empty() ? std::string(row.name) : fmt::format("{}/{}", row.ns, row.name);
    });
  }
  /// Attributes of the owner's rows, sorted.
  std::string attributes(const inventory::Owner& owner) {
    return texts(owner, [](const inventory::RowView& row) { return std::string(row.attributes); });
  }
  std::string texts(const inventory::Owner& owner,
                    const std::function<std::string(const inventory::RowView&)>& text) {
    const auto reader =
        store.subscribe([&](const inventory::Owner& other) { return other == owner; });
    std::vector<std::string> all;
    EXPECT_TRUE(reader->snapshot().for_each([&](const inventory::RowView& row) {
      all.push_back(text(row));
      return base::Result<>();
    }));
    std::ranges::sort(all);
    return base::join(all, " ");
  }

  /// Waits for exactly these rows, everything looked at.
  ::testing::AssertionResult has(const inventory::Owner& owner, const std::string& wanted) {
    if (wait([&] { return rows(owner) == wanted; })) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << "rows: " << rows(owner) << "; " << describe(collector.signals(owner));
  }
  ::testing::AssertionResult settles(const inventory::Owner& owner) {
    const auto settled = [&] {
      const Signals signals = collector.signals(owner);
      return signals.complete && !signals.evaluating;
    };
    if (wait(settled)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << describe(collector.signals(owner));
  }
  ::testing::AssertionResult signals_hold(const inventory::Owner& owner,
                                          const std::function<bool(const Signals&)>& holds) {
    if (wait([&] { return holds(collector.signals(owner)); })) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << describe(collector.signals(owner));
  }

  static std::string describe(const Signals& s) {
    return fmt::format(
        "registered {} complete {} evaluating {} watches {} failures {} error {} access {} "
        "forbidden {}",
        s.registered, s.complete, s.evaluating, s.watches, s.extraction_failures,
        s.error ? s.error->reason + ": " + s.error->message : "-",
        s.access_check_error ? s.access_check_error->message : "-",
        fmt::join(s.forbidden_namespaces, ","));
  }

  /// "resource in namespace" of all open watches, sorted.
  std::string open_watches() {
    std::vector<std::string> open;
    for (const WatchStats& watch : collector.stats().watches) {
      open.push_back(watch.resource.plural + "@" + (watch.ns.empty() ? "*" : watch.ns));
    }
    std::ranges::sort(open);
    return base::join(open, " ");
  }

  inventory::RowStore store;

 private:
  base::SystemClock system_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t rings_ = 0;
  std::vector<std::string> refusals_;

 public:
  Collector collector;
};

}  // namespace kollect::collector::testing
