// A pass with changes, in a folder (spec: sinks 15).
#pragma once

#include "base/context.h"
#include "sinks/files/folder.h"
#include "sinks/layout/delta_plan.h"

namespace kollect::sinks {

/// Brings a locked folder, in which the inventory's files are as the plan's ledger said, to the
/// plan's state: the same bytes as an export of all rows. Killed at any point, a run over all rows
/// ends right. Errors: as of the sink, and "needs-all-rows" before anything was written.
base::Result<ExportReport> run_delta(const base::Context& context, Folder& folder,
                                     const DeltaPlan& plan, const Pass& pass,
                                     const LayoutSpec& spec);

}  // namespace kollect::sinks
