// A database of its own for every test, and a look into it. Only for *mongotest.cc files.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "sinks/mongo/handles.h"
#include "sinks/mongo/mongo_sink.h"
#include "sinks/rows/contract.h"
#include "sinks/rows/fixture.h"
#include "support/mongo_server.h"

namespace kollect::sinks::mongo {

using rows::contract::kStart;
using rows::contract::Lines;
using rows::contract::set_of;
using rows::contract::TestRow;

/// A client of somebody else.
class Stranger {
 public:
  Stranger(const kollect::testing::MongoServer& server, std::string database)
      : database_(std::move(database)) {
    mongoc_init();
    const std::string uri = fmt::format("{}&tlsCAFile={}", server.uri(), server.ca_file().string());
    client_.reset(mongoc_client_new(uri.c_str()));
    EXPECT_NE(client_, nullptr);
  }

  [[nodiscard]] Handle<mongoc_collection_t> open(const std::string& name) const {
    return Handle<mongoc_collection_t>(
        mongoc_client_get_collection(client_.get(), database_.c_str(), name.c_str()));
  }
  /// Relaxed extended JSON of all documents, by source_uid; without _id.
  [[nodiscard]] Lines documents(const std::string& collection = "inventory") const {
    Lines out;
    for_each(collection, [&](const bson_t* document) {
      Bson copy;
      bson_copy_to_excluding_noinit(document, copy.get(), "_id", nullptr);
      char* text = bson_as_relaxed_extended_json(copy.get(), nullptr);
      out.emplace_back(text);
      bson_free(text);
    });
    return out;
  }
  template <class Visit>
  void for_each(const std::string& collection, const Visit& visit) const {
    const auto handle = open(collection);
    Bson filter;
    Bson options;
    bson_t sort;
    BSON_APPEND_DOCUMENT_BEGIN(options.get(), "sort", &sort);
    BSON_APPEND_INT32(&sort, "source_uid", 1);
    bson_append_document_end(options.get(), &sort);
    const Handle<mongoc_cursor_t> cursor(
        mongoc_collection_find_with_opts(handle.get(), filter.get(), options.get(), nullptr));
    const bson_t* document = nullptr;
    while (mongoc_cursor_next(cursor.get(), &document)) visit(document);
    bson_error_t error{};
    EXPECT_FALSE(mongoc_cursor_error(cursor.get(), &error)) << error.message;
  }
  /// Runs a command given as extended JSON.
  void run(const std::string& command) const {
    bson_error_t error{};
    Bson document;
    bson_destroy(document.get());
    ASSERT_TRUE(bson_init_from_json(document.get(), command.data(), length_of(command), &error))
        << error.message;
    Bson reply;
    EXPECT_TRUE(mongoc_client_command_simple(client_.get(), database_.c_str(), document.get(),
                                             nullptr, reply.refill(), &error))
        << error.message;
  }
  void insert(const std::string& collection, const std::string& json) const {
    run(fmt::format(R"({{"insert":"{}","documents":[{}]}})", collection, json));
  }
  /// Names of the fields of all indexes but that of _id, "!" before unique ones.
  [[nodiscard]] Lines indexes(const std::string& collection = "inventory") const {
    Lines out;
    const auto handle = open(collection);
    const Handle<mongoc_cursor_t> cursor(
        mongoc_collection_find_indexes_with_opts(handle.get(), nullptr));
    const bson_t* index = nullptr;
    while (mongoc_cursor_next(cursor.get(), &index)) {
      bson_iter_t at;
      bson_iter_t field;
      std::string line;
      if (bson_iter_init_find(&at, index, "unique")) line = "!";
      bson_iter_init_find(&at, index, "key");
      bson_iter_recurse(&at, &field);
      while (bson_iter_next(&field)) line += fmt::format("{},", bson_iter_key(&field));
      if (line != "_id,") out.push_back(line);
    }
    return out;
  }

 private:
  std::string database_;
  Handle<mongoc_client_t> client_;
};

inline std::string fresh_database() {
  static std::atomic<int> number = 0;
  return fmt::format("sink-{}", number++);
}

inline MongoOptions options_for(const kollect::testing::MongoServer& server,
                                const std::string& database) {
  MongoOptions out;
  out.access.uri = base::Secret(server.uri());
  out.access.ca_pem = base::read_file(server.ca_file()).value_or("");
  out.database = database;
  out.collection = "inventory";
  return out;
}

class MongoFixture : public rows::contract::RowSinkFixture {
 protected:
  explicit MongoFixture(
      kollect::testing::MongoServer& server = kollect::testing::MongoServer::shared())
      : server_(server), options_(options_for(server, fresh_database())) {}

  [[nodiscard]] Stranger stranger() const { return {server_, options_.database}; }
  [[nodiscard]] std::unique_ptr<Sink> new_sink() const override {
    return make_mongo_sink(options_);
  }
  std::size_t count() const { return stranger().documents().size(); }

  kollect::testing::MongoServer& server_;
  MongoOptions options_;
};

}  // namespace kollect::sinks::mongo
