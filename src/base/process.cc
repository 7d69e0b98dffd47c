#include "base/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <expected>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strings.h"

namespace kollect::base {

namespace {

using RealClock = std::chrono::steady_clock;

constexpr std::size_t kMaxErr = 64U << 10U;
/// How often the context is asked while the program is silent.
constexpr std::chrono::milliseconds kSlice{50};
constexpr std::chrono::seconds kGrace{2};
/// For helpers that end alone: they may be in the middle of a slow write.
constexpr std::chrono::seconds kLongGrace{10};

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Pair {
  Descriptor ours;
  Descriptor theirs;
};

std::string cause(int code) {
  return std::generic_category().message(code);
}

Result<Pair> output_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
    return terminal("cannot create a pipe: " + cause(errno));
  }
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return Pair{Descriptor(fds[0]), Descriptor(fds[1])};
}

/// A socket rather than a pipe: writing to a program that has gone must not raise SIGPIPE here.
Result<Pair> input_socket() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return terminal("cannot create a socket: " + cause(errno));
  }
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  ::shutdown(fds[1], SHUT_WR);
  return Pair{Descriptor(fds[0]), Descriptor(fds[1])};
}

Result<std::string> find_program(const Command& command) {
  const auto runnable = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (command.program.find('/') != std::string::npos) {
    if (runnable(command.program)) {
      return command.program;
    }
    return not_found(fmt::format("there is no program {}", command.program));
  }
  for (const std::string& folder : command.search_path) {
    if (std::string path = folder + "/" + command.program; runnable(path)) {
      return path;
    }
  }
  return not_found(fmt::format("there is no program \"{}\" in {}", command.program,
                               join(command.search_path, ":")));
}

/// What the new process needs between fork and exec, made ready before: in there only
/// async-signal-safe calls are allowed (POSIX.1-2017, 2.4.3), so no memory is taken.
struct Start {
  const char* program = nullptr;
  char* const* words = nullptr;
  char* const* variables = nullptr;
  const char* folder = nullptr;  ///< null: stay
  int in = -1;                   ///< -1: /dev/null
  int out = -1;
  int err = -1;
  int report = -1;  ///< gets errno when the program cannot be started; closed by exec
  bool keep_in = false;
  bool own_group = true;
  pid_t parent = 0;
};

bool set_streams(const Start& start) {
  int in = start.in;
  if (!start.keep_in && in < 0) {
    in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  // Copies above 2 first: a descriptor of ours may sit on 0, 1 or 2 when the caller has none there.
  const int out = ::fcntl(start.out, F_DUPFD_CLOEXEC, 3);
  const int err = ::fcntl(start.err, F_DUPFD_CLOEXEC, 3);
  if (out < 0 || err < 0 || (!start.keep_in && (in < 0 || ::dup2(in, 0) < 0))) {
    return false;
  }
  return ::dup2(out, 1) >= 0 && ::dup2(err, 2) >= 0;
}

/// In the new process. Ends it when the program cannot be started.
[[noreturn]] void become(const Start& start) {
  // A program of ours must not go on when we are killed: a push that nobody waits for could come
  // after the next run's. SIGTERM, so that git takes its lock files and helpers with it. The signal
  // is sent when the thread ends that started the program; run() keeps it waiting until the end.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    ::sigaction(number, &action, nullptr);  // those that cannot be set refuse, which is fine
  }
  const bool ready = ::getppid() == start.parent && (!start.own_group || ::setpgid(0, 0) == 0) &&
                     set_streams(start) && (start.folder == nullptr || ::chdir(start.folder) == 0);
  if (ready) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    ::execve(start.program, start.words, start.variables);
  }
  const int code = errno;
  [[maybe_unused]] const ssize_t told = ::write(start.report, &code, sizeof code);
  ::_exit(127);
}

