// What a NATS server says, in whatever pieces it comes.
#include "sinks/nats/protocol.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace kollect::sinks::nats {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string text_of(const Said& said) {
  switch (said.what) {
    case Said::What::kMessage:
      return fmt::format("message {} {} {}", said.subject, said.status, said.payload);
    case Said::What::kInfo:
      return fmt::format("info {}", said.text);
    case Said::What::kPing:
      return "ping";
    case Said::What::kPong:
      return "pong";
    case Said::What::kError:
      return fmt::format("error{}", said.text);
    case Said::What::kNothing:
      return "nothing";
    case Said::What::kGarbled:
      return "garbled";
  }
  return "";
}

/// All that is complete; ends behind what is garbled.
std::vector<std::string> all_of(std::string_view input, std::size_t& at) {
  std::vector<std::string> out;
  while (const auto said = read_said(input, at)) {
    out.push_back(text_of(*said));
    if (said->what == Said::What::kGarbled) break;
  }
  return out;
}
std::vector<std::string> all_of(std::string_view input) {
  std::size_t at = 0;
  return all_of(input, at);
}

constexpr std::string_view kTalk =
    "INFO {\"a\":1}\r\nPING\r\n+OK\r\nMSG in.7 1 5\r\nhe\r\no\r\n"
    "HMSG in.8 1 reply 16 16\r\nNATS/1.0 503\r\n\r\n\r\nHMSG in.9 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
    "-ERR 'Stale Connection'\r\nPONG\r\n";

TEST(NatsProtocol, ATalk) {
  EXPECT_THAT(all_of(kTalk), ElementsAre("info {\"a\":1}", "ping", "nothing",
                                         "message in.7 0 he\r\no", "message in.8 503 ",
                                         "message in.9 0 hi", "error 'Stale Connection'", "pong"));
}

TEST(NatsProtocol, InAnyPieces) {
  const auto whole = all_of(kTalk);
  for (std::size_t cut = 0; cut <= kTalk.size(); ++cut) {
    std::size_t at = 0;
    auto pieces = all_of(kTalk.substr(0, cut), at);
    EXPECT_LE(at, cut);
    const auto rest = all_of(kTalk, at);
    pieces.insert(pieces.end(), rest.begin(), rest.end());
    EXPECT_EQ(pieces, whole) << cut;
  }
}

TEST(NatsProtocol, WhatIsNotThisProtocolIsSaid) {
  for (const char* odd : {"HTTP/1.1 400\r\n", "MSG\r\n", "MSG a 1\r\n", "MSG a 1 x\r\n",
                          "MSG a 1 2 3 4\r\n", "MSG a 1 99999999999\r\n", "MSG a 1 -1\r\n",
                          "HMSG a 1 9 8\r\n12345678\r\n", "MSG a 1 2\r\nabcd", "PINGS\r\n"}) {
    const auto said = all_of(odd);
    ASSERT_FALSE(said.empty()) << odd;
    EXPECT_EQ(said.back(), "garbled") << odd;
  }
  EXPECT_THAT(all_of(std::string((1U << 20U) + 1, 'x')), ElementsAre("garbled"));
  EXPECT_THAT(all_of("MSG a 1 4\r\nabc"), IsEmpty());
}

}  // namespace
}  // namespace kollect::sinks::nats
