// Cases: spec crds 4.9, runtime 21 (admission/endpoints.json, admission/dial.json).
#include "base/address_guard.h"

#include <utility>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json/document.h"

namespace kollect::base {
namespace {

json::Document load(std::string_view name) {
  const auto text = read_file(std::string(KOLLECT_SOURCE_DIR "/tests/cases/") + std::string(name));
  auto document = json::Document::parse(*text);
  return std::move(*document);
}

TEST(AddressGuard, DialTable) {
  const json::Document table = load("base/dial.json");
  std::size_t cases = 0;
  for (const json::View entry : table.root().items()) {
    for (const bool allow_private : {false, true}) {
      const AddressGuard guard(allow_private);
      bool allowed = true;
      for (const json::View answer : entry.find("answers")->items()) {
        allowed = allowed && !guard.refuse_address(answer.as_string());
      }
      const char* key = allow_private ? "dialAllowedWithAllowPrivateSinks" : "dialAllowedByDefault";
      EXPECT_EQ(allowed, entry.find(key)->as_bool())
          << json::to_value(entry).find("answers")->as_array()[0].as_string();
      ++cases;
    }
  }
  EXPECT_EQ(cases, 28U);
}

TEST(AddressGuard, EndpointTable) {
  const json::Document table = load("admission/endpoints.json");
  std::size_t cases = 0;
  for (const json::View entry : table.root().items()) {
    const std::string_view endpoint = entry.text("endpoint");
    if (endpoint.find("://") == std::string_view::npos) {
      continue;  // scp-like and broker forms are taken apart by admission
    }
    EXPECT_EQ(!AddressGuard(false).refuse_url(endpoint), entry.find("admittedByDefault")->as_bool())
        << endpoint;
    EXPECT_EQ(!AddressGuard(true).refuse_url(endpoint),
              entry.find("admittedWithAllowPrivateSinks")->as_bool())
        << endpoint;
    ++cases;
  }
  EXPECT_EQ(cases, 25U);
}

TEST(AddressGuard, Hosts) {
  const AddressGuard guard(false);
  for (const char* host :
       {"localhost", " LOCALHOST. ", "a.localhost", "metadata", "metadata.google.internal.",
        "[::1]", "fe80::1%eth0", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "10.1.2.3",
        "fd12::1", "::127.0.0.1", "169.254.169.254", "0.0.0.0", "::"}) {
    EXPECT_TRUE(guard.refuse_host(host).has_value()) << host;
  }
  for (const char* host :
       {"example.org", "8.8.8.8", "2001:db8::1", "127.1", "0x7f000001", "017700000001",
        "localhost.example.org", "::ffff:8.8.8.8", "64:ff9b::808:808"}) {
    EXPECT_FALSE(guard.refuse_host(host).has_value()) << host;
  }
  EXPECT_TRUE(guard.refuse_address("example.org").has_value());
}

TEST(AddressGuard, Urls) {
  const AddressGuard guard(false);
  for (const char* url :
       {"file:///etc", "FILE:/etc", "https://u:p@127.0.0.1/x", "https://8.8.8.8@127.0.0.1:80",
        "http://[::1]:80/", "https://%31%32%37.0.0.1/", "https://localhost?x",
        "ssh://git@10.0.0.1/x", "https://127.0.0.1\\@8.8.8.8/"}) {
    EXPECT_TRUE(guard.refuse_url(url).has_value()) << url;
  }
  for (const char* url : {"", "bucket/path", "s3://bucket", "https://", "mailto:a@127.0.0.1",
                          "127.0.0.1:80", "https://git.example.org/127.0.0.1"}) {
    EXPECT_FALSE(guard.refuse_url(url).has_value()) << url;
  }
  EXPECT_EQ(*guard.refuse_url("https://user:secret@127.0.0.1/x"),
            "127.0.0.1 (loopback address) is not allowed: it needs --allow-loopback-sinks");
}

TEST(AddressGuard, ReasonsNameTheFlagThatAllows) {
  const AddressGuard guard(false);
  EXPECT_EQ(*guard.refuse_address("10.1.2.3"),
            "10.1.2.3 (private address) is not allowed: it needs --allow-private-sinks");
  EXPECT_EQ(*guard.refuse_host("LocalHost"),
            "localhost (name of this machine) is not allowed: it needs --allow-loopback-sinks");
  EXPECT_EQ(*guard.refuse_host("169.254.169.254"),
            "169.254.169.254 (link-local address) is not allowed: no flag allows it");
  EXPECT_EQ(*guard.refuse_secret_host("metadata"), "name of a metadata service: no flag allows it");
  EXPECT_EQ(*guard.refuse_secret_address("::ffff:192.168.0.1"),
            "private address: it needs --allow-private-sinks");
}

TEST(AddressGuard, LoopbackWithItsFlagButNeverMetadata) {
  const AddressGuard guard(false, true);
  for (const char* host : {"localhost", "a.localhost", "127.0.0.1", "::1", "::ffff:127.0.0.1",
                           "10.1.2.3", "fd12::1", "example.org"}) {
    EXPECT_FALSE(guard.refuse_host(host)) << host;
  }
  for (const char* host : {"metadata", "instance-data", "169.254.169.254", "fe80::1", "0.0.0.0",
                           "fd00:ec2::254", "100.64.0.1"}) {
    EXPECT_TRUE(guard.refuse_host(host)) << host;
  }
  EXPECT_FALSE(guard.refuse_address("127.0.0.1"));
  EXPECT_TRUE(guard.refuse_address("224.0.0.1"));
}

}  // namespace
}  // namespace kollect::base
