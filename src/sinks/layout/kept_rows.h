// Rows of earlier documents that stay although they could not be read (spec: P-9, X-9).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sinks/layout.h"

namespace kollect::sinks {

/// The set of `exp` with the rows that its earlier documents (texts in `format`) have of namespaces
/// and targets which could not be read; none when there is nothing to add. A copy of all rows:
/// meant for the rare pass that has something to keep. Error (retryable, "old-document"): a
/// document cannot be read, so what must stay is not known.
base::Result<std::optional<inventory::RowSet>> with_kept_rows(
    const Export& exp, Format format, const std::vector<std::string>& documents);
/// The same for documents of any form; `read` adds the rows of one.
base::Result<std::optional<inventory::RowSet>> with_kept_rows(
    const Export& exp,
    const std::function<base::Result<>(std::string_view, inventory::RowSet&)>& read,
    const std::vector<std::string>& documents);

}  // namespace kollect::sinks
