#include "collector/engine.h"

#include <algorithm>

#include <fmt/format.h>

namespace kollect::collector {
namespace {

/// The engine looks around at least this often.
constexpr base::Duration kLongestWait = std::chrono::minutes(10);
constexpr std::size_t kQuickThreads = 2;

kube::Resource namespace_resource() {
  return {.group = {},
          .version = "v1",
          .kind = "Namespace",
          .plural = "namespaces",
          .namespaced = false,
          .verbs = {"list", "watch"}};
}

kube::Resource crd_resource() {
  return {.group = "apiextensions.k8s.io",
          .version = "v1",
          .kind = "CustomResourceDefinition",
          .plural = "customresourcedefinitions",
          .namespaced = false,
          .verbs = {"list", "watch"}};
}

}  // namespace

Engine::Engine(kube::Client& client, inventory::RowStore& store, const base::Clock& clock,
               const base::Logger* log, CollectorOptions options)
    : options_(std::move(options)),
      client_(client),
      store_(store),
      clock_(clock),
      log_(log),
      kinds_(bell_, clock, options_.discovery_retry),
      access_({.reviews = options_.access_reviews,
               .ttl = options_.access_ttl,
               .entries = options_.access_entries}),
      gate_(options_.lists_in_flight),
      services_{.client = client,
                .store = store,
                .clock = clock,
                .log = log,
                .options = options_,
                .gate = gate_,
                .namespaces = namespaces_,
                .bell = bell_,
                .meter = meter_,
                .refused = &refused_listener},
      quick_(clock, kQuickThreads),
      lists_(clock, options_.workers) {}

Engine::~Engine() {
  stop();
}

void Engine::start() {
  if (options_.tenant_mode) {
    namespaces_.give_up(base::denied("namespaces are not read in tenant mode", "tenant-mode"));
  } else {
    start_reflectors();
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Engine::start_reflectors() {
  kube::ReflectorOptions options = options_.reflector;
  options.page_size = options_.page_size;
  const auto watch = [&](kube::Resource resource, kube::ObjectReceiver& receiver) {
    return std::make_unique<kube::Reflector>(client_,
                                             kube::WatchQuery{.resource = std::move(resource),
                                                              .ns = {},
                                                              .label_selector = {},
                                                              .field_selector = {},
                                                              .metadata_only = true},
                                             receiver, gate_, clock_, log_, options);
  };
  namespace_reflector_ = watch(namespace_resource(), namespaces_);
  namespace_reflector_->start(
      [this](const kube::ReflectorStatus& status) { namespaces_.noted(status); });
  crd_reflector_ = watch(crd_resource(), kinds_);
  crd_reflector_->start();
}

void Engine::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    bell_.plan();
    thread_.join();
  }
  namespace_reflector_.reset();
  crd_reflector_.reset();
  lists_.stop();
  const std::scoped_lock lock(mutex_);
  for (auto& [owner, target] : targets_) {
    for (auto& [name, placement] : target.placements) placement.kind = nullptr;
  }
  // Watches that are closed from here on end with the posts that the crew drops.
  watches_.clear();
  quick_.stop();
}

void Engine::run(const std::stop_token& stop) {
  base::SteadyTime next = clock_.steady_now();
  while (true) {
    const base::Duration wait = std::clamp<base::Duration>(next - clock_.steady_now(),
                                                           base::Duration::zero(), kLongestWait);
    Bell::Rung rung = bell_.wait(clock_, wait);
    if (stop.stop_requested()) return;
    const NamespaceBook::Changes changes = namespaces_.take_changes();
    bool kinds_changed = false;
    {
      const std::scoped_lock lock(mutex_);
      if (!changes.relabelled.empty()) {
        for (const auto& [key, kind] : watches_) kind->relabelled(changes.relabelled);
      }
      if (rung.plan || rung.targets.empty() || !changes.relabelled.empty() ||
          clock_.steady_now() >= next) {
        kinds_changed_ = kinds_changed = kinds_.take_changed();
        next = plan(rung);
      }
    }
    if (changes.any && namespaces_listener) namespaces_listener();
    if (kinds_changed && kinds_listener) kinds_listener();
    if (!signal_listener) continue;
    for (const inventory::Owner& target : rung.targets) signal_listener(target);
  }
}

base::SteadyTime Engine::plan(Bell::Rung& rung) {
  const base::SteadyTime now = clock_.steady_now();
  for (auto& [owner, target] : targets_) {
    if (target.dirty || kinds_changed_) place(target);
  }
  std::erase_if(watches_, [](const auto& item) { return item.second->empty(); });
  base::SteadyTime next = base::SteadyTime::max();
  for (const auto& [key, kind] : watches_) {
    if (kinds_changed_) kind->hurry();
    kind->plan(now);
    next = std::min(next, kind->next(now));
  }
  kinds_changed_ = false;
  ask_questions(now);
  note_signals(rung, now);
  return std::min({next, access_.next(), kinds_.next()});
}

void Engine::ask_questions(base::SteadyTime now) {
  access_.sweep();
  for (AccessBook::Question& question : access_.take_questions()) {
    quick_.post([this, question = std::move(question)](const base::Context& context) {
      const auto answer = client_.can_i(context, "list", question.resource, question.ns);
      access_.answered(question, answer, clock_.steady_now());
      bell_.plan();
    });
  }
  if (!kinds_.take_due(now)) return;
  quick_.post([this](const base::Context& context) {
    auto answer = client_.discover(context);
    if (!answer && log_ != nullptr) {
      log_->warn("discovery failed", {{"error", answer.error().message}});
    }
    kinds_.answered(std::move(answer));
  });
}

// ---- Registrations on kinds

void Engine::register_target(Registration registration) {
  if (!options_.watch_namespaces.empty()) {
    std::erase_if(registration.effective, [&](const std::string& ns) {
      return std::ranges::find(options_.watch_namespaces, ns) == options_.watch_namespaces.end();
    });
  }
  {
    const std::scoped_lock lock(mutex_);
    const auto found = targets_.find(registration.target);
    if (found == targets_.end()) {
      const inventory::Owner owner = registration.target;
      targets_.emplace(owner, Registered{.registration = std::move(registration),
                                         .placements = {},
                                         .dirty = true,
                                         .told = {}});
    } else {
      Registered& known = found->second;
      const bool same = known.registration.fingerprint == registration.fingerprint &&
                        known.registration.cluster == registration.cluster;
      if (same && known.registration.effective == registration.effective) return;
      if (!same) {
        // Whatever is judged from here on is judged anew.
        for (auto& [name, placement] : known.placements) placement.core.reset();
      }
      known.registration = std::move(registration);
      known.dirty = true;
    }
  }
  bell_.plan();
}

void Engine::unregister_target(const inventory::Owner& target) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = targets_.find(target);
    if (found == targets_.end()) return;
    for (auto& [name, placement] : found->second.placements) {
      leave_kind(placement, target);
    }
    targets_.erase(found);
  }
  if (target.owner_class == inventory::OwnerClass::kTarget) {
    store_.drop(target);
  } else {
    for (const inventory::Owner& owner : store_.owners()) {
      if (owner.owner_class == target.owner_class && owner.name == target.name) store_.drop(owner);
    }
  }
  bell_.plan();
}

