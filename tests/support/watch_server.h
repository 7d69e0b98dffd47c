// A scripted API server for lists and watches: what it answers, in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "support/http_server.h"

namespace kollect::testing {

/// Lines of a watch about objects of kind Boat. `rv` is the resourceVersion.
std::string added(const std::string& name, const std::string& rv);
std::string modified(const std::string& name, const std::string& rv);
std::string deleted(const std::string& name, const std::string& rv);
std::string bookmark(const std::string& rv);
std::string end_mark(const std::string& rv);
std::string error_event(int code, const std::string& reason, const std::string& message = "said");
/// A page of a typed list: its items name no kind.
Reply list_page(const std::string& rv, const std::vector<std::string>& names,
                const std::string& token = {});
/// A Status document.
Reply status_reply(int code, const std::string& reason, const std::string& message = "said");
/// A watch that sends these lines and is ended in order.
Reply watch_reply(const std::vector<std::string>& lines);

/// Answers requests in the order of its script. A request is described as "STREAM" (a watch with
/// sendInitialEvents), "LIST" or "LIST <token>", "WATCH <resourceVersion>". One that is not the
/// next of the script is seen in the log and gets no answer. Thread-safe.
class WatchServer {
 public:
  explicit WatchServer(HttpServerOptions options = {});
  ~WatchServer();
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  /// The next step of the script.
  void then(const std::string& request, Reply reply);
  /// What every request gets that comes behind the end of the script.
  void otherwise(std::function<Reply(const Received&)> answer);
  /// A watch that sends these lines and stays open.
  Reply held(const std::vector<std::string>& lines);
  /// Adds a part that is sent when open(gate) was called.
  Reply behind(Reply reply, const std::string& gate, const std::string& text);
  void open(const std::string& gate);

  [[nodiscard]] std::string url() const { return server_->url(); }
  /// Descriptions of all requests so far.
  [[nodiscard]] std::vector<std::string> log() const;
  [[nodiscard]] std::vector<Received> received() const { return server_->received(); }
  /// Waits until so many requests came; false after a minute.
  bool wait_for_requests(std::size_t count);

 private:
  Reply answer(const Received& request);
  void wait_for(const std::string& gate);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, Reply>> script_;
  std::function<Reply(const Received&)> otherwise_;
  std::vector<std::string> log_;
  std::set<std::string> open_;
  bool closing_ = false;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace kollect::testing
