// Connection strings, address guard and error classes: what needs no server (spec:
// sinks 11.1, 11.3, 16.4).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pgsql/dsn.h"
#include "pgsql/error.h"

namespace kollect::pgsql {
namespace {

using base::ErrorKind;
using ::testing::HasSubstr;
using ::testing::Not;

/// Reason of the refusal to even try, "" when it was tried.
std::string refusal(const std::string& dsn, bool allow_private = false, bool allow_local = false,
                    const std::vector<std::string>& addresses = {"127.0.0.1"}) {
  DsnOptions options;
  options.dsn = base::Secret(dsn);
  options.guard = std::make_shared<const base::AddressGuard>(allow_private);
  options.allow_local = allow_local;
  options.resolver = [addresses](const std::string&) -> base::Result<std::vector<std::string>> {
    return addresses;
  };
  // Nobody listens there; what matters is whether it was dialled.
  const auto connection =
      connect(base::Context::background().with_timeout(std::chrono::milliseconds(1)), options);
  if (connection.has_value()) return "connected";
  EXPECT_THAT(connection.error().message, Not(HasSubstr("10.1.2.3")));
  EXPECT_THAT(connection.error().message, Not(HasSubstr("evil")));
  return connection.error().reason == "address-refused" ? "address-refused" : "";
}

TEST(PostgresGuard, EveryHostOfTheListIsChecked) {
  const std::string refused = "address-refused";
  EXPECT_EQ(refusal("postgresql://u@127.0.0.1/x"), refused);
  EXPECT_EQ(refusal("postgresql://u@localhost/x"), refused);
  EXPECT_EQ(refusal("postgresql://u@10.1.2.3/x"), refused);
  EXPECT_EQ(refusal("postgresql://u@10.1.2.3:1/x", true), "");
  EXPECT_EQ(refusal("postgresql://u@169.254.169.254/x", true), refused);
  EXPECT_EQ(refusal("postgresql://u@evil.example/x"), refused);  // resolves to 127.0.0.1
  EXPECT_EQ(refusal("postgresql://u@evil.example/x", false, false, {"192.0.2.1", "10.1.2.3"}),
            refused);
  EXPECT_EQ(refusal("postgresql://u@good.example:1/x", false, false, {"192.0.2.1"}), "");
  EXPECT_EQ(refusal("postgresql://u@192.0.2.1:1,127.0.0.1:1/x"), refused);
  EXPECT_EQ(refusal("host=good.example hostaddr=10.1.2.3 user=u"), refused);
  EXPECT_EQ(refusal("hostaddr=::ffff:127.0.0.1 user=u"), refused);
  EXPECT_EQ(refusal("postgresql://u@[::1]/x"), refused);
  EXPECT_EQ(refusal("postgresql://u@2130706433/x"), refused);
}

TEST(PostgresGuard, RefusalsNameTheRangeAndTheFlagButNoHost) {
  const auto message = [](const char* dsn) {
    DsnOptions options;
    options.dsn = base::Secret(dsn);
    options.guard = std::make_shared<const base::AddressGuard>(false);
    return check_dsn(options).error().message;
  };
  const std::string begin = "postgres: a host of the connection string is not allowed, ";
  EXPECT_EQ(message("postgresql://u@10.1.2.3/x"),
            begin + "private address: it needs --allow-private-sinks");
  EXPECT_EQ(message("postgresql://u@127.0.0.1/x"),
            begin + "loopback address: it needs --allow-loopback-sinks");
  EXPECT_EQ(message("postgresql://u@169.254.169.254/x"),
            begin + "link-local address: no flag allows it");
  EXPECT_EQ(message("host=/var/run/x"),
            "postgres: the connection string leads to a local socket: only an operator with "
            "--allow-local-sinks takes it");
}

TEST(PostgresGuard, LocalSocketsAndServices) {
  EXPECT_EQ(refusal("host=/var/run/nowhere user=u"), "address-refused");
  EXPECT_EQ(refusal("host=@abstract user=u"), "address-refused");
  EXPECT_EQ(refusal("user=u"), "address-refused");
  EXPECT_EQ(refusal("host=192.0.2.1 service=evil"), "address-refused");
  EXPECT_EQ(refusal("host=/var/run/nowhere user=u", false, true), "");
}

TEST(PostgresErrors, ClassesBySqlstate) {
  const auto kind = [](const char* sqlstate) {
    return statement_error("writing rows to", "public.t", sqlstate, "").kind;
  };
  for (const char* code : {"08006", "40001", "40P01", "53200", "53300", "55P03", "57014", "57P01",
                           "58030", "XX000", "25006", "99999", ""}) {
    EXPECT_EQ(kind(code), ErrorKind::kRetryable) << code;
  }
  for (const char* code : {"22P02", "22P05", "23505", "42601", "42P01", "54000", "0A000"}) {
    EXPECT_EQ(kind(code), ErrorKind::kTerminal) << code;
  }
  for (const char* code : {"28000", "28P01", "42501"}) {
    EXPECT_EQ(kind(code), ErrorKind::kDenied) << code;
  }
  for (const char* code : {"3D000", "3F000"}) {
    EXPECT_EQ(kind(code), ErrorKind::kConfiguration) << code;
  }
  EXPECT_EQ(statement_error("writing rows to", "public.t", "23514", "positive").message,
            "postgres: writing rows to public.t: a constraint of the table does not allow a row "
            "(positive) [SQLSTATE 23514]");
}

TEST(PostgresErrors, ConnectionsByTheirWords) {
  const auto reason = [](const char* message) { return connect_error(message).reason; };
  EXPECT_EQ(reason("connection to server at \"h\" (1.2.3.4), port 5432 failed: FATAL:  28P01\n"),
            "auth");
  EXPECT_EQ(reason("connection to server at \"h\", port 5432 failed: Connection refused"),
            "unreachable");
  EXPECT_EQ(reason("SSL error: certificate verify failed"), "tls");
  EXPECT_EQ(reason("server certificate for \"a\" does not match host name \"b\""), "tls");
  EXPECT_EQ(connect_error("strange words about host h").message,
            "postgres: cannot connect: the connection failed");
}

}  // namespace
}  // namespace kollect::pgsql
