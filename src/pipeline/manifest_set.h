// Manifests of a configuration folder with the places they stand at (spec: pipeline 2).
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "base/yaml/read.h"

namespace kollect::pipeline {

/// One manifest, as written but for a missing metadata.namespace, which is "default" (L-47).
struct Manifest {
  base::json::Value value;
  std::string kind;
  std::string ns;  ///< "" for cluster-scoped kinds
  std::string name;
  std::string file;
  std::uint32_t document = 1;  ///< in the file, from 1
  std::uint32_t line = 1;      ///< where the manifest begins
  std::map<std::string, base::yaml::Place> places;
  std::string prefix;  ///< path of the manifest in its document: "" or "items[3]."

  /// Line of a field ("spec.attributes[2].path"), or of the nearest parent that was written.
  [[nodiscard]] std::uint32_t line_of(std::string_view path) const;
  /// "folder/target.yaml:12"
  [[nodiscard]] std::string where(std::string_view path = {}) const;
  /// "KollectTarget x/t"
  [[nodiscard]] std::string title() const;
};

/// Something that is wrong with a file or manifest.
struct ManifestProblem {
  std::string file;
  std::uint32_t document = 0;  ///< 0: the whole file
  std::uint32_t line = 0;
  std::string kind;
  std::string ns;
  std::string name;
  std::string path;  ///< field, empty when the whole manifest is meant
  std::string message;

  /// "file:line: kind namespace/name: path: message"; parts that are not known are left out.
  [[nodiscard]] std::string text() const;
};
ManifestProblem problem_at(const Manifest& manifest, std::string path, std::string message);

/// What a folder holds. Deques: manifests stay where they are.
struct ManifestSet {
  std::deque<Manifest> ours;  ///< the eleven kinds, in order of files and documents
  std::deque<Manifest> secrets;
  std::deque<Manifest> config_maps;
  std::vector<std::string> warnings;      ///< skipped documents
  std::vector<ManifestProblem> problems;  ///< unreadable documents, missing names, duplicates (P-4)
};

/// Reads files, and of folders the direct entries that end in .yaml, .yml or .json (P-1), in byte
/// order. `stdin_text` is read for the path "-". Error (configuration): a missing or unreadable
/// file or folder, too large or too many.
base::Result<ManifestSet> load_manifests(const std::vector<std::string>& paths,
                                         std::string_view stdin_text = {});

}  // namespace kollect::pipeline
