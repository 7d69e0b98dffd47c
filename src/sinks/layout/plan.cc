// What is written where: mode, content, parts and paths of every export of a run.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/json/document.h"
#include "base/strings.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks {

namespace {

namespace json = base::json;

/// True when the value is an object of the row's kind.
bool is_object_of(json::View value, std::string_view kind) {
  if (!value.is_object()) return false;
  return !base::trim(value.text("apiVersion")).empty() && !base::trim(value.text("kind")).empty() &&
         base::iequals(value.text("kind"), kind);
}

/// Sets the attribute name under which every row carries its whole object, "" when rows do not
/// (4.2).
base::Result<> inspect_rows(const inventory::RowSet& rows, LaidOut& out) {
  std::string key;
  std::size_t number = 0;
  json::Document document;
  // A visitor stops by an error; this one is no failure.
  const auto stop = base::not_found("rows do not carry objects", "stop");
  const auto visited = rows.for_each([&](const inventory::RowView& row) -> base::Result<> {
    KL_ASSIGN(auto found, object_key(row, document));
    if (found.empty() || (number > 0 && found != key)) {
      out.unlike_rows = {number};
      if (!found.empty()) out.unlike_rows.push_back(0);
      return stop;
    }
    key = std::move(found);
    ++number;
    return {};
  });
  if (!visited.has_value() && visited.error().reason != "stop") return visited.error();
  if (visited.has_value()) out.manifest_key = key;
  return {};
}

base::Result<> decide(const Export& exp, const LayoutSpec& spec, LaidOut& out) {
  if (exp.resource_key) {
    out.manifest_key = *exp.resource_key;
    out.rows_carry_objects = true;
  } else {
    KL_TRY(inspect_rows(*exp.rows, out));
    out.rows_carry_objects = !out.manifest_key.empty();
  }
  if (out.manifest_key.empty()) out.manifest_key = "resource";
  out.mode =
      spec.mode.value_or(out.rows_carry_objects ? LayoutMode::kPerResource : LayoutMode::kDocument);
  const bool tree = out.mode != LayoutMode::kDocument;
  out.content = spec.content.value_or(out.rows_carry_objects && tree ? LayoutContent::kManifest
                                                                     : LayoutContent::kItem);
  if (!tree) out.content = LayoutContent::kItem;
  out.by_rows = !exp.resource_key &&
                (!spec.mode || (tree && !spec.content) || out.content == LayoutContent::kManifest);
  out.prune = tree || spec.prune;
  out.writes_manifest = out.prune;
  return {};
}

base::Result<> cut(const Export& exp, LaidOut& out) {
  out.parts = {{0, exp.rows->size()}};
  if (exp.max_bytes == 0) return {};
  KL_ASSIGN(auto parts, inventory::cut_parts(*exp.rows, envelope_meta(exp), exp.max_bytes));
  if (parts.size() < 2) return {};
  out.parts.clear();
  for (const auto& part : parts) out.parts.emplace_back(part.first, part.last);
  return {};
}

base::Result<> place_documents(const Export& exp, const LayoutSpec& spec, LaidOut& out) {
  KL_ASSIGN(out.document_path,
            document_path(exp, spec, spec.document_template, exp.inventory.name));
  const std::size_t total = out.parts.size();
  const bool index = out.mode == LayoutMode::kSplit && spec.index_enabled.value_or(true);
  for (std::size_t i = 1; i <= total && (index || out.mode == LayoutMode::kDocument); ++i) {
    const auto name = total == 1 ? exp.inventory.name : part_name(exp.inventory.name, i, total);
    KL_ASSIGN(auto path,
              document_path(exp, spec, index ? spec.index_template : spec.document_template, name));
    if (index) out.index_paths.push_back(path);
    out.fixed_paths.push_back(std::move(path));
  }
  if (index) {
    KL_ASSIGN(out.document_path, document_path(exp, spec, spec.index_template, exp.inventory.name));
  }
  return {};
}

/// Paths that an earlier export gave to rows with a collision suffix, without it: "a/b.yaml" for
/// "a/b-0123abcd.yaml".
std::unordered_set<std::string> suffixed_bases(const Owned& owned, std::string_view extension) {
  std::unordered_set<std::string> out;
  for (const auto& path : owned.paths) {
    const auto end = path.ends_with(extension) ? path.size() - extension.size() : path.size();
    if (end < 9 || path[end - 9] != '-') continue;
    const auto digits = std::string_view(path).substr(end - 8, 8);
    if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) continue;
    out.insert(path.substr(0, end - 9) + path.substr(end));
  }
  return out;
}

