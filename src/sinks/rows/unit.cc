#include "sinks/rows/unit.h"

#include <fmt/format.h>

#include <utility>

#include "base/strings.h"

namespace kollect::sinks::rows {

Unit unit_of(const Export& exp, bool with_checksum) {
  Unit unit;
  unit.head = &exp;
  unit.rows.emplace(*exp.rows);
  unit.row_count = exp.rows->size();
  if (with_checksum) unit.checksum = exp.rows->checksum();
  return unit;
}

std::vector<Unit> units_of(const std::vector<Export>& exports, bool with_checksum) {
  std::vector<Unit> units;
  for (const Export& exp : exports) units.push_back(unit_of(exp, with_checksum));
  return units;
}

Unit unit_of(const Pass& pass) {
  Unit unit;
  unit.head = &pass.head;
  if (pass.rows != nullptr) unit.rows.emplace(*pass.rows);
  unit.changes = pass.changes;
  unit.row_count = pass.row_count;
  unit.checksum = "set:" + pass.set_hash;
  unit.give_way = pass.give_way;
  return unit;
}

std::string id_of(const Export& head) {
  return fmt::format("{}\n{}\n{}", head.inventory.ns, head.inventory.name, head.cluster);
}

std::string expand_name(std::string_view naming_template, std::string_view cluster,
                        std::string_view ns, std::string_view inventory) {
  const std::pair<std::string_view, std::string_view> words[] = {
      {"{cluster}", cluster.empty() ? std::string_view("default") : cluster},
      {"{namespace}", ns},
      {"{name}", inventory},
      {"{extension}", ""}};
  std::string name(naming_template);
  for (const auto& [word, value] : words) name = base::replace_all(name, word, value);
  return name;
}

void add_to(ExportReport& report, const Unit& unit, const Counts& counts, std::string_view place,
            bool dry_run) {
  const InventoryId& inventory = unit.head->inventory;
  report.written += counts.written;
  report.unchanged += counts.unchanged;
  report.removed += counts.removed;
  report.bytes += counts.bytes;
  if (counts.collapsed > 0) {
    report.warnings.push_back(collapsed_warning(inventory, counts.collapsed));
  }
  if (!dry_run) return;
  using What = ExportReport::Change::What;
  const What what = counts.written + counts.removed == 0 ? What::kUnchanged
                    : counts.held == 0                   ? What::kCreate
                                                         : What::kUpdate;
  report.changes.push_back({what, fmt::format("{} {}/{}", place, inventory.ns, inventory.name),
                            unit.row_count, counts.bytes});
}

}  // namespace kollect::sinks::rows
