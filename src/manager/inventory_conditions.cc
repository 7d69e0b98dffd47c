#include "manager/inventory_conditions.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::manager {
namespace {

std::string messages_of(const std::vector<const SinkFact*>& sinks) {
  std::vector<std::string> parts;
  for (const SinkFact* sink : sinks) {
    const base::Error& error = sink->unusable ? *sink->unusable : *sink->error;
    parts.push_back(sink->name + ": " + error.message);
  }
  return base::join(parts, "; ");
}

/// "a; b and 3 more"; empty for none.
std::string told_of(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return {};
  const std::size_t more = warnings.size() - 1;
  return warnings.front() + (more > 0 ? fmt::format(" and {} more", more) : "");
}

class Tables {
 public:
  Tables(StatusDraft& draft, const InventoryFacts& facts) : draft_(draft), facts_(facts) {
    for (const SinkFact& sink : facts.sinks) {
      if (sink.unusable) unusable_.push_back(&sink);
      if (sink.unusable || sink.error) {
        failed_.push_back(&sink);
      } else if (sink.exported) {
        exported_.push_back(&sink);
      } else {
        waiting_.push_back(&sink);
      }
    }
  }

  std::vector<Told> set() {
    if (!facts_.rollup) shard_warning();
    missing_targets();
    if (facts_.suspended) {
      degraded("Suspended", "spec.suspend is set; rows are kept, nothing is exported", false);
    } else if (facts_.denied) {
      degraded(facts_.denied->reason, facts_.denied->message, true);
    } else if (facts_.sinks.empty() && (facts_.complete || !facts_.rollup)) {
      no_sinks();
    } else if (!facts_.sinks.empty() && unusable_.size() == facts_.sinks.size()) {
      const std::string& reason = unusable_.front()->unusable->reason;
      reachable(false, reason, messages_of(unusable_));
      degraded(reason, messages_of(unusable_), true);
    } else if (!facts_.complete) {
      reachable_by_refs();
      draft_.drop("Degraded");
      draft_.set({.type = "Ready",
                  .status = "Unknown",
                  .reason = "Collecting",
                  .message = "waiting for the first complete list of " +
                             (facts_.waiting.empty() ? std::string("the targets")
                                                     : base::join(facts_.waiting, ", "))});
    } else {
      exports();
      warnings();
    }
    return std::move(told_);
  }

 private:
  void condition(const char* type, const char* status, const std::string& reason,
                 const std::string& message) {
    draft_.set({.type = type, .status = status, .reason = reason, .message = message});
  }
  void tell(const char* topic, bool warning, const std::string& reason,
            const std::string& message) {
    told_.push_back({.topic = topic, .warning = warning, .reason = reason, .message = message});
  }

  void shard_warning() {
    if (facts_.rows < kManyRows) {
      draft_.drop("ExportShardWarning");
      tell("shard", false, "", "");
      return;
    }
    const std::string message = fmt::format(
        "{} or more rows: document sinks get large files or several parts; consider "
        "more namespaces or a layout by resource",
        kManyRows);
    condition("ExportShardWarning", "True", "ApproachingExportCap", message);
    tell("shard", true, "ApproachingExportCap", message);
  }

  void missing_targets() {
    if (facts_.missing.empty()) {
      tell("missing", false, "", "");
    } else {
      tell("missing", true, "TargetNotFound",
           "no cluster target is called " + base::join(facts_.missing, ", "));
    }
  }

  /// Readers of old look at it beside Ready.
  void succeeded(const char* reason, const std::string& message) {
    if (facts_.rollup) condition("ExportSucceeded", "True", reason, message);
  }
  void drop_ready() {
    draft_.drop("Ready");
    draft_.drop("ExportSucceeded");
  }

  void degraded(const std::string& reason, const std::string& message, bool event) {
    drop_ready();
    condition("Degraded", "True", reason, message);
    condition("Synced", "False", reason, message);
    if (event) tell("export", true, reason, message);
  }

  void reachable(bool yes, const std::string& reason, const std::string& message) {
    condition("SinkReachable", yes ? "True" : "False", reason, message);
  }

  void reachable_by_refs() {
    if (facts_.sinks.empty()) {
      reachable(true, "NoSinksConfigured", "no sinks are referenced");
    } else if (unusable_.empty()) {
      reachable(true, "SinksReachable",
                fmt::format("{} sink{}", facts_.sinks.size(), facts_.sinks.size() == 1 ? "" : "s"));
    } else {
      reachable(false, unusable_.front()->unusable->reason, messages_of(unusable_));
    }
  }

  void no_sinks() {
    draft_.drop("Degraded");
    draft_.drop("ExportSucceeded");
    const std::string message = "no sinks are referenced, so nothing is exported" + lacking();
    const char* reason = facts_.rollup ? "RolledUp" : "NoExport";
    condition("Ready", "True", reason, message);
    condition("Synced", "True", reason, message);
    reachable(true, "NoSinksConfigured", message);
  }

  void exports() {
    if (failed_.empty() && exported_.empty()) {
      reachable_by_refs();
      draft_.drop("Degraded");
      condition("Ready", "Unknown", "Collecting", "the first export is on its way");
      return;
    }
    if (failed_.empty()) {
      good();
    } else if (!exported_.empty()) {
      partly();
    } else {
      all_failed();
    }
  }

