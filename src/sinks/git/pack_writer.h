// Writes new objects into one pack file: a tree of 50,000 files is one file on disk, not 50,000.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sinks/git/oid.h"

namespace kollect::sinks::git {

/// Objects are compressed and appended one by one (format: git's pack format, version 2, whole
/// objects). Used by one thread; the file is removed with the writer.
class PackWriter {
 public:
  /// `exists` tells which objects the repository has already; they are not written.
  static base::Result<PackWriter> create(std::filesystem::path path,
                                         std::function<bool(const Oid&)> exists);
  PackWriter(PackWriter&&) noexcept;
  PackWriter& operator=(PackWriter&&) = delete;
  ~PackWriter();

  base::Result<> add(ObjectType type, const Oid& oid, const Pieces& content);
  /// Completes the file (count and checksum). Nothing may be added any more.
  base::Result<> finish();
  /// Moves the finished file to `folder` (objects/pack of a repository) and writes its index beside
  /// it, once: what the objects are called is known here, so
  /// nothing has to be unpacked and hashed again.
  base::Result<> install(const std::filesystem::path& folder);
  [[nodiscard]] std::uint32_t count() const;

 private:
  struct Impl;
  explicit PackWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::sinks::git
