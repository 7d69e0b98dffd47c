#include "pipeline/diff.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json/write.h"
#include "base/strings.h"
#include "pipeline/diff/snapshot.h"
#include "pipeline/diff/values.h"

namespace kollect::pipeline {

namespace {

using base::json::Object;
using base::json::Value;

using Identity = std::tuple<std::string, std::string, std::string, std::string, std::string,
                            std::string, std::string, std::string>;
using Rows = std::vector<SnapshotRow>;

struct Pair {
  const SnapshotRow* before = nullptr;
  const SnapshotRow* after = nullptr;
};

/// With one cluster on each side its name says nothing about rows: two clusters can be compared.
bool several_clusters(const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const SnapshotRow& row) { return row.cluster != rows.front().cluster; });
}

Identity identity_of(const SnapshotRow& row, bool with_cluster) {
  // Rows with a name are known by it; the path of their file may have changed with the layout.
  return {with_cluster ? row.cluster : std::string(),
          row.target_namespace,
          row.target_name,
          row.group,
          row.kind,
          row.ns,
          row.name,
          row.name.empty() ? row.path : std::string()};
}

/// Rows of one identity on both sides: equal uids belong together, the rest goes by order.
void pair_up(std::vector<const SnapshotRow*> before, std::vector<const SnapshotRow*> after,
             std::vector<Pair>& pairs) {
  for (auto& old_row : before) {
    const auto same = std::find_if(after.begin(), after.end(), [&](const SnapshotRow* row) {
      return row != nullptr && row->uid == old_row->uid;
    });
    if (same != after.end()) {
      pairs.push_back({old_row, *same});
      after.erase(same);
      old_row = nullptr;
    }
  }
  std::erase(before, nullptr);
  for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    pairs.push_back(
        {i < before.size() ? before[i] : nullptr, i < after.size() ? after[i] : nullptr});
  }
}

std::vector<Pair> match(const Rows& before, const Rows& after) {
  const bool with_cluster = several_clusters(before) || several_clusters(after);
  std::map<Identity, std::array<std::vector<const SnapshotRow*>, 2>> groups;
  for (const SnapshotRow& row : before) {
    groups[identity_of(row, with_cluster)][0].push_back(&row);
  }
  for (const SnapshotRow& row : after) {
    groups[identity_of(row, with_cluster)][1].push_back(&row);
  }
  std::vector<Pair> pairs;
  for (auto& [identity, sides] : groups) {
    pair_up(std::move(sides[0]), std::move(sides[1]), pairs);
  }
  return pairs;
}

std::vector<ValueChange> changes_of(const SnapshotRow& before, const SnapshotRow& after) {
  std::vector<ValueChange> changes;
  if (before.uid != after.uid && !before.uid.empty() && !after.uid.empty()) {
    changes.push_back({"uid", Value(before.uid), Value(after.uid)});
  }
  if (before.version != after.version) {
    changes.push_back({"version", Value(before.version), Value(after.version)});
  }
  diff_values("attributes", before.attributes, after.attributes, changes);
  return changes;
}

Object identity_json(const SnapshotRow& row) {
  Object object;
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) {
      object.set(key, value);
    }
  };
  set("cluster", row.cluster);
  set("targetNamespace", row.target_namespace);
  set("targetName", row.target_name);
  set("namespace", row.ns);
  set("name", row.name);
  set("group", row.group);
  set("version", row.version);
  set("kind", row.kind);
  set("uid", row.uid);
  set("path", row.path);
  return object;
}

std::string title_of(const SnapshotRow& row) {
  if (row.name.empty()) {
    return row.path;
  }
  std::string text = fmt::format("{}{} {}{}", row.kind, row.group.empty() ? "" : "." + row.group,
                                 row.ns.empty() ? "" : row.ns + "/", row.name);
  std::string where =
      row.target_name.empty() ? std::string() : row.target_namespace + "/" + row.target_name;
  if (!row.cluster.empty()) {
    where += (where.empty() ? "" : ", ") + row.cluster;
  }
  return where.empty() ? text : text + " (" + where + ")";
}

/// What the two forms of output have in common.
class Report {
 public:
  virtual ~Report() = default;
  virtual void appeared(const SnapshotRow& row) = 0;
  virtual void changed(const SnapshotRow& row, const std::vector<ValueChange>& changes) = 0;
  virtual void went(const SnapshotRow& row) = 0;
  virtual std::string finish(const DiffSummary& summary) = 0;
};

