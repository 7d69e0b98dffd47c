#include "fleet/seed.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::fleet {

using base::json::Array;
using base::json::Object;
using base::json::Value;

base::Result<Content> parse_seed(const std::string& text) {
  const auto document = base::json::Document::parse_borrowed(text);
  if (!document) return document.error();
  const Value seed = base::json::to_value(document->root());
  if (!seed.is_object()) return base::configuration("must be an object");
  Content content;
  for (const Family family : kAllFamilies) {
    const std::string key(collection_of(family));
    const Value* list = seed.find(key);
    const bool required = family == Family::kCluster || family == Family::kComponent;
    if (list == nullptr || list->is_null()) {
      if (required) return base::configuration(key + ": is missing");
      continue;
    }
    if (!list->is_array()) return base::configuration(key + ": must be a list");
    for (const Value& one : list->as_array()) {
      KL_ASSIGN(Value record, from_storage(family, one));
      const std::string id(record.text("id"));
      content.records.at(static_cast<std::size_t>(family))
          .insert_or_assign(id, Record{.data = std::move(record), .version = 1});
    }
  }
  const Value* buried = seed.find("tombstones");
  if (buried == nullptr || !buried->is_array()) return content;
  for (const Value& one : buried->as_array()) {
    KL_ASSIGN(auto tombstone, tombstone_from(one));
    content.tombstones.push_back(std::move(tombstone));
  }
  return content;
}

base::Result<Content> read_seed(const std::filesystem::path& file) {
  const auto text = base::read_file(file);
  if (!text) {
    return base::configuration(fmt::format(
        "SEED_FILE: {}; {{\"clusters\": [], \"platform_components\": []}} in it is an empty fleet",
        text.error().message));
  }
  auto content = parse_seed(*text);
  if (!content) return content.error().with_prefix("seed " + file.string());
  return content;
}

SeedKeeper::SeedKeeper(std::filesystem::path file, const Content& content)
    : file_(std::move(file)) {
  for (const Family family : kAllFamilies) {
    const auto index = static_cast<std::size_t>(family);
    for (const auto& [id, record] : content.records.at(index)) {
      records_.at(index).emplace(id, to_storage(family, record.data));
    }
  }
  for (const Tombstone& tombstone : content.tombstones) {
    tombstones_.emplace(tombstone.dns, tombstone);
  }
}

base::Result<> SeedKeeper::write() const {
  Object seed;
  for (const Family family : kAllFamilies) {
    Array list;
    for (const auto& [id, record] : records_.at(static_cast<std::size_t>(family))) {
      list.push_back(record);
    }
    seed.set(std::string(collection_of(family)), std::move(list));
  }
  Array buried;
  for (const auto& [dns, tombstone] : tombstones_) buried.push_back(to_value(tombstone));
  if (!buried.empty()) seed.set("tombstones", std::move(buried));
  return base::write_file_atomic(file_, base::json::pretty(Value(std::move(seed))), 0644);
}

namespace {

/// None: the record goes.
void put(std::map<std::string, Value>& records, const std::string& id,
         std::optional<Value> record) {
  if (record) {
    records.insert_or_assign(id, *std::move(record));
  } else {
    records.erase(id);
  }
}

bool fits(const AuditQuery& query, std::int64_t sequence, const Change& change) {
  const auto is = [](const std::string& wanted, std::string_view value) {
    return wanted.empty() || wanted == value;
  };
  return is(query.family, family_text(change)) && is(query.id, change.id) &&
         is(query.actor, change.actor.name) && is(query.batch, change.batch) &&
         (!query.since || change.at >= *query.since) &&
         (!query.until || change.at < *query.until) && (!query.before || sequence < *query.before);
}

}  // namespace

base::Result<Array> SeedKeeper::audit(const AuditQuery& query) {
  Array out;
  for (auto it = trail_.rbegin(); it != trail_.rend() && out.size() < query.limit; ++it) {
    if (fits(query, it->first, it->second)) out.push_back(audit_entry(it->first, it->second));
  }
  return out;
}

void SeedKeeper::apply(const Change& change) {
  if (change.about == Change::About::kTombstone) {
    tombstones_.erase(change.id);
  } else if (change.about == Change::About::kRecord) {
    put(records_.at(static_cast<std::size_t>(change.family)), change.id,
        change.after ? std::optional(to_storage(change.family, *change.after)) : std::nullopt);
  }
  if (change.unearthed) tombstones_.erase(*change.unearthed);
  if (change.buried) tombstones_.insert_or_assign(change.buried->dns, *change.buried);
}

base::Result<> SeedKeeper::keep(std::span<const Change> changes) {
  // Kept for the way back: the records of the changes, not the fleet.
  std::vector<std::optional<Value>> before;
  for (const Change& change : changes) {
    const auto& records = records_.at(static_cast<std::size_t>(change.family));
    const auto old = records.find(change.id);
    before.push_back(old != records.end() ? std::optional(old->second) : std::nullopt);
  }
  const auto tombstones_before = tombstones_;
  for (const Change& change : changes) apply(change);
  if (auto written = write(); !written) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (changes[i].about != Change::About::kRecord) continue;
      put(records_.at(static_cast<std::size_t>(changes[i].family)), changes[i].id,
          std::move(before[i]));
    }
    tombstones_ = tombstones_before;
    return written;
  }
  constexpr std::size_t kEntries = 10'000;
  for (const Change& change : changes) trail_.emplace_back(++last_entry_, change);
  while (trail_.size() > kEntries) trail_.pop_front();
  return {};
}

}  // namespace kollect::fleet
