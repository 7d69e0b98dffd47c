// Listeners for the stream of changes of the read API; run by tests/load/stream_test.py.
//   stream_load PORT CLIENTS SLOW
//     Opens CLIENTS streams that read at once and SLOW ones that do not read, each of which builds
//     the table of the inventory from one list and its own events. Prints "ready" when all have
//     begun. Takes lines: "wake" lets the slow ones read, "end STATE" waits until everybody has
//     seen STATE, lists the inventory again, and prints as JSON how many tables are equal to it.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"
#include "http/client.h"

namespace {

using kollect::base::xxh64;

/// Hash of an identity to the hash of the row; 0: there is no such row.
using Table = std::unordered_map<std::uint64_t, std::uint64_t>;

/// Members up to the uid name the row (order of spec sinks 2.1).
std::uint64_t identity_of(std::string_view item) {
  const std::size_t at = item.find(",\"uid\":\"");
  return xxh64(item.substr(0, item.find('"', at + 8)));
}

std::uint64_t row_of(std::string_view item) {
  return std::max<std::uint64_t>(1, xxh64(item));
}

/// Number of "<epoch>-<number>".
std::uint64_t number_of(std::string_view state) {
  const std::size_t at = state.rfind('-') + 1;
  std::uint64_t out = 0;
  std::from_chars(state.data() + at, state.data() + state.size(), out);
  return out;
}

/// Takes the chunks (RFC 9112, 7.1) out of a body as it comes.
class Chunks {
 public:
  void take(std::string_view bytes, std::string& body) {
    while (!bytes.empty()) {
      if (left_ > 0) {
        const std::size_t part = std::min(left_, bytes.size());
        body.append(bytes.substr(0, part));
        left_ -= part;
        bytes.remove_prefix(part);
        continue;
      }
      const char c = bytes.front();
      bytes.remove_prefix(1);
      if (c != '\n') {
        if (c != '\r') line_ += c;
        continue;
      }
      if (!line_.empty()) std::from_chars(line_.data(), line_.data() + line_.size(), left_, 16);
      line_.clear();
    }
  }

 private:
  std::size_t left_ = 0;
  std::string line_;
};

struct Listener {
  int socket = -1;
  bool slow = false;
  bool head = false;  ///< of the answer was read
  Chunks chunks;
  std::string in;
  std::string last_id;
  std::uint64_t number = 0;
  bool begun = false;
  std::shared_ptr<const Table> base;  ///< empty: the common one
  Table changed;
  std::uint64_t events = 0;
  std::uint64_t sum = 0;  ///< of all events behind the common beginning, whatever their order
  std::uint64_t gaps = 0;
  std::uint64_t resets = 0;
  std::uint64_t drops = 0;
  std::uint64_t returns = 0;
};

class Load {
 public:
  Load(std::uint16_t port, std::size_t clients, std::size_t slow)
      : port_(port), poll_(::epoll_create1(EPOLL_CLOEXEC)), listeners_(clients + slow) {
    for (std::size_t i = clients; i < listeners_.size(); ++i) listeners_[i].slow = true;
  }

