#include "collector/namespace_book.h"

#include <utility>

namespace kollect::collector {
namespace {

using base::json::View;

void read(std::optional<View> map, select::Labels& labels, std::string_view prefix = {}) {
  if (!map) return;
  for (const auto& [key, value] : map->members()) {
    if (value.is_string() && key.starts_with(prefix)) labels[std::string(key)] = value.as_string();
  }
}

select::Namespace read_namespace(View object) {
  select::Namespace ns;
  const auto metadata = object.find("metadata");
  if (!metadata) return ns;
  ns.name = metadata->text("name");
  read(metadata->find("labels"), ns.labels);
  // Nobody asks for others, and some change all the time.
  read(metadata->find("annotations"), ns.annotations, "kollect.dev/");
  return ns;
}

bool same(const select::Namespace& a, const select::Namespace& b) {
  return a.labels == b.labels && a.annotations == b.annotations;
}

}  // namespace

NamespaceBook::NamespaceBook(Bell& bell) : bell_(bell) {
  known_.all = std::make_shared<const select::Namespaces>();
}

void NamespaceBook::publish(select::Namespaces namespaces) {
  known_.all = std::make_shared<const select::Namespaces>(std::move(namespaces));
  changes_.any = true;
  ++version_;
  bell_.plan();
}

void NamespaceBook::begin_list() {
  const std::scoped_lock lock(mutex_);
  listing_ = true;
  listed_.clear();
}

void NamespaceBook::object(View object) {
  select::Namespace ns = read_namespace(object);
  if (ns.name.empty()) return;
  const std::scoped_lock lock(mutex_);
  if (listing_) {
    listed_[ns.name] = std::move(ns);
    return;
  }
  const auto old = known_.all->find(ns.name);
  if (old != known_.all->end() && same(old->second, ns)) return;
  changes_.relabelled.insert(ns.name);
  select::Namespaces all = *known_.all;
  all[ns.name] = std::move(ns);
  publish(std::move(all));
}

void NamespaceBook::deleted(View object) {
  const select::Namespace ns = read_namespace(object);
  const std::scoped_lock lock(mutex_);
  if (listing_) {
    listed_.erase(ns.name);
    return;
  }
  if (!known_.all->contains(ns.name)) return;
  select::Namespaces all = *known_.all;
  all.erase(ns.name);
  publish(std::move(all));
}

void NamespaceBook::end_list() {
  const std::scoped_lock lock(mutex_);
  listing_ = false;
  bool differs = !known_.known || known_.error.has_value();
  for (const auto& [name, ns] : listed_) {
    const auto old = known_.all->find(name);
    if (old != known_.all->end() && same(old->second, ns)) continue;
    changes_.relabelled.insert(name);
    differs = true;
  }
  known_.known = true;
  known_.error.reset();
  if (!differs && listed_.size() == known_.all->size()) return;
  publish(std::exchange(listed_, {}));
}

void NamespaceBook::noted(const kube::ReflectorStatus& status) {
  if (!status.error || status.error->kind != base::ErrorKind::kDenied ||
      status.error->reason != "forbidden") {
    return;
  }
  give_up(*status.error);
}

void NamespaceBook::give_up(base::Error error) {
  const std::scoped_lock lock(mutex_);
  if (!known_.known && known_.error) return;
  // The last picture stays for judging objects: a namespace that refused its consent still does.
  known_.known = false;
  known_.error = std::move(error);
  changes_.any = true;
  bell_.plan();
}

KnownNamespaces NamespaceBook::known() const {
  const std::scoped_lock lock(mutex_);
  return known_;
}

NamespaceBook::Changes NamespaceBook::take_changes() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(changes_, {});
}

}  // namespace kollect::collector
