// Jobs of BigQuery: queries, loads, and waiting for their end.
//
// A job's number is chosen here before it is sent, so a request that is repeated because its answer
// was lost cannot start a second one (the service answers 409). A job whose end was not seen is
// waited for before the next one starts: it could otherwise write old rows over newer ones.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinks/bigquery/statements.h"
#include "sinks/google/api.h"
#include "sinks/google/resumable.h"

namespace kollect::sinks::bigquery {

struct JobLimits {
  std::int64_t maximum_bytes_billed = 0;               ///< of a query; 0: no limit
  base::Duration deadline = std::chrono::minutes(10);  ///< of one job; then it is cancelled
  std::size_t upload_chunk = google::kUploadChunk;
};

/// What a finished query says.
struct Finished {
  std::string job_id;
  /// Rows changed by a statement of data manipulation; without details all are in `affected`.
  std::uint64_t inserted = 0;
  std::uint64_t updated = 0;
  std::uint64_t deleted = 0;
  std::uint64_t affected = 0;
  bool detailed = false;
};

/// Cells of a result's row; nulls are empty.
using Cells = std::vector<std::string_view>;

/// One thread at a time. Errors: those of google::Api::error_of(), also for failed jobs; kCancelled
/// when the context ends, after the job was told to stop.
class Jobs {
 public:
  Jobs(google::Api& api, std::string project, JobLimits limits);

  void set_location(std::string location) { location_ = std::move(location); }
  [[nodiscard]] const std::string& location() const { return location_; }

  /// Runs a statement to its end. A job that failed for a passing reason is run anew, three times
  /// in all.
  base::Result<Finished> run(const base::Context& context, const Query& query);
  /// Checks a statement without running it.
  base::Result<> dry_run(const base::Context& context, const Query& query);
  /// Rows of a finished SELECT, page by page: `total` is their number, `visit` gets each row,
  /// `page_end` (may be empty) ends the reading with its error.
  base::Result<> read(const base::Context& context, const Finished& query,
                      const std::function<void(std::uint64_t total)>& begin,
                      const std::function<base::Result<>(const Cells&)>& visit,
                      const std::function<base::Result<>()>& page_end);

  /// A load of lines of JSON into a table that is there and empty.
  class Load {
   public:
    base::Result<> write(const base::Context& context, std::string_view lines) {
      return upload_.write(context, lines);
    }
    /// Sends the rest and waits for the job.
    base::Result<> finish(const base::Context& context);
    /// Instead of finish().
    void give_up(const base::Context& context) { upload_.give_up(context); }
    [[nodiscard]] std::uint64_t bytes() const { return upload_.bytes(); }

   private:
    friend class Jobs;
    Load(Jobs& jobs, google::ResumableUpload upload, std::string doing)
        : jobs_(&jobs), upload_(std::move(upload)), doing_(std::move(doing)) {}
    Jobs* jobs_;
    google::ResumableUpload upload_;
    std::string doing_;
  };
  base::Result<Load> start_load(const base::Context& context, const TableName& table);

 private:
  struct Reference {
    std::string id;
    std::string location;
  };
  [[nodiscard]] std::string next_id();
  [[nodiscard]] std::string body_of(const std::string& id, std::string_view configuration) const;
  [[nodiscard]] std::string path_of(const Reference& job, std::string_view suffix = "") const;
  base::Result<Finished> run_once(const base::Context& context, const std::string& id,
                                  const std::string& configuration, const std::string& doing);
  base::Result<Finished> wait(const base::Context& context, const Reference& job,
                              std::string answer, const std::string& doing);
  base::Result<> settle(const base::Context& context);
  void cancel(const base::Context& context, const Reference& job);

  google::Api& api_;
  std::string project_;
  JobLimits limits_;
  std::string location_;
  std::string series_;  ///< of this object, in all its jobs' numbers
  std::uint64_t number_ = 0;
  std::optional<Reference> unfinished_;
};

}  // namespace kollect::sinks::bigquery
