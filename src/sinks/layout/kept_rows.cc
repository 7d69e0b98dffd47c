#include "sinks/layout/kept_rows.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/json/document.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "sinks/layout/set_ledger.h"
#include "sinks/rows/rows.h"

namespace kollect::sinks {

namespace {

namespace json = base::json;

/// Documents are below the ceiling of an export, whose rows have few nodes each.
base::yaml::Limits document_limits() {
  base::yaml::Limits limits;
  limits.max_nodes = 20'000'000;
  return limits;
}

base::Result<> read_rows(std::string_view text, Format format, inventory::RowSet& into) {
  if (format == Format::kNdjson) {
    for (const auto line : base::split(text, '\n')) {
      if (base::trim(line).empty()) continue;
      KL_ASSIGN(const auto row, json::Document::parse(line));
      KL_TRY(inventory::add_row_json(into, row.root()));
    }
    return {};
  }
  json::Value value;
  if (format == Format::kYaml) {
    KL_ASSIGN(value, base::yaml::read_one(text, document_limits()));
  } else {
    KL_ASSIGN(const auto envelope, json::Document::parse(text));
    value = json::to_value(envelope.root());
    const auto* items = value.find("items");
    if (items != nullptr) value = json::Value(*items);
  }
  if (!value.is_array()) return base::configuration("is no list of rows");
  for (const auto& row : value.as_array()) {
    const auto document = json::Document::from_value(row);
    KL_TRY(inventory::add_row_json(into, document.root()));
  }
  return {};
}

}  // namespace

base::Result<std::optional<inventory::RowSet>> with_kept_rows(
    const Export& exp, Format format, const std::vector<std::string>& documents) {
  return with_kept_rows(
      exp,
      [format](std::string_view text, inventory::RowSet& into) {
        return read_rows(text, format, into);
      },
      documents);
}

base::Result<std::optional<inventory::RowSet>> with_kept_rows(
    const Export& exp,
    const std::function<base::Result<>(std::string_view, inventory::RowSet&)>& read,
    const std::vector<std::string>& documents) {
  if (documents.empty() || !exp.keeps()) {
    return std::optional<inventory::RowSet>();
  }
  inventory::RowSet old;
  for (const auto& text : documents) {
    const auto done = read(text, old);
    if (done.has_value()) continue;
    return base::retryable(
        fmt::format("rows of objects that cannot be read now must stay, but a document of the last "
                    "export cannot be read: {}",
                    done.error().message),
        "old-document");
  }
  old.seal();
  std::unordered_set<std::uint64_t> there;
  KL_TRY(exp.rows->for_each_key([&](const inventory::RowView& row) -> base::Result<> {
    there.insert(identity_hash(row));
    return {};
  }));
  inventory::RowSet out;
  const rows::Keep keep(exp);
  bool any = false;
  KL_TRY(old.for_each([&](const inventory::RowView& row) -> base::Result<> {
    if (!keep.holds(row.target_namespace, row.target_name, row.ns)) return {};
    if (there.contains(identity_hash(row))) return {};
    any = true;
    out.add(row);
    return {};
  }));
  if (!any) return std::optional<inventory::RowSet>();
  KL_TRY(exp.rows->for_each([&](const inventory::RowView& row) -> base::Result<> {
    out.add(row);
    return {};
  }));
  out.seal();
  return std::optional(std::move(out));
}

}  // namespace kollect::sinks
