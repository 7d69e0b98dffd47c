#include "fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "fleet/draft.h"
#include "fleet/merge.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

/// Without a word from the store for this long answers may be old.
constexpr auto kQuiet = std::chrono::seconds(3);

Family definitions_of(Route route) {
  if (route == Route::kNamespaces) return Family::kNamespace;
  if (route == Route::kRoleBindings) return Family::kRoleBinding;
  return Family::kComponent;
}

std::string dns_of(const Value& cluster) {
  return std::string(cluster.text("cluster_dns"));
}

std::unexpected<Problem> unknown(Family family, const std::string& id) {
  return not_found(fmt::format("there is no {} {}", noun_of(family), id));
}

}  // namespace

/// A turn at the store; who makes it holds turns_.
class Fleet::Turn {
 public:
  static Outcome<std::unique_ptr<Turn>> begin(Fleet& fleet) {
    if (fleet.keeper_ == nullptr) return std::make_unique<Turn>(nullptr);
    auto news = fleet.keeper_->begin();
    auto taken = news ? fleet.take(*std::move(news)) : base::Result<>(news.error());
    if (news && !taken) fleet.keeper_->abandon();
    if (!taken) {
      fleet.stumble(taken.error());
      return problem(500, "store_error", "the store does not answer");
    }
    return std::make_unique<Turn>(fleet.keeper_);
  }
  explicit Turn(Keeper* keeper) : keeper_(keeper) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (keeper_ != nullptr) keeper_->abandon();
  }
  base::Result<> keep(std::span<const Change> changes) {
    if (keeper_ == nullptr) return {};
    return std::exchange(keeper_, nullptr)->keep(changes);
  }

 private:
  Keeper* keeper_;
};

base::Result<std::unique_ptr<Fleet>> Fleet::create(Content content, Keeper* keeper,
                                                   const base::Clock& clock) {
  auto fleet = std::unique_ptr<Fleet>(new Fleet(keeper, clock));
  KL_TRY(fleet->fill(std::move(content)));
  return fleet;
}

base::Result<> Fleet::fill(Content content) {
  std::unordered_map<std::string, std::string> names;
  for (const auto& [id, cluster] : content.records.front()) {
    const auto [other, fresh] = names.emplace(dns_of(cluster.data), id);
    if (!fresh) {
      return base::configuration(fmt::format("clusters {} and {} both have cluster_dns {}",
                                             other->second, id, other->first));
    }
  }
  records_ = std::move(content.records);
  by_dns_ = std::move(names);
  tombstones_.clear();
  for (Tombstone& tombstone : content.tombstones) {
    if (by_dns_.contains(tombstone.dns)) continue;
    tombstones_.emplace(tombstone.dns, std::move(tombstone));
  }
  for (auto& known : answers_) known.clear();
  ++changes_;
  return {};
}

base::Result<> Fleet::take(News news) {
  contact_ = clock_.steady_now();
  // Read without the lock: it changes in turns only.
  if (!news.content && news.changes.empty() && !trouble_) return {};
  const std::unique_lock lock(mutex_);
  if (news.content) KL_TRY(fill(*std::move(news.content)));
  for (Change& change : news.changes) apply(std::move(change));
  trouble_.reset();
  return {};
}

void Fleet::stumble(const base::Error& error) {
  const std::unique_lock lock(mutex_);
  trouble_ = error;
}

base::Result<> Fleet::follow() {
  if (keeper_ == nullptr) return {};
  const std::lock_guard turn(turns_);
  followed_ = true;
  auto news = keeper_->look();
  auto taken = news ? take(*std::move(news)) : base::Result<>(news.error());
  if (!taken) stumble(taken.error());
  return taken;
}

std::optional<base::Error> Fleet::trouble() const {
  {
    const std::shared_lock lock(mutex_);
    if (trouble_) return trouble_;
  }
  if (!followed_ || contact_age() <= kQuiet) return std::nullopt;
  return base::retryable("the store has not answered yet");
}

base::Duration Fleet::contact_age() const {
  return keeper_ == nullptr ? base::Duration::zero() : clock_.steady_now() - contact_.load();
}

