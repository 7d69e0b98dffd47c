// The connections of the client library where TLS or a login is needed: we make them, and the
// library talks plainly into a pair of sockets.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/result.h"
#include "sinks/kafka/options.h"

namespace kollect::sinks::kafka {

/// Thread-safe; the library calls from threads of its own. One thread per connection, which ends
/// with it.
class Links {
 public:
  /// `outcome` gets the error of a connection that could not be made, before the library sees it
  /// closed, and nothing for one that stands.
  Links(Login login, Tls tls, std::function<void(std::optional<base::Error>)> outcome);
  /// The library must be gone or have closed its sockets.
  ~Links();

  /// The library's end of a new pair; negative when there is none.
  int open();
  /// Connects what open() gave to an address that was checked; `host` is for TLS. An errno.
  int connect(int local, const sockaddr& address, socklen_t size, const std::string& host);
  /// Connections that are being made are given up.
  void stop() { stop_.request_stop(); }

 private:
  struct Link {
    std::jthread thread;
    bool over = false;
  };
  void run(int fd, const std::string& number, std::uint16_t port, const std::string& host);

  const Login login_;
  const Tls tls_;
  const std::function<void(std::optional<base::Error>)> outcome_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::map<int, int> pairs_;  ///< the library's end to ours, until connected
  std::list<Link> links_;
};

}  // namespace kollect::sinks::kafka
