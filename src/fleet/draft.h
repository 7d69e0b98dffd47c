// What one write would change: operations on records, each seeing those before it, and the rules
// about the whole, before anything is kept (spec: fleet-api 5.3, 15.5, 15.9, 15.16).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json/value.h"
#include "fleet/fleet.h"
#include "fleet/model.h"
#include "fleet/problem.h"

namespace kollect::fleet {

/// The records of a fleet, borrowed.
struct View {
  const std::array<std::map<std::string, Record>, kFamilies>& records;
  const std::unordered_map<std::string, std::string>& by_dns;  ///< cluster id
  const std::map<std::string, Tombstone>& tombstones;
};

/// Used by one thread; the view must not change meanwhile. After a refusal it is of no more use.
class Draft {
 public:
  using Version = std::optional<std::uint64_t>;

  Draft(View view, const Actor& actor, base::WallTime now)
      : view_(view), actor_(actor), now_(now) {}

  /// Null: there is none.
  [[nodiscard]] const base::json::Value* find(Family family, const std::string& id) const;
  /// The same, or 404.
  [[nodiscard]] Outcome<const base::json::Value*> get(Family family, const std::string& id) const;
  /// Id of the live cluster of a DNS name.
  [[nodiscard]] std::optional<std::string> owner(const std::string& dns) const;
  /// All records of a family, by id.
  void each(
      Family family,
      const std::function<void(const std::string& id, const base::json::Value& record)>& use) const;
  /// Of the record before this draft; 0: it was not there.
  [[nodiscard]] std::uint64_t version(Family family, const std::string& id) const;

  /// As POST. The id.
  Outcome<std::string> create(Family family, const base::json::Value& body);
  /// As PUT: members that are given replace those that are there. `if_match`: the version that the
  /// record must have, else 412.
  Outcome<> update(Family family, const std::string& id, const base::json::Value& body,
                   Version if_match = {});
  /// As PATCH: references merge by id, maps by key, null clears.
  Outcome<> merge(Family family, const std::string& id, const base::json::Value& body,
                  Version if_match = {});
  /// `force`: a definition that clusters refer to goes all the same.
  Outcome<> remove(Family family, const std::string& id, bool force, Version if_match = {});
  /// The whole record, whether it is there or not.
  Outcome<> put(Family family, const std::string& id, base::json::Value record,
                Version if_match = {});
  /// 412 when the record has another version.
  Outcome<> check_version(Family family, const std::string& id, Version if_match) const;

  /// The rules about the whole, then the changes that differ from what is there: deletions first.
  /// A record is in them once.
  Outcome<std::vector<Change>> finish();
  /// How many clusters of each environment would be answered otherwise than before.
  [[nodiscard]] std::map<std::string, std::size_t> reach() const;
  /// Things to know about a change that is accepted. After finish().
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Touched {
    const Record* before = nullptr;  ///< none: it was not there
    std::optional<base::json::Value> after;
    bool forced = false;  ///< its deletion
    std::size_t order = 0;
  };
  using TouchedRecords = std::map<std::string, Touched>;

  TouchedRecords& touched(Family family) { return touched_[static_cast<std::size_t>(family)]; }
  [[nodiscard]] const TouchedRecords& touched(Family family) const {
    return touched_[static_cast<std::size_t>(family)];
  }
  Outcome<> set(Family family, const std::string& id, std::optional<base::json::Value> after);
  Outcome<> check_references(const base::json::Value& before, const base::json::Value& after) const;
  Outcome<> check_name(const std::string& id, const base::json::Value& after) const;
  Outcome<> check_texts() const;
  Outcome<> check_deleted() const;
  Outcome<> check_dependencies();
  void check_assigned(const base::json::Value& cluster);
  Outcome<> check_sizes();
  Outcome<> check_size(const std::string& id);
  void check_secrets(const base::json::Value* before, const base::json::Value& after);
  [[nodiscard]] std::string inputs(Family family, const base::json::Value& cluster,
                                   bool before) const;
  [[nodiscard]] Change change_of(Family family, const std::string& id, const Touched& one) const;

  View view_;
  const Actor& actor_;
  base::WallTime now_;
  std::array<TouchedRecords, kFamilies> touched_;
  std::size_t order_ = 0;
  std::map<std::string, std::optional<std::string>> names_;  ///< DNS names that changed hands
  std::vector<std::string> warnings_;
};

}  // namespace kollect::fleet
