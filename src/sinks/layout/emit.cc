// The texts of documents, tree files and indexes (spec: sinks 4, 4.5).
#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/yaml/write.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks {

namespace {

namespace json = base::json;

constexpr std::size_t kPiece = 64U << 10U;

/// One value as a file of its own.
std::string single(Format format, json::View view) {
  switch (format) {
    case Format::kYaml:
      return base::yaml::write(view);
    case Format::kJson:
      return json::pretty(view);
    case Format::kNdjson:
      return json::compact(view) + "\n";
  }
  return {};
}

std::string single(Format format, const json::Value& value) {
  switch (format) {
    case Format::kYaml:
      return base::yaml::write(value);
    case Format::kJson:
      return json::pretty(value);
    case Format::kNdjson:
      return json::compact(value) + "\n";
  }
  return {};
}

/// Rows [first, last) as a document, in pieces.
base::Result<> write_rows(const inventory::RowSet& rows, std::size_t first, std::size_t last,
                          Format format, const ChunkFn& out) {
  if (first == last) return format == Format::kYaml ? out("[]\n") : base::Result<>();
  std::string piece;
  std::string row_text;
  json::Document document;
  const auto add = [&](const inventory::RowView& row) -> base::Result<> {
    if (format == Format::kNdjson) {
      inventory::append_row_json(piece, row);
      piece += '\n';
    } else {
      row_text.clear();
      inventory::append_row_json(row_text, row);
      KL_TRY(document.reparse_borrowed(row_text));
      base::yaml::append_sequence_item(piece, document.root());
    }
    if (piece.size() < kPiece) return {};
    KL_TRY(out(piece));
    piece.clear();
    return {};
  };
  KL_TRY(rows.for_range(first, last, add));
  return piece.empty() ? base::Result<>() : out(piece);
}

/// The rest of emission for one export.
class Emitter {
 public:
  Emitter(const Export& exp, const LayoutSpec& spec, const LaidOut& laid_out)
      : exp_(exp), spec_(spec), out_(laid_out) {}

  base::Result<> run(const std::function<base::Result<>(File&&)>& take) const {
    auto path = out_.row_paths.begin();
    for (std::size_t part = 0; part < out_.parts.size(); ++part) {
      if (out_.mode == LayoutMode::kDocument) KL_TRY(take(document(part)));
      if (!out_.index_paths.empty()) KL_TRY(take(index(part, path)));
    }
    if (out_.mode == LayoutMode::kDocument) return {};
    return rows(take);
  }

 private:
  File document(std::size_t part) const {
    const auto [first, last] = out_.parts[part];
    File file;
    file.path = out_.fixed_paths[part];
    file.rows = last - first;
    file.exported_at = exp_.exported_at;
    file.timed = spec_.format == Format::kJson;
    file.write = [this, part, begin = first, end = last](const ChunkFn& out,
                                                         base::WallTime at) -> base::Result<> {
      if (spec_.format != Format::kJson) {
        return write_rows(*exp_.rows, begin, end, spec_.format, out);
      }
      auto meta = envelope_meta(exp_);
      meta.exported_at = at;
      if (out_.parts.size() == 1) return inventory::stream_envelope(*exp_.rows, meta, out);
      meta.part_index = static_cast<std::uint32_t>(part + 1);
      meta.part_total = static_cast<std::uint32_t>(out_.parts.size());
      return out(inventory::envelope_json(*exp_.rows, begin, end, meta));
    };
    return file;
  }

  /// `path`: of the part's first row; moves on to that of the next part's.
  File index(std::size_t part, PathList::Iterator& path) const {
    const auto [first, last] = out_.parts[part];
    PathList paths;
    for (auto i = first; i < last; ++i, ++path) paths.add(*path);
    return index_file(exp_, spec_.format, out_.index_paths[part],
                      range_checksum(*exp_.rows, first, last), std::move(paths));
  }

  base::Result<> rows(const std::function<base::Result<>(File&&)>& take) const {
    auto path = out_.row_paths.begin();
    RowTexts texts(spec_.format, out_.content, out_.manifest_key);
    return exp_.rows->for_each([&](const inventory::RowView& row) -> base::Result<> {
      File file;
      file.path = *path++;
      file.rows = 1;
      KL_ASSIGN(file.content, texts.text(row));
      return take(std::move(file));
    });
  }

  const Export& exp_;
  const LayoutSpec& spec_;
  const LaidOut& out_;
};

}  // namespace

base::Result<std::string> RowTexts::text(const inventory::RowView& row) {
  if (content_ == LayoutContent::kItem) {
    row_text_.clear();
    inventory::append_row_json(row_text_, row);
    KL_TRY(document_.reparse_borrowed(row_text_));
    return single(format_, document_.root());
  }
  KL_TRY(document_.reparse_borrowed(row.attributes));
  auto view = document_.root();
  if (content_ == LayoutContent::kManifest) {
    const auto object = view.find(manifest_key_);
    if (!object) return base::terminal("a row lost its object", "no-manifest");
    view = *object;
  }
  return single(format_, view);
}

