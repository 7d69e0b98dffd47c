#include "collector/collector.h"

#include "collector/engine.h"

namespace kollect::collector {

struct Collector::Impl {
  Engine engine;
};

Collector::Collector(kube::Client& client, inventory::RowStore& store, const base::Clock& clock,
                     const base::Logger* log, CollectorOptions options)
    : impl_(new Impl{.engine{client, store, clock, log, std::move(options)}}) {}

Collector::~Collector() = default;

void Collector::on_signal(std::function<void(const inventory::Owner&)> listener) {
  impl_->engine.signal_listener = std::move(listener);
}

void Collector::on_refused(std::function<void(const Refusal&)> listener) {
  impl_->engine.refused_listener = std::move(listener);
}

void Collector::on_namespaces_changed(std::function<void()> listener) {
  impl_->engine.namespaces_listener = std::move(listener);
}

void Collector::on_kinds_changed(std::function<void()> listener) {
  impl_->engine.kinds_listener = std::move(listener);
}

void Collector::start() {
  impl_->engine.start();
}

void Collector::stop() {
  impl_->engine.stop();
}

void Collector::register_target(Registration registration) {
  impl_->engine.register_target(std::move(registration));
}

void Collector::unregister_target(const inventory::Owner& target) {
  impl_->engine.unregister_target(target);
}

std::vector<inventory::Owner> Collector::targets() const {
  return impl_->engine.targets();
}

Signals Collector::signals(const inventory::Owner& target) const {
  return impl_->engine.signals(target);
}

KnownNamespaces Collector::namespaces() const {
  return impl_->engine.namespaces().known();
}

base::Result<kube::Discovery::Found> Collector::find_kind(const api::GroupVersionKind& kind) const {
  return impl_->engine.kinds().find(kind);
}

CollectorStats Collector::stats() const {
  return impl_->engine.stats();
}

}  // namespace kollect::collector
