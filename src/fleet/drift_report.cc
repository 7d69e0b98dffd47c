#include "fleet/drift_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

/// Clusters whose rows are in memory at a time.
constexpr std::size_t kChunk = 32;

struct Known {
  std::string id;
  std::string name;
  std::string dns;
  std::string environment;
  const ObservedCluster* observed = nullptr;
};

std::string key_of(std::string_view family, std::string_view id) {
  return fmt::format("{}\n{}", family, id);
}

/// What was changed since a moment, so that nobody has had the time to follow.
class Lately {
 public:
  static Outcome<Lately> read(Fleet& fleet, base::WallTime since) {
    Lately out;
    AuditQuery query{.family = {}, .id = {}, .actor = {}};
    query.since = since;
    query.limit = 1000;
    while (true) {
      FLEET_ASSIGN(const Array entries, fleet.audit(query));
      for (const Value& entry : entries) out.take(entry);
      if (entries.size() < query.limit) return out;
      query.before = entries.back().find("seq")->as_int();
    }
  }

  [[nodiscard]] bool has(const std::string& cluster, const Finding& finding) const {
    if (clusters_.contains(cluster)) return true;
    if (!finding.family) return false;
    const std::string item = key_of(collection_of(*finding.family), finding.id);
    return definitions_.contains(item) || references_.contains(key_of(cluster, item));
  }

 private:
  static Value member(const Value* record, std::string_view name) {
    const Value* found = record == nullptr ? nullptr : record->find(name);
    return found == nullptr ? Value() : *found;
  }
  static std::map<std::string, Value> by_id(const Value& references) {
    std::map<std::string, Value> out;
    if (!references.is_array()) return out;
    for (const Value& one : references.as_array()) out.emplace(one.text("id"), one);
    return out;
  }

  void take(const Value& entry) {
    const std::string_view family = entry.text("family");
    const std::string id(entry.text("id"));
    if (family != collection_of(Family::kCluster)) {
      definitions_.insert(key_of(family, id));
      return;
    }
    const Value* before = entry.find("before");
    const Value* after = entry.find("after");
    if (before == nullptr || !before->is_object() || after == nullptr || !after->is_object() ||
        member(before, "environment") != member(after, "environment")) {
      clusters_.insert(id);
      return;
    }
    for (const Family definitions : kDefinitions) {
      const auto was = by_id(member(before, references_of(definitions)));
      const auto is = by_id(member(after, references_of(definitions)));
      const auto note = [&](const auto& some, const auto& others) {
        for (const auto& [reference, value] : some) {
          const auto other = others.find(reference);
          if (other != others.end() && other->second == value) continue;
          references_.insert(key_of(id, key_of(collection_of(definitions), reference)));
        }
      };
      note(was, is);
      note(is, was);
    }
  }

  std::set<std::string> clusters_;
  std::set<std::string> definitions_;
  std::set<std::string> references_;
};

/// Where a page begins: "c" (a cluster) or "u" (an unknown one), how many findings of it were told,
/// and its id or name.
struct Place {
  bool unknown = false;
  std::uint64_t told = 0;
  std::string name;

  [[nodiscard]] std::string text() const {
    return fmt::format("{}{}.{}", unknown ? 'u' : 'c', told, name);
  }
  static Outcome<Place> parse(const std::string& text) {
    Place out;
    const std::size_t dot = text.find('.');
    if (dot != std::string::npos && (text[0] == 'c' || text[0] == 'u')) {
      const auto [end, error] = std::from_chars(text.data() + 1, text.data() + dot, out.told);
      if (error == std::errc() && end == text.data() + dot) {
        out.unknown = text[0] == 'u';
        out.name = text.substr(dot + 1);
        return out;
      }
    }
    return bad_request("cursor: must be one of an earlier answer");
  }
};

class Report {
 public:
  Report(Fleet& fleet, Observed& observed, const DriftQuery& query)
      : fleet_(fleet), observed_(observed), query_(query), now_(fleet.now()) {}

