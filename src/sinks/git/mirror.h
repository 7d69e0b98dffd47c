// The cache of fetched repositories: one bare repository per remote and branch (spec: sinks 7.3,
// K-24, K-27).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "sinks/files/folder.h"

namespace kollect::sinks::git {

/// Value of an environment variable, none when unset or empty.
using EnvironmentReader = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> read_environment(const char* name);

/// The cache folder, made when missing: `configured`, else KOLLECT_GIT_MIRROR_DIR, else below the
/// user's cache folder, else below the folder for temporary files. It must be a real folder of ours
/// that nobody else may write; a configured one that is not is an error (configuration), a default
/// one is passed over.
base::Result<std::filesystem::path> mirror_root(const std::filesystem::path& configured,
                                                const EnvironmentReader& environment);

/// A locked mirror. Only one exists per folder at a time, over all processes. A mirror that was not
/// given back by finish() (its user was killed) is thrown away by the next one.
class Mirror {
 public:
  /// Waits for the lock until the context ends. Also removes mirrors that were not used for 48
  /// hours.
  static base::Result<Mirror> open(const base::Context& context, const std::filesystem::path& root,
                                   const std::string& key);
  /// Name of the folder for a remote and branch.
  static std::string key(const std::string& url, const std::string& branch);

  [[nodiscard]] const std::filesystem::path& git_dir() const { return git_dir_; }
  /// Throws the contents away; the next ObjectStore starts anew.
  void discard();
  /// True when there are so many packs that looking things up takes time.
  [[nodiscard]] bool is_crowded() const;
  /// Keeps one pack with what the commits of the refs need, and no history. No ObjectStore that was
  /// opened before must be used afterwards. Error: retryable; the mirror is as good as before.
  base::Result<> compact(const base::Context& context);
  /// The mirror is in order.
  void finish();

 private:
  Mirror(std::filesystem::path git_dir, std::filesystem::path busy, Fd lock)
      : git_dir_(std::move(git_dir)), busy_(std::move(busy)), lock_(std::move(lock)) {}

  std::filesystem::path git_dir_;
  std::filesystem::path busy_;  // exists while the mirror is in use
  Fd lock_;
};

}  // namespace kollect::sinks::git
