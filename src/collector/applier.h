// One object in, rows of all its targets out.
#pragma once

#include <string>
#include <vector>

#include "collector/bell.h"
#include "collector/lane.h"
#include "collector/namespace_book.h"
#include "kube/client.h"

namespace kollect::collector {

/// What is needed of an object's metadata. Views into the object.
struct Identity {
  std::string_view uid;
  std::string_view name;
  std::string_view ns;
  std::uint64_t uid_hash = 0;
};

/// Judges and extracts objects of one resource and keeps the rows of one source. Used by one thread
/// at a time.
class Applier {
 public:
  Applier(inventory::RowStore& store, const NamespaceBook& namespaces, Bell& bell,
          kube::Resource resource, inventory::SourceId source);

  /// None when the object has no uid.
  [[nodiscard]] std::optional<Identity> identify(base::json::View object) const;
  /// It exists in this state: rows come, change or go. `only`: for these cores alone; empty: for
  /// all. False when no lane looks at its namespace.
  bool exists(const LaneIndex& index, base::json::View object, const Identity& id,
              const std::vector<const Core*>& only = {});
  bool gone(const LaneIndex& index, const Identity& id);

 private:
  const select::Namespace* home_of(std::string_view ns);
  void take(const LaneIndex::Entry& entry, base::json::View object, const Identity& id);
  void leave(const LaneIndex::Entry& entry, const Identity& id);

  inventory::RowStore& store_;
  const NamespaceBook& namespaces_;
  Bell& bell_;
  const kube::Resource resource_;
  const inventory::SourceId source_;

  // The snapshot of namespaces in use, and the last one looked up: lists are sorted by namespace.
  std::uint64_t version_ = 0;
  std::shared_ptr<const select::Namespaces> all_;
  const select::Namespace* home_ = nullptr;
  select::Namespace stranger_;  ///< stands for namespaces that nobody knows
};

}  // namespace kollect::collector
