// .kollect-manifest.json: what runs wrote into a folder, per cluster and target (pipeline L-60).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "sinks/sink.h"

namespace kollect::sinks {

inline constexpr const char* kFolderManifest = ".kollect-manifest.json";

/// Value type. Paths are relative to the folder and checked when read.
struct FolderManifest {
  struct Key {
    std::string cluster;
    InventoryId inventory;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::set<std::string, std::less<>>> entries;

  /// Empty when the text is none of ours: then nothing is owned.
  static FolderManifest parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  /// True when an entry other than `key` lists the path.
  [[nodiscard]] bool owned_by_other(const Key& key, std::string_view path) const;
  bool operator==(const FolderManifest&) const = default;
};

}  // namespace kollect::sinks
