// What the sinks with one record per row write at a time, and what they say of it.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "inventory/row_store.h"
#include "sinks/rows/rows.h"
#include "sinks/sink.h"

namespace kollect::sinks::rows {

/// One inventory's part of a run or pass. Everything is borrowed from it.
struct Unit {
  const Export* head = nullptr;
  std::optional<Source> rows;  ///< none: the changes alone are at hand
  const inventory::ChangeSet* changes = nullptr;
  std::size_t row_count = 0;
  std::string checksum;  ///< of the set; empty when nobody asked for it
  std::stop_token give_way = {};
};

/// `with_checksum` reads all rows once.
Unit unit_of(const Export& exp, bool with_checksum);
std::vector<Unit> units_of(const std::vector<Export>& exports, bool with_checksum);
Unit unit_of(const Pass& pass);

/// An inventory of a cluster, for sets and locks.
std::string id_of(const Export& head);

/// A name of spec.provisioning.naming.template with {cluster} ("default" when empty), {namespace}
/// and {name} in place; {extension} vanishes, unknown words stay.
std::string expand_name(std::string_view naming_template, std::string_view cluster,
                        std::string_view ns, std::string_view inventory);

/// What was done for one unit.
struct Counts {
  std::uint64_t written = 0;
  std::uint64_t unchanged = 0;
  std::uint64_t removed = 0;
  std::uint64_t bytes = 0;      ///< of payloads that were sent
  std::uint64_t collapsed = 0;  ///< rows left out for another one of their key
  std::uint64_t held = 0;       ///< rows that were there before a whole set was compared
};

/// Adds a unit to a report: counts, the warning of rows that were left out, and in a dry run the
/// change that `place` (a table, a collection) would see.
void add_to(ExportReport& report, const Unit& unit, const Counts& counts, std::string_view place,
            bool dry_run);

}  // namespace kollect::sinks::rows
