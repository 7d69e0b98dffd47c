// A pass with changes as edits of a tree (spec: sinks 7).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/context.h"
#include "sinks/git/object_store.h"
#include "sinks/git/pack_writer.h"
#include "sinks/layout/delta_plan.h"

namespace kollect::sinks::git {

struct DeltaOutcome {
  std::optional<Oid> tree;  ///< none: the same as `base`
  ExportReport report;
  /// Files that were looked at and what they are in the new tree; none: not there.
  std::map<std::string, std::optional<Oid>> touched;
};

/// The new tree on `base`, in which the inventory's files are as the plan's ledger said. The result
/// has the same bytes as build_change_set of all rows. May be called again with another base.
/// `other`: as of FileWriter. Error (terminal): the whole pass knows better what is wrong.
base::Result<DeltaOutcome> build_delta(const base::Context& context, const ObjectStore& store,
                                       const Oid& base, const DeltaPlan& plan, const Pass& pass,
                                       const LayoutSpec& spec, PackWriter& pack,
                                       std::optional<Oid> other = {});

}  // namespace kollect::sinks::git