FleetNumbers Fleet::numbers() const {
  const std::shared_lock lock(mutex_);
  FleetNumbers out{.tombstones = tombstones_.size()};
  for (std::size_t route = 0; route < kRoutes; ++route) {
    if (static_cast<Route>(route) == Route::kClusters) continue;
    answers_[route].for_each([&](const Ready& made) {
      out.largest_answer = std::max(out.largest_answer, made.body.size());
    });
  }
  for (const auto& [id, cluster] : of(Family::kCluster)) {
    for (const Family family : {Family::kComponent, Family::kNamespace, Family::kRoleBinding}) {
      const Value* list = cluster.data.find(collection_of(family));
      if (list != nullptr && list->is_array()) {
        out.most_inputs = std::max(out.most_inputs, list->as_array().size());
      }
    }
  }
  return out;
}

std::string Fleet::assemble(Route route, const Value* cluster) const {
  std::string out = R"({"inputs":[)";
  if (route == Route::kClusters) {
    for (const auto& [id, record] : of(Family::kCluster)) append_cluster_input(out, record.data);
  } else if (cluster != nullptr) {
    const Family family = definitions_of(route);
    const auto definitions = [&](std::string_view id) -> const Value* {
      const auto found = of(family).find(std::string(id));
      return found == of(family).end() ? nullptr : &found->second.data;
    };
    append_inputs(out, family, *cluster, definitions,
                  route == Route::kTrimmedComponents ? Dependencies::kEnabled : Dependencies::kAll);
  }
  return out + "]}";
}

http::PreparedAnswer Fleet::answer_at_hand(Route route, std::string_view dns,
                                           const Wish& wish) const {
  const auto& known = answers_[static_cast<std::size_t>(route)];
  const std::shared_lock lock(mutex_);
  if (trouble_ || (followed_ && contact_age() > kQuiet)) return {};
  const Shelf::Place* found = known.find(route == Route::kClusters ? std::string_view() : dns);
  if (found == nullptr) return {};
  // What nearly every poll wants. Nothing else of the answer is looked at for it.
  if (found->packed && !wish.if_none_match && wish.accept_encoding &&
      accepts_gzip(*wish.accept_encoding)) {
    found->packed.fetch();
    return found->packed;
  }
  return found->ready->dead ? http::PreparedAnswer() : found->ready->form_at_hand(wish);
}

Outcome<ReadyPtr> Fleet::answer(Route route, const std::string& dns, const Wish& wish) const {
  auto& known = answers_[static_cast<std::size_t>(route)];
  const std::string key = route == Route::kClusters ? std::string() : dns;
  std::uint64_t changes = 0;
  ReadyPtr made;
  {
    const std::shared_lock lock(mutex_);
    changes = changes_;
    if (const Shelf::Place* found = known.find(key)) {
      if (found->packed || !found->ready->wants_gzip(wish)) return found->ready;
      made = found->ready;
    } else {
      auto fresh = make_answer(route, dns);
      if (!fresh) return fresh;
      made = *std::move(fresh);
    }
  }
  (void)made->form(wish);
  const std::unique_lock lock(mutex_);
  if (changes == changes_) known.put(key, made);
  return made;
}

Outcome<ReadyPtr> Fleet::make_answer(Route route, const std::string& dns) const {
  const Value* cluster = nullptr;
  if (route != Route::kClusters) {
    const auto name = by_dns_.find(dns);
    if (name == by_dns_.end() && !tombstones_.contains(dns)) {
      return not_found(fmt::format("no cluster has the name {}", dns));
    }
    if (name != by_dns_.end()) cluster = &of(Family::kCluster).at(name->second).data;
  }
  return Ready::make(assemble(route, cluster), route != Route::kClusters && cluster == nullptr);
}

Outcome<Record> Fleet::get(Family family, const std::string& id) const {
  const std::shared_lock lock(mutex_);
  const auto found = of(family).find(id);
  if (found == of(family).end()) return unknown(family, id);
  return found->second;
}

void Fleet::for_each(
    Family family,
    const std::function<void(const std::string& id, const Record& record)>& visit) const {
  const std::shared_lock lock(mutex_);
  for (const auto& [id, record] : of(family)) visit(id, record);
}

