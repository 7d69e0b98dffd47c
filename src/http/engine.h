// The I/O thread of a client: drives all transfers through one curl multi handle.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "http/transfer.h"

namespace kollect::http {

struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

/// Thread-safe. Transfers that are under way when it ends are finished as cancelled.
class Engine {
 public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Takes a transfer over; its result comes on the I/O thread.
  void submit(std::unique_ptr<Transfer> transfer);
  /// Transfers whose owner was not told the result yet.
  [[nodiscard]] std::size_t open() const { return open_; }

 private:
  void run();
  /// False when the engine is to end.
  bool take_submissions();
  void begin(std::unique_ptr<Transfer> transfer);
  void reap();
  /// Ends what is overdue; returns how long nothing else can become so.
  base::Duration enforce_limits();
  void end(Transfer& transfer, base::Result<Response> result);
  void finish(Transfer& transfer, base::Result<Response> result);
  void end_all();

  std::unique_ptr<CURLM, MultiDeleter> multi_;
  std::unordered_map<CURL*, std::unique_ptr<Transfer>> active_;  // I/O thread only
  std::mutex mutex_;
  std::vector<std::unique_ptr<Transfer>> submitted_;
  bool stopping_ = false;
  std::atomic<std::size_t> open_ = 0;
  std::thread thread_;
};

}  // namespace kollect::http
