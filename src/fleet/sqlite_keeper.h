// A fleet in a file of SQLite (spec: fleet-api 10.1): the four tables of the reference, so that its
// files can be taken over, and tables of ours for versions, tombstones and the audit trail.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "dbfile/database.h"
#include "fleet/fleet.h"
#include "fleet/sqlite_polls.h"

namespace kollect::fleet {

class SqliteKeeper final : public Keeper {
 public:
  /// Opens the file, makes what is missing. `create`: the file too. Errors: as Database::open.
  static base::Result<std::unique_ptr<SqliteKeeper>> open(const std::filesystem::path& file,
                                                          bool create);
  /// True until records were there once: an emptied store is not a new one.
  base::Result<bool> is_new();
  /// Fills a new store; records whose id is there already are left alone.
  base::Result<> seed(const Content& content);
  /// Records that cannot be read are named in the log (may be null) and left out.
  base::Result<Content> load(const base::Logger* log);

  /// One transaction: the news, then records, versions, tombstones and audit entries.
  base::Result<News> begin() override;
  base::Result<> keep(std::span<const Change> changes) override;
  void abandon() override { transaction_.reset(); }
  /// The audit trail tells what others changed; a file that changed without it (an older server
  /// wrote) is read anew.
  base::Result<News> look() override;
  base::Result<base::json::Array> audit(const AuditQuery& query) override;
  /// In a file of their own: FILE.polls.
  [[nodiscard]] bool keeps_polls() const override { return true; }
  base::Result<> add_polls(const PollNotes& notes) override;
  base::Result<PollNotes> polls() override;

 private:
  SqliteKeeper(dbfile::Database database, std::filesystem::path polls_file)
      : database_(std::move(database)), polls_file_(std::move(polls_file)) {}
  base::Result<> write_record(Family family, const std::string& id, const base::json::Value* record,
                              std::uint64_t version);
  base::Result<> write_tombstone(const Change& change);
  base::Result<> write_audit(const Change& change);

  base::Result<News> news();
  base::Result<std::vector<Change>> trail();
  base::Result<Content> content(const base::Logger* log);
  base::Result<std::int64_t> number(std::string_view query);
  /// Files of servers that knew no batches.
  base::Result<> add_batch_column();
  /// Prepared once: a batch writes the same statements again and again.
  base::Result<dbfile::Statement*> prepared(const std::string& query);

  dbfile::Database database_;
  std::unordered_map<std::string, dbfile::Statement> statements_;
  std::filesystem::path polls_file_;
  std::optional<SqlitePolls> polls_;                ///< opened when it is needed
  std::optional<dbfile::Transaction> transaction_;  ///< of the turn
  std::int64_t seen_entry_ = 0;                     ///< of the audit trail
  std::int64_t seen_version_ = -1;  ///< PRAGMA data_version: changes with the writes of others
};

/// The file of a DATABASE_URL: "sqlite://relative", "sqlite:///absolute", and whether mode=rwc asks
/// for its creation. Error (configuration).
struct SqliteUrl {
  std::filesystem::path file;
  bool create = false;
};
base::Result<SqliteUrl> parse_sqlite_url(const std::string& url);

}  // namespace kollect::fleet