  int run() {
    for (Listener& one : listeners_) open(one);
    epoll_event commands{.events = EPOLLIN, .data = {.ptr = nullptr}};
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, STDIN_FILENO, &commands);
    std::vector<epoll_event> events(64);
    while (!finished_) {
      const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 1000);
      for (int i = 0; i < count; ++i) {
        auto* const one = static_cast<Listener*>(events[i].data.ptr);
        one == nullptr ? on_command() : on_bytes(*one);
      }
      if (!ready_ && std::ranges::all_of(listeners_, &Listener::begun)) begin();
      if (!target_.empty()) look();
    }
    return failed_ ? 1 : 0;
  }

 private:
  void open(Listener& one) {
    one.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one.slow) {
      const int small = 16 << 10;
      ::setsockopt(one.socket, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(one.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("the server cannot be reached");
    }
    std::string request =
        "GET /v1alpha1/changes/watch HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n";
    if (!one.last_id.empty()) request += "Last-Event-ID: " + one.last_id + "\r\n";
    request += "\r\n";
    if (::send(one.socket, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
      throw std::runtime_error("the server does not read");
    }
    one.head = false;
    one.chunks = {};
    one.in.clear();
    listen(one, true);
  }

  void listen(Listener& one, bool add) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &one}};
    if (add) {
      ::epoll_ctl(poll_, EPOLL_CTL_ADD, one.socket, &event);
    } else {
      ::epoll_ctl(poll_, EPOLL_CTL_DEL, one.socket, nullptr);
    }
  }

  void on_bytes(Listener& one) {
    const ssize_t size = ::recv(one.socket, buffer_.data(), buffer_.size(), 0);
    if (size <= 0) {
      ::close(std::exchange(one.socket, -1));
      ++one.returns;
      return open(one);
    }
    std::string_view bytes(buffer_.data(), static_cast<std::size_t>(size));
    if (!one.head) {
      one.in.append(bytes);
      const std::size_t end = one.in.find("\r\n\r\n");
      if (end == std::string::npos) return;
      if (!one.in.starts_with("HTTP/1.1 200")) throw std::runtime_error("refused: " + one.in);
      const std::string rest = one.in.substr(end + 4);
      one.in.clear();
      one.head = true;
      one.chunks.take(rest, one.in);
    } else {
      one.chunks.take(bytes, one.in);
    }
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = one.in.find("\n\n", begin)) != std::string::npos;) {
      on_frame(one, std::string_view(one.in).substr(begin, end - begin));
      begin = end + 2;
    }
    one.in.erase(0, begin);
  }

  void on_frame(Listener& one, std::string_view frame) {
    std::string_view id;
    std::string_view event;
    std::string_view data;
    for (const std::string_view line : kollect::base::split(frame, '\n')) {
      if (line.starts_with("id: ")) id = line.substr(4);
      if (line.starts_with("event: ")) event = line.substr(7);
      if (line.starts_with("data: ")) data = line.substr(6);
    }
    if (event == "hello") {
      const std::size_t from = data.find(":\"") + 2;
      if (one.last_id.empty()) {
        one.last_id = data.substr(from, data.rfind('"') - from);
        one.number = number_of(one.last_id);
      }
      one.begun = true;
      // From here on a slow one leaves everything where it is.
      if (one.slow && !awake_) listen(one, false);
    } else if (event == "change") {
      on_change(one, id, data);
    } else if (event == "reset") {
      ++one.resets;
      one.base = list();
      one.changed.clear();
      if (!id.empty()) one.last_id = id, one.number = number_of(id);
    } else if (event == "dropped") {
      ++one.drops;
    }
  }

  void on_change(Listener& one, std::string_view id, std::string_view data) {
    const std::uint64_t number = number_of(id);
    if (number != one.number + 1) ++one.gaps;
    one.number = number;
    one.last_id = id;
    ++one.events;
    if (ready_ && number > common_) one.sum += xxh64(data) + number;
    const std::size_t at = data.find("\"item\":") + 7;
    const std::string_view item = data.substr(at, data.size() - at - 1);
    const bool removed = data.starts_with("{\"op\":\"delete\"");
    one.changed[identity_of(item)] = removed ? 0 : row_of(item);
  }

  std::shared_ptr<const Table> list() {
    kollect::http::Request request;
    request.url = fmt::format("http://127.0.0.1:{}/v1alpha1/export?format=ndjson", port_);
    const auto answer = http_.fetch(kollect::base::Context::background(), request);
    if (!answer || answer->status != 200) throw std::runtime_error("the list failed");
    auto table = std::make_shared<Table>();
    for (const std::string_view line : kollect::base::split(answer->body, '\n')) {
      if (!line.empty()) (*table)[identity_of(line)] = row_of(line);
    }
    return table;
  }

  void begin() {
    base_ = list();
    for (const Listener& one : listeners_) common_ = std::max(common_, one.number);
    ready_ = true;
    say("ready");
  }

  void on_command() {
    std::string line(4096, '\0');
    const ssize_t size = ::read(STDIN_FILENO, line.data(), line.size());
    if (size <= 0) throw std::runtime_error("nobody tells me what to do");
    line.resize(static_cast<std::size_t>(size));
    commands_ += line;
    for (std::size_t end = 0; (end = commands_.find('\n')) != std::string::npos;) {
      obey(commands_.substr(0, end));
      commands_.erase(0, end + 1);
    }
  }

  void obey(const std::string& command) {
    if (command == "wake") {
      awake_ = true;
      for (Listener& one : listeners_) {
        if (one.slow) listen(one, true);
      }
    } else if (command.starts_with("end ")) {
      target_ = command.substr(4);
      deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    }
  }

  /// Whether everybody is there.
  void look() {
    const std::uint64_t wanted = number_of(target_);
    const bool all =
        std::ranges::all_of(listeners_, [&](const Listener& one) { return one.number >= wanted; });
    const bool late = std::chrono::steady_clock::now() > deadline_;
    if (!all && !late) return;
    const auto truth = list();
    std::size_t equal = 0;
    Listener sum;
    std::uint64_t different = 0;
    for (const Listener& one : listeners_) {
      equal += is(one, *truth) ? 1 : 0;
      sum.events += one.events;
      sum.gaps += one.gaps;
      sum.resets += one.resets;
      sum.drops += one.drops;
      sum.returns += one.returns;
      // Whoever had to list anew has missed events by right.
      if (one.resets == 0 && one.sum != listeners_.front().sum) ++different;
    }
    failed_ = equal != listeners_.size() || different > 0 || late;
    say(fmt::format(
        R"({{"listeners":{},"equal":{},"rows":{},"events":{},"different":{},"gaps":{},"resets":{},"dropped":{},"returned":{},"late":{}}})",
        listeners_.size(), equal, truth->size(), sum.events, different, sum.gaps, sum.resets,
        sum.drops, sum.returns, late));
    finished_ = true;
  }

  [[nodiscard]] bool is(const Listener& one, const Table& truth) const {
    Table mine = one.base ? *one.base : *base_;
    for (const auto& [identity, row] : one.changed) {
      if (row == 0) {
        mine.erase(identity);
      } else {
        mine[identity] = row;
      }
    }
    return mine == truth;
  }

  static void say(const std::string& text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  }

  std::uint16_t port_;
  int poll_;
  std::vector<Listener> listeners_;
  std::string buffer_ = std::string(256U << 10U, '\0');
  kollect::http::Client http_;
  std::shared_ptr<const Table> base_;
  std::uint64_t common_ = 0;  ///< everybody listens from this event on
  bool ready_ = false;
  bool awake_ = false;
  bool finished_ = false;
  bool failed_ = false;
  std::string commands_;
  std::string target_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error("stream_load PORT CLIENTS SLOW");
    Load load(static_cast<std::uint16_t>(std::stoi(argv[1])), std::stoul(argv[2]),
              std::stoul(argv[3]));
    return load.run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "stream_load: {}\n", error.what());
    return 2;
  }
}
