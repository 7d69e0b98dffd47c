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
                                      const std::vector<std::string>& kept) {
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

  const auto count = layout.row_paths.size();
  out.identities.reserve(count);
  out.paths.reserve(count);
  const bool sized = exp.max_bytes > 0;
  if (sized) out.sizes.reserve(count);
  const RowPaths templated(exp, spec);
  std::string text;
  auto next = layout.row_paths.begin();
  const auto add = [&](const inventory::RowView& row) -> base::Result<> {
    const std::string& path = *next;
    KL_ASSIGN(const auto draft, templated.path(row));
    if (draft.path != path) out.contested.push_back(path_hash(draft.path));
    out.identities.push_back(identity_hash(row));
    out.paths.push_back(path_hash(path));
    ++next;
    if (!sized) return {};
    text.clear();
    inventory::append_row_json(text, row);
    out.sizes.push_back(static_cast<std::uint32_t>(text.size()));
    return {};
  };
  KL_TRY(sized ? exp.rows->for_each(add) : exp.rows->for_each_key(add));
  std::ranges::sort(out.contested);
  for (const auto number : layout.unlike_rows) out.unlike.push_back(out.identities[number]);
  return out;
}

bool SetLedger::same_head(const Export& other) const {
  return head.inventory == other.inventory && head.generation == other.generation &&
         head.cluster == other.cluster && head.resource_key == other.resource_key &&
         head.max_bytes == other.max_bytes && head.keep_namespaces == other.keep_namespaces &&
         head.keep_targets == other.keep_targets && head.keep_parts == other.keep_parts;
}

}  // namespace kollect::sinks
