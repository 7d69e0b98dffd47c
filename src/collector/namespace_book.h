// The cluster's namespaces with their labels, as the collector's own watch sees them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "collector/bell.h"
#include "collector/collector.h"
#include "kube/reflector.h"

namespace kollect::collector {

/// Fed by a reflector on v1 Namespace. Thread-safe.
class NamespaceBook final : public kube::ObjectReceiver {
 public:
  explicit NamespaceBook(Bell& bell);

  void begin_list() override;
  void object(base::json::View object) override;
  void deleted(base::json::View object) override;
  void end_list() override;
  /// Of the reflector: a lost right is known, a passing failure is not.
  void noted(const kube::ReflectorStatus& status);
  /// There is no such watch.
  void give_up(base::Error error);

  [[nodiscard]] KnownNamespaces known() const;
  /// Grows with every new snapshot.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  struct Changes {
    bool any = false;                  ///< known() gives something else
    std::set<std::string> relabelled;  ///< new ones included
  };
  /// What happened since the last call.
  Changes take_changes();

 private:
  void publish(select::Namespaces namespaces);

  Bell& bell_;
  mutable std::mutex mutex_;
  KnownNamespaces known_;
  Changes changes_;
  bool listing_ = false;
  select::Namespaces listed_;
  std::atomic<std::uint64_t> version_ = 1;
};

}  // namespace kollect::collector
