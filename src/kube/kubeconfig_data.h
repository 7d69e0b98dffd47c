// What kubeconfig files say, merged but not yet judged. Internal to the room.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"
#include "base/yaml/read.h"
#include "kube/kubeconfig.h"

namespace kollect::kube {

/// A file and where its values stand, for messages.
struct ConfigSource {
  std::filesystem::path file;
  base::yaml::Places places;
};

/// The body of a named entry ("cluster", "user", "context") with its origin.
class ConfigEntry {
 public:
  ConfigEntry() = default;
  ConfigEntry(base::json::Value value, std::shared_ptr<const ConfigSource> source, std::string path)
      : value_(std::move(value)), source_(std::move(source)), path_(std::move(path)) {}

  [[nodiscard]] const base::json::Value& value() const { return value_; }
  [[nodiscard]] bool has(std::string_view key) const;
  /// Text of a member, "" when absent or null. Numbers and booleans count as their text. Error:
  /// another type.
  [[nodiscard]] base::Result<std::string> text(std::string_view key) const;
  [[nodiscard]] base::Result<bool> flag(std::string_view key) const;
  [[nodiscard]] base::Result<std::vector<std::string>> texts(std::string_view key) const;
  /// A member object as an entry of its own; empty when absent.
  [[nodiscard]] base::Result<std::optional<ConfigEntry>> child(std::string_view key) const;
  /// The elements of a member list as entries.
  [[nodiscard]] base::Result<std::vector<ConfigEntry>> children(std::string_view key) const;
  /// A path of the file, relative to the file's folder.
  [[nodiscard]] std::filesystem::path path_of(const std::string& text) const;
  [[nodiscard]] std::filesystem::path folder() const;
  /// "file:line:column: message", at the member `key` where it is known.
  [[nodiscard]] base::Error error(std::string_view key, std::string_view message) const;

 private:
  base::json::Value value_;
  std::shared_ptr<const ConfigSource> source_;
  std::string path_;
};

struct Kubeconfig::Impl {
  std::map<std::string, ConfigEntry> clusters;
  std::map<std::string, ConfigEntry> users;
  std::map<std::string, ConfigEntry> contexts;
  std::string current_context;
  std::string origin;  ///< names of the files, for messages
  /// Set for a mounted service account; then there is one context and no entries.
  std::optional<ClusterConfig> in_cluster;
};

/// Adds a file's entries that are not there yet. Errors: configuration, with place.
base::Result<> merge_file(Kubeconfig::Impl& into, const std::filesystem::path& file,
                          std::string_view text);

}  // namespace kollect::kube
