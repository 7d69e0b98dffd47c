// Load for HTTP servers, and a server to compare with; run by scripts/bench/fleet_bench.py.
//   fleet_load ask PORT CONNECTIONS REQUESTS keep|new PATHS-FILE HEADERS-FILE
//     Sends GET requests for the paths in turn, one at a time on each connection, and prints
//     {"requests", "seconds", "rate", "p50_us", "p99_us", "max_us", "bytes", "errors"}.
//   fleet_load static BODY-FILE
//     Answers every plain request with the same ready bytes, on the same server as the fleet API;
//     prints its port.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "http/server.h"

namespace {

using Time = std::chrono::steady_clock::time_point;

struct Line {
  int socket = -1;
  std::string in;
  Time began = {};
  bool busy = false;
};

class Load {
 public:
  Load(int port, std::size_t requests, bool fresh, std::vector<std::string> texts)
      : requests_(requests), fresh_(fresh), texts_(std::move(texts)) {
    address_.sin_family = AF_INET;
    address_.sin_port = htons(static_cast<std::uint16_t>(port));
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    poll_ = ::epoll_create1(EPOLL_CLOEXEC);
  }

  std::string run(std::size_t connections) {
    lines_.resize(connections);
    took_.reserve(requests_);
    const Time began = std::chrono::steady_clock::now();
    for (Line& line : lines_) ask(line);
    std::vector<epoll_event> events(connections);
    while (took_.size() + errors_ < requests_) {
      const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 10'000);
      if (count <= 0) break;  // ten seconds without an answer: what is missing are errors
      for (int i = 0; i < count; ++i) {
        on_bytes(*static_cast<Line*>(events[static_cast<std::size_t>(i)].data.ptr));
      }
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    std::ranges::sort(took_);
    const auto at = [&](double part) {
      return took_.empty()
                 ? 0
                 : took_[static_cast<std::size_t>(part * static_cast<double>(took_.size() - 1))] /
                       1000;
    };
    return fmt::format(
        R"({{"requests":{},"seconds":{:.4f},"rate":{:.0f},"p50_us":{},"p99_us":{},"max_us":{},"bytes":{},"errors":{}}})",
        took_.size(), seconds.count(), static_cast<double>(took_.size()) / seconds.count(), at(0.5),
        at(0.99), at(1), bytes_, requests_ - took_.size());
  }

 private:
  void open(Line& line) {
    line.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(line.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(line.socket, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) !=
        0) {
      ::close(std::exchange(line.socket, -1));
      return;
    }
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &line}};
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, line.socket, &event);
  }

  void ask(Line& line) {
    while (sent_ < requests_) {
      const std::string& text = texts_[sent_++ % texts_.size()];
      line.began = std::chrono::steady_clock::now();
      if (line.socket < 0) open(line);
      line.busy = line.socket >= 0 && ::send(line.socket, text.data(), text.size(), MSG_NOSIGNAL) ==
                                          static_cast<ssize_t>(text.size());
      if (line.busy) return;
      fail(line);
    }
  }

  void fail(Line& line) {
    ++errors_;
    line.busy = false;
    if (line.socket >= 0) ::close(std::exchange(line.socket, -1));
    line.in.clear();
  }

  void on_bytes(Line& line) {
    const ssize_t size = ::recv(line.socket, buffer_.data(), buffer_.size(), 0);
    if (size <= 0) {
      if (line.busy) fail(line);
      return ask(line);
    }
    bytes_ += static_cast<std::size_t>(size);
    std::string_view all(buffer_.data(), static_cast<std::size_t>(size));
    if (!line.in.empty()) {
      line.in.append(all);
      all = line.in;
    }
    if (!complete(all)) {
      if (line.in.empty()) line.in.assign(all);
      return;
    }
    const bool good = all.starts_with("HTTP/1.1 200");
    took_.push_back((std::chrono::steady_clock::now() - line.began).count());
    line.in.clear();
    line.busy = false;
    if (!good) took_.pop_back(), fail(line);
    if (fresh_ && line.socket >= 0) ::close(std::exchange(line.socket, -1));
    ask(line);
  }

  static bool complete(std::string_view all) {
    const std::size_t end = all.find("\r\n\r\n");
    if (end == std::string_view::npos) return false;
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t at = all.find(kLength);
    std::size_t length = 0;
    if (at != std::string_view::npos && at < end) {
      std::from_chars(all.data() + at + kLength.size(), all.data() + end, length);
    }
    return all.size() >= end + 4 + length;
  }

  std::size_t requests_;
  bool fresh_;
  std::vector<std::string> texts_;
  sockaddr_in address_{};
  int poll_ = -1;
  std::vector<Line> lines_;
  std::string buffer_ = std::string(256U << 10U, '\0');
  std::vector<std::int64_t> took_;
  std::size_t sent_ = 0;
  std::size_t errors_ = 0;
  std::size_t bytes_ = 0;
};

int usage() {
  fmt::print(stderr,
             "fleet_load ask PORT CONNECTIONS REQUESTS keep|new PATHS HEADERS\n"
             "fleet_load static BODY\n");
  return 2;
}

int ask(const std::vector<std::string>& args) {
  const auto paths = kollect::base::read_file(args[5]);
  const auto headers = kollect::base::read_file(args[6]);
  if (!paths || !headers) return usage();
  std::vector<std::string> texts;
  for (const auto path : kollect::base::split(*paths, '\n')) {
    if (path.empty()) continue;
    std::string text = fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n", path);
    for (const auto header : kollect::base::split(*headers, '\n')) {
      if (!header.empty()) text += std::string(header) + "\r\n";
    }
    texts.push_back(text + "\r\n");
  }
  Load load(std::stoi(args[1]), std::stoul(args[3]), args[4] == "new", std::move(texts));
  fmt::print("{}\n", load.run(std::stoul(args[2])));
  return 0;
}

int serve(const std::string& file) {
  using namespace kollect;
  auto body = base::read_file(file);
  if (!body) return usage();
  const http::PreparedAnswer answer(http::Answer::json(200, *std::move(body)));
  http::ServerOptions options;
  options.quick = [answer](const http::RequestView&) { return answer; };
  const auto server =
      http::Server::start(std::move(options), [answer](const auto&, http::Reply reply) {
        http::Answer again;
        again.prepared = answer;
        reply.send(std::move(again));
      });
  if (!server) return 1;
  fmt::print("{}\n", (*server)->port());
  std::fflush(stdout);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  int signal = 0;
  sigwait(&ends, &signal);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 7 && args[0] == "ask") return ask(args);
  if (args.size() == 2 && args[0] == "static") return serve(args[1]);
  return usage();
}
