#include "sinks/kafka/links.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/context.h"
#include "sinks/events/wire.h"
#include "sinks/kafka/login.h"

namespace kollect::sinks::kafka {

namespace {

using events::Wire;

constexpr base::Duration kConnect = std::chrono::seconds(10);
constexpr std::size_t kPiece = 64U << 10U;
/// Bytes in one direction beyond which the other side is not listened to.
constexpr std::size_t kMuch = 256U << 10U;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(fd_); }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// What the library wrote, to the wire. False when it has closed its end.
bool take(int local, std::string& output) {
  while (output.size() < kMuch) {
    const std::size_t before = output.size();
    output.resize(before + kPiece);
    const auto count = ::recv(local, output.data() + before, kPiece, 0);
    output.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return false;
    if (count < 0) return would_wait();
  }
  return true;
}

/// What the broker wrote, to the library.
bool give(int local, std::string& input) {
  std::size_t at = 0;
  while (at < input.size()) {
    const auto count = ::send(local, input.data() + at, input.size() - at, MSG_NOSIGNAL);
    if (count < 0) {
      if (would_wait()) break;
      return false;
    }
    at += static_cast<std::size_t>(count);
  }
  input.erase(0, at);
  return true;
}

/// Both ways until one side ends.
void relay(const base::Context& context, Wire& wire, int local) {
  while (true) {
    if (!take(local, wire.output())) return;
    const auto pumped = wire.pump(context, base::Duration::zero());
    const std::size_t came = wire.input().size();
    const bool gone = !give(local, wire.input());
    if (!pumped || gone) return;
    // TLS may hold more that no poll() tells of.
    if (came >= kMuch && wire.input().empty()) continue;
    const bool writes = !wire.output().empty();
    const bool full = wire.output().size() >= kMuch;
    const bool gives = !wire.input().empty();
    std::array<pollfd, 2> both = {
        pollfd{local, static_cast<short>((full ? 0 : POLLIN) | (gives ? POLLOUT : 0)), 0},
        pollfd{wire.socket(), static_cast<short>((gives ? 0 : POLLIN) | (writes ? POLLOUT : 0)),
               0}};
    if (::poll(both.data(), both.size(), -1) < 0 && errno != EINTR) return;
    // Hung up while we do not read from it: nobody waits for the rest.
    if (full && (both[0].revents & (POLLHUP | POLLERR)) != 0) return;
  }
}

}  // namespace

Links::Links(Login login, Tls tls, std::function<void(std::optional<base::Error>)> outcome)
    : login_(std::move(login)), tls_(std::move(tls)), outcome_(std::move(outcome)) {}

Links::~Links() {
  stop();
  for (const auto& [theirs, ours] : pairs_) ::close(ours);
  links_.clear();  // joins
}

int Links::open() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) {
    return -1;
  }
  const std::scoped_lock lock(mutex_);
  // A number that is here still was closed before it was connected.
  if (const auto old = pairs_.find(pair[0]); old != pairs_.end()) ::close(old->second);
  pairs_[pair[0]] = pair[1];
  return pair[0];
}

int Links::connect(int local, const sockaddr& address, socklen_t size, const std::string& host) {
  std::array<char, NI_MAXHOST> number{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(&address, size, number.data(), number.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return EAFNOSUPPORT;
  }
  const std::scoped_lock lock(mutex_);
  const auto pair = pairs_.find(local);
  if (pair == pairs_.end()) return EBADF;
  const int ours = pair->second;
  pairs_.erase(pair);
  std::erase_if(links_, [](const Link& link) { return link.over; });
  Link& link = links_.emplace_back();
  try {
    link.thread = std::jthread([this, &link, ours, host, text = std::string(number.data()),
                                port_number = static_cast<std::uint16_t>(std::stoi(port.data()))] {
      run(ours, text, port_number, host);
      const std::scoped_lock inner(mutex_);
      link.over = true;
    });
  } catch (const std::system_error&) {
    // No thread is left: the library, which knows no exceptions, tries again later.
    links_.pop_back();
    ::close(ours);
    return EAGAIN;
  }
  return 0;
}

void Links::run(int fd, const std::string& number, std::uint16_t port, const std::string& host) {
  const Descriptor local(fd);
  const base::SystemClock clock;
  const base::Context context(clock, stop_.get_token());
  auto made = [&]() -> base::Result<Wire> {
    const auto limited = context.with_timeout(kConnect);
    KL_ASSIGN(auto wire, Wire::connect(limited, number, port));
    if (tls_.on) {
      KL_TRY(wire.start_tls(limited,
                            {.ca_pem = tls_.ca_pem,
                             .insecure_skip_verify = tls_.insecure_skip_verify,
                             .certificate = base::Secret(tls_.client_cert_pem),
                             .key = tls_.client_key_pem},
                            host));
    }
    if (!login_.mechanism.empty()) KL_TRY(log_in(limited, wire, login_));
    return wire;
  }();
  if (!made) {
    outcome_(made.error());
    return;
  }
  outcome_(std::nullopt);
  relay(context, *made, local.get());
}

}  // namespace kollect::sinks::kafka
