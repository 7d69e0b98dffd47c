#include "readstore/sqlite_place.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "dbfile/database.h"
#include "readstore/indexes.h"

namespace kollect::readstore {

namespace {

namespace fs = std::filesystem;
using dbfile::Database;
using dbfile::Statement;

constexpr auto kBusy = std::chrono::seconds(5);
/// Open files that wait for the next session.
constexpr std::size_t kKept = 8;

/// Pages of the file that a session keeps, in KiB with a minus.
constexpr std::string_view kCache = "PRAGMA cache_size = -16384";

/// Which file it is, whatever its name.
struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileId&) const = default;
};

std::optional<FileId> id_of(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return std::nullopt;
  return FileId{found.st_dev, found.st_ino};
}

struct Handle {
  FileId id;
  Database database;
};

/// Files that are open and not in use.
class Shelf {
 public:
  std::optional<Handle> take(const FileId& id) {
    const std::lock_guard lock(mutex_);
    while (!handles_.empty()) {
      Handle out = std::move(handles_.back());
      handles_.pop_back();
      if (out.id == id) return out;  // those of a file that was replaced are closed
    }
    return std::nullopt;
  }
  void put(Handle handle) {
    const std::lock_guard lock(mutex_);
    if (handles_.size() < kKept) handles_.push_back(std::move(handle));
  }

 private:
  std::mutex mutex_;
  std::vector<Handle> handles_;
};

class SqliteRows final : public Rows {
 public:
  SqliteRows(Statement statement, std::vector<std::string> parameters)
      : parameters_(std::move(parameters)), statement_(std::move(statement)) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      statement_.bind(static_cast<int>(i) + 1, parameters_[i]);
    }
  }
  base::Result<bool> next() override { return statement_.step(); }
  [[nodiscard]] std::string_view text(int column) const override { return statement_.text(column); }

 private:
  std::vector<std::string> parameters_;  ///< the statement borrows them
  Statement statement_;
};

class SqliteSession final : public Session {
 public:
  SqliteSession(base::Context context, Handle handle, std::shared_ptr<Shelf> shelf)
      : context_(std::move(context)), handle_(std::move(handle)), shelf_(std::move(shelf)) {
    handle_.database.watch(&context_);
  }
  SqliteSession(const SqliteSession&) = delete;
  SqliteSession& operator=(const SqliteSession&) = delete;
  ~SqliteSession() override {
    transaction_.reset();
    handle_.database.watch(nullptr);
    if (shelf_ && !handle_.database.in_transaction()) shelf_->put(std::move(handle_));
  }

  base::Result<> begin(const SqliteStore& store) {
    KL_ASSIGN(auto transaction,
              dbfile::Transaction::begin(handle_.database, dbfile::Transaction::Mode::kRead));
    transaction_.emplace(std::move(transaction));
    KL_ASSIGN(auto names,
              handle_.database.prepare(
                  "SELECT type, name FROM sqlite_master WHERE type = 'table' OR (type = "
                  "'index' AND tbl_name = ?1)"));
    names.bind(1, store.table);
    while (true) {
      KL_ASSIGN(const bool more, names.step());
      if (!more) break;
      note(store.table, names.text(0) == "table", names.text(1));
    }
    tables_.rows_name = store.table;
    if (tables_.rows.empty()) {
      return base::configuration(
          fmt::format(
              "{} has no table {}; name the table as its sink does (sqlite:FILE?table=NAME)",
              store.file.string(), store.table),
          "NoTable");
    }
    return {};
  }

  [[nodiscard]] const Tables& tables() const override { return tables_; }
  base::Result<std::unique_ptr<Rows>> ask(const Query& query, bool /*whole*/) override {
    KL_TRY(context_.check());
    KL_ASSIGN(Statement statement, handle_.database.prepare(query.sql()));
    return std::make_unique<SqliteRows>(std::move(statement), query.parameters());
  }

 private:
  void note(const std::string& table, bool is_table, std::string_view name) {
    if (is_table) {
      if (name == table) tables_.rows = dbfile::quote_name(name);
      if (name == table + "_exports") tables_.exports = dbfile::quote_name(name);
      if (name == table + "_by_search") tables_.search = dbfile::quote_name(name);
      if (name == table + "_history") tables_.history = dbfile::quote_name(name);
      return;
    }
    if (!name.starts_with(table)) return;
    note_index(tables_, name.substr(table.size()));
  }

  base::Context context_;
  Handle handle_;
  std::shared_ptr<Shelf> shelf_;  ///< none: the handle is for this session alone
  Tables tables_;
  std::optional<dbfile::Transaction> transaction_;
};

class SqlitePlace final : public Place {
 public:
  explicit SqlitePlace(SqliteStore store) : store_(std::move(store)) {}
  [[nodiscard]] bool postgres() const override { return false; }

  base::Result<std::unique_ptr<Session>> open(const base::Context& context) override {
    KL_TRY(context.check());
    const auto id = id_of(store_.file);
    if (!id) {
      return base::retryable(fmt::format("there is no file {}", store_.file.string()),
                             "StoreUnavailable");
    }
    auto handle = shelf_->take(*id);
    std::shared_ptr<Shelf> back = shelf_;
    if (!handle) {
      auto database = Database::open(store_.file, Database::Mode::kReadOnly, kBusy);
      if (!database && database.error().reason.empty()) {
        // A folder that may not be written to: the file is read as it is, anew each time, for
        // nobody tells when it changes.
        database = Database::open_for_reading(store_.file, kBusy);
        back.reset();
      }
      if (!database) return database.error();
      KL_TRY(database->execute(kCache));
      handle.emplace(Handle{*id, std::move(*database)});
    }
    auto session = std::make_unique<SqliteSession>(context, std::move(*handle), std::move(back));
    KL_TRY(session->begin(store_));
    return session;
  }

 private:
  SqliteStore store_;
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

}  // namespace

std::unique_ptr<Place> sqlite_place(SqliteStore store) {
  return std::make_unique<SqlitePlace>(std::move(store));
}

}  // namespace kollect::readstore
