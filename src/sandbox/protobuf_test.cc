// Bodies in binary form: what kubectl writes is read; what is not known is refused, never lost.
#include "sandbox/protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/testing.h"

namespace kollect::sandbox {
namespace {

using ::testing::HasSubstr;
using testing::Server;

std::string varint(std::uint64_t value) {
  std::string out;
  while (value >= 128) {
    out += static_cast<char>((value & 127U) | 128U);
    value >>= 7U;
  }
  return out + static_cast<char>(value);
}
std::string bytes(int number, const std::string& text) {
  return varint(static_cast<std::uint64_t>(number) << 3U | 2U) + varint(text.size()) + text;
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3U) + varint(value);
}
std::string body(const std::string& version, const std::string& kind, const std::string& object) {
  return std::string("k8s\0", 4) + bytes(1, bytes(1, version) + bytes(2, kind)) + bytes(2, object);
}
std::string entry(const std::string& key, const std::string& value) {
  return bytes(1, key) + bytes(2, value);
}

/// Canonical text, or "code: message".
std::string read(const std::string& text) {
  const auto value = read_protobuf(text);
  return value ? base::json::canonical(*value)
               : fmt::format("{}: {}", value.error().code, value.error().message);
}

TEST(SandboxProtobuf, ReadsObjects) {
  const std::string meta = bytes(1, "a") + bytes(2, "") + number(7, 0) + bytes(8, "") +
                           bytes(11, entry("x", "one")) + bytes(11, entry("y", ""));
  EXPECT_EQ(read(body("v1", "ConfigMap",
                      bytes(1, meta) + bytes(2, entry("k", "v")) + bytes(3, entry("b", "\xff")))),
            R"({"apiVersion":"v1","binaryData":{"b":"/w=="},"data":{"k":"v"},"kind":"ConfigMap",)"
            R"("metadata":{"labels":{"x":"one","y":""},"name":"a"}})");
  EXPECT_EQ(read(body("v1", "Namespace", bytes(1, bytes(1, "n") + bytes(8, number(1, 86400))))),
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"creationTimestamp":)"
            R"("1970-01-02T00:00:00Z","name":"n"}})");
}

TEST(SandboxProtobuf, KeepsZeroWhereItMeansSomething) {
  // replicas is a pointer, minReadySeconds is not.
  EXPECT_EQ(read(body("apps/v1", "Deployment", bytes(2, number(1, 0) + number(5, 0)))),
            R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":0}})");
  EXPECT_EQ(read(body("v1", "Role", bytes(2, bytes(1, "get") + bytes(2, "")))),
            R"({"apiVersion":"v1","kind":"Role","rules":[{"apiGroups":[""],"verbs":["get"]}]})");
  const auto port = [](const std::string& target) {
    return read(body("v1", "Service", bytes(2, bytes(1, number(3, 80) + bytes(4, target)))));
  };
  EXPECT_THAT(port(number(1, 0) + number(2, 8080)), HasSubstr(R"("targetPort":8080)"));
  EXPECT_THAT(port(number(1, 1) + bytes(3, "http")), HasSubstr(R"("targetPort":"http")"));
}

TEST(SandboxProtobuf, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(read(body("v1", "Lease", "")), HasSubstr("415"));
  EXPECT_THAT(read(body("v1", "Namespace", bytes(9, "x"))), HasSubstr("field 9 of Namespace"));
  // An empty one says nothing.
  EXPECT_EQ(read(body("v1", "Namespace", bytes(9, ""))),
            R"({"apiVersion":"v1","kind":"Namespace"})");
}

TEST(SandboxProtobuf, RefusesWhatIsBroken) {
  const std::string good = body("v1", "Namespace", bytes(1, bytes(1, "name")));
  for (std::size_t cut = 0; cut + 1 < good.size(); ++cut) {
    const std::string said = read(good.substr(0, cut));
    EXPECT_THAT(said.substr(0, 2), ::testing::AnyOf("40", "41")) << cut << " " << said;
  }
  EXPECT_THAT(read(body("v1", "Namespace", number(1, 5))), HasSubstr("400"));
  EXPECT_THAT(read(body("apps/v1", "Deployment", bytes(2, bytes(1, "x")))), HasSubstr("400"));
  EXPECT_THAT(read(body("v1", "Namespace", "\x0d\x01\x02\x03\x04")), HasSubstr("400"));
  const std::string far = bytes(8, number(1, std::numeric_limits<std::int64_t>::max()));
  EXPECT_THAT(read(body("v1", "Namespace", bytes(1, far))), HasSubstr("400"));
}

TEST(SandboxProtobuf, ServerTakesIt) {
  Server server;
  const auto got =
      server.call("POST", "/api/v1/namespaces", body("v1", "Namespace", bytes(1, bytes(1, "sea"))),
                  "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(got.status, 201) << got.text;
  EXPECT_EQ(server.get("/api/v1/namespaces/sea").status, 200);
}

}  // namespace
}  // namespace kollect::sandbox
