#include "base/file_reloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>

#include "base/files.h"
#include "base/memory_stream.h"

namespace kollect::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileReloaderTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name) { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file_atomic(file(name), text));
  }
  FileReloader::Take taker() {
    return [this](const std::vector<std::string>& contents) -> Result<> {
      if (contents[0] == "bad") return configuration("no good");
      const std::scoped_lock lock(mutex_);
      taken_.push_back(contents[0] + (contents.size() > 1 ? "+" + contents[1] : ""));
      changed_.notify_all();
      return {};
    };
  }

  TempDir folder_ = *TempDir::create();
  SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> taken_;
};

TEST_F(FileReloaderTest, TakesWhatChanged) {
  write("a", "1");
  write("b", "2");
  FileReloader reloader(clock_, nullptr);
  ASSERT_TRUE(reloader.add("pair", {file("a"), file("b")}, taker()));
  reloader.look();
  write("b", "3");
  reloader.look();
  EXPECT_THAT(taken_, ElementsAre("1+2")) << "it may be half written";
  reloader.look();
  write("a", "1");  // another file with the same content
  reloader.look();
  reloader.look();
  EXPECT_THAT(taken_, ElementsAre("1+2", "1+3"));
}

TEST_F(FileReloaderTest, AwaitsWhatIsNotThereYet) {
  FileReloader reloader(clock_, nullptr);
  write("a", "1");
  EXPECT_FALSE(reloader.add_or_await("pair", {file("a"), file("b")}, taker()));
  reloader.look();
  reloader.look();
  EXPECT_THAT(taken_, ElementsAre());
  write("b", "2");
  reloader.look();
  reloader.look();
  EXPECT_THAT(taken_, ElementsAre("1+2"));
  EXPECT_TRUE(reloader.add_or_await("again", {file("a")}, taker()));
  EXPECT_THAT(taken_, ElementsAre("1+2", "1"));
}

TEST_F(FileReloaderTest, KeepsTheOldStateAndSaysSoOnce) {
  write("a", "1");
  MemoryStream stream;
  const Logger log({.format = LogFormat::kJson, .out = stream.file()}, clock_);
  FileReloader reloader(clock_, &log);
  ASSERT_TRUE(reloader.add("tokens", {file("a")}, taker()));
  const auto lines_after = [&] {
    for (int i = 0; i < 4; ++i) reloader.look();
    const std::string text = stream.text();
    return std::ranges::count(text, '\n');
  };
  write("a", "bad");
  EXPECT_EQ(lines_after(), 1);
  std::filesystem::remove(file("a"));
  EXPECT_EQ(lines_after(), 2);
  write("a", "1");
  EXPECT_EQ(lines_after(), 3);
  EXPECT_THAT(taken_, ElementsAre("1", "1"));
  EXPECT_THAT(stream.text(), HasSubstr("no good"));
}

TEST_F(FileReloaderTest, BeginsWithFilesThatAreThereAndGood) {
  FileReloader reloader(clock_, nullptr);
  EXPECT_FALSE(reloader.add("x", {file("none")}, taker()));
  write("a", "bad");
  EXPECT_EQ(reloader.add("x", {file("a")}, taker()).error().message, "no good");
}

TEST_F(FileReloaderTest, LooksByItself) {
  write("a", "1");
  FileReloader reloader(clock_, nullptr);
  ASSERT_TRUE(reloader.add("x", {file("a")}, taker()));
  reloader.start(std::chrono::milliseconds(1));
  write("a", "2");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return taken_.size() == 2; });
  EXPECT_THAT(taken_, ElementsAre("1", "2"));
}

}  // namespace
}  // namespace kollect::base
