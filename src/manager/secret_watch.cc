#include "manager/secret_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace kollect::manager {
namespace {

constexpr std::size_t kListsAtOnce = 4;

kube::WatchQuery query_of(const std::string& ns, const std::string& name) {
  return {.resource = {.group = "",
                       .version = "v1",
                       .kind = "Secret",
                       .plural = "secrets",
                       .namespaced = true,
                       .verbs = {"get", "list", "watch"}},
          .ns = ns,
          .field_selector = "metadata.name=" + name,
          .metadata_only = true};
}

}  // namespace

/// One Secret; the reflector's thread writes, others read under the owner's mutex. It logs nothing:
/// that it is refused is normal.
struct SecretWatch::One final : kube::ObjectReceiver {
  One(SecretWatch& the_owner, Name the_name)
      : owner(the_owner),
        name(std::move(the_name)),
        reflector(owner.client_, query_of(name.first, name.second), *this, owner.gate_,
                  owner.clock_, nullptr, kube::ReflectorOptions{.silence = owner.limits_.silence}) {
  }

  void start() {
    reflector.start([this](const kube::ReflectorStatus& status) {
      if (!status.error || status.error->kind != base::ErrorKind::kDenied) return;
      {
        const std::scoped_lock lock(owner.mutex_);
        version.reset();
        // It is told once more when the reflector has stopped.
        if (!denied_at) denied_at = owner.clock_.steady_now();
      }
      reflector.request_stop();
    });
  }

  void begin_list() override { listed = false; }
  void object(base::json::View object) override {
    listed = true;
    const auto metadata = object.find("metadata");
    if (!metadata) return;
    saw(fmt::format("{}@{}", metadata->text("uid"), metadata->text("resourceVersion")));
  }
  void deleted(base::json::View /*object*/) override { saw(""); }
  void end_list() override {
    if (!listed) saw("");
  }
  void saw(std::string seen) {
    {
      const std::scoped_lock lock(owner.mutex_);
      if (version == seen) return;
      if (!std::exchange(version, std::move(seen))) return;
    }
    if (owner.changed_) owner.changed_(name.first, name.second);
  }

  SecretWatch& owner;
  const Name name;
  bool listed = false;
  std::optional<std::string> version;
  std::optional<base::SteadyTime> denied_at;
  base::SteadyTime asked_at{};
  kube::Reflector reflector;  ///< last: its thread uses the others
};

SecretWatch::SecretWatch(kube::Client& client, const base::Clock& clock, Limits limits)
    : client_(client), clock_(clock), limits_(limits), gate_(kListsAtOnce) {}

SecretWatch::~SecretWatch() {
  stop();
}

std::vector<std::unique_ptr<SecretWatch::One>> SecretWatch::take_old(base::SteadyTime now) {
  std::vector<std::unique_ptr<One>> old;
  for (auto it = watches_.begin(); it != watches_.end();) {
    const One& one = *it->second;
    const bool over = now - one.asked_at >= limits_.idle ||
                      (one.denied_at && now - *one.denied_at >= limits_.denied);
    if (over) old.push_back(std::move(it->second));
    it = over ? watches_.erase(it) : std::next(it);
  }
  return old;
}

std::optional<std::string> SecretWatch::follow(const std::string& ns, const std::string& name) {
  // They wait for their threads, which may wait for the mutex.
  std::vector<std::unique_ptr<One>> old;
  const std::scoped_lock lock(mutex_);
  if (stopped_) return std::nullopt;
  const base::SteadyTime now = clock_.steady_now();
  old = take_old(now);
  auto it = watches_.find({ns, name});
  if (it == watches_.end()) {
    if (watches_.size() >= limits_.watches) return std::nullopt;
    it = watches_.emplace(Name{ns, name}, std::make_unique<One>(*this, Name{ns, name})).first;
    it->second->start();
  }
  it->second->asked_at = now;
  return it->second->version;
}

std::size_t SecretWatch::denied() {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      watches_, [](const auto& item) { return item.second->denied_at.has_value(); }));
}

void SecretWatch::stop() {
  std::map<Name, std::unique_ptr<One>> all;
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    all.swap(watches_);
  }
  for (auto& [name, one] : all) one->reflector.request_stop();
}

}  // namespace kollect::manager
