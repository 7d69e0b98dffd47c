#include "http/listen_address.h"

#include <gtest/gtest.h>

namespace kollect::http {
namespace {

TEST(ListenAddress, HostAndPort) {
  const std::tuple<const char*, const char*, int> good[] = {{":8081", "", 8081},
                                                            {"8081", "", 8081},
                                                            {"127.0.0.1:0", "127.0.0.1", 0},
                                                            {"[::1]:9443", "::1", 9443}};
  for (const auto& [text, host, port] : good) {
    ServerOptions options;
    EXPECT_TRUE(read_listen_address(text, options)) << text;
    EXPECT_EQ(options.address, host) << text;
    EXPECT_EQ(options.port, port) << text;
  }
  for (const char* text : {"", ":", "host", "127.0.0.1:", ":x", ":99999", ":-1", ":80 "}) {
    ServerOptions options;
    const auto read = read_listen_address(text, options);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().kind, base::ErrorKind::kConfiguration) << text;
  }
}

}  // namespace
}  // namespace kollect::http
