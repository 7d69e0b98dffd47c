// libpq's handles as values: every wait has a deadline and can be cancelled, errors are mapped
// once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"

struct pg_conn;
struct pg_result;

namespace kollect::pgsql {

/// Result of a statement. Texts live as long as it does.
class Answer {
 public:
  Answer() = default;
  explicit Answer(pg_result* handle) : handle_(handle) {}
  [[nodiscard]] int rows() const;
  /// Bytes of a field as they came: text, or the binary form if that was asked for; "" for null.
  [[nodiscard]] std::string_view field(int row, int column) const;
  [[nodiscard]] bool is_null(int row, int column) const;
  /// Rows that the statement inserted, updated or deleted.
  [[nodiscard]] std::uint64_t affected() const;
  [[nodiscard]] pg_result* handle() const { return handle_.get(); }

 private:
  struct Clear {
    void operator()(pg_result* handle) const;
  };
  std::unique_ptr<pg_result, Clear> handle_;
};

/// One libpq parameter ("host", "sslmode", ...).
struct Setting {
  std::string name;
  std::string value;
};

/// A session. Used by one thread at a time. After an error that lost the connection, or a wait that
/// its context cut short, the session is dead: alive() is false and the server rolls back.
class Connection {
 public:
  enum class Format { kText, kBinary };

  /// Connects with exactly these settings (one host). Errors: as connect_error; cancelled.
  static base::Result<Connection> open(const base::Context& context,
                                       const std::vector<Setting>& settings);

  /// One statement or several without parameters; the answer is that of the last one. `doing` and
  /// where() name it in errors ("writing rows to").
  base::Result<Answer> run(const base::Context& context, std::string_view doing,
                           const std::string& sql);
  /// One statement with text parameters.
  base::Result<Answer> query(const base::Context& context, std::string_view doing,
                             const std::string& sql, const std::vector<std::string>& parameters,
                             Format format = Format::kText);

  /// COPY ... FROM STDIN. Between begin and end only copy_data; after an error neither.
  base::Result<> copy_begin(const base::Context& context, std::string_view doing,
                            const std::string& sql);
  base::Result<> copy_data(const base::Context& context, std::string_view bytes);
  base::Result<> copy_end(const base::Context& context);

  /// Ends a transaction that failed, a COPY in it included. Does nothing on a dead session.
  void roll_back(const base::Context& context);

  /// How many notifications (LISTEN) came since the last call; waits for nothing. Error: the
  /// connection is lost.
  base::Result<std::size_t> take_notifications();

  [[nodiscard]] bool alive() const { return alive_; }
  [[nodiscard]] int server_version() const;
  /// False: a statement that is given up is not cancelled but left to the server's own limits.
  /// Asking it to cancel waits for it without a limit of our own (libpq).
  void set_cancels(bool cancels) { cancels_ = cancels; }
  /// Table that errors name.
  void set_where(std::string where) { where_ = std::move(where); }

 private:
  struct Finish {
    void operator()(pg_conn* handle) const;
  };
  explicit Connection(pg_conn* handle) : handle_(handle) {}
  base::Result<> wait(const base::Context& context, bool for_write);
  base::Result<> flush(const base::Context& context);
  base::Result<Answer> next_answer(const base::Context& context, std::string_view doing);
  base::Result<Answer> last_answer(const base::Context& context, std::string_view doing);
  base::Error lost(std::string_view doing);
  void give_up();

  std::unique_ptr<pg_conn, Finish> handle_;
  bool alive_ = true;
  std::string where_;
  std::string copying_;
  bool in_copy_ = false;
  bool cancels_ = true;
};

/// A name in double quotes, quotes in it doubled.
std::string quote_name(std::string_view name);

}  // namespace kollect::pgsql
