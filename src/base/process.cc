#include "base/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
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

class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  posix_spawn_file_actions_t* actions() { return &actions_; }
  posix_spawnattr_t* attributes() { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

void set_signals_and_group(posix_spawnattr_t* attributes, bool own_group) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  unsigned flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (own_group) {
    posix_spawnattr_setpgroup(attributes, 0);
    flags |= POSIX_SPAWN_SETPGROUP;
  }
  posix_spawnattr_setflags(attributes, static_cast<short>(flags));
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
  void set_streams(posix_spawn_file_actions_t* actions, const Pair& out, const Pair& err,
                   const Pair& in) const;
  /// Moves what can be moved, waiting at most `wait`.
  void pump(std::chrono::milliseconds wait);
  void read_into(Descriptor& from, std::string& to, std::size_t keep);
  void feed();
  void signal(int number) const;
  void reap(int options);
  /// True when the program has ended; it is reaped then and the rest of its group killed.
  bool ended();
  void stop();

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

void Child::set_streams(posix_spawn_file_actions_t* actions, const Pair& out, const Pair& err,
                        const Pair& in) const {
  if (in.theirs.open()) {
    posix_spawn_file_actions_adddup2(actions, in.theirs.get(), 0);
  } else if (!command_.inherit_stdin) {
    posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(actions, out.theirs.get(), 1);
  posix_spawn_file_actions_adddup2(actions, err.theirs.get(), 2);
  posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

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
  SpawnSettings settings;
  if (!command_.working_dir.empty()) {
    posix_spawn_file_actions_addchdir_np(settings.actions(), command_.working_dir.c_str());
  }
  set_streams(settings.actions(), out, err, in);
  // A program that asks at the terminal must stay in the terminal's group.
  own_group_ = !command_.inherit_stdin;
  set_signals_and_group(settings.attributes(), own_group_);
  const int code = ::posix_spawn(&pid_, program.c_str(), settings.actions(), settings.attributes(),
                                 pointers(words).data(), pointers(variables).data());
  if (code != 0) {
    pid_ = -1;
    const std::string message = fmt::format("cannot run {}: {}", program, cause(code));
    return code == ENOENT ? not_found(message) : terminal(message);
  }
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

void Child::stop() {
  signal(SIGTERM);
  const auto deadline = RealClock::now() + kGrace;
  while (!status_ && RealClock::now() < deadline) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != 0) {
      break;
    }
    pump(std::chrono::milliseconds(10));
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
