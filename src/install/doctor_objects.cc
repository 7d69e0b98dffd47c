// Checks of our objects, and the report.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/json/write.h"
#include "install/doctor.h"
#include "install/doctor_hints.h"
#include "install/state.h"

namespace kollect::install {

using base::json::Value;

namespace {

/// An operator needs no longer for a first look.
constexpr base::Duration kFirstLook = std::chrono::minutes(1);
constexpr base::Duration kLongDeletion = std::chrono::minutes(5);
constexpr std::array<std::string_view, 3> kWarnings = {"ScopeForbidden", "InsecureSkipVerify",
                                                       "ApproachingExportCap"};

std::string title_of(const std::string& kind, const Value& object) {
  return kind + " " + place_of(object);
}

bool older(const Value& object, const char* field, base::Duration age, base::WallTime now) {
  const auto time = base::parse_rfc3339(text_at(object, {"metadata", field}));
  return time && *time + age < now;
}

bool is_suspended(const Value& object) {
  const Value* suspend = object.at_path({"spec", "suspend"});
  return suspend != nullptr && suspend->is_bool() && suspend->as_bool();
}

class ObjectChecks {
 public:
  ObjectChecks(const ObjectsByKind& objects, const std::vector<Operator>& operators,
               base::WallTime now)
      : objects_(objects), operators_(operators), now_(now) {}

  Findings run() {
    std::size_t fine = 0;
    for (const auto& [kind, list] : objects_) {
      for (const Value& object : list) {
        const std::size_t before = findings_.size();
        look_at(kind, object);
        if (findings_.size() == before && is_looked_at(kind)) ++fine;
      }
    }
    check_homes();
    check_scopes("KollectScope");
    check_scopes("KollectClusterScope");
    if (fine > 0)
      findings_.push_back({.about = "objects", .text = fmt::format("{} are fine", fine)});
    return std::move(findings_);
  }

 private:
  void add(Level level, const std::string& about, std::string text, std::string hint = {}) {
    findings_.push_back(
        {.level = level, .about = about, .text = std::move(text), .hint = std::move(hint)});
  }

  void look_at(const std::string& kind, const Value& object) {
    const std::string title = title_of(kind, object);
    const State state = state_of(object);
    if (state.word == "Deleting") {
      if (older(object, "deletionTimestamp", kLongDeletion, now_)) {
        add(Level::kWrong, title,
            fmt::format("is being deleted since {}",
                        text_at(object, {"metadata", "deletionTimestamp"})),
            "an operator has to clean up for it; to let go without: kubectl patch --type=merge "
            "-p '{\"metadata\":{\"finalizers\":null}}'");
      }
      return;
    }
    if (state.word == "Degraded") {
      if (is_suspended(object) && state.reason == "Suspended") {
        return add(Level::kWarning, title, "is suspended");
      }
      return add(Level::kWrong, title, fmt::format("{}: {}", state.reason, state.message),
                 hint_for(state.reason));
    }
    if (state.word == "Partly") {
      return add(Level::kWrong, title, fmt::format("{}: {}", state.reason, state.message),
                 hint_for(state.reason));
    }
    if (state.word == "Waiting" && kind == "KollectConnectionTest") {
      return add(Level::kWrong, title, fmt::format("{}: {}", state.reason, state.message),
                 hint_for(state.reason));
    }
    warn_of(title, object);
    if ((state.word == "Unseen" || state.word == "Pending") &&
        older(object, "creationTimestamp", kFirstLook, now_)) {
      nobody_looked(title, object, state);
    }
  }

  /// What does not stop an object, but asks for something all the same.
  void warn_of(const std::string& title, const Value& object) {
    for (const Value& one : list_at(object, {"status", "conditions"})) {
      const std::string_view reason = one.text("reason");
      if (one.text("status") != "True" || std::ranges::find(kWarnings, reason) == kWarnings.end()) {
        continue;
      }
      add(Level::kWarning, title, fmt::format("{}: {}", reason, one.text("message")),
          hint_for(reason));
    }
  }

