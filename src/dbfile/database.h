// SQLite's handles as values; its error codes mapped once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/context.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kollect::dbfile {

/// A prepared statement. Belongs to its Database and dies before it. Text handed out by the column
/// functions is valid until the next step or reset.
class Statement {
 public:
  Statement() = default;

  /// Parameters from 1. Text is borrowed until the next reset.
  Statement& bind(int index, std::string_view text);
  Statement& bind(int index, std::int64_t value);
  Statement& bind_null(int index);

  /// True: a row is there. False: done; the statement is reset then and may be run again.
  base::Result<bool> step();
  /// Runs to the end, rows are dropped.
  base::Result<> run();
  void reset();

  enum class Type { kNull, kInteger, kReal, kText, kBlob };
  [[nodiscard]] int columns() const;
  [[nodiscard]] std::string column_name(int column) const;
  [[nodiscard]] Type type(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string_view text(int column) const;  ///< also of blobs, byte for byte
  [[nodiscard]] bool read_only() const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  const std::string* file_ = nullptr;
};

/// An open database file. Used by one thread at a time.
class Database {
 public:
  /// kImmutable reads a file that nobody changes, without the lock files that need a writable
  /// folder.
  enum class Mode { kReadOnly, kReadWrite, kImmutable };

  Database() = default;
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  /// kReadWrite creates the file and its folders (0755). Waits up to `busy_timeout` for locks of
  /// other processes. Errors: not_found, denied, configuration (no SQLite database).
  static base::Result<Database> open(const std::filesystem::path& file, Mode mode,
                                     base::Duration busy_timeout);

  /// Opens an existing file for reading, also where its folder is read-only.
  static base::Result<Database> open_for_reading(const std::filesystem::path& file,
                                                 base::Duration busy_timeout);

  /// Statements end early when `context` says so; it must outlive them. nullptr: no longer watched.
  void watch(const base::Context* context);

  /// Prepares the first statement of `sql`; `rest` receives what follows it.
  base::Result<Statement> prepare(std::string_view sql, std::string_view* rest = nullptr);
  /// Runs statements one after another.
  base::Result<> execute(std::string_view sql);
  [[nodiscard]] bool in_transaction() const;
  /// Error of a failed call, with the file's name.
  [[nodiscard]] base::Error error(int code) const;
  [[nodiscard]] sqlite3* handle() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Rolls back at the end of its life unless committed.
class Transaction {
 public:
  enum class Mode { kRead, kWrite };
  static base::Result<Transaction> begin(Database& database, Mode mode);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  base::Result<> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

/// A name in double quotes, quotes in it doubled.
std::string quote_name(std::string_view name);

}  // namespace kollect::dbfile
