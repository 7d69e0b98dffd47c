#include "manager/operator_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/memory_stream.h"

namespace kollect::manager {
namespace {

using ::testing::HasSubstr;

struct Read {
  std::optional<int> code;
  OperatorFlags flags;
  std::string err;
};

Read read(const std::vector<std::string>& args, std::map<std::string, std::string> env = {}) {
  Read result;
  base::MemoryStream err;
  cli::Invocation invocation;
  invocation.env = std::move(env);
  invocation.out = err.file();
  invocation.err = err.file();
  result.code = read_operator_flags(invocation, args, result.flags);
  result.err = err.text();
  return result;
}

TEST(OperatorFlags, LogsAreJsonAtInfo) {
  const auto got = read({});
  ASSERT_FALSE(got.code) << got.err;
  EXPECT_EQ(got.flags.log_format, base::LogFormat::kJson);
  EXPECT_EQ(got.flags.log_level, base::LogLevel::kInfo);
}

TEST(OperatorFlags, TheReadApiIsOffAndChecked) {
  EXPECT_FALSE(read({}).flags.read_api.enabled);
  const auto got =
      read({"--inventory-http-enabled", "--inventory-http-port=9000", "--inventory-auth-mode=none",
            "--inventory-auth-audiences=a, b", "--inventory-auth-cache-ttl=0",
            "--inventory-http-opt-in", "--inventory-http-cors-origins=https://portal.example,*",
            "--inventory-max-streams=200", "--inventory-bind-address=127.0.0.1"});
  ASSERT_FALSE(got.code) << got.err;
  const ReadApiOptions& api = got.flags.read_api;
  EXPECT_TRUE(api.enabled);
  EXPECT_EQ(api.port, 9000);
  EXPECT_EQ(api.auth_mode, "disabled");  // of which none is an old spelling
  EXPECT_EQ(api.audiences, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(api.auth_keep, base::Duration::zero());
  EXPECT_EQ(api.cors_origins, (std::vector<std::string>{"https://portal.example", "*"}));
  EXPECT_EQ(api.max_streams, 200U);
  EXPECT_TRUE(got.flags.manager.read_api);
  EXPECT_TRUE(got.flags.manager.read_opt_in);
}

TEST(OperatorFlags, WhatTheReadApiCannotDoIsRefused) {
  for (const auto& [flag, part] :
       {std::pair{"--inventory-auth-mode=basic", "--inventory-auth-mode"},
        {"--inventory-auth-mode=", "--inventory-auth-mode"},
        {"--inventory-http-port=70000", "--inventory-http-port"},
        {"--inventory-auth-cache-ttl=often", "--inventory-auth-cache-ttl"},
        {"--inventory-max-streams=0", "--inventory-max-streams"},
        {"--inventory-stream-buffer-bytes=-1", "--inventory-stream-buffer-bytes"},
        {"--inventory-http-cors-origins=portal.example", "--inventory-http-cors-origins"},
        {"--inventory-http-cors-origins=https://portal.example/",
         "--inventory-http-cors-origins"}}) {
    const auto got = read({flag});
    EXPECT_TRUE(got.code) << flag;
    EXPECT_THAT(got.err, HasSubstr(part));
  }
}

TEST(OperatorFlags, TheOlderSpellingsOfLogging) {
  using Level = base::LogLevel;
  using Format = base::LogFormat;
  struct Case {
    std::vector<std::string> args;
    Format format;
    Level level;
  };
  for (const Case& one : std::vector<Case>{
           {{"--zap-devel"}, Format::kText, Level::kDebug},
           {{"--zap-devel=true"}, Format::kText, Level::kDebug},
           {{"--zap-devel=false"}, Format::kJson, Level::kInfo},
           {{"--zap-devel", "--zap-encoder", "json"}, Format::kJson, Level::kDebug},
           {{"--zap-encoder=console"}, Format::kText, Level::kInfo},
           {{"--zap-devel", "--zap-log-level", "error"}, Format::kText, Level::kError},
           {{"--zap-log-level", "panic"}, Format::kJson, Level::kError},
           {{"--zap-log-level=5"}, Format::kJson, Level::kDebug},
           {{"--log-format", "text", "--log-level", "warn"}, Format::kText, Level::kWarn}}) {
    const auto got = read(one.args);
    ASSERT_FALSE(got.code) << one.args[0] << ": " << got.err;
    EXPECT_EQ(got.flags.log_format, one.format) << one.args[0];
    EXPECT_EQ(got.flags.log_level, one.level) << one.args[0];
  }
  for (const char* wrong :
       {"--zap-log-level=loud", "--zap-log-level=0", "--zap-encoder=xml", "--log-format=xml"}) {
    const auto got = read({wrong});
    EXPECT_EQ(got.code, cli::kExitFailed) << wrong;
    EXPECT_THAT(got.err, HasSubstr(" takes ")) << wrong;
  }
}

TEST(OperatorFlags, WhatMeansNothingHereIsAcceptedAndTold) {
  const auto got =
      read({"--zap-stacktrace-level=panic", "--collect-dispatch-enqueue-wait", "25ms"});
  ASSERT_FALSE(got.code) << got.err;
  EXPECT_THAT(
      got.flags.without_effect,
      ::testing::UnorderedElementsAre("--zap-stacktrace-level", "--collect-dispatch-enqueue-wait"));
  EXPECT_TRUE(read({}).flags.without_effect.empty());
  EXPECT_TRUE(read({"--zap-time-encoding=rfc3339"}).flags.without_effect.empty());
  EXPECT_EQ(read({"--zap-time-encoding=epoch"}).flags.without_effect.size(), 1U);
  EXPECT_THAT(read({"--zap-time-encoding=sundial"}).err, HasSubstr(" takes "));
  EXPECT_THAT(read({"--zap-stacktrace-level=warn"}).err, HasSubstr(" takes "));
  EXPECT_EQ(read({"--collect-dispatch-enqueue-wait=soon"}).code, cli::kExitFailed);
}

TEST(OperatorFlags, NumbersOfTheCollection) {
  const auto usual = read({"--collect-dispatch-workers=0", "--collect-dispatch-queue-size=-1",
                           "--informer-resync-period=0s"});
  ASSERT_FALSE(usual.code) << usual.err;
  EXPECT_EQ(usual.flags.manager.collect_workers, 4U);
  EXPECT_EQ(usual.flags.manager.watch_queue_bytes, 4U << 20U);
  EXPECT_EQ(usual.flags.manager.resync, std::chrono::hours(12));
  const auto other = read({"--collect-dispatch-workers=8", "--collect-dispatch-queue-size=2048"},
                          {{"KOLLECT_INFORMER_RESYNC_PERIOD", "1h"}});
  ASSERT_FALSE(other.code) << other.err;
  EXPECT_EQ(other.flags.manager.collect_workers, 8U);
  EXPECT_EQ(other.flags.manager.watch_queue_bytes, 16U << 20U);
  EXPECT_EQ(other.flags.manager.resync, std::chrono::hours(1));
  EXPECT_EQ(other.flags.given,
            "--informer-resync-period=1h --collect-dispatch-workers=8 "
            "--collect-dispatch-queue-size=2048");
}

}  // namespace
}  // namespace kollect::manager