  Outcome<Value> run() {
    if (!query_.cursor.empty()) {
      FLEET_ASSIGN(begin_, Place::parse(query_.cursor));
    }
    if (query_.older_than) {
      FLEET_ASSIGN(lately_, Lately::read(fleet_, now_ - *query_.older_than));
    }
    auto seen = observed_.clusters();
    if (!seen) return no_inventory(seen.error());
    seen_ = *std::move(seen);
    take_records();
    match();
    for (std::size_t at = 0; at < known_.size() && !full();) {
      std::vector<const Known*> chunk;
      for (; at < known_.size() && chunk.size() < kChunk; ++at) {
        if (in_scope(known_[at])) chunk.push_back(&known_[at]);
      }
      FLEET_TRY(clusters(chunk));
    }
    if (!full()) unknown_clusters();
    return shown();
  }

 private:
  [[nodiscard]] bool first_page() const { return query_.cursor.empty(); }
  /// Nothing more is looked at; the first page counts everything.
  [[nodiscard]] bool full() const { return !first_page() && next_.has_value(); }

  void take_records() {
    fleet_.for_each(Family::kCluster, [this](const std::string& id, const Record& record) {
      const auto text = [&](const char* key) { return std::string(record.data.text(key)); };
      known_.push_back({.id = id,
                        .name = text("cluster_name"),
                        .dns = text("cluster_dns"),
                        .environment = text("environment")});
    });
    for (const Family family : kDefinitions) {
      auto& own = definitions_.at(static_cast<std::size_t>(family));
      fleet_.for_each(family, [&](const std::string& id, const Record& record) {
        own.emplace(id, record.data);
      });
    }
  }

  /// Which name the inventory has for a cluster: its id, else its DNS name, else its own name if no
  /// other cluster has that too.
  void match() {
    std::unordered_map<std::string_view, const ObservedCluster*> free;
    for (const ObservedCluster& one : seen_) free.emplace(one.name, &one);
    const auto take = [&](std::string Known::*member) {
      std::unordered_map<std::string_view, std::size_t> wanted;
      for (const Known& one : known_) {
        if (one.observed == nullptr) ++wanted[one.*member];
      }
      for (Known& one : known_) {
        const auto found = free.find(one.*member);
        if (one.observed != nullptr || found == free.end() || wanted[one.*member] > 1) continue;
        if (found->first.empty()) continue;
        one.observed = found->second;
        free.erase(found);
      }
    };
    take(&Known::id);
    take(&Known::dns);
    take(&Known::name);
    for (const ObservedCluster& one : seen_) {
      if (free.contains(one.name)) unknown_.push_back(&one);
    }
  }

  [[nodiscard]] bool in_scope(const Known& one) const {
    return (!query_.cluster || one.id == *query_.cluster) &&
           (!query_.environment || one.environment == *query_.environment) &&
           (first_page() || (!begin_.unknown && one.id >= begin_.name));
  }

  Outcome<> clusters(const std::vector<const Known*>& chunk) {
    std::vector<std::string> names;
    std::unordered_map<std::string_view, const ObservedCluster*> by_name;
    for (const Known* one : chunk) {
      if (one->observed == nullptr) continue;
      names.push_back(one->observed->name);
      by_name.emplace(one->observed->name, one->observed);
    }
    std::unordered_map<std::string, std::vector<ObservedObject>> objects;
    std::unordered_map<std::string, std::vector<Finding>> unreadable;
    if (!names.empty()) {
      const auto read = observed_.rows(names, [&](const ObservedRow& row) {
        const auto found = by_name.find(row.cluster);
        if (found == by_name.end()) return;
        if (found->second->gathered && row.inventory != kFleetInventory) return;
        const std::string cluster(row.cluster);
        if (auto object = read_row(row)) {
          objects[cluster].push_back(*std::move(object));
        } else {
          unreadable[cluster].push_back(
              {.drift = Drift::kUnreadable,
               .name = std::string(row.uid),
               .message = fmt::format("the row of target {} cannot be read; what it is about may "
                                      "be told as missing",
                                      row.target)});
        }
      });
      if (!read) return no_inventory(read.error());
    }
    for (const Known* one : chunk) {
      if (full()) break;
      cluster(*one, objects, unreadable);
    }
    return {};
  }

