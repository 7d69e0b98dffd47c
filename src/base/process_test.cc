#include "base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/files.h"

namespace kollect::base {
namespace {

using namespace std::chrono_literals;

Command shell(std::string script) {
  Command command;
  command.program = "sh";
  command.args = {"-c", std::move(script)};
  command.env = {{"PATH", "/usr/bin:/bin"}};
  return command;
}

CommandResult must_run(const Command& command) {
  auto result = run(Context::background(), command);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.value_or(CommandResult{});
}

TEST(Process, OutputAndExitCode) {
  const CommandResult result = must_run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(must_run(shell("kill -9 $$")).exit_code, 137);
}

TEST(Process, EnvironmentAndFolderAreExact) {
  ::setenv("KOLLECT_TEST_LEAK", "1", 1);
  Command command = shell("env | sort; pwd");
  command.env["A"] = "b c";
  command.working_dir = "/";
  EXPECT_EQ(must_run(command).out, "A=b c\nPATH=/usr/bin:/bin\nPWD=/\n/\n");
  ::unsetenv("KOLLECT_TEST_LEAK");
}

TEST(Process, InputIsFedAndLargeOutputRead) {
  Command command;
  command.program = "cat";
  command.stdin_text = std::string(3'000'000, 'x');
  EXPECT_EQ(must_run(command).out, command.stdin_text);
  command = shell("head -c 5");  // stops reading early
  command.stdin_text = std::string(3'000'000, 'y');
  EXPECT_EQ(must_run(command).out, "yyyyy");
  EXPECT_EQ(must_run(shell("cat; exec 0<&-; exit 0")).out, "");  // nothing to read: /dev/null
}

TEST(Process, Limits) {
  Command command = shell("head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2");
  command.max_output = 100'000;
  const CommandResult result = must_run(command);
  EXPECT_EQ(result.out.size(), 100'000U);
  EXPECT_EQ(result.err.size(), 65'536U);
  command.max_output = 99'999;
  EXPECT_EQ(run(Context::background(), command).error().message, "sh wrote more than 99999 bytes");
  command = shell("yes");
  command.max_output = 1'000'000;
  EXPECT_FALSE(run(Context::background(), command).has_value());
}

TEST(Process, MissingProgramsAndFolders) {
  Command command;
  command.program = "no-such-program";
  EXPECT_EQ(run(Context::background(), command).error().kind, ErrorKind::kNotFound);
  command.program = "/etc/passwd";
  EXPECT_EQ(run(Context::background(), command).error().kind, ErrorKind::kNotFound);
  command = shell("true");
  command.working_dir = "/no/such/folder";
  EXPECT_EQ(run(Context::background(), command).error().kind, ErrorKind::kNotFound);
  command = shell("true");
  command.search_path = {"/nowhere"};
  EXPECT_EQ(run(Context::background(), command).error().message,
            "there is no program \"sh\" in /nowhere");
}

TEST(Process, DeadlineEndsTheWholeGroup) {
  const auto dir = TempDir::create();
  const std::string pid_file = (dir->path() / "pid").string();
  // The shell's child ignores SIGTERM and would live for an hour.
  const Command command =
      shell("(trap '' TERM; echo $$ > " + pid_file + "; sleep 3600) & sleep 3600");
  const auto result = run(Context::background().with_timeout(200ms), command);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::kCancelled);
  EXPECT_EQ(result.error().reason, "timeout");
  const auto group = read_file(pid_file);
  ASSERT_TRUE(group.has_value());
  // Dead members may wait for their parent to collect them; nobody is left to be signalled for
  // long.
  const pid_t id = std::stoi(*group);
  for (int i = 0; i < 1000 && ::kill(-id, 0) == 0; ++i) {
    std::this_thread::yield();
  }
  const auto state = read_file("/proc/" + std::to_string(id) + "/stat");
  EXPECT_FALSE(state.has_value());
}

TEST(Process, HelpersMayTidyUpAfterTheLeaderHasEnded) {
  const auto dir = TempDir::create();
  const std::string lock = (dir->path() / "lock").string();
  // The helper removes its lock only when the leader has ended; $$ is the leader's number.
  const Command command =
      shell(": > " + lock + "; (trap 'until grep -q \") Z \" /proc/$$/stat; do :; done; rm " +
            lock + "; exit' TERM; while :; do sleep 0.01; done) & exec sleep 3600");
  const auto result = run(Context::background().with_timeout(300ms), command);
  ASSERT_FALSE(result.has_value());
  EXPECT_FALSE(std::filesystem::exists(lock));
}

TEST(Process, HelpersThatEndAloneGetNoSignal) {
  const auto dir = TempDir::create();
  const std::string file = (dir->path() / "file").string();
  // The helper works until the leader is gone ($$ is its number), and then for a moment more.
  Command command =
      shell("(trap 'echo signalled > " + file +
            "; exit' TERM; until grep -q ') Z ' /proc/$$/stat; do :; done; echo done > " + file +
            ") & exec sleep 3600");
  command.helpers_end_alone = true;
  const auto result = run(Context::background().with_timeout(300ms), command);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(read_file(file).value_or("nothing"), "done\n");
}

/// True while the process runs; one that only waits to be collected does not.
bool runs(pid_t id) {
  const auto state = read_file("/proc/" + std::to_string(id) + "/stat");
  return state.has_value() && state->find(") Z ") == std::string::npos;
}

TEST(Process, ProgramsEndWhenTheirParentIsKilled) {
  const auto dir = TempDir::create();
  const std::string pid_file = (dir->path() / "pid").string();
  const pid_t parent = ::fork();
  if (parent == 0) {
    (void)run(Context::background(), shell("echo $$ > " + pid_file + ".new; mv " + pid_file +
                                           ".new " + pid_file + "; exec sleep 3600"));
    ::_exit(0);
  }
  while (!std::filesystem::exists(pid_file)) {
    std::this_thread::yield();
  }
  const pid_t program = std::stoi(*read_file(pid_file));
  EXPECT_TRUE(runs(program));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  while (runs(program)) {  // the test's own time limit ends this
    std::this_thread::yield();
  }
}

TEST(Process, SignalsAndDescriptorsAreFresh) {
  // What this process blocks, ignores and has open is none of the program's business.
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto handler = std::signal(SIGUSR2, SIG_IGN);
  const int open = ::open("/dev/null", O_RDONLY);
  const auto result = must_run(shell("grep -E '^Sig(Blk|Ign):' /proc/self/status; ls /proc/$$/fd"));
  ::close(open);
  (void)std::signal(SIGUSR2, handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // Signals 32 and 33 belong to the threads' library, which lets nobody set them.
  EXPECT_THAT(result.out,
              ::testing::MatchesRegex(
                  "SigBlk:\\s0000000000000000\nSigIgn:\\s0000000[01][08]0000000\n0\n1\n2\n"));
}

TEST(Process, WhatCannotBeExecutedIsSaid) {
  const auto dir = TempDir::create();
  const auto file = dir->path() / "no-program";
  ASSERT_TRUE(write_file_atomic(file,
                                "\x7f"
                                "ELF nothing"));
  std::filesystem::permissions(file, std::filesystem::perms(0755));
  Command command;
  command.program = file.string();
  const auto result = run(Context::background(), command);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "cannot run " + file.string() + ": Exec format error");
}

TEST(Process, CancelStops) {
  std::stop_source stop;
  const SystemClock clock;
  std::thread stopper([&] { stop.request_stop(); });
  const auto result = run(Context(clock, stop.get_token()), shell("sleep 3600"));
  stopper.join();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().reason, "cancelled");
}

TEST(Process, BackgroundProcessDoesNotHoldTheResult) {
  EXPECT_EQ(must_run(shell("echo out; sleep 5 &")).out, "out\n");
}

}  // namespace
}  // namespace kollect::base
