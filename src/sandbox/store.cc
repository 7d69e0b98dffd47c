#include "sandbox/store.h"

#include <fmt/format.h>

#include <algorithm>

namespace kollect::sandbox {

namespace {

std::string_view namespace_of(std::string_view key) {
  const std::size_t slash = key.find('/');
  return slash == std::string_view::npos ? std::string_view{} : key.substr(0, slash);
}

}  // namespace

// ---- content

void Body::append(std::string& out, std::uint64_t rv) const {
  fmt::format_to(std::back_inserter(out), "\"metadata\":{{\"resourceVersion\":\"{}\",", rv);
  if (is_generated()) {
    generated_.set->append(out, generated_.index, generated_.revision);
  } else if (text_) {
    out += *text_;
  }
}

std::string Body::text() const {
  if (!is_generated()) return text_ ? *text_ : std::string();
  std::string out;
  generated_.set->append(out, generated_.index, generated_.revision);
  return out;
}

GeneratedSet::GeneratedSet(ObjectTemplate shape, std::string name_prefix, std::uint32_t count,
                           std::uint32_t namespaces, std::uint64_t first_rv, std::uint64_t seed)
    : revisions(count),
      rvs(count),
      shape_(std::move(shape)),
      prefix_(std::move(name_prefix)),
      count_(count),
      namespaces_(namespaces),
      per_namespace_(namespaces == 0 ? count : std::max(1U, (count + namespaces - 1) / namespaces)),
      seed_(seed) {
  for (std::uint32_t i = 0; i < count; ++i) rvs[i] = first_rv + i;
}

std::string GeneratedSet::namespace_name(std::uint32_t number) {
  return fmt::format("load-{:04}", number);
}

std::string GeneratedSet::key(std::uint32_t index) const {
  if (namespaces_ == 0) return fmt::format("{}-{:08}", prefix_, index);
  return fmt::format("load-{:04}/{}-{:08}", index / per_namespace_, prefix_, index);
}

std::uint32_t GeneratedSet::lower_bound(std::string_view wanted) const {
  std::uint32_t low = 0;
  std::uint32_t high = count_;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (key(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::optional<std::uint32_t> GeneratedSet::index_of(std::string_view wanted) const {
  const std::uint32_t index = lower_bound(wanted);
  if (index < count_ && key(index) == wanted) return index;
  return std::nullopt;
}

void GeneratedSet::append(std::string& out, std::uint32_t index, std::uint32_t revision) const {
  const std::string whole = key(index);
  const std::string_view ns = namespace_of(whole);
  const std::string_view name =
      ns.empty() ? std::string_view(whole) : std::string_view(whole).substr(ns.size() + 1);
  shape_.append(out, {.name = name, .ns = ns, .index = index, .revision = revision, .seed = seed_});
}

// ---- reading

std::uint64_t Store::rv() const {
  const std::scoped_lock lock(mutex_);
  return rv_;
}

std::uint64_t Store::epoch() const {
  const std::scoped_lock lock(mutex_);
  return epoch_;
}

/// The newest version; for a generated object without one, made on the spot.
VersionPtr Store::head(const Resource& resource, const std::string& key) {
  const auto it = resource.heads.find(key);
  if (it != resource.heads.end()) return it->second;
  if (!resource.generated) return nullptr;
  const GeneratedSet& set = *resource.generated;
  const auto index = set.index_of(key);
  if (!index) return nullptr;
  auto version = std::make_shared<Version>();
  version->rv = set.rvs[*index];
  version->body = Body(Body::Generated{&set, *index, set.revisions[*index]});
  return version;
}

std::optional<Entry> Store::get(const std::string& resource, const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  const auto it = resources_.find(resource);
  if (it == resources_.end()) return std::nullopt;
  const VersionPtr version = head(it->second, key);
  if (!version || version->deleted) return std::nullopt;
  return Entry{key, version->rv, version->body};
}

std::optional<Store::Page> Store::page(const std::string& resource_name, std::uint64_t rv,
                                       const std::string& from, const std::string& prefix,
                                       std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  Page page;
  const auto found = resources_.find(resource_name);
  if (found == resources_.end()) return page;
  const Resource& resource = found->second;
  if (rv < resource.oldest) return std::nullopt;
  const std::string& start = std::max(from, prefix);
  auto stored = resource.heads.lower_bound(start);
  const GeneratedSet* set = resource.generated.get();
  std::uint32_t index = set != nullptr ? set->lower_bound(start) : 0;
  std::string made = set != nullptr && index < set->count() ? set->key(index) : std::string();
  while (true) {
    const bool has_stored = stored != resource.heads.end();
    const bool has_made = set != nullptr && index < set->count();
    if (!has_stored && !has_made) break;
    const bool take_stored = has_stored && (!has_made || stored->first <= made);
    const std::string& key = take_stored ? stored->first : made;
    if (!key.starts_with(prefix)) break;
    if (page.entries.size() >= most) {
      page.next = key;
      break;
    }
    if (take_stored) {
      const Version* version = stored->second.get();
      while (version != nullptr && version->rv > rv) version = version->older.get();
      if (version != nullptr && !version->deleted) {
        page.entries.push_back({key, version->rv, version->body});
      }
      if (has_made && stored->first == made) {
        ++index;
        made = index < set->count() ? set->key(index) : std::string();
      }
      ++stored;
    } else {
      page.entries.push_back(
          {made, set->rvs[index], Body(Body::Generated{set, index, set->revisions[index]})});
      ++index;
      made = index < set->count() ? set->key(index) : std::string();
    }
  }
  return page;
}

std::size_t Store::count(const std::string& resource, const std::string& ns) const {
  const std::scoped_lock lock(mutex_);
  const auto it = resources_.find(resource);
  if (it == resources_.end()) return 0;
  if (ns.empty()) return it->second.live_total;
  const auto found = it->second.live.find(ns);
  return found == it->second.live.end() ? 0 : found->second;
}

Store::Events Store::events(const std::string& resource_name, std::uint64_t after,
                            std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  Events out;
  out.rv = rv_;
  out.epoch = epoch_;
  const auto found = resources_.find(resource_name);
  if (found == resources_.end()) return out;
  const Resource& resource = found->second;
  out.oldest = resource.oldest;
  if (after < resource.oldest) {
    out.too_old = true;
    return out;
  }
  auto it = std::ranges::upper_bound(resource.history, after, {}, &Event::rv);
  for (; it != resource.history.end(); ++it) {
    if (out.events.size() >= most) {
      out.rv = out.events.back().rv();
      break;
    }
    out.events.push_back(*it);
  }
  return out;
}

std::shared_ptr<void> Store::subscribe(const std::string& resource, std::function<void()> wake) {
  auto handle = std::make_shared<std::function<void()>>(std::move(wake));
  const std::scoped_lock lock(mutex_);
  resources_[resource].wakes.emplace_back(handle);
  return handle;
}

std::uint64_t Store::oldest(const std::string& resource) const {
  const std::scoped_lock lock(mutex_);
  const auto it = resources_.find(resource);
  return it == resources_.end() ? 0 : it->second.oldest;
}

Store::Counts Store::counts() const {
  const std::scoped_lock lock(mutex_);
  Counts counts;
  counts.events = events_;
  for (const auto& [name, resource] : resources_) {
    counts.objects += resource.live_total;
    counts.history += resource.history.size();
    for (const auto& wake : resource.wakes) counts.watches += wake.expired() ? 0 : 1;
  }
  return counts;
}

// ---- writing

void Store::note_live(Resource& resource, std::string_view key, int change) {
  std::size_t& in_namespace = resource.live[std::string(namespace_of(key))];
  if (change > 0) {
    ++in_namespace;
    ++resource.live_total;
  } else {
    --in_namespace;
    --resource.live_total;
  }
}

void Store::write(Resource& resource, const std::string& key, Body body, bool deleted) {
  const VersionPtr before = head(resource, key);
  auto version = std::make_shared<Version>();
  version->rv = ++rv_;
  version->deleted = deleted;
  version->body = std::move(body);
  version->older = before;
  const bool was = before && !before->deleted;
  if (was && deleted) note_live(resource, key, -1);
  if (!was && !deleted) note_live(resource, key, 1);
  resource.heads[key] = version;
  resource.history.push_back({key, version, before});
  ++events_;
  trim(resource, history_events_);
  std::erase_if(resource.wakes, [](const auto& weak) {
    const auto wake = weak.lock();
    if (wake) (*wake)();
    return !wake;
  });
}

/// Drops the oldest events; states before the last dropped one can no longer be read.
void Store::trim(Resource& resource, std::size_t keep) {
  while (resource.history.size() > keep) {
    const Event event = std::move(resource.history.front());
    resource.history.pop_front();
    resource.oldest = event.rv();
    event.now->older = nullptr;
    const auto it = resource.heads.find(event.key);
    if (it == resource.heads.end() || it->second != event.now) continue;
    GeneratedSet* set = resource.generated.get();
    if (event.now->body.is_generated() && !event.now->deleted && set != nullptr) {
      const auto& made = event.now->body.generated();
      set->revisions[made.index] = made.revision;
      set->rvs[made.index] = event.rv();
      resource.heads.erase(it);
    } else if (event.now->deleted && (set == nullptr || !set->index_of(event.key))) {
      resource.heads.erase(it);
    }
  }
}

std::uint64_t Store::put(const std::string& resource, const std::string& key, Body body) {
  const std::scoped_lock lock(mutex_);
  write(resources_[resource], key, std::move(body), false);
  return rv_;
}

std::uint64_t Store::remove(const std::string& resource, const std::string& key, Body last) {
  const std::scoped_lock lock(mutex_);
  write(resources_[resource], key, std::move(last), true);
  return rv_;
}

void Store::add_generated(const std::string& resource_name, ObjectTemplate shape,
                          const std::string& name_prefix, std::uint32_t count,
                          std::uint32_t namespaces, std::uint64_t seed) {
  const std::scoped_lock lock(mutex_);
  Resource& resource = resources_[resource_name];
  resource.generated = std::make_unique<GeneratedSet>(std::move(shape), name_prefix, count,
                                                      namespaces, rv_ + 1, seed);
  rv_ += count;
  resource.oldest = rv_;
  for (std::uint32_t i = 0; i < count; ++i) {
    note_live(resource, resource.generated->key(i), 1);
  }
}

VersionPtr Store::made(const Resource& resource, std::uint32_t index) {
  if (!resource.generated || index >= resource.generated->count()) return nullptr;
  VersionPtr now = head(resource, resource.generated->key(index));
  return now && now->body.is_generated() ? now : nullptr;
}

void Store::touch_generated(const std::string& resource_name, std::uint32_t index) {
  const std::scoped_lock lock(mutex_);
  Resource& resource = resources_[resource_name];
  const VersionPtr now = made(resource, index);
  if (!now || now->deleted) return;
  Body::Generated next = now->body.generated();
  ++next.revision;
  write(resource, resource.generated->key(index), Body(next), false);
}

bool Store::remove_generated(const std::string& resource_name, std::uint32_t index) {
  const std::scoped_lock lock(mutex_);
  Resource& resource = resources_[resource_name];
  const VersionPtr now = made(resource, index);
  if (!now || now->deleted) return false;
  write(resource, resource.generated->key(index), now->body, true);
  return true;
}

void Store::restore_generated(const std::string& resource_name, std::uint32_t index) {
  const std::scoped_lock lock(mutex_);
  Resource& resource = resources_[resource_name];
  const VersionPtr now = made(resource, index);
  if (!now || !now->deleted) return;
  Body::Generated next = now->body.generated();
  ++next.revision;
  write(resource, resource.generated->key(index), Body(next), false);
}

void Store::forget_history() {
  const std::scoped_lock lock(mutex_);
  ++epoch_;
  ++rv_;  // so that the newest state of before counts as old, too
  for (auto& [name, resource] : resources_) {
    trim(resource, 0);
    resource.oldest = rv_;
    for (const auto& weak : resource.wakes) {
      if (const auto wake = weak.lock()) (*wake)();
    }
  }
}

}  // namespace kollect::sandbox
