#include "sinks/mongo/writer.h"

namespace kollect::sinks::mongo {

namespace {

constexpr std::int32_t kDuplicateKey = 11000;

/// True when nothing but duplicate keys went wrong.
bool only_duplicates(const bson_t* reply) {
  bson_iter_t at;
  bson_iter_t list;
  if (!bson_iter_init_find(&at, reply, "writeErrors") || !bson_iter_recurse(&at, &list)) {
    return false;
  }
  bool any = false;
  while (bson_iter_next(&list)) {
    bson_iter_t error;
    if (!bson_iter_recurse(&list, &error) || !bson_iter_find(&error, "code") ||
        bson_iter_as_int64(&error) != kDuplicateKey) {
      return false;
    }
    any = true;
  }
  return any;
}

}  // namespace

void append_row_key(bson_t* filter, const Partition& partition, std::string_view target_name,
                    std::string_view source_uid) {
  append_partition(filter, partition);
  append_text(filter, "target_name", target_name);
  append_text(filter, "source_uid", source_uid);
}

Writer::Writer(Work& work, const Partition& partition)
    : work_(work), partition_(partition), collection_(work.open()) {}

base::Result<> Writer::insert(const RowDocument& row) {
  return add(Kind::kInsert, inserts_, row.get());
}

base::Result<> Writer::replace(const RowDocument& row) {
  return add(Kind::kReplace, replaces_, row.get());
}

base::Result<> Writer::remove(std::string_view target_name, std::string_view source_uid) {
  Bson filter;
  append_row_key(filter.get(), partition_, target_name, source_uid);
  return add(Kind::kRemove, removes_, filter.get());
}

base::Result<> Writer::add(Kind kind, Batch& batch, const bson_t* document) {
  if (batch.bytes + document->len > work_.limits.bytes) KL_TRY(flush(kind, batch));
  auto copy = std::make_unique<Bson>();
  bson_concat(copy->get(), document);
  batch.bytes += document->len;
  batch.documents.push_back(std::move(copy));
  return batch.documents.size() < work_.limits.operations ? base::Result<>() : flush(kind, batch);
}

base::Result<> Writer::finish() {
  KL_TRY(flush(Kind::kInsert, inserts_));
  KL_TRY(flush(Kind::kReplace, replaces_));
  return flush(Kind::kRemove, removes_);
}

base::Result<> Writer::flush(Kind kind, Batch& batch) {
  if (batch.documents.empty()) return {};
  KL_TRY(work_.context.check());
  KL_TRY(execute(kind, batch));
  batch = {};
  return {};
}

base::Result<> Writer::execute(Kind kind, const Batch& batch) {
  Bson unordered;
  BSON_APPEND_BOOL(unordered.get(), "ordered", false);
  const Handle<mongoc_bulk_operation_t> bulk(
      mongoc_collection_create_bulk_operation_with_opts(collection_.get(), unordered.get()));
  Bson plain;  // our documents need no check of their keys
  BSON_APPEND_BOOL(plain.get(), "validate", false);
  Bson upsert;
  bson_concat(upsert.get(), plain.get());
  BSON_APPEND_BOOL(upsert.get(), "upsert", true);
  bson_error_t error{};
  for (const auto& document : batch.documents) {
    bool added = false;
    if (kind == Kind::kInsert) {
      added =
          mongoc_bulk_operation_insert_with_opts(bulk.get(), document->get(), plain.get(), &error);
    } else if (kind == Kind::kReplace) {
      Bson filter;
      append_row_key(filter.get(), partition_, text_of(document->get(), "target_name"),
                     text_of(document->get(), "source_uid"));
      added = mongoc_bulk_operation_replace_one_with_opts(bulk.get(), filter.get(), document->get(),
                                                          upsert.get(), &error);
    } else {
      added =
          mongoc_bulk_operation_remove_one_with_opts(bulk.get(), document->get(), nullptr, &error);
    }
    if (!added) return work_.client.failed("preparing rows for", work_.where(), error);
  }
  Bson reply;
  if (mongoc_bulk_operation_execute(bulk.get(), reply.refill(), &error) != 0) {
    bson_iter_t at;
    if (bson_iter_init_find(&at, reply.get(), "nRemoved")) {
      removed_ += static_cast<std::uint64_t>(bson_iter_as_int64(&at));
    }
    return {};
  }
  // Another writer was faster, or the last try of this batch got through without its answer.
  if (kind == Kind::kInsert && only_duplicates(reply.get())) return execute(Kind::kReplace, batch);
  return work_.client.failed(kind == Kind::kRemove ? "removing rows from" : "writing rows to",
                             work_.where(), error);
}

}  // namespace kollect::sinks::mongo
