// Waiting for sockets: what ends it. Servers that are real: access_mongotest.cc.
#include "sinks/mongo/dialer.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace kollect::sinks::mongo {
namespace {

TEST(MongoDialer, ACancelledContextEndsItsOwnWaitsAlone) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const Fd mine(pair[0]);
  const Fd theirs(pair[1]);
  const auto dialer = *Dialer::create({});
  const base::SystemClock clock;
  std::stop_source first;
  dialer->begin(base::Context(clock, first.get_token()));
  first.request_stop();
  EXPECT_FALSE(dialer->wait(mine.get(), POLLIN, 60'000));
  EXPECT_EQ(errno, ECANCELED);
  ASSERT_EQ(::write(theirs.get(), "x", 1), 1);
  dialer->begin(base::Context(clock, {}));
  EXPECT_TRUE(dialer->wait(mine.get(), POLLIN, 60'000));
}

}  // namespace
}  // namespace kollect::sinks::mongo
