// The desired state of a fleet in memory: records, the rules of their changes, and the answers for
// polls, each assembled once and then served as ready bytes (spec: fleet-api 5 to 7).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/json/value.h"
#include "fleet/model.h"
#include "fleet/polls.h"
#include "fleet/problem.h"
#include "fleet/ready.h"
#include "fleet/shelf.h"

namespace kollect::fleet {

/// What a cluster polls, and the list of all clusters.
enum class Route : std::uint8_t {
  kComponents,
  kNamespaces,
  kRoleBindings,
  kClusters,
  kTrimmedComponents,  ///< depends_on without what the cluster does not have, or has disabled
};
inline constexpr std::size_t kRoutes = 5;

struct Record {
  base::json::Value data;
  std::uint64_t version = 1;  ///< counts the changes of this record
};

/// A cluster that was deleted on purpose: its polls are answered with nothing (spec:
/// fleet-api 7.1).
struct Tombstone {
  std::string dns;
  std::string cluster;
  std::string actor;
  base::WallTime at;
};

/// {"cluster_dns", "cluster", "deleted_at", "deleted_by"}, and back.
base::json::Value to_value(const Tombstone& tombstone);
base::Result<Tombstone> tombstone_from(const base::json::Value& value);

/// Who asks for a change; for the audit trail.
struct Actor {
  std::string name;
  std::string request_id;
  std::string source;  ///< address
  std::string method;
  std::string path;
};

/// One accepted change.
struct Change {
  enum class About : std::uint8_t {
    kRecord,
    kTombstone,  ///< the tombstone of the DNS name `id` is dropped; no record
    kRollout,    ///< an entry of the trail and nothing else: `after` describes the rollout `id`
  };
  Family family = Family::kCluster;
  std::string id = {};
  std::optional<base::json::Value> before = {};  ///< none: created
  std::optional<base::json::Value> after = {};   ///< none: deleted
  std::uint64_t version = 1;
  base::WallTime at = {};
  Actor actor = {};
  std::string batch = {};  ///< id that the changes of one batch share; empty: made alone
  About about = About::kRecord;
  std::optional<Tombstone> buried = {};       ///< with the deletion of a cluster
  std::optional<std::string> unearthed = {};  ///< DNS name that is alive again
};

/// What a fleet begins with.
struct Content {
  std::array<std::map<std::string, Record>, kFamilies> records;
  std::vector<Tombstone> tombstones;
};

/// What other processes wrote into the store.
struct News {
  std::vector<Change> changes;     ///< in their order
  std::optional<Content> content;  ///< instead: everything anew
};

/// "clusters" ..., "tombstones", "rollouts".
std::string_view family_text(const Change& change);
/// What is read of an entry of the trail.
struct TrailEntry {
  std::string_view family;
  std::string id;
  std::optional<base::json::Value> before;
  std::optional<base::json::Value> after;
  std::uint64_t version = 1;
  std::string actor;
  std::string_view at;
};
/// What an entry of the trail that another process wrote says: `about`, `family`, and which DNS
/// name died or lives again.
Change change_of_entry(TrailEntry entry);
/// An entry of the audit trail as JSON.
base::json::Value audit_entry(std::int64_t sequence, const Change& change);

/// Which entries of the audit trail, newest first; empty texts take everything.
struct AuditQuery {
  std::string family;  ///< as family_text
  std::string id;
  std::string actor;
  std::string batch = {};
  std::optional<base::WallTime> since = {};
  std::optional<base::WallTime> until = {};
  std::optional<std::int64_t> before = {};  ///< sequence number: only older ones
  std::size_t limit = 100;
};

/// Where changes are kept, for one process or for many. Called by one thread at a time.
class Keeper {
 public:
  virtual ~Keeper() = default;
  /// Until keep() or abandon() nobody else writes to the store. The news are from before.
  virtual base::Result<News> begin() = 0;
  /// Writes all of them in one transaction, in their order, with an audit entry each, or nothing,
  /// and ends the turn. A record is in it once at most; deletions come first. Error: nothing has
  /// changed.
  virtual base::Result<> keep(std::span<const Change> changes) = 0;
  virtual void abandon() = 0;
  /// What others wrote since the last look; cheap when they did not.
  virtual base::Result<News> look() = 0;
  /// Entries as JSON objects: seq, at, actor, request_id, source, method, path, family, id, before,
  /// after, version, batch (null: none).
  virtual base::Result<base::json::Array> audit(const AuditQuery& query) = 0;

