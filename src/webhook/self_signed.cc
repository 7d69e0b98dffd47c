#include "webhook/self_signed.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "kube/objects.h"
#include "kube/reflector.h"
#include "webhook/cluster_state.h"

namespace kollect::webhook {

namespace {

using base::json::Object;
using base::json::Value;

constexpr base::Duration kCallLimit = std::chrono::seconds(30);
/// Even when nothing changes and nothing is due.
constexpr base::Duration kLookAgain = std::chrono::minutes(10);
/// Before what somebody else wrote first is read.
constexpr base::Duration kBreath = std::chrono::milliseconds(50);
constexpr base::Duration kTryAgain = std::chrono::seconds(5);

kube::Resource secrets() {
  return {.group = "",
          .version = "v1",
          .kind = "Secret",
          .plural = "secrets",
          .namespaced = true,
          .verbs = {"get", "list", "watch"}};
}

kube::Resource configurations() {
  return {.group = "admissionregistration.k8s.io",
          .version = "v1",
          .kind = "ValidatingWebhookConfiguration",
          .plural = "validatingwebhookconfigurations",
          .namespaced = false,
          .verbs = {"get", "list", "watch"}};
}

/// Says that something happened, whatever it was.
class Bell final : public kube::ObjectReceiver {
 public:
  explicit Bell(std::function<void()> ring) : ring_(std::move(ring)) {}
  void begin_list() override {}
  void object(base::json::View /*object*/) override { ring_(); }
  void deleted(base::json::View /*object*/) override { ring_(); }
  void end_list() override {}

 private:
  const std::function<void()> ring_;
};

RotationRules rules_of(const SelfSignedOptions& options) {
  RotationRules rules = options.rules;
  const std::string name = fmt::format("{}.{}.svc", options.service, options.ns);
  rules.names = {name, name + ".cluster.local"};
  return rules;
}

}  // namespace

struct SelfSigned::Impl {
  Impl(kube::Client& the_client, SelfSignedOptions the_options, Adopt the_adopt,
       const base::Clock& the_clock, const base::Logger* logger)
      : objects(the_client),
        options(std::move(the_options)),
        rules(rules_of(options)),
        adopt(std::move(the_adopt)),
        clock(the_clock),
        log(logger) {
    watch(the_client, secrets(), options.ns, options.secret);
    watch(the_client, configurations(), "", options.configuration);
  }

  void watch(kube::Client& client, const kube::Resource& resource, const std::string& ns,
             const std::string& name) {
    reflectors.push_back(std::make_unique<kube::Reflector>(
        client,
        kube::WatchQuery{.resource = resource, .ns = ns, .field_selector = "metadata.name=" + name},
        bell, gate, clock, log));
  }
  void ring() {
    const std::scoped_lock lock(mutex);
    rung = true;
    changed.notify_all();
  }
  void run(const std::stop_token& stop);
  void tell(const base::Error& error);
  base::Result<base::Duration> look(const base::Context& context);
  base::Result<std::optional<Value>> read_secret(const base::Context& context);
  base::Result<> write_secret(const base::Context& context, const std::optional<Value>& secret,
                              const Certificates& certificates);
  base::Result<> serve(const KeyPair& serving);
  base::Result<> make_known(const base::Context& context, const std::string& authorities_pem);

  kube::Objects objects;
  const SelfSignedOptions options;
  const RotationRules rules;
  const Adopt adopt;
  const base::Clock& clock;
  const base::Logger* log;

  std::mutex mutex;
  std::condition_variable_any changed;
  bool rung = false;
  std::string told;         ///< the last failure
  std::string serving_pem;  ///< what is served
  Bell bell{[this] { ring(); }};
  kube::ListGate gate{2};
  std::vector<std::unique_ptr<kube::Reflector>> reflectors;
  std::jthread thread;
};

void SelfSigned::Impl::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto next = look(base::Context(clock, stop).with_timeout(kCallLimit));
    if (stop.stop_requested()) return;
    // Somebody else was first: what they wrote is looked at.
    if (!next && next.error().kind == base::ErrorKind::kConflict) {
      clock.sleep(kBreath, stop);
      continue;
    }
    if (next) {
      told.clear();
    } else {
      tell(next.error());
    }
    const base::Duration wait = next ? *next : kTryAgain;
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, clock.real_time(wait), [this] { return rung; });
    rung = false;
  }
}

