// RowChoice::kLastOfUid over pinned rows.
#pragma once

#include <vector>

#include "inventory/store/sorted_rows.h"

namespace kollect::inventory {

/// Takes the rows out that are not chosen. Parts that lose all of theirs stay, empty. Takes 24
/// bytes a row of the largest target namespace meanwhile.
void keep_last_of_uid(std::vector<PinnedRows>& parts);

}  // namespace kollect::inventory