  void cluster(const Known& one,
               std::unordered_map<std::string, std::vector<ObservedObject>>& objects,
               std::unordered_map<std::string, std::vector<Finding>>& unreadable) {
    const auto record = fleet_.get(Family::kCluster, one.id);
    if (!record) return;  // deleted a moment ago
    ++clusters_;
    std::vector<Finding> findings;
    std::optional<base::WallTime> seen;
    if (one.observed == nullptr) {
      findings.push_back(
          {.drift = Drift::kUnobserved, .message = "the inventory has no rows of this cluster"});
    } else {
      auto& own = objects[one.observed->name];
      seen = one.observed->seen;
      if (!seen) {
        for (const ObservedObject& object : own) seen = std::max(seen, object.since);
      }
      if (!seen || now_ - *seen > query_.max_age) {
        findings.push_back({.drift = Drift::kStale,
                            .message = "what follows is how the cluster was then",
                            .since = seen});
      }
      std::ranges::move(unreadable[one.observed->name], std::back_inserter(findings));
      std::ranges::move(drift_of(record->data, definition_, own), std::back_inserter(findings));
    }
    std::erase_if(findings,
                  [&](const Finding& finding) { return !wanted(one.id, record->data, finding); });
    tell({.name = one.id}, &one, seen, findings);
  }

  [[nodiscard]] bool wanted(const std::string& cluster, const Value& record,
                            const Finding& finding) const {
    if (query_.drift && finding.drift != *query_.drift) return false;
    if (query_.component) {
      const auto has = [&] {
        const auto ids = referred(record, Family::kComponent);
        return std::ranges::find(ids, *query_.component) != ids.end();
      };
      // A cluster that nobody sees may lack the component.
      if (finding.family ? finding.family != Family::kComponent || finding.id != *query_.component
                         : !has()) {
        return false;
      }
    }
    if (!query_.older_than) return true;
    return (!finding.since || *finding.since <= now_ - *query_.older_than) &&
           !lately_.has(cluster, finding);
  }

  void unknown_clusters() {
    if (query_.environment || query_.component) return;
    if (query_.drift && *query_.drift != Drift::kUnknownCluster) return;
    std::map<std::string, std::string, std::less<>> buried;
    for (const Tombstone& one : fleet_.tombstones()) {
      const std::string text =
          fmt::format("the cluster was deleted at {}", base::format_rfc3339_seconds(one.at));
      buried.emplace(one.dns, text);
      buried.emplace(one.cluster, text);
    }
    for (const ObservedCluster* one : unknown_) {
      if (full()) return;
      if (query_.cluster && one->name != *query_.cluster) continue;
      if (!first_page() && begin_.unknown && one->name < begin_.name) continue;
      const auto found = buried.find(one->name);
      Finding finding{.drift = Drift::kUnknownCluster,
                      .message = "no cluster has this id, cluster_dns or cluster_name alone"};
      if (found != buried.end()) finding.message = found->second;
      if (one->name.empty())
        finding.message = "rows without a cluster: the sink has no spec.cluster";
      const Known as{.id = one->name, .name = {}, .dns = {}, .environment = {}};
      tell({.unknown = true, .name = one->name}, &as, one->seen, {finding});
    }
  }