  /// False: add_polls() keeps nothing.
  [[nodiscard]] virtual bool keeps_polls() const { return false; }
  /// Adds to what all processes have noted of odd polls.
  virtual base::Result<> add_polls(const PollNotes&) { return {}; }
  virtual base::Result<PollNotes> polls() { return PollNotes{}; }
};

/// Filters of a list; an absent one takes everything.
struct ListQuery {
  std::map<std::string, std::string> equal;  ///< member: text
  /// Only every `of`th record, by a hash of its id: 0 <= index < of.
  struct Shard {
    std::uint64_t index = 0;
    std::uint64_t of = 1;
  };
  std::optional<Shard> shard = {};
  std::string after = {};  ///< only ids behind this one
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> limit = {};
};

struct Page {
  std::vector<base::json::Value> records;
  std::optional<std::string> next;  ///< there are more: `after` of the next page
};

class Draft;

/// For metrics.
struct FleetNumbers {
  std::size_t tombstones = 0;
  std::size_t largest_answer = 0;  ///< bytes, of clusters' answers that were asked for
  std::size_t most_inputs = 0;     ///< of one kind in one cluster
};

/// What a write makes of a record, and what is to be known about it.
struct Kept {
  Record record;  ///< of a deletion: as it was
  std::vector<std::string> warnings = {};
};

struct WriteOptions {
  std::string batch = {};  ///< of all its changes
  bool dry_run = false;    ///< nothing is kept
  /// Entries of the trail to be written with the changes, if there are any.
  std::function<std::vector<Change>(const std::vector<Change>& changes)> entries = {};
};

struct Written {
  std::vector<Change> changes;  ///< one a record, deletions first; none: nothing differs
  std::vector<std::string> warnings;
};

/// Thread-safe. Reads wait neither for each other nor for a store that is written to.
class Fleet {
 public:
  /// `keeper` (may be null: nothing is kept) and `clock` must outlive it. Error (configuration):
  /// two clusters have one DNS name.
  static base::Result<std::unique_ptr<Fleet>> create(Content content, Keeper* keeper,
                                                     const base::Clock& clock);

  /// Of a live cluster its inputs, of a deleted one none; 404 for a name never known. `dns` is of
  /// no interest for kClusters. The form of the `wish` is made with it.
  Outcome<ReadyPtr> answer(Route route, const std::string& dns, const Wish& wish = {}) const;
  /// That form for a live cluster, when it has been made before and the store is well; else none.
  [[nodiscard]] http::PreparedAnswer answer_at_hand(Route route, std::string_view dns,
                                                    const Wish& wish) const;

  /// Takes over what other processes wrote. Error: the store does not answer; what is known stays
  /// and is served. To be called again and again.
  base::Result<> follow();
  /// Why the last look at the store failed, or that one takes long; none: what is served is fresh.
  [[nodiscard]] std::optional<base::Error> trouble() const;
  /// Time since the store last answered.
  [[nodiscard]] base::Duration contact_age() const;
  [[nodiscard]] FleetNumbers numbers() const;

