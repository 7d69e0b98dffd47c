#include "extract/scrub.h"

#include <gtest/gtest.h>

#include "base/json/write.h"
#include "extract/scrub_writer.h"

namespace kollect::extract {
namespace {

using base::json::Document;

std::string scrubbed(std::string_view json, const std::vector<std::string>& words = {}) {
  auto document = Document::parse(json);
  const Scrubber scrubber(words);
  std::string out;
  ScrubWriter writer(out, scrubber);
  writer.write(document->root(), false);
  return out;
}

const std::string kRedacted(kRedactedJson);

// spec: collection 10.1
TEST(Scrub, KeysOfTheTable) {
  const Scrubber scrubber({});
  for (const auto* key : {"password",
                          "DBPassword",
                          " Password ",
                          "passwd",
                          "secret",
                          "clientSecret",
                          "mySecret",
                          "token",
                          "apiKey",
                          "API_KEY",
                          "privateKey",
                          "private_key",
                          "credential",
                          "auth",
                          "oauth",
                          "basicAuth",
                          "connectionString",
                          "automountServiceAccountToken",
                          "my.token",
                          "to\u212Aen",
                          "\u00A0secret\u2003",
                          "größe_token"}) {
    EXPECT_TRUE(scrubber.sensitive_key(key)) << key;
  }
  for (const auto* key :
       {"passwords", "passwordRef", "secrets", "secretName", "tokens", "api-key", "private-key",
        "credentials", "author", "authorization", "connection_string", "accessKey", "passphrase",
        "key", "cert", "tokenizer", "", " ", "größe"}) {
    EXPECT_FALSE(scrubber.sensitive_key(key)) << key;
  }
}

TEST(Scrub, AddedWords) {
  const Scrubber scrubber({"pw", "PIN ", "", " ", "ПАРОЛЬ"});
  EXPECT_TRUE(scrubber.sensitive_key("PW"));
  EXPECT_FALSE(scrubber.sensitive_key("mypw"));
  EXPECT_TRUE(scrubber.sensitive_key("mypin"));
  EXPECT_TRUE(scrubber.sensitive_key("Мой_пароль"));
  EXPECT_TRUE(scrubber.sensitive_key("secret"));
}

TEST(Scrub, AnyValueOfASensitiveKey) {
  EXPECT_EQ(scrubbed(R"({"token":null,"b":[{"secret":false}],"c":{"auth":{"x":1}}})"),
            R"({"b":[{"secret":)" + kRedacted + R"(}],"c":{"auth":)" + kRedacted + R"(},"token":)" +
                kRedacted + "}");
}

TEST(Scrub, Shapes) {
  EXPECT_EQ(
      scrubbed(R"({"TLS":{"key":"k"},"a":{"tls":{"Key":"k"}},"b":{"tls":[{"key":1}]},"secretref":{},
                        "c":{"secretRef":"x"},"valueFrom":{"secretKeyRef":{}},"d":{"valueFrom":{"secretkeyref":{}}}})"),
      R"({"TLS":)" + kRedacted +
          R"(,"a":{"tls":{"Key":"k"}},"b":{"tls":[{"key":1}]},"c":{"secretRef":"x"},)" +
          R"("d":{"valueFrom":{"secretkeyref":)" + kRedacted + R"(}},"secretref":)" + kRedacted +
          R"(,"valueFrom":)" + kRedacted + "}");
}

TEST(Scrub, EnvironmentListsOnlyInArrays) {
  EXPECT_EQ(
      scrubbed(
          R"([{"name":"DB_PASSWORD","value":"x"},{"name":"A","value":"y"},{"name":1,"value":"z"}])"),
      R"([{"name":"DB_PASSWORD","value":)" + kRedacted +
          R"(},{"name":"A","value":"y"},{"name":1,"value":"z"}])");
  EXPECT_EQ(scrubbed(R"({"x":{"name":"DB_PASSWORD","value":"x"}})"),
            R"({"x":{"name":"DB_PASSWORD","value":"x"}})");
}

TEST(Scrub, Urls) {
  const auto url = [](std::string_view text) {
    const auto verdict = judge_content(text);
    return verdict ? verdict->text : std::string(text);
  };
  EXPECT_EQ(url("https://bob:pw@host.test/x"), "https://redacted@host.test/x");
  EXPECT_EQ(url("https://token@host.test"), "https://redacted@host.test");
  EXPECT_EQ(url("https://host.test/@x"), "https://host.test/@x");
  EXPECT_EQ(url("https://host.test:8080/@x"), "https://host.test:8080/@x");
  EXPECT_EQ(url("https://[::1]:80/@x"), "https://[::1]:80/@x");
  EXPECT_EQ(url("amqp+ssl://a:b@h"), "amqp+ssl://redacted@h");
  EXPECT_EQ(url("jdbc:postgresql://u:p@h/db?x=a@b"), "jdbc:postgresql://redacted@h/db?x=a@b");
  EXPECT_EQ(url("mongodb://u:p@h1:1,h2:2/db"), "mongodb://redacted@h1:1,h2:2/db");
  EXPECT_EQ(url("https://a:p@b@host"), "https://redacted@host");
  EXPECT_EQ(url("postgres://u:pa/ss@h/db"), "postgres://redacted@h/db");
  EXPECT_EQ(url("mailto:a@b.test"), "mailto:a@b.test");
  EXPECT_EQ(url("see https://u:p@h"), "see https://u:p@h");
  EXPECT_EQ(url("//u:p@h"), "//u:p@h");
}

TEST(Scrub, KeysAndTokensByContent) {
  const auto whole = [](std::string_view text) {
    const auto verdict = judge_content(text);
    return verdict && verdict->whole;
  };
  EXPECT_TRUE(
      whole("-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE "
            "KEY-----\nAA"));
  EXPECT_TRUE(whole("x: |\n  -----BEGIN PRIVATE KEY-----\n  AA"));
  EXPECT_FALSE(whole("-----BEGIN CERTIFICATE-----\nPRIVATE KEY"));
  EXPECT_FALSE(whole("-----BEGIN PUBLIC KEY-----\nAA"));
  EXPECT_TRUE(whole("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"));
  EXPECT_FALSE(whole("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0"));
  EXPECT_FALSE(whole("eyJhbGciOiJIUzI1NiJ9.abc.c2ln"));
  EXPECT_FALSE(whole("eyJhbGci.eyJ+.c2ln"));
}

TEST(Scrub, NumbersOutOfRangeAreToldNotWritten) {
  auto document = Document::parse(R"({"a":1e400})");
  const Scrubber scrubber({});
  std::string out;
  ScrubWriter writer(out, scrubber);
  writer.write(document->root(), false);
  EXPECT_TRUE(writer.out_of_range());
}

TEST(Scrub, KeysAreSortedAndLastOfTwinsCounts) {
  EXPECT_EQ(scrubbed(R"({"b":1,"a":{"z":1,"y":2},"b":3})"), R"({"a":{"y":2,"z":1},"b":3})");
}

}  // namespace
}  // namespace kollect::extract
