#include "base/hash.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace kollect::base {
namespace {

TEST(Hash, Sha256) {
  // Spec sinks 2.3: the empty set.
  EXPECT_EQ(sha256_hex("[]"), "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945");
  Sha256 pieces;
  pieces.update("[");
  pieces.update("");
  Sha256 moved = std::move(pieces);
  moved.update("]");
  EXPECT_EQ(moved.finish_hex(), sha256_hex("[]"));
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Hash, Others) {
  EXPECT_EQ(xxh64(""), 0xEF46DB3751D8E999ULL);
  EXPECT_EQ(xxh3_128(""), (Hash128{.high = 0x99AA06D3014798D8ULL, .low = 0x6001C324468D497FULL}));
  // RFC 4122 name space for DNS names.
  EXPECT_EQ(uuid_v5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.example.com"),
            "2ed6657d-e927-568b-95e1-2665a8aea6a2");
}

TEST(Hash, Base64) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xFF\xFE\xFD", "//79"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(*base64_decode(text), bytes);
  }
  EXPECT_EQ(*base64_decode("Zm\n9v\r\n Yg==\n"), "foob");
  EXPECT_FALSE(base64_decode("Zm\n9v", false).has_value());
  for (const char* text : {"Zg", "Zg=", "Z", "Zg==Zg==", "====", "Z===", "Zm9v=", "Zm9_"}) {
    EXPECT_FALSE(base64_decode(text).has_value()) << text;
  }
}

TEST(Hash, HexAndPercent) {
  EXPECT_EQ(hex_encode(std::string("\x00\xAF", 2)), "00af");
  EXPECT_EQ(percent_encode("a-._~/ é"), "a-._~%2F%20%C3%A9");
  EXPECT_EQ(*percent_decode("a%2f%20%C3%A9+"), "a/ é+");
  for (const char* text : {"%", "%2", "%zz"}) {
    EXPECT_FALSE(percent_decode(text).has_value());
  }
  EXPECT_EQ(*percent_decode("x%41"), "xA");
}

}  // namespace
}  // namespace kollect::base
