// A paginated list: pages are asked for ahead of their handling, within a byte budget.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/list_scanner.h"
#include "kube/sender.h"

namespace kollect::kube {

/// Path and query of one page. `token` is empty for the first.
std::string list_path(const ListQuery& query, std::string_view token);

/// One list. The calling thread of run() hands pages to the receiver in order; the I/O thread of
/// the HTTP client fills the next ones meanwhile: a page is asked for as soon as the head of the
/// page before has told its token. After a failure everything behind the first unhandled page is
/// forgotten and asked for again.
class Pager : public std::enable_shared_from_this<Pager> {
 public:
  Pager(Sender& sender, base::Context context, ListQuery query);

  base::Result<ListOutcome> run(ListReceiver& receiver);
  /// After run() failed: what the server's Retry-After asked for.
  [[nodiscard]] const std::optional<std::string>& retry_after() const { return retry_after_; }

 private:
  struct Page {
    std::string token;  ///< asked with
    std::string text;
    ListScanner scanner;
    std::size_t counted = 0;  ///< bytes in held_bytes_
    bool head_known = false;
    bool garbled = false;  ///< no list document
    bool dropped = false;  ///< of a try that is over
    std::string next_token;
    std::string resource_version;
    std::optional<base::Result<http::Response>> answer;
    std::stop_source stop;
  };
  using PagePtr = std::shared_ptr<Page>;

  /// What becomes of the list after a look at its first unhandled page.
  enum class Verdict { kHandle, kAgain, kRestart };

  // I/O thread.
  bool receive(const PagePtr& page, const http::Response& head, std::string_view data);
  void finish(const PagePtr& page, base::Result<http::Response> answer);

  // Both threads; the mutex is held.
  void start_page(std::string token);
  void start_ahead();
  void learn_head(Page& page);
  void drop_from(std::size_t index);
  void recycle(Page& page);

  // Calling thread.
  base::Result<> loop(ListReceiver& receiver);
  PagePtr wait_for_first();
  base::Result<Verdict> judge(Page& page);
  base::Result<Verdict> judge_status(const http::Response& answer, const Page& page);
  base::Result<Verdict> judge_unauthorized(const http::Response& answer, std::string_view text);
  base::Result<Verdict> again(const base::Error& why,
                              const std::optional<std::string>& retry_after = std::nullopt);
  [[nodiscard]] base::Error passing(std::string_view why, std::string reason = "transient") const;
  base::Result<> handle(Page& page, ListReceiver& receiver);
  base::Result<> restart(ListReceiver& receiver, const std::string& why);
  void begin_from(std::string token);
  void close();
  [[nodiscard]] std::string label() const;

  Sender& sender_;
  const base::Context context_;
  const ListQuery query_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PagePtr> pages_;       ///< in order; the first is the next to be handled
  std::vector<std::string> spare_;  ///< buffers of handled pages
  std::size_t held_bytes_ = 0;
  bool closed_ = false;
  Credential credential_;

  // Calling thread only.
  ListOutcome outcome_;
  std::uint32_t attempt_ = 0;  ///< failed tries of the first page
  bool renewed_ = false;
  std::optional<std::string> retry_after_;
};

}  // namespace kollect::kube
