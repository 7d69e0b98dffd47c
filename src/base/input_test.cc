#include "base/input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <future>

namespace kollect::base {
namespace {

/// A pipe as a stream; the writing end is closed by close_write() or at the end.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    file_ = ::fdopen(ends[0], "r");
    write_end_ = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_write();
    std::fclose(file_);
  }

  [[nodiscard]] std::FILE* file() const { return file_; }
  void write(std::string_view text) const {
    EXPECT_EQ(::write(write_end_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_write() {
    if (write_end_ >= 0) ::close(write_end_);
    write_end_ = -1;
  }

 private:
  std::FILE* file_ = nullptr;
  int write_end_ = -1;
};

TEST(Input, IsReadToItsEnd) {
  Pipe pipe;
  pipe.write("one\n");
  auto text = std::async(std::launch::async,
                         [&] { return read_input(pipe.file(), Context::background()); });
  pipe.write("two");
  pipe.close_write();
  EXPECT_EQ(text.get().value(), "one\ntwo");
}

TEST(Input, OfMemory) {
  std::string text(200'000, 'x');
  std::FILE* file = ::fmemopen(text.data(), text.size(), "r");
  EXPECT_EQ(read_input(file, Context::background()).value(), text);
  std::fclose(file);
}

TEST(Input, WaitingEndsWhenTheProgramIsStopped) {
  Pipe pipe;
  pipe.write("begun, and never ended");
  std::stop_source stop;
  const SystemClock clock;
  const Context context(clock, stop.get_token());
  auto text = std::async(std::launch::async, [&] { return read_input(pipe.file(), context); });
  stop.request_stop();
  const auto ended = text.get();
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().kind, ErrorKind::kCancelled);
  EXPECT_FALSE(wait_for_input(pipe.file(), context).has_value());
}

TEST(Input, ThatCannotBeReadIsAnError) {
  std::FILE* folder = std::fopen("/", "r");
  ASSERT_NE(folder, nullptr);
  const auto text = read_input(folder, Context::background());
  std::fclose(folder);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().message, "cannot read the input: Is a directory");
}

}  // namespace
}  // namespace kollect::base
