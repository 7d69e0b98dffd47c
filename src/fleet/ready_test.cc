// Forms of an answer: plain, gzip, unchanged.
#include "fleet/ready.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kollect::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(FleetReady, WhoTakesGzip) {
  for (const char* yes :
       {"gzip", "GZIP", "br, gzip", "gzip;q=1", "gzip; q=0.001, br", "deflate ,gzip ; q=0.5"}) {
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  }
  for (const char* no : {"", "br", "gzip;q=0", "gzip;q=0.000", "identity", "gzipx", "x-gzip"}) {
    EXPECT_FALSE(accepts_gzip(no)) << no;
  }
}

TEST(FleetReady, EachFormIsMadeOnce) {
  const std::string body = "{\"inputs\":[" + std::string(2000, ' ') + "]}";
  const ReadyPtr ready = Ready::make(body);
  const Wish plain{};
  const Wish gzip{.accept_encoding = "gzip"};
  EXPECT_EQ(ready->form_at_hand(plain).body(), body);
  EXPECT_FALSE(ready->form_at_hand(gzip)) << "to be made by who has the time";
  EXPECT_FALSE(ready->packed_at_hand());
  const auto packed = ready->form(gzip);
  for (const auto& again : {ready->form_at_hand(gzip), ready->form(gzip), ready->packed_at_hand()}) {
    EXPECT_EQ(again.body().data(), packed.body().data());
  }
  EXPECT_LT(packed.body().size(), 200U);
  EXPECT_THAT(std::string(packed.head()), HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(std::string(packed.head()),
              HasSubstr("ETag: \"" + ready->etag.substr(1, 16) + "-gzip\""));
  EXPECT_THAT(std::string(ready->form(plain).head()), HasSubstr("ETag: " + ready->etag));
  EXPECT_THAT(std::string(ready->form(plain).head()), Not(HasSubstr("Content-Encoding")));
}

TEST(FleetReady, ShortOnesAreNotPacked) {
  const ReadyPtr ready = Ready::make(R"({"inputs":[]})");
  EXPECT_EQ(ready->form_at_hand({.accept_encoding = "gzip"}).body().data(),
            ready->form_at_hand({}).body().data());
}

TEST(FleetReady, UnchangedIsWhatTheClientHasInThatForm) {
  const ReadyPtr ready = Ready::make(std::string(1000, ' '));
  const auto status = [&](const char* encoding, const std::string& tags) {
    return ready->form({.accept_encoding = encoding, .if_none_match = tags}).status();
  };
  std::string packed = ready->etag;
  packed.insert(packed.size() - 1, "-gzip");
  EXPECT_EQ(status("", ready->etag), 304);
  EXPECT_EQ(status("", "\"x\", W/" + ready->etag), 304);
  EXPECT_EQ(status("", "*"), 304);
  EXPECT_EQ(status("", packed), 200);
  EXPECT_EQ(status("gzip", packed), 304);
  EXPECT_EQ(status("gzip", ready->etag), 200);
  EXPECT_EQ(status("", "\"x\""), 200);
}

}  // namespace
}  // namespace kollect::fleet
