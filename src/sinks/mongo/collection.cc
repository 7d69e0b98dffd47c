#include "sinks/mongo/collection.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

namespace kollect::sinks::mongo {

namespace {

constexpr std::array<const char*, 5> kKey = {"cluster", "inventory_namespace", "inventory_name",
                                             "target_name", "source_uid"};
constexpr std::int64_t kNamespaceExists = 48;
constexpr std::int64_t kNamespaceNotFound = 26;

/// The names of an index' fields in order; empty when one of them is not ascending.
std::vector<std::string> fields_of(const bson_iter_t& key) {
  std::vector<std::string> out;
  bson_iter_t field;
  if (!bson_iter_recurse(&key, &field)) return out;
  while (bson_iter_next(&field)) {
    if (!BSON_ITER_HOLDS_NUMBER(&field) || bson_iter_as_double(&field) <= 0) return {};
    out.emplace_back(bson_iter_key(&field), bson_iter_key_len(&field));
  }
  return out;
}

/// True for a unique index over all documents that tells rows apart.
bool serves(const bson_t* index) {
  bson_iter_t at;
  if (!bson_iter_init_find(&at, index, "unique") || !bson_iter_as_bool(&at)) return false;
  if (bson_iter_init_find(&at, index, "partialFilterExpression")) return false;
  if (!bson_iter_init_find(&at, index, "key")) return false;
  std::vector<std::string> fields = fields_of(at);
  std::sort(fields.begin(), fields.end());
  std::vector<std::string> five(kKey.begin(), kKey.end());
  std::vector<std::string> four(kKey.begin() + 1, kKey.end());
  std::sort(five.begin(), five.end());
  std::sort(four.begin(), four.end());
  return fields == five || fields == four;
}

base::Result<bool> has_index(Client& client, const std::string& database,
                             const std::string& collection) {
  const std::string where = fmt::format("{}.{}", database, collection);
  const Handle<mongoc_collection_t> handle(
      mongoc_client_get_collection(client.get(), database.c_str(), collection.c_str()));
  const Handle<mongoc_cursor_t> cursor(
      mongoc_collection_find_indexes_with_opts(handle.get(), nullptr));
  const bson_t* index = nullptr;
  while (mongoc_cursor_next(cursor.get(), &index)) {
    if (serves(index)) return true;
  }
  bson_error_t error{};
  if (!mongoc_cursor_error(cursor.get(), &error)) return false;
  if (error.domain == MONGOC_ERROR_SERVER && error.code == kNamespaceNotFound) return false;
  return client.failed("looking at the indexes of", where, error);
}

base::Result<> create_index(Client& client, const std::string& database,
                            const std::string& collection) {
  Bson command;
  Bson reply;
  append_text(command.get(), "createIndexes", collection);
  bson_t list;
  bson_t index;
  bson_t key;
  BSON_APPEND_ARRAY_BEGIN(command.get(), "indexes", &list);
  BSON_APPEND_DOCUMENT_BEGIN(&list, "0", &index);
  BSON_APPEND_DOCUMENT_BEGIN(&index, "key", &key);
  for (const char* field : kKey) BSON_APPEND_INT32(&key, field, 1);
  bson_append_document_end(&index, &key);
  BSON_APPEND_UTF8(&index, "name", "kollect_rows");
  BSON_APPEND_BOOL(&index, "unique", true);
  bson_append_document_end(&list, &index);
  bson_append_array_end(command.get(), &list);
  auto made = client.command(fmt::format("creating the index of {}.{}", database, collection),
                             database, command, reply);
  if (!made.has_value() && made.error().reason == "duplicate-key") {
    return base::terminal(
        fmt::format("mongodb: the unique index of {}.{} cannot be made: the collection has a row "
                    "twice",
                    database, collection),
        "table-shape");
  }
  return made;
}

}  // namespace

base::Result<bool> collection_exists(Client& client, const std::string& database,
                                     const std::string& collection) {
  const Handle<mongoc_database_t> handle(
      mongoc_client_get_database(client.get(), database.c_str()));
  Bson options;
  bson_t filter;
  BSON_APPEND_DOCUMENT_BEGIN(options.get(), "filter", &filter);
  append_text(&filter, "name", collection);
  bson_append_document_end(options.get(), &filter);
  // Names can be asked for by users who may read some collections only.
  BSON_APPEND_BOOL(options.get(), "nameOnly", true);
  BSON_APPEND_BOOL(options.get(), "authorizedCollections", true);
  const Handle<mongoc_cursor_t> cursor(
      mongoc_database_find_collections_with_opts(handle.get(), options.get()));
  const bson_t* found = nullptr;
  while (mongoc_cursor_next(cursor.get(), &found)) {
    if (text_of(found, "name") == collection) return true;
  }
  bson_error_t error{};
  if (!mongoc_cursor_error(cursor.get(), &error)) return false;
  return client.failed("looking for", fmt::format("{}.{}", database, collection), error);
}

base::Result<> require_collection(Client& client, const std::string& database,
                                  const std::string& collection) {
  KL_ASSIGN(const bool there, collection_exists(client, database, collection));
  if (there) return {};
  return base::terminal(
      fmt::format("mongodb: collection {}.{} does not exist", database, collection),
      "table-missing");
}

base::Result<> ensure_collection(Client& client, const std::string& database,
                                 const std::string& collection) {
  KL_ASSIGN(const bool there, collection_exists(client, database, collection));
  if (!there) {
    Bson command;
    Bson reply;
    append_text(command.get(), "create", collection);
    bson_error_t error{};
    if (!mongoc_client_command_simple(client.get(), database.c_str(), command.get(), nullptr,
                                      reply.refill(), &error) &&
        !(error.domain == MONGOC_ERROR_SERVER && error.code == kNamespaceExists)) {
      return client.failed("creating", fmt::format("{}.{}", database, collection), error);
    }
  }
  auto indexed = has_index(client, database, collection);
  const bool may_not_look = !indexed.has_value() && indexed.error().reason == "forbidden";
  if (!indexed.has_value() && !may_not_look) return indexed.error();
  if (!may_not_look && *indexed) return {};
  auto made = create_index(client, database, collection);
  // Somebody else looks after a collection whose indexes we may neither see nor make.
  if (!made.has_value() && may_not_look && made.error().reason == "forbidden") return {};
  return made;
}

}  // namespace kollect::sinks::mongo