/// Starts the program; gives its process id, or the errno of the step that failed.
std::expected<pid_t, int> start_program(Start& start) {
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) {
    return std::unexpected(errno);
  }
  const Descriptor reading(report[0]);
  Descriptor writing(report[1]);
  start.report = writing.get();
  start.parent = ::getpid();
  // No handler of ours may run in the new process before it has its own dispositions.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(start);
  }
  const int fork_code = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    return std::unexpected(fork_code);
  }
  writing.reset();
  int code = 0;
  ssize_t count = 0;
  do {
    count = ::read(reading.get(), &code, sizeof code);
  } while (count < 0 && errno == EINTR);
  if (count == 0) {
    return pid;  // exec has closed the other end
  }
  ::waitpid(pid, nullptr, 0);
  return std::unexpected(count > 0 ? code : EIO);
}

/// The running program with our ends of its streams. Destroyed while it runs: killed and reaped.
class Child {
 public:
  explicit Child(const Command& command) : command_(command) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0 && !status_) {
      signal(SIGKILL);
      reap(0);
    }
  }

  Result<> start();
  Result<CommandResult> finish(const Context& context);

 private:
  /// Moves what can be moved, waiting at most `wait`.
  void pump(std::chrono::milliseconds wait);
  void read_into(Descriptor& from, std::string& to, std::size_t keep);
  void feed();
  void signal(int number) const;
  void reap(int options);
  /// True when the program has ended; it is reaped then.
  bool ended();
  /// Ends the program and its group, gently first.
  void stop();
  bool all_gone_within(std::chrono::seconds grace);
  /// The program itself has ended, reaped or not.
  [[nodiscard]] bool leader_gone() const;

  const Command& command_;
  pid_t pid_ = -1;
  bool own_group_ = true;
  Descriptor out_;
  Descriptor err_;
  Descriptor in_;
  std::size_t fed_ = 0;
  std::optional<int> status_;
  CommandResult result_;
};

Result<> Child::start() {
  KL_ASSIGN(const std::string program, find_program(command_));
  std::error_code ignored;
  if (!command_.working_dir.empty() &&
      !std::filesystem::is_directory(command_.working_dir, ignored)) {
    return not_found(
        fmt::format("there is no folder {} to run {} in", command_.working_dir, command_.program));
  }
  KL_ASSIGN(Pair out, output_pipe());
  KL_ASSIGN(Pair err, output_pipe());
  Pair in;
  if (!command_.stdin_text.empty()) {
    KL_ASSIGN(in, input_socket());
  }
  std::vector<std::string> words = {command_.program};
  words.insert(words.end(), command_.args.begin(), command_.args.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : command_.env) {
    variables.push_back(name + "=" + value);
  }
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) {
      list.push_back(text.data());
    }
    list.push_back(nullptr);
    return list;
  };
  std::vector<char*> word_list = pointers(words);
  std::vector<char*> variable_list = pointers(variables);
  // A program that asks at the terminal must stay in the terminal's group.
  own_group_ = !command_.inherit_stdin;
  Start start{.program = program.c_str(),
              .words = word_list.data(),
              .variables = variable_list.data(),
              .folder = command_.working_dir.empty() ? nullptr : command_.working_dir.c_str(),
              .in = in.theirs.get(),
              .out = out.theirs.get(),
              .err = err.theirs.get(),
              .keep_in = command_.inherit_stdin && !in.theirs.open(),
              .own_group = own_group_};
  const auto started = start_program(start);
  if (!started) {
    const std::string message = fmt::format("cannot run {}: {}", program, cause(started.error()));
    return started.error() == ENOENT ? not_found(message) : terminal(message);
  }
  pid_ = *started;
  out_ = std::move(out.ours);
  err_ = std::move(err.ours);
  in_ = std::move(in.ours);
  return {};
}

void Child::read_into(Descriptor& from, std::string& to, std::size_t keep) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
    if (count > 0) {
      const std::size_t room = keep > to.size() ? keep - to.size() : 0;
      to.append(buffer.data(), std::min(static_cast<std::size_t>(count), room));
      if (static_cast<std::size_t>(count) == buffer.size()) {
        return;  // let the loop look at the other streams and the clock
      }
      continue;
    }
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count == 0 || errno != EAGAIN) {
      from.reset();
    }
    return;
  }
}

