// The pairs of sockets between the client library and brokers. With brokers:
// transport_kafkatest.cc.
#include "sinks/kafka/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>

#include "support/certificates.h"
#include "support/tcp_server.h"

namespace kollect::sinks::kafka {
namespace {

using kollect::testing::SocketStream;
using kollect::testing::TcpServer;
using kollect::testing::TestAuthority;

/// What became of connections.
class Outcomes {
 public:
  void add(std::optional<base::Error> error) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(error));
    changed_.notify_all();
  }
  std::optional<base::Error> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::minutes(1), [&] { return all_.size() >= count; }));
    return all_.size() >= count ? all_[count - 1] : std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<base::Error>> all_;
};

class KafkaLinks : public ::testing::Test {
 protected:
  int connect(int local, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return links_.connect(local, reinterpret_cast<const sockaddr&>(address), sizeof address,
                          "localhost");
  }
  static short wait(int fd, short events) {
    pollfd one{fd, events, 0};
    EXPECT_EQ(::poll(&one, 1, 60'000), 1);
    return one.revents;
  }
  /// Sends all of it and reads as much back, whatever fits.
  static std::string exchange(int fd, const std::string& text) {
    std::string back;
    std::size_t sent = 0;
    while (back.size() < text.size()) {
      const bool writes = sent < text.size();
      const short ready = wait(fd, static_cast<short>(POLLIN | (writes ? POLLOUT : 0)));
      if (writes && (ready & POLLOUT) != 0) {
        const auto count = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (count > 0) sent += static_cast<std::size_t>(count);
      }
      if ((ready & POLLIN) == 0) continue;
      std::string piece(1U << 16U, '\0');
      const auto count = ::recv(fd, piece.data(), piece.size(), 0);
      if (count <= 0) break;
      back.append(piece, 0, static_cast<std::size_t>(count));
    }
    return back;
  }

  Outcomes outcomes_;
  Links links_{
      {}, {}, [this](std::optional<base::Error> error) { outcomes_.add(std::move(error)); }};
};

TEST_F(KafkaLinks, BytesGoBothWays) {
  const TcpServer echo([](SocketStream& stream) {
    for (auto text = stream.read_some(); !text.empty(); text = stream.read_some()) {
      if (!stream.write_all(text)) return;
    }
  });
  const int local = links_.open();
  ASSERT_GE(local, 0);
  ASSERT_EQ(connect(local, echo.port()), 0);
  EXPECT_FALSE(outcomes_.wait_for(1).has_value());
  // More than both directions hold at a time.
  std::string text;
  while (text.size() < (4U << 20U)) text += "line " + std::to_string(text.size());
  EXPECT_EQ(exchange(local, text), text);
  ::close(local);
}

TEST_F(KafkaLinks, WhoIsNotThereIsToldBeforeTheEndIsSeen) {
  std::uint16_t dead = 0;
  {
    const TcpServer gone{std::string()};
    dead = gone.port();
  }
  const int local = links_.open();
  ASSERT_EQ(connect(local, dead), 0);
  char byte = 0;
  (void)wait(local, POLLIN);
  EXPECT_EQ(::recv(local, &byte, 1, 0), 0);
  const auto error = outcomes_.wait_for(1);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->reason, "unreachable");
  ::close(local);
  EXPECT_EQ(connect(local, dead), EBADF);
}

TEST_F(KafkaLinks, AConnectionThatIsBeingMadeIsGivenUp) {
  const TestAuthority authority;
  Links secure({},
               {.on = true, .ca_pem = authority.pem(), .client_cert_pem = {}, .client_key_pem = {}},
               [this](std::optional<base::Error> error) { outcomes_.add(std::move(error)); });
  const TcpServer silent{std::string()};
  const int local = secure.open();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(silent.port());
  ASSERT_EQ(secure.connect(local, reinterpret_cast<const sockaddr&>(address), sizeof address, "x"),
            0);
  secure.stop();
  const auto error = outcomes_.wait_for(1);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->kind, base::ErrorKind::kCancelled);
  ::close(local);
}

}  // namespace
}  // namespace kollect::sinks::kafka