std::optional<std::string> Fleet::walk(Family family, const ListQuery& query,
                                       const std::function<void(const Value&)>& use) const {
  std::uint64_t skip = query.offset;
  std::uint64_t left = query.limit.value_or(UINT64_MAX);
  std::optional<std::string> last;
  const Records& records = of(family);
  for (auto at = records.upper_bound(query.after); at != records.end(); ++at) {
    const auto& [id, record] = *at;
    if (query.shard && base::xxh64(id) % query.shard->of != query.shard->index) continue;
    const bool fits = std::ranges::all_of(query.equal, [&](const auto& wanted) {
      return record.data.text(wanted.first) == wanted.second;
    });
    if (!fits) continue;
    if (left == 0) return last;
    if (skip > 0) {
      --skip;
      continue;
    }
    use(record.data);
    last = id;
    --left;
  }
  return std::nullopt;
}

Page Fleet::list(Family family, const ListQuery& query) const {
  const std::shared_lock lock(mutex_);
  Page page;
  page.next = walk(family, query,
                   [&](const Value& record) { page.records.push_back(shown(family, record)); });
  return page;
}

ReadyPtr Fleet::clusters(const ListQuery& query) const {
  const std::shared_lock lock(mutex_);
  std::string out = R"({"inputs":[)";
  walk(Family::kCluster, query, [&](const Value& record) { append_cluster_input(out, record); });
  return Ready::make(out + "]}");
}

std::vector<Tombstone> Fleet::tombstones() const {
  const std::shared_lock lock(mutex_);
  std::vector<Tombstone> out;
  for (const auto& [dns, tombstone] : tombstones_) out.push_back(tombstone);
  return out;
}

std::size_t Fleet::count(Family family) const {
  const std::shared_lock lock(mutex_);
  return of(family).size();
}

// ---- changes

void Fleet::forget_answers(const Change& change) {
  ++changes_;
  if (change.family != Family::kCluster) {
    answers_[static_cast<std::size_t>(change.family) - 1].clear();
    if (change.family == Family::kComponent) {
      answers_[static_cast<std::size_t>(Route::kTrimmedComponents)].clear();
    }
    return;
  }
  answers_[static_cast<std::size_t>(Route::kClusters)].clear();
  for (const auto* state : {&change.before, &change.after}) {
    if (!*state) continue;
    for (auto& known : answers_) known.erase(dns_of(**state));
  }
}

Outcome<> Fleet::commit(Turn& turn, std::vector<Change> changes) {
  if (const auto kept = turn.keep(changes); !kept) {
    stumble(kept.error());
    return problem(500, "store_error", "the store failed");
  }
  const std::unique_lock lock(mutex_);
  for (Change& change : changes) apply(std::move(change));
  return {};
}

void Fleet::apply(Change change) {
  if (change.about == Change::About::kRollout) return;
  if (change.about == Change::About::kTombstone) {
    tombstones_.erase(change.id);
    for (auto& known : answers_) known.erase(change.id);
    ++changes_;
    return;
  }
  Records& records = records_[static_cast<std::size_t>(change.family)];
  const auto old = records.find(change.id);
  if (change.family == Family::kCluster) {
    // Looked up and not taken from the change: news tell how a record stands, not how it stood.
    if (old != records.end()) {
      const std::string name = dns_of(old->second.data);
      // Another cluster of the same batch may have taken the name already.
      const auto owner = by_dns_.find(name);
      if (owner != by_dns_.end() && owner->second == change.id) by_dns_.erase(owner);
      for (auto& known : answers_) known.erase(name);
    }
    if (change.after) by_dns_.insert_or_assign(dns_of(*change.after), change.id);
    if (change.unearthed) tombstones_.erase(*change.unearthed);
    if (change.buried) tombstones_.insert_or_assign(change.buried->dns, *change.buried);
  }
  forget_answers(change);
  if (change.after) {
    records.insert_or_assign(change.id,
                             Record{.data = *std::move(change.after), .version = change.version});
  } else if (old != records.end()) {
    records.erase(old);
  }
}

Outcome<Tombstone> Fleet::drop_tombstone(const std::string& dns, const Actor& actor) {
  const std::lock_guard lock(turns_);
  FLEET_ASSIGN(const auto turn, Turn::begin(*this));
  const auto found = tombstones_.find(dns);
  if (found == tombstones_.end()) return not_found("there is no tombstone of " + dns);
  const Tombstone dropped = found->second;
  FLEET_TRY(commit(*turn, {Change{.id = dns,
                                  .before = to_value(dropped),
                                  .at = clock_.now(),
                                  .actor = actor,
                                  .about = Change::About::kTombstone}}));
  return dropped;
}