  Outcome<Record> get(Family family, const std::string& id) const;
  /// Sorted by id.
  [[nodiscard]] Page list(Family family, const ListQuery& query) const;
  /// The answer to a poll for a part of all clusters.
  [[nodiscard]] ReadyPtr clusters(const ListQuery& query) const;
  /// Every record of a family, sorted by id, while nothing changes. `visit` must be quick and not
  /// use the fleet.
  void for_each(
      Family family,
      const std::function<void(const std::string& id, const Record& record)>& visit) const;
  [[nodiscard]] std::vector<Tombstone> tombstones() const;
  [[nodiscard]] std::size_t count(Family family) const;
  [[nodiscard]] base::WallTime now() const { return clock_.now(); }

  Outcome<base::json::Array> audit(const AuditQuery& query);
  /// Odd polls that all processes have noted, and what of `here` the store does not have yet. When
  /// the store does not answer, the latter alone.
  PollNotes polls(const Polls& here);
  /// Gives them to the store, if that keeps them; what it refuses stays in `here`.
  base::Result<> keep_polls(Polls& here);
  /// From now on polls of the name get 404, which changes nothing in the cluster.
  Outcome<Tombstone> drop_tombstone(const std::string& dns, const Actor& actor);

  /// Does what `edit` does to a draft: all of it or nothing. What others wrote is in the draft.
  Outcome<Written> write(const Actor& actor, const WriteOptions& options,
                         const std::function<Outcome<>(Draft& draft)>& edit);
  /// The same for one record, whose id `edit` gives back.
  Outcome<Kept> write_one(Family family, const Actor& actor,
                          const std::function<Outcome<std::string>(Draft& draft)>& edit);

  // The parameters are those of Draft.
  Outcome<Kept> create_record(Family family, const base::json::Value& body, const Actor& actor);
  Outcome<Kept> update(Family family, const std::string& id, const base::json::Value& body,
                       std::optional<std::uint64_t> if_match, const Actor& actor);
  Outcome<Kept> merge(Family family, const std::string& id, const base::json::Value& body,
                      std::optional<std::uint64_t> if_match, const Actor& actor);
  Outcome<Kept> remove(Family family, const std::string& id, bool force,
                       std::optional<std::uint64_t> if_match, const Actor& actor);

 private:
  using Records = std::map<std::string, Record>;
  /// A turn at the store; without a commit it is abandoned.
  class Turn;

  Fleet(Keeper* keeper, const base::Clock& clock)
      : keeper_(keeper), clock_(clock), contact_(clock.steady_now()) {}
  [[nodiscard]] const Records& of(Family family) const {
    return records_[static_cast<std::size_t>(family)];
  }
  /// Under the lock, as the next.
  [[nodiscard]] Outcome<ReadyPtr> make_answer(Route route, const std::string& dns) const;
  [[nodiscard]] std::string assemble(Route route, const base::json::Value* cluster) const;
  /// Under the lock. As Page::next.
  std::optional<std::string> walk(Family family, const ListQuery& query,
                                  const std::function<void(const base::json::Value&)>& use) const;
  Outcome<> commit(Turn& turn, std::vector<Change> changes);
  void apply(Change change);
  void stumble(const base::Error& error);
  base::Result<> take(News news);
  base::Result<> fill(Content content);
  void forget_answers(const Change& change);

  Keeper* keeper_;
  const base::Clock& clock_;
  /// Held by who uses the store or changes anything below; `mutex_` only for the moment of the
  /// change, so that nobody who reads waits for the store.
  std::mutex turns_;
  mutable std::shared_mutex mutex_;
  std::array<Records, kFamilies> records_;
  std::unordered_map<std::string, std::string> by_dns_;  ///< cluster id
  std::map<std::string, Tombstone> tombstones_;          ///< by DNS name
  std::uint64_t changes_ = 0;
  std::optional<base::Error> trouble_;
  std::atomic<base::SteadyTime> contact_;  ///< when the store last answered
  std::atomic<bool> followed_ = false;     ///< the store is looked at again and again
  mutable std::array<Shelf, kRoutes> answers_;
};

}  // namespace kollect::fleet
