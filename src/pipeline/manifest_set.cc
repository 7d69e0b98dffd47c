#include "pipeline/manifest_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "api/codec.h"
#include "base/files.h"
#include "base/strings.h"

namespace kollect::pipeline {
namespace {

namespace fs = std::filesystem;
using base::json::Value;

constexpr std::size_t kMaxFileBytes = 16U << 20U;
constexpr std::size_t kMaxDocuments = 10'000;
constexpr std::string_view kStdinName = "<stdin>";

bool is_manifest_name(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

base::Result<std::vector<fs::path>> files_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error || !fs::exists(status)) {
    return base::configuration(fmt::format("{}: no such file or folder", path));
  }
  if (!fs::is_directory(status)) return std::vector<fs::path>{path};
  std::vector<fs::path> files;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (is_manifest_name(it->path().filename().string()) &&
        !fs::is_directory(it->status(ignored))) {
      files.push_back(it->path());
    }
  }
  if (error) return base::configuration(fmt::format("{}: {}", path, error.message()));
  std::ranges::sort(files, {}, [](const fs::path& p) { return p.filename().string(); });
  return files;
}

ManifestProblem document_problem(const std::string& file, std::uint32_t document,
                                 base::yaml::Place place, std::string message) {
  return {.file = file,
          .document = document,
          .line = place.line,
          .column = place.column,
          .kind = {},
          .ns = {},
          .name = {},
          .path = {},
          .message = std::move(message)};
}

/// Adds the field's place to a message: to the first line of one that shows a caret below, and
/// into the parentheses of one that tells a place inside the field's text.
std::string with_place(std::string message, std::uint32_t line, std::uint32_t column) {
  const std::size_t end = std::min(message.find('\n'), message.size());
  const std::string_view first = std::string_view(message).substr(0, end);
  const std::string_view last = first.substr(std::min(first.rfind('('), first.size()));
  const bool inside =
      last.ends_with(')') && (last.starts_with("(line ") || last.starts_with("(position "));
  if (inside) {
    message.insert(end - 1, fmt::format("; the field: line {}, column {}", line, column));
  } else {
    message.insert(end, fmt::format(" (line {}, column {})", line, column));
  }
  return message;
}

/// The manifests of a set by kind, namespace and name.
using Names =
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const Manifest*>;

/// Of a document that is skipped: what its author may have meant; empty when it is no kind of ours.
std::string what_was_meant(const std::string& kind) {
  if (api::find_kind(kind) != nullptr) {
    return fmt::format("; did you mean apiVersion {}?", api::kApiVersion);
  }
  std::vector<std::string> kinds;
  for (const api::KindInfo& info : api::kinds()) kinds.emplace_back(info.kind);
  const auto near = base::near_names(kind, kinds, 1);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near.front());
}

/// Sorts one document into the set.
class Sorter {
 public:
  Sorter(ManifestSet& set, Names& names, std::string file)
      : set_(set), names_(names), file_(std::move(file)) {}

  void take(base::yaml::Document&& document) {
    document_ = document.index;
    start_ = document.start;
    places_ = std::make_shared<const base::yaml::Places>(std::move(document.places));
    take_value(std::move(document.value), "");
  }

 private:
  /// Where the document begins, or the item of a List that `prefix` leads to. Column 0: not known.
  [[nodiscard]] base::yaml::Place start_of(const std::string& prefix) const {
    const base::yaml::Place* place =
        prefix.empty() ? nullptr
                       : base::yaml::find_place(*places_, prefix.substr(0, prefix.size() - 1));
    return place == nullptr ? start_ : *place;
  }

  void take_value(Value&& value, const std::string& prefix) {
    const std::string kind(value.text("kind"));
    const std::string api_version(value.text("apiVersion"));
    if (!value.is_object() || kind.empty() || api_version.empty()) {
      set_.problems.push_back(document_problem(file_, document_, start_of(prefix),
                                               "not a manifest: it has no apiVersion or no kind"));
      return;
    }
    const bool our_group = api_version.starts_with(std::string(api::kGroup) + "/");
    if (kind.ends_with("List") && (api_version == "v1" || our_group)) {
      take_list(std::move(value), prefix);
      return;
    }
    std::deque<Manifest>* home = nullptr;
    if (api_version == api::kApiVersion && api::find_kind(kind) != nullptr) home = &set_.ours;
    if (api_version == "v1" && kind == "Secret") home = &set_.secrets;
    if (api_version == "v1" && kind == "ConfigMap") home = &set_.config_maps;
    if (home == nullptr) {
      const std::string meant = what_was_meant(kind);
      set_.warnings.push_back(fmt::format("{}:{}: {} ({}) is not used and was skipped{}", file_,
                                          start_of(prefix).line, kind, api_version, meant));
      if (!meant.empty()) set_.near_misses.push_back(set_.warnings.back());
      if (kind == "CustomResourceDefinition") set_.definitions.push_back(std::move(value));
      return;
    }
    keep(*home, std::move(value), kind, prefix);
  }

  void take_list(Value&& list, const std::string& prefix) {
    Value* items = list.find("items");
    if (items == nullptr || !items->is_array()) return;
    for (std::size_t i = 0; i < items->as_array().size(); ++i) {
      take_value(std::move(items->as_array()[i]), fmt::format("{}items[{}].", prefix, i));
    }
  }

