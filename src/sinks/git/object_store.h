// Objects and refs of a bare repository, by libgit2.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sinks/git/oid.h"
#include "sinks/git/pack_writer.h"

namespace kollect::sinks::git {

constexpr unsigned kModeFile = 0100644;
constexpr unsigned kModeTree = 0040000;

struct TreeEntry {
  std::string name;
  unsigned mode = kModeFile;
  Oid oid;
};

/// One handle; used by one thread. Errors have the reason "damaged": the repository is a cache and
/// can be thrown away.
class ObjectStore {
 public:
  /// Opens a bare repository, making it when `path` does not exist.
  static base::Result<ObjectStore> open(const std::filesystem::path& path);
  ObjectStore(ObjectStore&&) noexcept;
  ObjectStore& operator=(ObjectStore&&) noexcept;
  ~ObjectStore();

  [[nodiscard]] base::Result<std::optional<Oid>> ref(const std::string& name) const;
  base::Result<> set_ref(const std::string& name, const Oid& oid);
  base::Result<> drop_ref(const std::string& name);  ///< one that is not there is no error
  [[nodiscard]] base::Result<Oid> tree_of_commit(const Oid& commit) const;
  /// Parents as the commit names them, whether they are there or not.
  [[nodiscard]] base::Result<std::vector<Oid>> parents_of_commit(const Oid& commit) const;
  [[nodiscard]] base::Result<std::vector<TreeEntry>> tree(const Oid& oid) const;
  /// Content of a blob, or its first bytes.
  [[nodiscard]] base::Result<std::string> blob(const Oid& oid, std::size_t most = SIZE_MAX) const;
  [[nodiscard]] bool exists(const Oid& oid) const;
  /// Makes a finished pack file part of the repository.
  base::Result<> take_pack(PackWriter& pack);
  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  struct Impl;
  explicit ObjectStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::sinks::git
