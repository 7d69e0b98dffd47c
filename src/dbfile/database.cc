#include "dbfile/database.h"

#include <cerrno>
#include <chrono>
#include <system_error>

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::dbfile {

namespace {

namespace fs = std::filesystem;

/// Instructions of SQLite's machine between two questions to the context.
constexpr int kProgressSteps = 20'000;

std::string_view code_text(int code) {
  return sqlite3_errstr(code);
}

base::Error map_error(sqlite3* handle, int code, const std::string& file) {
  const int primary = code & 0xFF;
  const int system_error = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  const bool disk_full =
      primary == SQLITE_FULL ||
      ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) &&
       (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG));
  if (disk_full) {
    // Somebody may make room: then work goes on by itself.
    return base::retryable(
        fmt::format("cannot write {}: no space left; its last state is kept", file), "disk-full");
  }
  const std::string detail =
      handle != nullptr ? sqlite3_errmsg(handle) : std::string(code_text(code));
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return base::retryable(fmt::format("{} is in use by another process", file), "busy");
    case SQLITE_NOTADB:
      return base::configuration(fmt::format("{} is no SQLite database", file));
    case SQLITE_CORRUPT:
      return base::terminal(fmt::format("{} is damaged: {}", file, detail), "corrupt");
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return base::denied(fmt::format("cannot write {}: {}", file, detail));
    case SQLITE_IOERR:
      return base::retryable(
          fmt::format("{}: {}", file,
                      system_error != 0 ? std::generic_category().message(system_error) : detail),
          "io-error");
    case SQLITE_INTERRUPT:
      return base::cancelled(fmt::format("{}: interrupted", file), "cancelled");
    case SQLITE_CANTOPEN:
      return base::terminal(
          fmt::format("cannot open {}: {}", file,
                      system_error != 0 ? std::generic_category().message(system_error) : detail));
    case SQLITE_ERROR:
      return base::configuration(fmt::format("{}: {}", file, detail));
    default:
      return base::terminal(fmt::format("{}: {}", file, detail));
  }
}

/// SQLite 3.40 finds nothing when it puts a Bloom filter before an index on an expression, which it
/// does where statistics (ANALYZE) call the table small: joins go without such filters.
constexpr unsigned kBloomFilter = 0x00080000;

int ask_context(void* context) {
  return static_cast<const base::Context*>(context)->check().has_value() ? 0 : 1;
}

/// What open(2) would have said: SQLite knows only that it cannot.
base::Result<> check_file(const fs::path& file, Database::Mode mode) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::directory) {
    return base::configuration(fmt::format("{} is a folder, no file", file.string()));
  }
  if (mode != Database::Mode::kReadWrite) {
    if (status.type() == fs::file_type::not_found) {
      return base::not_found(fmt::format("there is no file {}", file.string()));
    }
    return {};
  }
  if (file.has_parent_path()) {
    fs::create_directories(file.parent_path(), error);
    if (error) {
      const std::string message =
          fmt::format("cannot create folder {}: {}", file.parent_path().string(), error.message());
      return error == std::errc::permission_denied ? base::denied(message)
                                                   : base::terminal(message);
    }
  }
  return {};
}

}  // namespace

struct Database::State {
  sqlite3* handle = nullptr;
  std::string file;
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { sqlite3_close(handle); }
};

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement& Statement::bind(int index, std::string_view text) {
  sqlite3_bind_text64(handle_.get(), index, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(handle_.get(), index, value);
  return *this;
}

Statement& Statement::bind_null(int index) {
  sqlite3_bind_null(handle_.get(), index);
  return *this;
}

base::Result<bool> Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  base::Error error = map_error(sqlite3_db_handle(handle_.get()), code, *file_);
  reset();
  return error;
}

base::Result<> Statement::run() {
  while (true) {
    KL_ASSIGN(const bool more, step());
    if (!more) {
      return {};
    }
  }
}

void Statement::reset() {
  sqlite3_reset(handle_.get());
}

int Statement::columns() const {
  return sqlite3_column_count(handle_.get());
}

std::string Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(handle_.get(), column);
  return name == nullptr ? std::string() : name;
}