class TextReport final : public Report {
 public:
  explicit TextReport(bool color) : color_(color) {}
  void appeared(const SnapshotRow& row) override { line("\x1b[32m", "+ " + title_of(row)); }
  void went(const SnapshotRow& row) override { line("\x1b[31m", "- " + title_of(row)); }
  void changed(const SnapshotRow& row, const std::vector<ValueChange>& changes) override {
    line("\x1b[33m", "~ " + title_of(row));
    for (const ValueChange& change : changes) {
      std::string_view path = change.path;
      std::string note;
      if (path.starts_with("attributes") && path.size() > 10) {
        path.remove_prefix(path[10] == '.' ? 11 : 10);
      } else if (path == "uid") {
        note = " (recreated)";
      }
      out_ +=
          fmt::format("    {}{}: {} -> {}\n", path, note, show(change.before), show(change.after));
    }
  }
  std::string finish(const DiffSummary& summary) override {
    out_ += fmt::format("{} appeared, {} changed, {} went, {} unchanged\n", summary.appeared,
                        summary.changed, summary.went, summary.unchanged);
    return std::move(out_);
  }

 private:
  void line(std::string_view color, const std::string& text) {
    out_ += color_ ? fmt::format("{}{}\x1b[0m\n", color, text) : text + "\n";
  }
  static std::string show(const std::optional<Value>& value) {
    return value ? base::json::compact(*value) : std::string("(absent)");
  }

  bool color_;
  std::string out_;
};

class JsonReport final : public Report {
 public:
  JsonReport(std::string before, std::string after)
      : before_(std::move(before)), after_(std::move(after)) {}
  void appeared(const SnapshotRow& row) override { appeared_.push_back(whole(row)); }
  void went(const SnapshotRow& row) override { went_.push_back(whole(row)); }
  void changed(const SnapshotRow& row, const std::vector<ValueChange>& changes) override {
    base::json::Array list;
    for (const ValueChange& change : changes) {
      Object entry;
      entry.set("path", change.path);
      if (change.before) {
        entry.set("before", *change.before);
      }
      if (change.after) {
        entry.set("after", *change.after);
      }
      list.emplace_back(std::move(entry));
    }
    Object entry;
    entry.set("row", identity_json(row));
    entry.set("changes", std::move(list));
    changed_.emplace_back(std::move(entry));
  }
  std::string finish(const DiffSummary& summary) override {
    Object counts;
    counts.set("appeared", Value(summary.appeared));
    counts.set("changed", Value(summary.changed));
    counts.set("went", Value(summary.went));
    counts.set("unchanged", Value(summary.unchanged));
    Object root;
    root.set("schema", "kollect.dev/diff/v1");
    root.set("before", before_);
    root.set("after", after_);
    root.set("summary", std::move(counts));
    root.set("appeared", std::move(appeared_));
    root.set("changed", std::move(changed_));
    root.set("went", std::move(went_));
    return base::json::compact(Value(std::move(root))) + "\n";
  }

 private:
  static Value whole(const SnapshotRow& row) {
    Object object = identity_json(row);
    object.set("attributes", row.attributes);
    return object;
  }

  std::string before_;
  std::string after_;
  base::json::Array appeared_;
  base::json::Array changed_;
  base::json::Array went_;
};

}  // namespace

base::Result<DiffSummary> run_diff(const base::Context& context, const DiffOptions& options,
                                   std::FILE* out) {
  KL_ASSIGN(const Rows before, load_snapshot(context, options.before, options.table));
  KL_ASSIGN(const Rows after, load_snapshot(context, options.after, options.table));
  std::unique_ptr<Report> report;
  if (options.json) {
    report = std::make_unique<JsonReport>(options.before, options.after);
  } else {
    report = std::make_unique<TextReport>(options.color);
  }
  DiffSummary summary;
  for (const Pair& pair : match(before, after)) {
    if (pair.before == nullptr) {
      ++summary.appeared;
      report->appeared(*pair.after);
    } else if (pair.after == nullptr) {
      ++summary.went;
      report->went(*pair.before);
    } else if (const auto changes = changes_of(*pair.before, *pair.after); changes.empty()) {
      ++summary.unchanged;
    } else {
      ++summary.changed;
      report->changed(*pair.after, changes);
    }
  }
  KL_TRY(context.check());
  const std::string text = report->finish(summary);
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size()) {
    return base::terminal("cannot write the output");
  }
  return summary;
}

}  // namespace kollect::pipeline
