#include "pipeline/manifest_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "base/files.h"

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

/// Sorts one document into the set.
class Sorter {
 public:
  Sorter(ManifestSet& set, std::string file) : set_(set), file_(std::move(file)) {}

  void take(base::yaml::Document&& document) {
    document_ = document.index;
    start_line_ = document.start.line;
    places_ = std::move(document.places);
    take_value(std::move(document.value), "");
  }

 private:
  [[nodiscard]] ManifestProblem problem(std::string message, const std::string& prefix) const {
    return {.file = file_,
            .document = document_,
            .line = line_at(prefix),
            .kind = {},
            .ns = {},
            .name = {},
            .path = {},
            .message = std::move(message)};
  }

  [[nodiscard]] std::uint32_t line_at(const std::string& prefix) const {
    if (prefix.empty()) return start_line_;
    const auto it = places_.find(prefix.substr(0, prefix.size() - 1));
    return it == places_.end() ? start_line_ : it->second.line;
  }

  void take_value(Value&& value, const std::string& prefix) {
    const std::string kind(value.text("kind"));
    const std::string api_version(value.text("apiVersion"));
    if (!value.is_object() || kind.empty() || api_version.empty()) {
      set_.problems.push_back(problem("not a manifest: it has no apiVersion or no kind", prefix));
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
      set_.warnings.push_back(fmt::format("{}:{}: {} ({}) is not used and was skipped", file_,
                                          line_at(prefix), kind, api_version));
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
    manifest.line = line_at(prefix);
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
    refuse_duplicate(home, manifest);
    home.push_back(std::move(manifest));
  }

  void refuse_duplicate(const std::deque<Manifest>& home, const Manifest& manifest) {
    const auto first = std::ranges::find_if(home, [&](const Manifest& m) {
      return m.kind == manifest.kind && m.ns == manifest.ns && m.name == manifest.name;
    });
    if (first == home.end()) return;
    set_.problems.push_back(
        problem_at(manifest, "", fmt::format("stands twice, here and at {}", first->where())));
  }

  ManifestSet& set_;
  std::string file_;
  std::uint32_t document_ = 1;
  std::uint32_t start_line_ = 1;
  std::map<std::string, base::yaml::Place> places_;
};

base::Result<> read_text(ManifestSet& set, const std::string& file, std::string_view text,
                         std::size_t& documents) {
  Sorter sorter(set, file);
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
        set.problems.push_back({.file = file,
                                .document = p.document,
                                .line = p.place.line,
                                .kind = {},
                                .ns = {},
                                .name = {},
                                .path = {},
                                .message = fmt::format("document {}, column {}: {}", p.document,
                                                       p.place.column, p.message)});
      });
}

}  // namespace

std::uint32_t Manifest::line_of(std::string_view path) const {
  std::string at = prefix + std::string(path);
  while (!at.empty()) {
    if (at.back() == '.') at.pop_back();
    if (const auto it = places.find(at); it != places.end()) return it->second.line;
    const std::size_t cut = at.find_last_of(".[");
    if (cut == std::string::npos) break;
    at.resize(cut);
  }
  return line;
}

std::string Manifest::where(std::string_view path) const {
  return fmt::format("{}:{}", file, path.empty() ? line : line_of(path));
}

std::string Manifest::title() const {
  return ns.empty() ? fmt::format("{} {}", kind, name) : fmt::format("{} {}/{}", kind, ns, name);
}

ManifestProblem problem_at(const Manifest& manifest, std::string path, std::string message) {
  return {.file = manifest.file,
          .document = manifest.document,
          .line = path.empty() ? manifest.line : manifest.line_of(path),
          .kind = manifest.kind,
          .ns = manifest.ns,
          .name = manifest.name,
          .path = std::move(path),
          .message = std::move(message)};
}

std::string ManifestProblem::text() const {
  std::string out = line == 0 ? file : fmt::format("{}:{}", file, line);
  if (!kind.empty()) {
    out += fmt::format(": {} {}{}{}", kind, ns, ns.empty() || name.empty() ? "" : "/", name);
  }
  if (!path.empty()) out += ": " + path;
  return out + ": " + message;
}

base::Result<ManifestSet> load_manifests(const std::vector<std::string>& paths,
                                         std::string_view stdin_text) {
  ManifestSet set;
  std::size_t documents = 0;
  for (const std::string& path : paths) {
    if (path == "-") {
      KL_TRY(read_text(set, std::string(kStdinName), stdin_text, documents));
      continue;
    }
    KL_ASSIGN(const std::vector<fs::path> files, files_of(path));
    for (const fs::path& file : files) {
      auto text = base::read_file(file, kMaxFileBytes);
      if (!text) return base::configuration(text.error().message);
      KL_TRY(read_text(set, file.string(), *text, documents));
    }
  }
  return set;
}

}  // namespace kollect::pipeline
