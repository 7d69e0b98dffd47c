// One export of one inventory into a bucket.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sinks/objects/body.h"
#include "sinks/objects/keys.h"
#include "sinks/objects/object_sink.h"

namespace kollect::sinks::objects {

/// What an object is known to hold.
struct Stored {
  std::string checksum;                       ///< "" when the object does not say it
  std::optional<base::WallTime> exported_at;  ///< the time in its bytes
};

/// What the bucket holds of an inventory after an export.
struct Memory {
  std::int64_t generation = 0;
  std::map<std::string, Stored> objects;  ///< by key, the manifest included
};

/// Runs once. Borrows everything.
class ObjectRun {
 public:
  /// `memory`: of the last export by this sink, null when the bucket must be asked. `taken`: keys
  /// of other exports of this run; grows.
  ObjectRun(const ObjectSinkOptions& options, const KeyTemplate& keys, Bucket& bucket,
            const base::Context& context, const Export& exp, const Memory* memory,
            std::set<std::string>& taken, bool dry_run, ExportReport& report);
  /// The set is known to differ from what `memory` says.
  void set_changed() { changed_ = true; }
  base::Result<Memory> run();

 private:
  struct Found {
    bool listed = false;  ///< false: the keys could not be listed
    std::map<std::string, std::optional<std::int64_t>>
        keys;  ///< of this inventory, all generations
  };

  base::Result<> survey();
  [[nodiscard]] std::optional<KeyPattern::Match> own(const KeyPattern& pattern,
                                                     const std::string& key) const;
  base::Result<> merge_kept_rows();
  [[nodiscard]] base::Result<std::vector<std::string>> documents_of_last_export();
  [[nodiscard]] bool same_generation(const std::optional<std::int64_t>& generation) const;
  base::Result<> put_documents();
  base::Result<> put_manifest();
  base::Result<> put(const std::string& key, const Encoder& encoder, Compression compression,
                     const Document& document, std::uint64_t rows);
  base::Result<std::optional<Stored>> stored(const std::string& key);
  base::Result<std::uint64_t> upload(const std::string& key, Rendering& rendering,
                                     const Rendering::Body& body, ObjectMeta meta);
  [[nodiscard]] ObjectMeta meta_of(const Encoder& encoder, Compression compression,
                                   const Document& document, const std::string& checksum) const;
  base::Result<> remove_stale();
  base::Result<> remove_old_generations();
  base::Result<> remove(const std::string& key);

  const ObjectSinkOptions& options_;
  const KeyTemplate& keys_;
  Bucket& bucket_;
  const base::Context& context_;
  Export exp_;
  const Memory* memory_;
  std::set<std::string>& taken_;
  bool dry_run_;
  bool changed_ = false;
  bool wrote_ = false;
  ExportReport& report_;

  std::string manifest_key_;
  Found found_;
  std::optional<inventory::RowSet> merged_;
  std::vector<std::string> written_;  ///< data keys in order
  Memory next_;
};

}  // namespace kollect::sinks::objects