void Child::feed() {
  const ssize_t count = ::send(in_.get(), command_.stdin_text.data() + fed_,
                               command_.stdin_text.size() - fed_, MSG_NOSIGNAL);
  if (count > 0) {
    fed_ += static_cast<std::size_t>(count);
  } else if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
    return;
  } else {
    in_.reset();  // the program does not want it
    return;
  }
  if (fed_ == command_.stdin_text.size()) {
    in_.reset();
  }
}

void Child::pump(std::chrono::milliseconds wait) {
  std::array<pollfd, 3> fds = {
      {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}, {in_.get(), POLLOUT, 0}}};
  if (::poll(fds.data(), fds.size(), static_cast<int>(wait.count())) <= 0) {
    return;
  }
  if (fds[0].revents != 0) {
    read_into(out_, result_.out, command_.max_output + 1);
  }
  if (fds[1].revents != 0) {
    read_into(err_, result_.err, kMaxErr);
  }
  if (fds[2].revents != 0) {
    feed();
  }
}

void Child::signal(int number) const {
  ::kill(own_group_ ? -pid_ : pid_, number);
}

void Child::reap(int options) {
  int status = 0;
  pid_t pid = 0;
  do {
    pid = ::waitpid(pid_, &status, options);
  } while (pid < 0 && errno == EINTR);
  if (pid != 0) {
    status_ = pid < 0 ? 0 : status;
  }
}

bool Child::ended() {
  if (status_) {
    return true;
  }
  siginfo_t info{};
  const int code = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (code == 0 && info.si_pid == 0) {
    return false;
  }
  reap(0);
  return true;
}

bool Child::leader_gone() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

bool Child::all_gone_within(std::chrono::seconds grace) {
  // The leader may be gone before its helpers: git's receiving side, killed outright while it holds
  // the lock file of a branch, would leave that behind for ever. They live as long as they hold
  // our pipes open.
  const auto deadline = RealClock::now() + grace;
  while (RealClock::now() < deadline) {
    if (leader_gone() && !out_.open() && !err_.open()) return true;
    pump(std::chrono::milliseconds(10));
  }
  return false;
}

void Child::stop() {
  // Even a gentle signal can come between the making of a lock file and the note that it must be
  // removed; on a slow disk that moment is long.
  if (command_.helpers_end_alone) ::kill(pid_, SIGTERM);
  if (!command_.helpers_end_alone || !all_gone_within(kLongGrace)) {
    signal(SIGTERM);
    all_gone_within(kGrace);
  }
  // Before the leader is reaped its group number cannot be somebody else's.
  signal(SIGKILL);
  reap(0);
}

Result<CommandResult> Child::finish(const Context& context) {
  while (!ended()) {
    if (const auto go_on = context.check(); !go_on) {
      stop();
      return go_on.error().with_prefix(command_.program);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(context.remaining());
    pump(out_.open() || err_.open() || in_.open()
             ? std::min<std::chrono::milliseconds>(kSlice, left)
             : std::chrono::milliseconds(1));
    if (result_.out.size() > command_.max_output) {
      stop();
      return terminal(
          fmt::format("{} wrote more than {} bytes", command_.program, command_.max_output));
    }
  }
  // What it has written is in the pipes by now; a background process may hold them open for ever.
  in_.reset();
  for (std::string::size_type before = std::string::npos;
       (out_.open() || err_.open()) && before != result_.out.size() + result_.err.size();) {
    before = result_.out.size() + result_.err.size();
    pump(std::chrono::milliseconds(0));
  }
  if (result_.out.size() > command_.max_output) {
    return terminal(
        fmt::format("{} wrote more than {} bytes", command_.program, command_.max_output));
  }
  result_.exit_code = WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  return std::move(result_);
}

}  // namespace

Result<CommandResult> run(const Context& context, const Command& command) {
  KL_TRY(context.check());
  Child child(command);
  KL_TRY(child.start());
  return child.finish(context);
}

}  // namespace kollect::base