/// Paths by the template. A row that had to be told apart from another before keeps that path when
/// the other has gone, so that no file changes its object.
base::Result<DraftPaths> draft_rows(const Export& exp, const LayoutSpec& spec, const Owned& owned,
                                    const LaidOut& laid_out) {
  DraftPaths out;
  const RowPaths paths(exp, spec);
  const auto suffixed = suffixed_bases(owned, paths.extension());
  json::Document document;
  const bool check_object = laid_out.content == LayoutContent::kManifest;
  const auto add = [&](const inventory::RowView& row) -> base::Result<> {
    if (check_object) {
      KL_TRY(document.reparse_borrowed(row.attributes));
      if (!document.root().find(laid_out.manifest_key)) {
        return base::terminal(
            fmt::format("layout.content is manifest, but {} {}/{} of target {}/{} has no attribute "
                        "\"{}\" with the whole object",
                        row.kind, row.ns, row.name, row.target_namespace, row.target_name,
                        laid_out.manifest_key),
            "no-manifest");
      }
    }
    KL_ASSIGN(auto checked, paths.path(row));
    if (suffixed.contains(checked.path)) {
      auto kept = with_suffix(checked.path, collision_suffix(row), paths.extension());
      if (owned.paths.contains(kept)) {
        out.sticky.emplace(static_cast<std::uint32_t>(out.base.size()), std::move(kept));
      }
    }
    out.base.add(checked.path);
    out.altered.push_back(checked.altered);
    return {};
  };
  KL_TRY(check_object ? exp.rows->for_each(add) : exp.rows->for_each_key(add));
  return out;
}

}  // namespace

base::Result<std::string> object_key(const inventory::RowView& row, json::Document& scratch) {
  KL_TRY(scratch.reparse_borrowed(row.attributes));
  std::string_view found;
  std::size_t count = 0;
  for (const auto member : scratch.root().members()) {
    if (!is_object_of(member.value, row.kind)) continue;
    found = member.key;
    ++count;
  }
  return count == 1 ? std::string(found) : std::string();
}

inventory::EnvelopeMeta envelope_meta(const Export& exp) {
  inventory::EnvelopeMeta meta;
  meta.generation = exp.generation;
  meta.exported_at = exp.exported_at;
  meta.cluster = exp.cluster;
  return meta;
}

RunLayout::RunLayout(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunLayout::RunLayout(RunLayout&&) noexcept = default;
RunLayout& RunLayout::operator=(RunLayout&&) noexcept = default;
RunLayout::~RunLayout() = default;

const std::vector<LaidOut>& RunLayout::exports() const {
  return impl_->laid_out;
}

base::Result<RunLayout> RunLayout::plan(const std::vector<Export>& exports, const LayoutSpec& spec,
                                        const std::vector<Owned>& owned) {
  auto impl = std::make_unique<Impl>();
  impl->exports = &exports;
  impl->spec = spec;
  impl->laid_out.resize(exports.size());
  std::vector<DraftPaths> drafts(exports.size());
  const Owned nothing;
  for (std::size_t i = 0; i < exports.size(); ++i) {
    const auto& exp = exports[i];
    const auto& known = i < owned.size() ? owned[i] : nothing;
    auto& out = impl->laid_out[i];
    KL_TRY(decide(exp, spec, out));
    KL_TRY(cut(exp, out));
    KL_TRY(place_documents(exp, spec, out));
    out.manifest_path =
        known.manifest_path.empty() ? manifest_places(exp, spec).front() : known.manifest_path;
    if (out.mode == LayoutMode::kDocument) continue;
    KL_ASSIGN(drafts[i], draft_rows(exp, spec, known, out));
  }
  KL_TRY(settle_paths(exports, spec, std::move(drafts), impl->laid_out));
  return RunLayout(std::move(impl));
}

}  // namespace kollect::sinks