  void keep(std::deque<Manifest>& home, Value&& value, const std::string& kind,
            const std::string& prefix) {
    Manifest manifest;
    manifest.kind = kind;
    manifest.file = file_;
    manifest.document = document_;
    manifest.line = start_of(prefix).line;
    manifest.places = places_;
    manifest.prefix = prefix;
    manifest.value = std::move(value);
    const api::KindInfo* info = api::find_kind(kind);
    Value* metadata = manifest.value.find("metadata");
    if (metadata == nullptr || !metadata->is_object() || metadata->text("name").empty()) {
      set_.problems.push_back(problem_at(manifest, "metadata.name", "a name is required"));
      return;
    }
    manifest.name = metadata->text("name");
    if (info == nullptr || info->namespaced) {
      if (metadata->text("namespace").empty()) {
        metadata->as_object().set("namespace", Value("default"));
      }
      manifest.ns = metadata->text("namespace");
    }
    refuse_duplicate(home.emplace_back(std::move(manifest)));
  }

  void refuse_duplicate(const Manifest& manifest) {
    const auto [first, is_new] =
        names_.try_emplace({manifest.kind, manifest.ns, manifest.name}, &manifest);
    if (is_new) return;
    set_.problems.push_back(problem_at(
        manifest, "", fmt::format("stands twice, here and at {}", first->second->where())));
  }

  ManifestSet& set_;
  Names& names_;
  std::string file_;
  std::uint32_t document_ = 1;
  base::yaml::Place start_;
  std::shared_ptr<const base::yaml::Places> places_;
};

base::Result<> read_text(ManifestSet& set, Names& names, const std::string& file,
                         std::string_view text, std::size_t& documents) {
  Sorter sorter(set, names, file);
  base::yaml::Limits limits;
  limits.keep_places = true;
  limits.max_documents = kMaxDocuments;
  return base::yaml::read_stream(
      text, limits,
      [&](base::yaml::Document&& document) -> base::Result<> {
        if (++documents > kMaxDocuments) {
          return base::configuration(
              fmt::format("{}: more than {} documents", file, kMaxDocuments));
        }
        sorter.take(std::move(document));
        return {};
      },
      [&](const base::yaml::Problem& p) {
        set.problems.push_back(document_problem(file, p.document, p.place, p.message));
      });
}

}  // namespace

const base::yaml::Place* Manifest::place_of(std::string_view path) const {
  return places == nullptr ? nullptr : base::yaml::find_place(*places, prefix + std::string(path));
}

std::string Manifest::where(std::string_view path) const {
  const base::yaml::Place* place = path.empty() ? nullptr : place_of(path);
  return fmt::format("{}:{}", file, place == nullptr ? line : place->line);
}

std::string Manifest::title() const {
  return ns.empty() ? fmt::format("{} {}", kind, name) : fmt::format("{} {}/{}", kind, ns, name);
}

ManifestProblem problem_at(const Manifest& manifest, std::string path, std::string message) {
  const base::yaml::Place* place = path.empty() ? nullptr : manifest.place_of(path);
  return {.file = manifest.file,
          .document = manifest.document,
          .line = place == nullptr ? manifest.line : place->line,
          .column = place == nullptr ? 0 : place->column,
          .kind = manifest.kind,
          .ns = manifest.ns,
          .name = manifest.name,
          .path = std::move(path),
          .message = std::move(message)};
}

ManifestProblem warning_at(const Manifest& manifest, const std::string& warning) {
  const std::size_t colon = warning.find(": ");
  const bool field = colon != std::string::npos && warning.find(' ') > colon;
  return field ? problem_at(manifest, warning.substr(0, colon), warning.substr(colon + 2))
               : problem_at(manifest, "", warning);
}

std::string ManifestProblem::text() const {
  std::string out = file;
  if (line != 0) out += fmt::format(":{}", line);
  if (kind.empty()) {
    if (column != 0) out += fmt::format(":{}", column);
    if (document != 0) out += fmt::format(": document {}", document);
    return out + ": " + message;
  }
  out += ": " + kind;
  if (!ns.empty() || !name.empty()) {
    out += fmt::format(" {}{}{}", ns, ns.empty() || name.empty() ? "" : "/", name);
  }
  if (!path.empty()) out += ": " + path;
  return out + ": " + (column == 0 ? message : with_place(message, line, column));
}

std::string ManifestProblem::one_line() const {
  std::string out = text();
  return out.substr(0, out.find('\n'));
}

base::Result<ManifestSet> load_manifests(const std::vector<std::string>& paths,
                                         std::string_view stdin_text) {
  ManifestSet set;
  Names names;  // keys and values point into the deques of the set
  std::size_t documents = 0;
  for (const std::string& path : paths) {
    if (path == "-") {
      KL_TRY(read_text(set, names, std::string(kStdinName), stdin_text, documents));
      continue;
    }
    KL_ASSIGN(const std::vector<fs::path> files, files_of(path));
    for (const fs::path& file : files) {
      auto text = base::read_file(file, kMaxFileBytes);
      if (!text) return base::configuration(text.error().message);
      KL_TRY(read_text(set, names, file.string(), *text, documents));
    }
  }
  return set;
}

}  // namespace kollect::pipeline
