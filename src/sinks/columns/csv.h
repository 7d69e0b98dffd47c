// An inventory as comma-separated values (RFC 4180): UTF-8, lines end in LF, a header line, the
// columns of schema.h.
#pragma once

#include "sinks/columns/table.h"
#include "sinks/layout.h"

namespace kollect::sinks::columns {

/// Hands the text out in pieces of some 64 KiB. Null is an empty field, an empty text two quotes,
/// so that readers which ask can tell them apart; times are RFC 3339 with microseconds. The first
/// error of `out` ends it and is returned.
base::Result<> write_csv(const Table& table, const ChunkFn& out);

/// Adds the rows of a text that write_csv() made. Error (configuration): it is something else.
base::Result<> read_csv(std::string_view text, inventory::RowSet& into);

}  // namespace kollect::sinks::columns