  void warnings() {
    std::vector<std::string> parts;
    for (const SinkFact& sink : facts_.sinks) {
      if (!sink.warnings.empty()) parts.push_back(sink.name + ": " + told_of(sink.warnings));
    }
    if (parts.empty()) {
      tell("warnings", false, "", "");
    } else {
      tell("warnings", true, "ExportWarning", base::join(parts, "; "));
      told_.back().logged = true;  // by the exporter
    }
  }

  /// What the inventory lacks on account of targets that cannot be read.
  [[nodiscard]] std::string lacking() const {
    std::string text;
    if (!facts_.unreadable.empty()) {
      text += fmt::format("; without the target{} {}, which cannot be read now",
                          facts_.unreadable.size() == 1 ? "" : "s",
                          base::join(facts_.unreadable, ", "));
    }
    if (!facts_.unread.empty()) {
      text += fmt::format("; without what may not be listed: {}", facts_.unread);
    }
    if (!facts_.missing.empty()) {
      text += "; no cluster target is called " + base::join(facts_.missing, ", ");
    }
    return text;
  }

  void good() {
    draft_.drop("Degraded");
    const std::string message =
        fmt::format("exported to {} of {} sink{}", exported_.size(), facts_.sinks.size(),
                    facts_.sinks.size() == 1 ? "" : "s") +
        lacking();
    condition("Ready", "True", "Exported", message);
    succeeded("Exported", message);
    reachable(true, "ExportSucceeded", message);
    if (!waiting_.empty() || facts_.wrote_partially) {
      condition("Synced", "False", "PartiallySynced",
                "some sinks were written to, the others had nothing new or wait for their turn");
    } else {
      condition("Synced", "True", "Exported", message);
    }
    tell("export", false, "ExportSucceeded",
         fmt::format("{} items, {} sink{}", facts_.rows, exported_.size(),
                     exported_.size() == 1 ? "" : "s"));
  }

  void partly() {
    draft_.drop("Degraded");
    const std::string message = messages_of(failed_) + lacking();
    condition("Ready", "True", "PartiallySynced", message);
    succeeded("PartiallySynced", message);
    condition("Synced", "False", "PartiallySynced", message);
    reachable(false, unusable_.empty() ? "ExportFailed" : unusable_.front()->unusable->reason,
              message);
    tell("export", true, "ExportFailed", message);
  }

  void all_failed() {
    const std::string message = messages_of(failed_);
    const bool terminal = std::ranges::all_of(failed_, [](const SinkFact* sink) {
      return is_terminal(sink->unusable ? *sink->unusable : *sink->error);
    });
    const std::string reason = terminal ? "ExportTerminal" : "Progressing";
    drop_ready();
    const std::string told = too_large().value_or(reason);
    condition("Degraded", "True", told, message);
    condition("Synced", "False", told, message);
    reachable(false, terminal ? "ExportTerminal" : "ExportFailed", message);
    tell("export", true, reason, message);
  }

  /// A size that no sink takes has its own reason (spec: runtime 9.6).
  [[nodiscard]] std::optional<std::string> too_large() const {
    for (const SinkFact* sink : failed_) {
      if (!sink->error) continue;
      if (sink->error->reason == "too-large") return "PayloadTooLarge";
      if (sink->error->reason == "spill_required") return "SpillRequired";
    }
    return std::nullopt;
  }

  StatusDraft& draft_;
  const InventoryFacts& facts_;
  std::vector<const SinkFact*> unusable_;
  std::vector<const SinkFact*> failed_;
  std::vector<const SinkFact*> exported_;
  std::vector<const SinkFact*> waiting_;
  std::vector<Told> told_;
};

}  // namespace

bool is_terminal(const base::Error& error) {
  switch (error.kind) {
    case base::ErrorKind::kRetryable:
    case base::ErrorKind::kConflict:
    case base::ErrorKind::kCancelled:
      return false;
    default:
      return true;
  }
}

std::vector<Told> set_conditions(StatusDraft& draft, const InventoryFacts& facts) {
  return Tables(draft, facts).set();
}

std::optional<Condition> sink_condition(const base::Error* unusable,
                                        const exporter::BindingStatus* binding, bool fresh) {
  Condition condition{.type = "Synced", .status = "False", .reason = "ExportFailed", .message = {}};
  if (unusable != nullptr) {
    condition.message = unusable->message;
    return condition;
  }
  if (binding == nullptr) return std::nullopt;
  if (binding->error) {
    condition.message = binding->error->message;
    return condition;
  }
  if (!binding->last_export) return std::nullopt;
  const std::string warned = binding->warnings.empty() ? "" : "; " + told_of(binding->warnings);
  if (fresh || binding->interval < std::chrono::seconds(1)) {
    condition.status = "True";
    condition.reason = "Exported";
    condition.message = "written" + warned;
    return condition;
  }
  // A refresh is on its way: what comes of it is told afterwards, if it is news.
  if (binding->running) return std::nullopt;
  condition.reason = "Debounced";
  condition.message = fmt::format(
      "nothing changed since the last export; a change is exported at once, unchanged rows are "
      "checked again every {}{}",
      base::format_duration(binding->interval), warned);
  return condition;
}

}  // namespace kollect::manager
