#include "sinks/layout/set_ledger.h"

#include <algorithm>

#include "base/hash.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks {

std::uint64_t path_hash(std::string_view path) {
  return base::xxh64(path);
}

std::uint64_t identity_hash(const inventory::RowView& row) {
  std::string text;
  for (const std::string_view field :
       {row.target_namespace, row.target_name, row.ns, row.name, row.uid}) {
    text += field;
    text += '\0';
  }
  return base::xxh64(text);
}

base::Result<SetLedger> SetLedger::of(const Export& exp, std::string set_hash,
                                      const LayoutSpec& spec, const LaidOut& layout,
                                      const std::vector<std::string>& kept,
                                      const std::filesystem::path& scratch) {
  SetLedger out;
  out.head = exp;
  out.head.rows = nullptr;
  out.set_hash = std::move(set_hash);
  out.keeps = !kept.empty();
  for (const auto& path : layout.fixed_paths) out.fixed.push_back(path_hash(path));
  if (layout.writes_manifest) out.fixed.push_back(path_hash(layout.manifest_path));
  for (const auto& path : kept) out.fixed.push_back(path_hash(path));

  auto& plan = out.layout;
  plan.mode = layout.mode;
  plan.content = layout.content;
  plan.manifest_key = layout.manifest_key;
  plan.rows_carry_objects = layout.rows_carry_objects;
  plan.by_rows = layout.by_rows;
  plan.writes_manifest = layout.writes_manifest;
  plan.document_path = layout.document_path;
  plan.manifest_path = layout.manifest_path;
  if (layout.mode == LayoutMode::kDocument) return out;
  plan.index_paths = layout.index_paths;
  plan.parts = layout.parts;

  out.rows = LedgerRows(scratch);
  const bool sized = exp.max_bytes > 0;
  const RowPaths templated(exp, spec);
  std::string text;
  auto next = layout.row_paths.begin();
  const auto add = [&](const inventory::RowView& row) -> base::Result<> {
    const std::string& path = *next;
    KL_ASSIGN(const auto draft, templated.path(row));
    if (draft.path != path) out.contested.push_back(path_hash(draft.path));
    LedgerRow known{identity_hash(row), path_hash(path), 0};
    ++next;
    if (sized) {
      text.clear();
      inventory::append_row_json(text, row);
      known.size = static_cast<std::uint32_t>(text.size());
    }
    if (std::ranges::find(layout.unlike_rows, out.rows.size()) != layout.unlike_rows.end()) {
      out.unlike.push_back(known.identity);
    }
    return out.rows.add(known);
  };
  KL_TRY(sized ? exp.rows->for_each(add) : exp.rows->for_each_key(add));
  std::ranges::sort(out.contested);
  return out;
}

bool SetLedger::same_head(const Export& other) const {
  return head.inventory == other.inventory && head.generation == other.generation &&
         head.cluster == other.cluster && head.resource_key == other.resource_key &&
         head.max_bytes == other.max_bytes && head.keep_namespaces == other.keep_namespaces &&
         head.keep_targets == other.keep_targets && head.keep_parts == other.keep_parts;
}

}  // namespace kollect::sinks