void Engine::place(Registered& target) {
  target.dirty = false;
  std::map<KindName, Placement> old = std::exchange(target.placements, {});
  for (const api::GroupVersionKind& kind : target.registration.selection.kinds()) {
    const KindName name(kind.group, kind.kind);
    Placement& placement = target.placements[name];
    if (auto known = old.extract(name)) {
      placement = std::move(known.mapped());
    } else {
      placement.tally = std::make_shared<Tally>();
      placement.since = clock_.steady_now();
    }
    placement.asked = kind;
    place_kind(target, placement);
  }
  for (auto& [name, placement] : old) leave_kind(placement, target.registration.target);
}

void Engine::place_kind(Registered& target, Placement& placement) {
  const auto found = kinds_.find(placement.asked);
  placement.error.reset();
  placement.note.clear();
  if (!found) {
    placement.error = found.error();
    // Only an answer tells that it is gone (spec: selection 2).
    if (found.error().reason == "gvk-not-found") {
      leave_kind(placement, target.registration.target);
      placement.vanished = placement.vanished || placement.done_once;
      placement.done_once = false;
    }
    if (placement.kind == nullptr) return;
    placement.error.reset();  // what is open goes on
  } else if (found->other_version) {
    placement.note =
        fmt::format("{} is not served in version {}, it is read in {}", placement.asked.kind,
                    placement.asked.version, found->resource.version);
  }
  if (found) placement.vanished = false;
  KindWatches* kind = found ? &kind_of(found->resource) : placement.kind;
  std::vector<Leftover> leftovers;
  if (placement.kind != nullptr && placement.kind != kind) {
    leftovers = placement.kind->take_lane(target.registration.target);
    placement.core.reset();
  }
  placement.kind = kind;
  if (!placement.core) {
    placement.core = std::make_shared<Core>(target.registration, placement.tally);
  }
  kind->set_lane(std::make_shared<const Lane>(placement.core, target.registration.effective,
                                              kind->resource().namespaced),
                 std::move(leftovers));
}

void Engine::leave_kind(Placement& placement, const inventory::Owner& target) {
  if (placement.kind == nullptr) return;
  const auto leftovers = placement.kind->take_lane(target);
  drop(leftovers);
  for (const Leftover& leftover : leftovers) placement.tally->drop_source(leftover.source);
  placement.kind = nullptr;
  placement.core.reset();
  placement.since = clock_.steady_now();
}

void Engine::drop(const std::vector<Leftover>& leftovers) {
  for (const Leftover& leftover : leftovers) {
    store_.drop_source(leftover.owner, leftover.source);
  }
}

KindWatches& Engine::kind_of(const kube::Resource& resource) {
  const ResourceKey key(resource.group, resource.version, resource.kind, resource.plural,
                        resource.namespaced);
  auto& kind = watches_[key];
  if (!kind) {
    kind = std::make_unique<KindWatches>(KindWatches::Tools{.services = services_,
                                                            .access = access_,
                                                            .kinds = kinds_,
                                                            .quick = quick_,
                                                            .lists = lists_,
                                                            .last_source = last_source_},
                                         resource);
  }
  return *kind;
}

}  // namespace kollect::collector
