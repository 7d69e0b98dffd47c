// Manifests of a configuration folder with the places they stand at (spec: pipeline 2).
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
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
  /// Places in its document; shared by all items of a List.
  std::shared_ptr<const base::yaml::Places> places;
  std::string prefix;  ///< path of the manifest in its document: "" or "items[3]."

  /// Place of a field ("spec.attributes[2].path"), or of the nearest parent that was written;
  /// nullptr when that is not known.
  [[nodiscard]] const base::yaml::Place* place_of(std::string_view path) const;
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
  std::uint32_t column = 0;  ///< in characters, from 1; 0: not known
  std::string kind;          ///< empty when the document is no manifest
  std::string ns;
  std::string name;
  std::string path;  ///< field, empty when the whole manifest is meant
  std::string message;

  /// Of manifests "file:line: kind namespace/name: path: message (line L, column C)", of documents
  /// that are none "file:line:column: document N: message"; parts that are not known are left out.
  /// A message of several lines shows what is wrong with a caret; it keeps them.
  [[nodiscard]] std::string text() const;
  /// The same without what stands behind the first line of the message.
  [[nodiscard]] std::string one_line() const;
};
ManifestProblem problem_at(const Manifest& manifest, std::string path, std::string message);
/// The problem that a warning of admission ("spec.a[1].b: text", or text alone) stands for.
ManifestProblem warning_at(const Manifest& manifest, const std::string& warning);

/// What a folder holds. Deques: manifests stay where they are.
struct ManifestSet {
  std::deque<Manifest> ours;  ///< the eleven kinds, in order of files and documents
  std::deque<Manifest> secrets;
  std::deque<Manifest> config_maps;
  std::vector<base::json::Value> definitions;  ///< CustomResourceDefinitions; a warning each too
  std::vector<std::string> warnings;           ///< skipped documents
  std::vector<std::string> near_misses;        ///< those of them that look like one of our kinds
  std::vector<ManifestProblem> problems;  ///< unreadable documents, missing names, duplicates (P-4)
};

/// Reads files, and of folders the direct entries that end in .yaml, .yml or .json (P-1), in byte
/// order. `stdin_text` is read for the path "-". Error (configuration): a missing or unreadable
/// file or folder, too large or too many.
base::Result<ManifestSet> load_manifests(const std::vector<std::string>& paths,
                                         std::string_view stdin_text = {});

}  // namespace kollect::pipeline
