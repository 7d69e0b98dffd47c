// What the two databases have in common for a reader: sessions that read one moment, statements
// whose texts are all parameters, answers row by row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"

namespace kollect::readstore {

/// A statement as it grows: SQL of our own, and every text from outside as a parameter.
class Query {
 public:
  explicit Query(bool postgres) : postgres_(postgres) {}
  Query& add(std::string_view sql) {
    sql_ += sql;
    return *this;
  }
  /// The same with SQL in front: EXPLAIN.
  [[nodiscard]] Query after(std::string_view sql) const {
    Query out = *this;
    out.sql_.insert(0, sql);
    return out;
  }
  /// The place of a new parameter, to be put into the SQL.
  std::string bind(std::string_view text);

  [[nodiscard]] const std::string& sql() const { return sql_; }
  [[nodiscard]] const std::vector<std::string>& parameters() const { return parameters_; }

 private:
  bool postgres_;
  std::string sql_;
  std::vector<std::string> parameters_;
};

/// An answer as it is being read.
class Rows {
 public:
  virtual ~Rows() = default;
  /// True: a row is there.
  virtual base::Result<bool> next() = 0;
  /// Of the current row, good until the next call; "" for null.
  [[nodiscard]] virtual std::string_view text(int column) const = 0;
  [[nodiscard]] std::uint64_t number(int column) const;
};

/// Which tables there are. Names are quoted.
struct Tables {
  std::string rows;
  std::string exports;    ///< empty: nobody writes down what was exported when
  std::string history;    ///< empty: none is kept
  std::string rows_name;  ///< unquoted, without schema
  bool by_place = false;  ///< indexes of index_statements() that are there
  bool by_name = false;
  bool by_export = false;
  std::string search;  ///< SQLite: the table that finds texts; empty: there is none
  std::vector<std::string> attributes;  ///< with an index of their own
};

/// A read transaction: everything that is asked in it is of one moment. One thread; answers die
/// before it.
class Session {
 public:
  virtual ~Session() = default;
  [[nodiscard]] virtual const Tables& tables() const = 0;
  /// `whole`: the answer is short; else it is taken in pieces.
  virtual base::Result<std::unique_ptr<Rows>> ask(const Query& query, bool whole) = 0;
};

/// Where the tables are. Thread-safe.
class Place {
 public:
  virtual ~Place() = default;
  [[nodiscard]] virtual bool postgres() const = 0;
  /// Waits at most as `context` says, which also ends every wait of the session. Errors: retryable
  /// (not there, nothing free), configuration (no such table).
  virtual base::Result<std::unique_ptr<Session>> open(const base::Context& context) = 0;
};

}  // namespace kollect::readstore