void SelfSigned::Impl::tell(const base::Error& error) {
  if (log == nullptr || error.message == told) return;
  told = error.message;
  log->warn("the certificate of the webhooks cannot be kept", {{"error", error.message}});
}

base::Result<base::Duration> SelfSigned::Impl::look(const base::Context& context) {
  KL_ASSIGN(const auto secret, read_secret(context));
  std::optional<Certificates> held;
  if (secret) {
    auto found = certificates_in(*secret);
    if (!found) {
      return found.error().with_prefix(fmt::format("Secret {}/{}", options.ns, options.secret));
    }
    held = std::move(*found);
  }
  KL_ASSIGN(const Rotation rotation, rotate(held, rules, clock.now()));
  if (rotation.changed) KL_TRY(write_secret(context, secret, rotation.certificates));
  KL_TRY(serve(rotation.certificates.serving));
  KL_TRY(make_known(context, rotation.certificates.authorities_pem));
  return std::clamp<base::Duration>(rotation.next_look - clock.now(), std::chrono::seconds(1),
                                    kLookAgain);
}

base::Result<std::optional<Value>> SelfSigned::Impl::read_secret(const base::Context& context) {
  auto read =
      objects.get(context, {.resource = secrets(), .ns = options.ns, .name = options.secret});
  if (read) return std::optional(std::move(*read));
  if (read.error().kind == base::ErrorKind::kNotFound) return std::nullopt;
  return read.error();
}

base::Result<> SelfSigned::Impl::write_secret(const base::Context& context,
                                              const std::optional<Value>& secret,
                                              const Certificates& certificates) {
  Object changes;
  changes.set("data", data_of(certificates));
  if (secret) {
    const Value* metadata = secret->find("metadata");
    KL_TRY(objects.patch(context, {.resource = secrets(), .ns = options.ns, .name = options.secret},
                         kube::at_version(std::move(changes), metadata->text("resourceVersion"))));
  } else {
    Object metadata;
    metadata.set("name", options.secret);
    changes.set("apiVersion", "v1");
    changes.set("kind", "Secret");
    changes.set("type", "kubernetes.io/tls");
    changes.set("metadata", std::move(metadata));
    KL_TRY(objects.create(context, secrets(), options.ns, changes));
  }
  if (log != nullptr) {
    log->info("the certificate of the webhooks was made anew",
              {{"secret", options.ns + "/" + options.secret}});
  }
  return {};
}

base::Result<> SelfSigned::Impl::serve(const KeyPair& serving) {
  if (serving.certificate_pem == serving_pem) return {};
  KL_TRY(adopt(serving));
  serving_pem = serving.certificate_pem;
  return {};
}

base::Result<> SelfSigned::Impl::make_known(const base::Context& context,
                                            const std::string& authorities_pem) {
  const kube::ObjectRef ref{.resource = configurations(), .ns = "", .name = options.configuration};
  KL_ASSIGN(const Value configuration, objects.get(context, ref));
  auto webhooks = with_authorities(configuration, options.ns, options.service, authorities_pem);
  if (!webhooks) return {};
  Object changes;
  changes.set("webhooks", std::move(*webhooks));
  KL_TRY(objects.patch(context, ref,
                       kube::at_version(std::move(changes),
                                        configuration.find("metadata")->text("resourceVersion"))));
  if (log != nullptr) {
    log->info("the API server was told whom to trust", {{"configuration", options.configuration}});
  }
  return {};
}

SelfSigned::SelfSigned(kube::Client& client, SelfSignedOptions options, Adopt adopt,
                       const base::Clock& clock, const base::Logger* log)
    : impl_(std::make_unique<Impl>(client, std::move(options), std::move(adopt), clock, log)) {}

SelfSigned::~SelfSigned() {
  stop();
}

void SelfSigned::start() {
  for (auto& reflector : impl_->reflectors) reflector->start();
  impl_->thread = std::jthread([this](const std::stop_token& stop) { impl_->run(stop); });
}

void SelfSigned::stop() {
  for (auto& reflector : impl_->reflectors) reflector->stop();
  impl_->thread.request_stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace kollect::webhook
