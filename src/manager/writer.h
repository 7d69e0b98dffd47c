// What the operator writes into the cluster: status, finalizers, events (spec: runtime 4 and 6).
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "api/types.h"
#include "base/context.h"
#include "base/json/value.h"
#include "base/log.h"
#include "base/result.h"
#include "kube/objects.h"
#include "manager/leader/fence.h"
#include "manager/work_queue.h"

namespace kollect::manager {

/// An object that is written about.
struct Subject {
  std::string kind;  ///< "KollectTarget"
  Key key;
  std::string uid;
  std::string resource_version;
};
Subject subject_of(const std::string& kind, const base::json::Value& manifest);

/// Writes inside the fence of the object's namespace only; outside of it errors are of kind
/// kCancelled and events are not told. Thread-safe. Conflicts are errors of kind kConflict: the
/// caller looks again.
class Writer {
 public:
  Writer(kube::Client& client, const base::Logger* log, const Fences& fences)
      : objects_(client), log_(log), fences_(fences) {}

  /// False on a standby: objects are looked at, and left as they are.
  [[nodiscard]] bool may_write(const Subject& subject) const {
    return fences_.of(subject.key.ns)->stands();
  }
  /// Merge patch of the status sub-resource; gives the object as it is then.
  base::Result<base::json::Value> patch_status(const base::Context& context, const Subject& subject,
                                               const base::json::Value& patch);
  /// Adds or removes a finalizer, if the object is still the one that was read.
  base::Result<base::json::Value> set_finalizer(const base::Context& context,
                                                const base::json::Value& manifest,
                                                const Subject& subject,
                                                const std::string& finalizer, bool present);
  /// Merge patch of metadata, if the object is still the one that was read; gives the object as it
  /// is then.
  base::Result<base::json::Value> patch_metadata(const base::Context& context,
                                                 const Subject& subject,
                                                 base::json::Object metadata);
  /// Deletes the object, if it is still the one with the subject's uid.
  base::Result<> remove(const base::Context& context, const Subject& subject);

  /// An event, unless the last one with this topic said the same. `topic` tells apart what
  /// may stand side by side ("Degraded", "SinkReachable", "export"). Warnings are logged too,
  /// unless the log has them already. Failures are logged only.
  void event(const base::Context& context, const Subject& subject, const std::string& topic,
             bool warning, const std::string& reason, const std::string& message,
             bool logged = false);
  /// The next event with this topic is told, whatever it says.
  void end_topic(const Subject& subject, const std::string& topic);
  void forget(const Subject& subject);

 private:
  kube::Objects objects_;
  const base::Logger* log_;
  const Fences& fences_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::string>> told_;  ///< by uid and topic
};

/// True when the manifest names the finalizer.
bool has_finalizer(const base::json::Value& manifest, std::string_view finalizer);

}  // namespace kollect::manager
