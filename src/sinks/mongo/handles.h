// Owners of libmongoc's and libbson's objects.
#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <string_view>

namespace kollect::sinks::mongo {

struct Destroy {
  void operator()(mongoc_uri_t* handle) const { mongoc_uri_destroy(handle); }
  void operator()(mongoc_client_t* handle) const { mongoc_client_destroy(handle); }
  void operator()(mongoc_database_t* handle) const { mongoc_database_destroy(handle); }
  void operator()(mongoc_collection_t* handle) const { mongoc_collection_destroy(handle); }
  void operator()(mongoc_cursor_t* handle) const { mongoc_cursor_destroy(handle); }
  void operator()(mongoc_read_prefs_t* handle) const { mongoc_read_prefs_destroy(handle); }
  void operator()(mongoc_write_concern_t* handle) const { mongoc_write_concern_destroy(handle); }
  void operator()(mongoc_bulk_operation_t* handle) const { mongoc_bulk_operation_destroy(handle); }
};
template <class T>
using Handle = std::unique_ptr<T, Destroy>;

/// A document. Not moved and not copied: small ones live inside the object.
class Bson {
 public:
  Bson() { bson_init(&value_); }
  Bson(const Bson&) = delete;
  Bson& operator=(const Bson&) = delete;
  ~Bson() { bson_destroy(&value_); }
  [[nodiscard]] bson_t* get() { return &value_; }
  [[nodiscard]] const bson_t* get() const { return &value_; }
  [[nodiscard]] std::size_t size() const { return value_.len; }
  void clear() { bson_reinit(&value_); }
  /// For functions that fill an uninitialised reply.
  [[nodiscard]] bson_t* refill() {
    bson_destroy(&value_);
    return &value_;
  }

 private:
  bson_t value_{};
};

inline int length_of(std::string_view text) {
  return static_cast<int>(text.size());
}

inline void append_text(bson_t* to, std::string_view key, std::string_view text) {
  // A null pointer would make it a null.
  bson_append_utf8(to, key.data(), length_of(key), text.empty() ? "" : text.data(),
                   length_of(text));
}

/// Text of a string element, "" for every other type.
inline std::string_view text_of(const bson_iter_t& at) {
  if (!BSON_ITER_HOLDS_UTF8(&at)) return {};
  std::uint32_t size = 0;
  const char* text = bson_iter_utf8(&at, &size);
  return {text, size};
}

/// Text of a document's member, "" when it is missing.
inline std::string_view text_of(const bson_t* document, const char* key) {
  bson_iter_t at;
  return bson_iter_init_find(&at, document, key) ? text_of(at) : std::string_view();
}

}  // namespace kollect::sinks::mongo
