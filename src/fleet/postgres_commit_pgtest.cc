// A connection that breaks while the server commits: the answer must be the truth.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "fleet/postgres_keeper.h"
#include "support/postgres_server.h"
#include "support/socket_stream.h"

namespace kollect::fleet {
namespace {

using kollect::testing::PostgresServer;
using kollect::testing::SocketStream;

enum class Cut {
  kNone,
  kBeforeServer,  ///< the server never sees the command, only the end of the connection
  kAfterServer,   ///< the client never sees the answer
  kSilence,       ///< the command is lost and the server is not told that anything ended
};

/// Stands between a client and the server; one connection at a time after another.
class Between {
 public:
  explicit Between(int server_port) : server_port_(server_port) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listening_, any, size) != 0 || ::listen(listening_, 8) != 0) std::abort();
    ::getsockname(listening_, any, &size);
    port = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;
  ~Between() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  /// The next commit is cut. `before_the_end`: done before the client sees it.
  void cut(Cut how, std::function<void()> before_the_end = {}) {
    before_the_end_ = std::move(before_the_end);
    cut_ = how;
  }

  int port = 0;

 private:
  void serve() {
    while (true) {
      const int accepted = ::accept(listening_, nullptr, nullptr);
      if (accepted < 0) return;
      SocketStream client(accepted);
      const int dialled = kollect::testing::connect_to("127.0.0.1:" + std::to_string(server_port_));
      if (dialled < 0) continue;
      auto server = std::make_unique<SocketStream>(dialled);
      pass(client, server);
      // A session whose peer fell silent ends with this object.
      if (server != nullptr && silent_) left_.push_back(std::move(server));
      silent_ = false;
    }
  }
  void pass(SocketStream& client, std::unique_ptr<SocketStream>& server) {
    while (true) {
      std::array<pollfd, 3> fds = {{{client.socket(), POLLIN, 0},
                                    {server->socket(), POLLIN, 0},
                                    {listening_, POLLRDHUP, 0}}};
      ::poll(fds.data(), fds.size(), -1);
      if (fds[2].revents != 0) return;
      if (fds[1].revents != 0) {
        const std::string text = server->read_some();
        if (text.empty() || !client.write_all(text)) return;
      }
      if (fds[0].revents == 0) continue;
      const std::string text = client.read_some();
      if (text.empty()) return;
      static const std::string kCommit("COMMIT\0", 7);
      const bool commits = text.find(kCommit) != std::string::npos;
      const Cut how = commits ? cut_.exchange(Cut::kNone) : Cut::kNone;
      silent_ = how == Cut::kSilence;
      if (how == Cut::kBeforeServer || how == Cut::kSilence) return;
      if (!server->write_all(text)) return;
      if (how == Cut::kAfterServer) {
        (void)server->read_some();
        if (before_the_end_) before_the_end_();
        return;
      }
    }
  }

  int server_port_;
  int listening_ = -1;
  std::function<void()> before_the_end_;
  std::atomic<Cut> cut_ = Cut::kNone;
  bool silent_ = false;
  std::vector<std::unique_ptr<SocketStream>> left_;
  std::jthread thread_;
};

class PostgresCommit : public ::testing::Test {
 protected:
  PostgresCommit() { open(PostgresServer::shared()); }
  void open(const PostgresServer& server) {
    static int number = 0;
    database_ = "commit-" + std::to_string(number++);
    server.make_database(database_);
    keeper_.reset();
    between_ = std::make_unique<Between>(server.port());
    keeper_ =
        PostgresKeeper::open({.dsn = base::Secret("postgres://test:secret@127.0.0.1:" +
                                                  std::to_string(between_->port) + "/" + database_ +
                                                  "?sslmode=disable&gssencmode=disable"),
                              .longest_silence = std::chrono::seconds(1)},
                             clock_)
            .value();
  }
  base::Result<> keep(const std::string& id) {
    base::json::Object record;
    record.set("id", id);
    KL_TRY(keeper_->begin());
    return keeper_->keep(std::vector<Change>{
        {.family = Family::kNamespace, .id = id, .after = base::json::Value(std::move(record))}});
  }
  std::vector<std::string> trail() const {
    return PostgresServer::shared().ask(database_, "SELECT seq, id FROM fleet_audit ORDER BY seq");
  }
  using Lines = std::vector<std::string>;

  std::unique_ptr<Between> between_;
  std::string database_;
  base::ManualClock clock_;  ///< pauses take no time
  std::unique_ptr<PostgresKeeper> keeper_;
};

TEST_F(PostgresCommit, AnAnswerThatIsLostIsFoundOut) {
  ASSERT_TRUE(keep("a"));
  between_->cut(Cut::kAfterServer);
  EXPECT_TRUE(keep("b")) << "it was committed";
  EXPECT_EQ(keeper_->look()->changes.size(), 0U) << "one's own change is no news";
  ASSERT_TRUE(keep("c"));
  EXPECT_EQ(trail(), (Lines{"1|a", "2|b", "3|c"}));
}

TEST_F(PostgresCommit, ACommandThatIsLostIsFoundOut) {
  ASSERT_TRUE(keep("a"));
  between_->cut(Cut::kBeforeServer);
  const auto lost = keep("b");
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().reason, "unreachable");
  ASSERT_TRUE(keep("c"));
  EXPECT_EQ(trail(), (Lines{"1|a", "2|c"}));
}

TEST_F(PostgresCommit, ASessionThatFellSilentLosesItsTurn) {
  between_->cut(Cut::kSilence);
  const auto lost = keep("a");
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().reason, "unreachable");
  ASSERT_TRUE(keep("b"));
  EXPECT_EQ(trail(), Lines{"1|b"});
}

TEST_F(PostgresCommit, WhatCannotBeFoundOutIsTold) {
  const PostgresServer dying("fleet-commit");
  open(dying);
  ASSERT_TRUE(keep("a"));
  between_->cut(Cut::kAfterServer, [&] { dying.kill(); });
  const auto lost = keep("b");
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().reason, "unknown-outcome");
  dying.restart();
  auto news = keeper_->look();
  while (!news && clock_.sleep(std::chrono::seconds(1), {})) news = keeper_->look();
  ASSERT_EQ(news->changes.size(), 1U) << "it was kept after all, and is seen now";
  EXPECT_EQ(news->changes[0].id, "b");
}

}  // namespace
}  // namespace kollect::fleet
