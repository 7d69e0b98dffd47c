// Files whose content is taken over while the program runs: tokens, certificates.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"

namespace kollect::base {

/// Looks at groups of files again and again and hands on what changed. Files are compared by their
/// content, so that renames, replaced links (volumes of Secrets) and edits in place all count; what
/// changed is taken at the second look that finds it, because a file may be half written at the
/// first. Thread-safe.
class FileReloader {
 public:
  /// Gets the content of all files of a group. Error: it is of no use; what was there stays. Runs
  /// on the thread of the reloader, or on that of the caller of add() and look().
  using Take = std::function<Result<>(const std::vector<std::string>& contents)>;

  /// `clock` and `log` (may be null) must outlive it.
  FileReloader(const Clock& clock, const Logger* log) : clock_(clock), log_(log) {}
  FileReloader(const FileReloader&) = delete;
  FileReloader& operator=(const FileReloader&) = delete;

  /// Reads the files and gives them to `take`. Error: a file cannot be read, or that of `take`.
  Result<> add(std::string what, std::vector<std::string> paths, Take take);
  /// The same, but files that are of no use yet are waited for: the error only tells of them.
  Result<> add_or_await(std::string what, std::vector<std::string> paths, Take take);
  /// Looks once. Failures are logged, once for each state of the files.
  void look();
  /// Looks from now on, on a thread of its own, until the end of its life.
  void start(Duration every = std::chrono::milliseconds(150));

 private:
  struct Group {
    std::string what;
    std::vector<std::string> paths;
    Take take;
    std::vector<std::string> seen;     ///< content, or why it could not be read
    std::vector<std::string> waiting;  ///< seen at the last look alone
  };
  static std::unique_ptr<Group> make_group(std::string what, std::vector<std::string> paths,
                                           Take take);
  Result<> first_look(Group& group);
  void look(Group& group);

  const Clock& clock_;
  const Logger* log_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::jthread thread_;  ///< last: ends first
};

}  // namespace kollect::base