Statement::Type Statement::type(int column) const {
  switch (sqlite3_column_type(handle_.get(), column)) {
    case SQLITE_INTEGER:
      return Type::kInteger;
    case SQLITE_FLOAT:
      return Type::kReal;
    case SQLITE_TEXT:
      return Type::kText;
    case SQLITE_BLOB:
      return Type::kBlob;
    default:
      return Type::kNull;
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(handle_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(handle_.get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
  const int size = sqlite3_column_bytes(handle_.get(), column);
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(size));
}

bool Statement::read_only() const {
  return sqlite3_stmt_readonly(handle_.get()) != 0;
}

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

base::Result<Database> Database::open(const fs::path& file, Mode mode,
                                      base::Duration busy_timeout) {
  KL_TRY(check_file(file, mode));
  Database database;
  database.state_ = std::make_unique<State>();
  database.state_->file = file.string();
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = file.string();
  switch (mode) {
    case Mode::kReadOnly:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Mode::kReadWrite:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Mode::kImmutable: {
      std::error_code ignored;
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      name = "file:" +
             base::replace_all(base::percent_encode(fs::absolute(file, ignored).string()), "%2F",
                               "/") +
             "?immutable=1";
      break;
    }
  }
  if (const int code = sqlite3_open_v2(name.c_str(), &database.state_->handle, flags, nullptr);
      code != SQLITE_OK) {
    return database.error(code);
  }
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(busy_timeout).count();
  sqlite3_busy_timeout(database.handle(), static_cast<int>(milliseconds));
  sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_test_control(SQLITE_TESTCTRL_OPTIMIZATIONS, database.handle(), kBloomFilter);
  // Reads the first page: tells at once when this is no database.
  KL_TRY(database.execute("PRAGMA schema_version"));
  return database;
}

base::Result<Database> Database::open_for_reading(const fs::path& file,
                                                  base::Duration busy_timeout) {
  auto opened = open(file, Mode::kReadOnly, busy_timeout);
  std::error_code ignored;
  fs::path log = file;
  log += "-wal";
  const bool log_has_data = fs::exists(log, ignored) && fs::file_size(log, ignored) > 0;
  const bool folder_may_be_read_only =
      !opened && opened.error().kind != base::ErrorKind::kNotFound && opened.error().reason.empty();
  if (folder_may_be_read_only && !log_has_data) {
    if (auto immutable = open(file, Mode::kImmutable, busy_timeout)) {
      return immutable;
    }
  }
  return opened;
}

void Database::watch(const base::Context* context) {
  sqlite3_progress_handler(handle(), context == nullptr ? 0 : kProgressSteps,
                           context == nullptr ? nullptr : ask_context,
                           const_cast<base::Context*>(context));
}

base::Result<Statement> Database::prepare(std::string_view sql, std::string_view* rest) {
  sqlite3_stmt* handle = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v3(state_->handle, sql.data(), static_cast<int>(sql.size()), 0,
                                      &handle, &tail);
  Statement statement;
  statement.handle_.reset(handle);
  statement.file_ = &state_->file;
  if (code != SQLITE_OK) {
    return error(code);
  }
  if (rest != nullptr) {
    *rest = sql.substr(static_cast<std::size_t>(tail - sql.data()));
  }
  return statement;
}

base::Result<> Database::execute(std::string_view sql) {
  while (true) {
    std::string_view rest;
    KL_ASSIGN(Statement statement, prepare(sql, &rest));
    if (statement.handle_ == nullptr) {  // white space and comments
      return {};
    }
    KL_TRY(statement.run());
    sql = rest;
  }
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(handle()) == 0;
}

base::Error Database::error(int code) const {
  return map_error(state_->handle, code, state_->file);
}

sqlite3* Database::handle() const {
  return state_ == nullptr ? nullptr : state_->handle;
}

base::Result<Transaction> Transaction::begin(Database& database, Mode mode) {
  KL_TRY(database.execute(mode == Mode::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // SQLite itself rolls back on some errors (full disk); then there is nothing left to do.
  if (database_ != nullptr && database_->in_transaction()) {
    database_->watch(nullptr);
    if (const auto rolled_back = database_->execute("ROLLBACK"); !rolled_back) {
      return;  // closing the file does it
    }
  }
}

base::Result<> Transaction::commit() {
  KL_TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

std::string quote_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    out += c;
    if (c == '"') {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace kollect::dbfile