  /// Counts findings and puts those of this page into it.
  void tell(Place place, const Known* cluster, std::optional<base::WallTime> seen,
            const std::vector<Finding>& findings) {
    if (!findings.empty() && !place.unknown) ++drifting_;
    for (const Finding& finding : findings) {
      ++counts_.at(static_cast<std::size_t>(finding.drift));
      const bool told_before = !first_page() && place.unknown == begin_.unknown &&
                               place.name == begin_.name && place.told < begin_.told;
      if (!told_before && page_.size() == query_.limit && !next_) next_ = place;
      ++place.told;
      if (!told_before && !next_) page_.push_back(shown(*cluster, seen, finding));
    }
  }

  static Value text_or_null(std::string_view text) { return text.empty() ? Value() : Value(text); }
  static Value time_or_null(std::optional<base::WallTime> time) {
    return time ? Value(base::format_rfc3339(*time)) : Value();
  }
  static Value shown(const Known& cluster, std::optional<base::WallTime> seen,
                     const Finding& finding) {
    Object out;
    out.set("cluster", cluster.id);
    out.set("environment", text_or_null(cluster.environment));
    out.set("finding", name_of(finding.drift));
    out.set("family", finding.family ? Value(collection_of(*finding.family)) : Value());
    out.set("id", text_or_null(finding.id));
    Value object;
    if (!finding.name.empty()) {
      Object parts;
      parts.set("kind", text_or_null(finding.kind));
      parts.set("namespace", text_or_null(finding.ns));
      parts.set("name", finding.name);
      object = Value(std::move(parts));
    }
    out.set("object", std::move(object));
    const bool differs = finding.drift == Drift::kDiffers;
    out.set("field", text_or_null(finding.field));
    out.set("expected", differs ? Value(finding.expected) : text_or_null(finding.expected));
    out.set("observed", differs ? Value(finding.observed) : text_or_null(finding.observed));
    out.set("message", text_or_null(finding.message));
    out.set("since", time_or_null(finding.since));
    out.set("seen", time_or_null(seen));
    return Value(std::move(out));
  }

  Value shown() {
    Object out;
    out.set("at", base::format_rfc3339(now_));
    Value summary;
    if (first_page()) {
      Object counts;
      std::size_t all = 0;
      for (std::size_t i = 0; i < kDrifts; ++i) {
        counts.set(std::string(name_of(static_cast<Drift>(i))), std::uint64_t{counts_.at(i)});
        all += counts_.at(i);
      }
      Object numbers;
      numbers.set("clusters", std::uint64_t{clusters_});
      numbers.set("drifting", std::uint64_t{drifting_});
      numbers.set("findings", std::uint64_t{all});
      numbers.set("by_finding", std::move(counts));
      summary = Value(std::move(numbers));
    }
    out.set("summary", std::move(summary));
    out.set("findings", std::move(page_));
    out.set("cursor", next_ ? Value(next_->text()) : Value());
    return Value(std::move(out));
  }

  Fleet& fleet_;
  Observed& observed_;
  const DriftQuery& query_;
  base::WallTime now_;
  Place begin_;
  Lately lately_;
  std::vector<ObservedCluster> seen_;
  std::vector<Known> known_;
  std::vector<const ObservedCluster*> unknown_;
  std::array<std::unordered_map<std::string, Value>, kFamilies> definitions_;
  AnyDefinition definition_ = [this](Family family, std::string_view id) -> const Value* {
    const auto& own = definitions_.at(static_cast<std::size_t>(family));
    const auto found = own.find(std::string(id));
    return found == own.end() ? nullptr : &found->second;
  };
  std::size_t clusters_ = 0;
  std::size_t drifting_ = 0;
  std::array<std::size_t, kDrifts> counts_{};
  Array page_;
  std::optional<Place> next_;
};

}  // namespace

std::unexpected<Problem> no_inventory(const base::Error& error) {
  return problem(503, "store_error", "the inventory cannot be read: " + error.message);
}

Outcome<Value> drift_report(Fleet& fleet, Observed& observed, const DriftQuery& query) {
  return Report(fleet, observed, query).run();
}

}  // namespace kollect::fleet