std::string range_checksum(const inventory::RowSet& rows, std::size_t first, std::size_t last) {
  if (first == 0 && last == rows.size()) return rows.checksum();
  base::Sha256 hash;
  hash.update("[");
  bool comma = false;
  std::string text;
  (void)rows.for_range(first, last, [&](const inventory::RowView& row) -> base::Result<> {
    text = comma ? "," : "";
    comma = true;
    inventory::append_row_json(text, row);
    hash.update(text);
    return {};
  });
  hash.update("]");
  return hash.finish_hex();
}

File index_file(const Export& exp, Format format, std::string path, std::string checksum,
                PathList paths) {
  File file;
  file.path = std::move(path);
  file.rows = paths.size();
  file.exported_at = exp.exported_at;
  file.timed = true;
  file.write = [format, cluster = cluster_word(exp), checksum = std::move(checksum),
                all = std::move(paths)](const ChunkFn& out, base::WallTime at) {
    json::Object object;
    object.set("schemaVersion", kSchemaVersion);
    object.set("itemCount", static_cast<std::int64_t>(all.size()));
    object.set("checksum", checksum);
    if (at != base::WallTime{}) object.set("exportedAt", base::format_rfc3339_seconds(at));
    object.set("cluster", cluster);
    json::Array listed;
    for (const auto& one : all) listed.emplace_back(one);
    object.set("paths", std::move(listed));
    return out(single(format, json::Value(std::move(object))));
  };
  return file;
}

Listing listing(std::vector<std::string> paths) {
  return [all = std::move(paths)](const PathList::Visit& visit) -> base::Result<> {
    for (const auto& path : all) KL_TRY(visit(path));
    return {};
  };
}

File manifest_file(const Export& exp, std::string path, std::size_t parts, Listing paths) {
  File file;
  file.path = std::move(path);
  file.timed = true;
  file.light = true;
  file.exported_at = exp.exported_at;
  file.write = [&exp, parts, all = std::move(paths)](const ChunkFn& out,
                                                     base::WallTime at) -> base::Result<> {
    json::Object object;
    object.set("kind", kManifestKind);
    object.set("schemaVersion", kSchemaVersion);
    object.set("cluster", cluster_word(exp));
    object.set("namespace", exp.inventory.ns);
    object.set("name", exp.inventory.name);
    object.set("generation", exp.generation);
    object.set("partTotal", static_cast<std::int64_t>(parts));
    json::Array numbers;
    for (std::size_t i = 1; i <= parts; ++i) numbers.emplace_back(static_cast<std::int64_t>(i));
    object.set("parts", std::move(numbers));
    object.set("exportedAt", base::format_rfc3339_seconds(at));
    object.set("paths", json::Array());
    auto piece = json::pretty(json::Value(std::move(object)));
    // The list is written into the empty one, in pieces: it has a line for every file.
    constexpr std::string_view kEnd = "]\n}\n";
    piece.resize(piece.size() - kEnd.size());
    bool is_first = true;
    KL_TRY(all([&](std::string_view one) -> base::Result<> {
      piece += is_first ? "\n    " : ",\n    ";
      is_first = false;
      json::append_string(piece, one);
      if (piece.size() < kPiece) return {};
      KL_TRY(out(piece));
      piece.clear();
      return {};
    }));
    if (!is_first) piece += "\n  ";
    piece += kEnd;
    return out(piece);
  };
  return file;
}

base::Result<> RunLayout::emit(std::size_t export_index,
                               const std::function<base::Result<>(File&&)>& take) const {
  return Emitter((*impl_->exports)[export_index], impl_->spec, impl_->laid_out[export_index])
      .run(take);
}

File RunLayout::manifest(std::size_t export_index, std::vector<std::string> kept) const {
  const auto& laid_out = impl_->laid_out[export_index];
  kept.insert(kept.end(), laid_out.fixed_paths.begin(), laid_out.fixed_paths.end());
  return manifest_file(
      (*impl_->exports)[export_index], laid_out.manifest_path, laid_out.parts.size(),
      [&rows = laid_out.row_paths, beside = std::move(kept)](const PathList::Visit& visit) {
        return rows.visit_sorted(beside, visit);
      });
}

base::Result<RenderResult> render(const Export& exp, const LayoutSpec& spec,
                                  const std::function<base::Result<>(File&&)>& emit) {
  const std::vector<Export> exports = {exp};
  KL_ASSIGN(const auto layout, RunLayout::plan(exports, spec));
  const auto& laid_out = layout.exports().front();
  RenderResult out;
  out.document_path = laid_out.document_path;
  out.mode = laid_out.mode;
  out.prune = laid_out.prune;
  out.checksum = exp.rows->checksum();
  out.paths = laid_out.fixed_paths;
  out.paths.insert(out.paths.end(), laid_out.row_paths.begin(), laid_out.row_paths.end());
  out.warnings = laid_out.warnings;
  KL_TRY(layout.emit(0, emit));
  if (laid_out.writes_manifest) {
    KL_TRY(emit(layout.manifest(0, {})));
    out.paths.push_back(laid_out.manifest_path);
  }
  return out;
}

}  // namespace kollect::sinks