  void nobody_looked(const std::string& title, const Value& object, const State& state) {
    const std::string what = state.word == "Unseen" ? "no operator has looked at it"
                                                    : "no operator has looked at its last change";
    const std::string ns = namespace_in(object);
    const bool read =
        std::ranges::any_of(operators_, [&](const Operator& one) { return one.reads(ns); });
    if (operators_.empty() || read) return add(Level::kWrong, title, what);
    add(Level::kWrong, title, what,
        ns.empty() ? "operators in tenant mode leave objects without a namespace alone"
                   : fmt::format("no operator watches the namespace {} (--watch-namespaces)", ns));
  }

  [[nodiscard]] const std::vector<Value>& of(const char* kind) const {
    static const std::vector<Value> kNone;
    const auto found = objects_.find(kind);
    return found == objects_.end() ? kNone : found->second;
  }

  /// Rows without an inventory, and the other way round.
  void check_homes() {
    std::set<std::string> targets;
    std::set<std::string> inventories;
    for (const Value& one : of("KollectTarget")) targets.insert(namespace_in(one));
    for (const Value& one : of("KollectInventory")) {
      inventories.insert(namespace_in(one));
      if (!targets.contains(namespace_in(one))) {
        add(Level::kWarning, title_of("KollectInventory", one),
            "there is no target in its namespace, so it stays empty");
      }
    }
    for (const std::string& ns : targets) {
      if (inventories.contains(ns)) continue;
      add(Level::kWarning, "namespace " + ns,
          "has targets, but no inventory: what is collected goes nowhere");
    }
  }

  void check_scopes(const char* kind) {
    std::map<std::string, std::vector<std::string>> names;
    for (const Value& one : of(kind)) names[namespace_in(one)].push_back(name_in(one));
    for (auto& [ns, list] : names) {
      if (list.size() < 2) continue;
      std::ranges::sort(list);
      add(Level::kWarning, ns.empty() ? std::string(kind) : "namespace " + ns,
          fmt::format("has {} scopes, and only {} counts", list.size(), list.front()));
    }
  }

  const ObjectsByKind& objects_;
  const std::vector<Operator>& operators_;
  base::WallTime now_;
  Findings findings_;
};

const char* word_of(Level level) {
  switch (level) {
    case Level::kFine:
      return "fine";
    case Level::kNote:
      return "note";
    case Level::kWarning:
      return "warning";
    case Level::kWrong:
      return "wrong";
  }
  return "";
}

std::size_t count(const Findings& findings, Level level) {
  return static_cast<std::size_t>(std::ranges::count(findings, level, &Finding::level));
}

}  // namespace

Findings check_objects(const ObjectsByKind& objects, const std::vector<Operator>& operators,
                       base::WallTime now) {
  return ObjectChecks(objects, operators, now).run();
}

std::string report(const Findings& findings) {
  std::string text;
  for (const Finding& one : findings) {
    text += fmt::format("{:<8} {}: {}\n", word_of(one.level), one.about, one.text);
    if (!one.hint.empty()) text += fmt::format("         -> {}\n", one.hint);
  }
  const std::size_t wrong = count(findings, Level::kWrong);
  const std::size_t warnings = count(findings, Level::kWarning);
  if (count(findings, Level::kNote) > 0) text += "as far as could be looked: ";
  return text +
         (wrong == 0 ? std::string("nothing is wrong")
                     : fmt::format("{} thing{} wrong", wrong, wrong == 1 ? " is" : "s are")) +
         fmt::format(", {} warning{}\n", warnings, warnings == 1 ? "" : "s");
}

std::string report_json(const Findings& findings) {
  std::string text;
  for (const Finding& one : findings) {
    base::json::Object line;
    line.set("level", word_of(one.level));
    line.set("about", one.about);
    line.set("text", one.text);
    if (!one.hint.empty()) line.set("hint", one.hint);
    text += base::json::compact(Value(std::move(line))) + "\n";
  }
  return text;
}

}  // namespace kollect::install