Outcome<base::json::Array> Fleet::audit(const AuditQuery& query) {
  if (keeper_ == nullptr) return base::json::Array{};
  const std::lock_guard lock(turns_);
  auto entries = keeper_->audit(query);
  if (entries) return *std::move(entries);
  stumble(entries.error());
  return problem(500, "store_error", "the store does not answer");
}

PollNotes Fleet::polls(const Polls& here) {
  PollNotes notes = here.notes();
  if (keeper_ == nullptr || !keeper_->keeps_polls()) return notes;
  const std::lock_guard lock(turns_);
  if (const auto kept = keeper_->polls()) notes.add(*kept);
  return notes;
}

base::Result<> Fleet::keep_polls(Polls& here) {
  if (keeper_ == nullptr || !keeper_->keeps_polls()) return {};
  const PollNotes notes = here.take();
  if (notes.empty()) return {};
  const std::lock_guard lock(turns_);
  auto kept = keeper_->add_polls(notes);
  if (!kept) here.add(notes);
  return kept;
}

Outcome<Written> Fleet::write(const Actor& actor, const WriteOptions& options,
                              const std::function<Outcome<>(Draft& draft)>& edit) {
  const std::lock_guard lock(turns_);
  FLEET_ASSIGN(const auto turn, Turn::begin(*this));
  Draft draft({.records = records_, .by_dns = by_dns_, .tombstones = tombstones_}, actor,
              clock_.now());
  FLEET_TRY(edit(draft));
  Written written;
  FLEET_ASSIGN(written.changes, draft.finish());
  written.warnings = draft.warnings();
  for (Change& change : written.changes) change.batch = options.batch;
  if (options.dry_run || written.changes.empty()) return written;
  std::vector<Change> kept = written.changes;
  if (options.entries) {
    for (Change& entry : options.entries(written.changes)) {
      entry.at = clock_.now();
      entry.actor = actor;
      kept.push_back(std::move(entry));
    }
  }
  FLEET_TRY(commit(*turn, std::move(kept)));
  return written;
}

Outcome<Kept> Fleet::write_one(Family family, const Actor& actor,
                               const std::function<Outcome<std::string>(Draft& draft)>& edit) {
  Kept kept;
  FLEET_ASSIGN(Written written, write(actor, {}, [&](Draft& draft) -> Outcome<> {
                 FLEET_ASSIGN(const std::string id, edit(draft));
                 if (const Value* record = draft.find(family, id)) {
                   kept.record = {.data = *record, .version = draft.version(family, id)};
                 }
                 return {};
               }));
  kept.warnings = std::move(written.warnings);
  if (!written.changes.empty()) {
    Change& change = written.changes.front();
    kept.record = {.data = change.after ? *std::move(change.after) : *std::move(change.before),
                   .version = change.version};
  }
  return kept;
}

Outcome<Kept> Fleet::create_record(Family family, const Value& body, const Actor& actor) {
  return write_one(family, actor, [&](Draft& draft) { return draft.create(family, body); });
}

Outcome<Kept> Fleet::update(Family family, const std::string& id, const Value& body,
                            std::optional<std::uint64_t> if_match, const Actor& actor) {
  return write_one(family, actor, [&](Draft& draft) -> Outcome<std::string> {
    FLEET_TRY(draft.update(family, id, body, if_match));
    return id;
  });
}

Outcome<Kept> Fleet::merge(Family family, const std::string& id, const Value& body,
                           std::optional<std::uint64_t> if_match, const Actor& actor) {
  return write_one(family, actor, [&](Draft& draft) -> Outcome<std::string> {
    FLEET_TRY(draft.merge(family, id, body, if_match));
    return id;
  });
}

Outcome<Kept> Fleet::remove(Family family, const std::string& id, bool force,
                            std::optional<std::uint64_t> if_match, const Actor& actor) {
  return write_one(family, actor, [&](Draft& draft) -> Outcome<std::string> {
    FLEET_TRY(draft.remove(family, id, force, if_match));
    return id;
  });
}

}  // namespace kollect::fleet
