// Cases: spec pipeline 12, sinks 16.4 (git/redaction.json), field-credentials-in-git-errors.
#include "base/log.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/memory_stream.h"
#include "base/secret.h"

namespace kollect::base {
namespace {

class LogTest : public testing::Test {
 protected:
  LogTest() : clock_(WallTime(std::chrono::seconds(1'700'000'000)) + std::chrono::milliseconds(5)) {
    options_.out = stream_.file();
  }
  [[nodiscard]] std::string text() const { return stream_.text(); }

  ManualClock clock_;
  Logger::Options options_;
  MemoryStream stream_;
};

TEST_F(LogTest, Json) {
  options_.format = LogFormat::kJson;
  const Logger log(options_, clock_);
  log.warn("two\nlines", {{"context", "kind"}, {"error", "a \"b\""}});
  EXPECT_EQ(
      text(),
      R"({"level":"warn","ts":"2023-11-14T22:13:20.005Z","msg":"two\nlines","context":"kind","error":"a \"b\""})"
      "\n");
}

TEST_F(LogTest, Text) {
  const Logger log(options_, clock_);
  log.info("done", {{"rows", "3"}, {"error", "a \"b\""}, {"empty", ""}});
  log.error("esc \x1b[31m \x7f\n");
  EXPECT_EQ(text(),
            "2023-11-14T22:13:20Z INFO  done rows=3 error=\"a \\\"b\\\"\" empty=\"\"\n"
            "2023-11-14T22:13:20Z ERROR esc \\x1b[31m \\x7f\\n\n");
}

TEST_F(LogTest, LevelsAndHooks) {
  options_.level = LogLevel::kError;
  Logger log(options_, clock_);
  int before = 0;
  int after = 0;
  log.set_line_hooks([&] { ++before; }, [&] { ++after; });
  log.debug("no");
  log.info("no");
  log.warn("no");
  log.error("1");
  log.always("2");
  EXPECT_EQ(text(), "2023-11-14T22:13:20Z ERROR 1\n2023-11-14T22:13:20Z INFO  2\n");
  EXPECT_EQ(before, 2);
  EXPECT_EQ(after, 2);
  EXPECT_FALSE(log.enabled(LogLevel::kWarn));
  EXPECT_EQ(*parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_FALSE(parse_log_level("DEBUG").has_value());
}

TEST_F(LogTest, SecretsAreMasked) {
  auto redactor = std::make_shared<Redactor>();
  redactor->add("hunter22");
  const Logger log(options_, clock_, redactor);
  log.info("key hunter22", {{"url", "https://hunter22@h/"}});
  EXPECT_EQ(text(), "2023-11-14T22:13:20Z INFO  key *** url=https://***@h/\n");
}

TEST(Redactor, ExampleTable) {
  const auto text = read_file(KOLLECT_SOURCE_DIR "/tests/cases/base/redaction.json");
  const auto document = json::Document::parse(*text);
  std::size_t cases = 0;
  for (const json::View entry : document->root().items()) {
    Redactor redactor;
    redactor.add(entry.text("secret"));
    EXPECT_EQ(redactor.redact(entry.text("in")), entry.text("out"));
    ++cases;
  }
  EXPECT_EQ(cases, 4U);
}

TEST(Redactor, Forms) {
  Redactor redactor;
  redactor.add("p@ss/word");
  redactor.add("p@ss/word-and-more");
  redactor.add("short");
  redactor.add("-----BEGIN KEY-----\nMIIBVQIBADANBgkqhkiG9w0BAQ\n-----END KEY-----\n");
  EXPECT_EQ(redactor.redact("p@ss/word-and-more p@ss/word p%40ss%2Fword short"),
            "*** *** *** short");
  EXPECT_EQ(redactor.redact("auth: " + base64_encode("p@ss/word")), "auth: ***");
  EXPECT_EQ(redactor.redact("bad key MIIBVQIBADANBgkqhkiG9w0BAQ!"), "bad key ***!");
  EXPECT_EQ(redactor.redact("https://a@b@c/d@e"), "https://***@c/d@e");
  EXPECT_EQ(redactor.redact("see https://h/a?x=u@v"), "see https://h/a?x=u@v");
}

TEST(Secret, RevealAndCompare) {
  Secret secret("abc");
  const Secret copy = secret;
  EXPECT_EQ(copy.reveal(), "abc");
  EXPECT_EQ(copy, secret);
  EXPECT_FALSE(copy.empty());
  secret = Secret();
  EXPECT_TRUE(secret.empty());
  EXPECT_EQ(copy.reveal(), "abc");
  static_assert(!fmt::is_formattable<Secret>::value);
}

}  // namespace
}  // namespace kollect::base
