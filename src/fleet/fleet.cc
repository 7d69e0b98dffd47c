#include "fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "fleet/merge.h"

namespace kollect::fleet {

using base::json::Value;

namespace {

constexpr Family kDefinitions[] = {Family::kComponent, Family::kNamespace, Family::kRoleBinding};

Family definitions_of(Route route) {
  if (route == Route::kNamespaces) return Family::kNamespace;
  if (route == Route::kRoleBindings) return Family::kRoleBinding;
  return Family::kComponent;
}

std::string dns_of(const Value& cluster) {
  return std::string(cluster.text("cluster_dns"));
}

ReadyPtr ready(std::string body) {
  auto made = std::make_shared<Ready>();
  made->etag = fmt::format("\"{:016x}\"", base::xxh64(body));
  made->body = std::move(body);
  return made;
}

bool same(const Value* a, const Value* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

std::unexpected<Problem> unknown(Family family, const std::string& id) {
  return not_found(fmt::format("there is no {} {}", noun_of(family), id));
}

Outcome<> check_version(const Record& record, std::optional<std::uint64_t> if_match) {
  if (!if_match || *if_match == record.version) return {};
  return problem(412, "conflict",
                 fmt::format("the record has version {}, not {}", record.version, *if_match));
}

}  // namespace

/// A turn at the store. Who makes it holds turns_.
class Fleet::Turn {
 public:
  static Outcome<std::unique_ptr<Turn>> begin(Fleet& fleet) {
    if (fleet.keeper_ == nullptr) return std::make_unique<Turn>(nullptr);
    auto news = fleet.keeper_->begin();
    auto taken = news ? fleet.take(*std::move(news)) : base::Result<>(news.error());
    if (news && !taken) fleet.keeper_->abandon();
    if (!taken) {
      const std::unique_lock lock(fleet.mutex_);
      fleet.trouble_ = taken.error();
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
  const std::unique_lock lock(mutex_);
  if (news.content) KL_TRY(fill(*std::move(news.content)));
  for (const Change& change : news.changes) apply(change);
  trouble_.reset();
  return {};
}

base::Result<> Fleet::follow() {
  if (keeper_ == nullptr) return {};
  const std::scoped_lock turns(turns_);
  auto news = keeper_->look();
  auto taken = news ? take(*std::move(news)) : base::Result<>(news.error());
  if (!taken) {
    const std::unique_lock lock(mutex_);
    trouble_ = taken.error();
  }
  return taken;
}

std::optional<base::Error> Fleet::trouble() const {
  const std::shared_lock lock(mutex_);
  return trouble_;
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

Outcome<ReadyPtr> Fleet::answer(Route route, const std::string& dns) const {
  auto& known = answers_[static_cast<std::size_t>(route)];
  const std::string key = route == Route::kClusters ? std::string() : dns;
  std::uint64_t changes = 0;
  ReadyPtr made;
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = known.find(key); found != known.end()) return found->second;
    changes = changes_;
    const Value* cluster = nullptr;
    if (route != Route::kClusters) {
      const auto name = by_dns_.find(dns);
      if (name == by_dns_.end() && !tombstones_.contains(dns)) {
        return not_found(fmt::format("no cluster has the name {}", dns));
      }
      if (name != by_dns_.end()) cluster = &of(Family::kCluster).at(name->second).data;
    }
    made = ready(assemble(route, cluster));
  }
  const std::unique_lock lock(mutex_);
  if (changes == changes_) known.emplace(key, made);
  return made;
}

Outcome<Record> Fleet::get(Family family, const std::string& id) const {
  const std::shared_lock lock(mutex_);
  const auto found = of(family).find(id);
  if (found == of(family).end()) return unknown(family, id);
  return found->second;
}

std::vector<Value> Fleet::list(Family family, const ListQuery& query) const {
  const std::shared_lock lock(mutex_);
  std::vector<Value> out;
  std::uint64_t skip = query.offset;
  for (const auto& [id, record] : of(family)) {
    if (query.limit && out.size() >= *query.limit) break;
    const bool fits = std::ranges::all_of(query.equal, [&](const auto& wanted) {
      return record.data.text(wanted.first) == wanted.second;
    });
    if (!fits) continue;
    if (skip > 0) {
      --skip;
    } else {
      out.push_back(shown(family, record.data));
    }
  }
  return out;
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

Outcome<> Fleet::check_references(const Value& before, const Value& after) const {
  for (const Family family : kDefinitions) {
    const std::string_view key = references_of(family);
    if (same(before.find(key), after.find(key))) continue;
    std::set<std::string_view> seen;
    for (const std::string_view id : referred(after, family)) {
      if (!seen.insert(id).second)
        return bad_request(fmt::format("{}: {} is there twice", key, id));
    }
  }
  for (const Family family : kDefinitions) {
    const std::string_view key = references_of(family);
    if (same(before.find(key), after.find(key))) continue;
    const auto known = referred(before, family);
    for (const std::string_view id : referred(after, family)) {
      if (of(family).contains(std::string(id))) continue;
      // What dangled before the change is not its fault.
      if (std::ranges::find(known, id) != known.end()) continue;
      return bad_request(fmt::format("{}: there is no {} {}", key, noun_of(family), id));
    }
  }
  const bool touched = !same(before.find("patches"), after.find("patches")) ||
                       !same(before.find("platform_components"), after.find("platform_components"));
  const Value* patches = after.find("patches");
  if (!touched || patches == nullptr) return {};
  const auto components = referred(after, Family::kComponent);
  for (const auto& [id, map] : patches->as_object()) {
    if (std::ranges::find(components, id) == components.end()) {
      return bad_request(
          fmt::format("patches: {} is none of the cluster's platform_components", id));
    }
  }
  return {};
}

Outcome<> Fleet::check_name(const std::string& id, const Value& after) const {
  const auto owner = by_dns_.find(dns_of(after));
  if (owner == by_dns_.end() || owner->second == id) return {};
  return conflict(fmt::format("cluster_dns {} belongs to cluster {}", owner->first, owner->second));
}

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
  const base::WallTime now = clock_.now();
  for (Change& change : changes) change.at = now;
  const auto kept = turn.keep(changes);
  const std::unique_lock lock(mutex_);
  if (!kept) {
    trouble_ = kept.error();
    return problem(500, "store_error", "the store failed");
  }
  for (const Change& change : changes) apply(change);
  return {};
}

void Fleet::apply(const Change& change) {
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
  if (change.after) {
    records.insert_or_assign(change.id, Record{.data = *change.after, .version = change.version});
  } else if (old != records.end()) {
    records.erase(old);
  }
  forget_answers(change);
}

Outcome<Tombstone> Fleet::drop_tombstone(const std::string& dns, const Actor& actor) {
  const std::scoped_lock turns(turns_);
  FLEET_ASSIGN(const auto turn, Turn::begin(*this));
  const auto found = tombstones_.find(dns);
  if (found == tombstones_.end()) return not_found("there is no tombstone of " + dns);
  const Tombstone dropped = found->second;
  FLEET_TRY(commit(*turn, {Change{.id = dns,
                                  .before = to_value(dropped),
                                  .actor = actor,
                                  .about = Change::About::kTombstone}}));
  return dropped;
}

Outcome<base::json::Array> Fleet::audit(const AuditQuery& query) {
  if (keeper_ == nullptr) return base::json::Array{};
  const std::scoped_lock turns(turns_);
  auto entries = keeper_->audit(query);
  if (entries) return *std::move(entries);
  const std::unique_lock lock(mutex_);
  trouble_ = entries.error();
  return problem(500, "store_error", "the store does not answer");
}

Outcome<Record> Fleet::create_record(Family family, const Value& body, const Actor& actor) {
  FLEET_ASSIGN(const Value record, read_new(family, body));
  const std::string id(record.text("id"));
  const std::scoped_lock turns(turns_);
  FLEET_ASSIGN(const auto turn, Turn::begin(*this));
  if (family == Family::kCluster) FLEET_TRY(check_references(Value(), record));
  if (of(family).contains(id)) {
    return conflict(fmt::format("there is a {} {} already", noun_of(family), id));
  }
  Change change{.family = family, .id = id, .before = {}, .after = record, .actor = actor};
  if (family == Family::kCluster) {
    FLEET_TRY(check_name(id, record));
    if (tombstones_.contains(dns_of(record))) change.unearthed = dns_of(record);
  }
  FLEET_TRY(commit(*turn, {std::move(change)}));
  return of(family).at(id);
}

Outcome<Record> Fleet::replace(Turn& turn, Family family, const std::string& id, Value after,
                               const Actor& actor) {
  const Record& record = of(family).at(id);
  if (record.data == after) return record;
  Change change{.family = family,
                .id = id,
                .before = record.data,
                .after = after,
                .version = record.version + 1,
                .actor = actor};
  if (family == Family::kCluster) {
    FLEET_TRY(check_references(record.data, after));
    FLEET_TRY(check_name(id, after));
    if (tombstones_.contains(dns_of(after))) change.unearthed = dns_of(after);
  }
  FLEET_TRY(commit(turn, {std::move(change)}));
  return of(family).at(id);
}

Outcome<Record> Fleet::update(Family family, const std::string& id, const Value& body,
                              std::optional<std::uint64_t> if_match, const Actor& actor) {
  const std::scoped_lock turns(turns_);
  FLEET_ASSIGN(const auto turn, Turn::begin(*this));
  const auto found = of(family).find(id);
  // The shape is judged before existence: any record will do for that.
  Value nothing = base::json::Object{};
  nothing.as_object().set("id", id);
  const Value& current = found != of(family).end() ? found->second.data : nothing;
  FLEET_ASSIGN(Value after, read_change(family, current, body));
  if (found == of(family).end()) return unknown(family, id);
  FLEET_TRY(check_version(found->second, if_match));
  return replace(*turn, family, id, std::move(after), actor);
}

Outcome<Record> Fleet::merge(Family family, const std::string& id, const Value& body,
                             std::optional<std::uint64_t> if_match, const Actor& actor) {
  const std::scoped_lock turns(turns_);
  FLEET_ASSIGN(const auto turn, Turn::begin(*this));
  const auto found = of(family).find(id);
  if (found == of(family).end()) return unknown(family, id);
  FLEET_TRY(check_version(found->second, if_match));
  FLEET_ASSIGN(Value after, merged(family, found->second.data, body));
  return replace(*turn, family, id, std::move(after), actor);
}

std::vector<std::string> Fleet::users_of(Family family, const std::string& id) const {
  std::vector<std::string> users;
  for (const auto& [name, cluster] : of(Family::kCluster)) {
    const auto ids = referred(cluster.data, family);
    if (std::ranges::find(ids, id) != ids.end()) users.push_back(name);
  }
  return users;
}

Outcome<Record> Fleet::remove(Family family, const std::string& id, bool force,
                              std::optional<std::uint64_t> if_match, const Actor& actor) {
  const std::scoped_lock turns(turns_);
  FLEET_ASSIGN(const auto turn, Turn::begin(*this));
  const auto found = of(family).find(id);
  if (found == of(family).end()) return unknown(family, id);
  const Record record = found->second;
  FLEET_TRY(check_version(record, if_match));
  Change change{.family = family,
                .id = id,
                .before = record.data,
                .after = {},
                .version = record.version,
                .actor = actor};
  if (family == Family::kCluster) {
    change.buried = Tombstone{
        .dns = dns_of(record.data), .cluster = id, .actor = actor.name, .at = clock_.now()};
  } else if (!force) {
    auto users = users_of(family, id);
    constexpr std::size_t kNamed = 3;
    if (!users.empty()) {
      const std::size_t count = users.size();
      users.resize(std::min(count, kNamed));
      return conflict(fmt::format(
          "{} {} is referred to by {} cluster{} ({}{}): deleting it would remove it there; "
          "?force=true does",
          noun_of(family), id, count, count == 1 ? "" : "s", base::join(users, ", "),
          count > kNamed ? ", ..." : ""));
    }
  }
  FLEET_TRY(commit(*turn, {std::move(change)}));
  return record;
}

}  // namespace kollect::fleet
