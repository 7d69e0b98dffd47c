// Batches of unordered writes (spec: sinks 12; K-44).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sinks/mongo/client.h"
#include "sinks/mongo/document.h"

namespace kollect::sinks::mongo {

/// One collection in the course of a pass.
struct Work {
  const base::Context& context;
  Client& client;
  const std::string& database;
  const std::string& collection;
  BatchLimits limits;
  [[nodiscard]] std::string where() const { return database + "." + collection; }
  [[nodiscard]] Handle<mongoc_collection_t> open() const {
    return Handle<mongoc_collection_t>(
        mongoc_client_get_collection(client.get(), database.c_str(), collection.c_str()));
  }
};

/// Collects rows; a full batch is written at once, so memory does not grow with the set.
class Writer {
 public:
  Writer(Work& work, const Partition& partition);

  /// A row whose key the collection does not hold: an insert. Where another writer was faster, the
  /// row is replaced.
  base::Result<> insert(const RowDocument& row);
  /// A row that differs.
  base::Result<> replace(const RowDocument& row);
  /// A row that goes. Rows to write must be finished first.
  base::Result<> remove(std::string_view target_name, std::string_view source_uid);
  /// Writes what is left.
  base::Result<> finish();

  [[nodiscard]] std::uint64_t removed() const { return removed_; }

 private:
  /// Operations of one kind: documents, or filters of removals.
  struct Batch {
    std::vector<std::unique_ptr<Bson>> documents;
    std::size_t bytes = 0;
  };
  enum class Kind { kInsert, kReplace, kRemove };

  base::Result<> add(Kind kind, Batch& batch, const bson_t* document);
  base::Result<> flush(Kind kind, Batch& batch);
  base::Result<> execute(Kind kind, const Batch& batch);

  Work& work_;
  const Partition& partition_;
  Handle<mongoc_collection_t> collection_;
  Batch inserts_;
  Batch replaces_;
  Batch removes_;
  std::uint64_t removed_ = 0;
};

/// {cluster, inventory_namespace, inventory_name, target_name, source_uid}.
void append_row_key(bson_t* filter, const Partition& partition, std::string_view target_name,
                    std::string_view source_uid);

}  // namespace kollect::sinks::mongo
