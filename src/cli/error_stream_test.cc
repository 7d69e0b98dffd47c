#include "cli/error_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace kollect::cli {
namespace {

TEST(ErrorStream, WritesAtOnceAndDropsWhatNobodyReads) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const ErrorStream stream(pipe[1]);
  fmt::print(stream.file(), "one {}\n", 1);
  std::array<char, 16> read{};
  ASSERT_EQ(::read(pipe[0], read.data(), read.size()), 6);
  EXPECT_EQ(std::string(read.data(), 6), "one 1\n");
  ::close(pipe[0]);
  EXPECT_NO_THROW(fmt::print(stream.file(), "two\n"));
  ::close(pipe[1]);
  EXPECT_NO_THROW(fmt::print(stream.file(), "{}\n", std::string(100'000, 'x')));
}

TEST(StandardDescriptors, AreNeverThoseOfOtherFiles) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(STDIN_FILENO);
    ::close(STDERR_FILENO);
    fill_standard_descriptors();
    const int next = ::open("/dev/null", O_RDONLY);
    ::_exit(::fcntl(STDIN_FILENO, F_GETFD) != -1 && ::fcntl(STDERR_FILENO, F_GETFD) != -1 &&
                    next > STDERR_FILENO
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kollect::cli
