#include "sinks/git/mirror.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"

namespace kollect::sinks::git {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kUnusedFor{48};
constexpr std::size_t kManyPacks = 64;
constexpr std::size_t kMostPacks = 256;

/// Why a folder cannot hold mirrors; none when it can. Made when missing.
std::optional<std::string> unfit(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0 &&
      info.st_uid == ::geteuid()) {
    ::unlink(path.c_str());  // an empty file in place of the cache folder is no reason to stop
  }
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fmt::format("cannot be made ({})", std::generic_category().message(errno));
  }
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return "is no folder";
  if (info.st_uid != ::geteuid()) return "belongs to another user";
  if ((info.st_mode & 022U) != 0) return "can be written by others";
  if (::access(path.c_str(), W_OK | X_OK) != 0) return "cannot be written";
  return {};
}

/// Opens and locks a lock file; not valid when another process has it and `wait` is false.
Fd try_lock(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid() || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Fd();
  // Somebody may have removed the file between the two calls: then the lock is on nothing.
  struct stat held {};
  struct stat there {};
  if (::fstat(fd.get(), &held) != 0 || ::stat(path.c_str(), &there) != 0 ||
      held.st_ino != there.st_ino) {
    return Fd();
  }
  return fd;
}

void drop_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
}

void touch(const fs::path& path) {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

/// Removes mirrors that nobody used for two days.
void clean(const base::Context& context, const fs::path& root, const std::string& own_key) {
  std::error_code error;
  const auto now = context.clock().now().time_since_epoch();
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const auto& path = entry.path();
    if (path.extension() != ".lock" || path.stem() == own_key) continue;
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) continue;
    if (now - std::chrono::seconds(info.st_mtime) < kUnusedFor) continue;
    const auto lock = try_lock(path);
    if (!lock.valid()) continue;
    auto folder = path;
    drop_tree(folder.replace_extension());
    drop_tree(folder.replace_extension(".busy"));
    ::unlink(path.c_str());
  }
}

std::size_t pack_files(const fs::path& git_dir) {
  std::error_code error;
  std::size_t out = 0;
  for (const auto& entry : fs::directory_iterator(git_dir / "objects" / "pack", error)) {
    if (entry.path().extension() == ".pack") ++out;
  }
  return out;
}

}  // namespace

std::optional<std::string> read_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return {};
  return std::string(value);
}

base::Result<fs::path> mirror_root(const fs::path& configured,
                                   const EnvironmentReader& environment) {
  auto chosen = configured;
  if (chosen.empty()) {
    if (const auto value = environment("KOLLECT_GIT_MIRROR_DIR")) chosen = *value;
  }
  if (!chosen.empty()) {
    if (const auto why = unfit(chosen)) {
      return base::configuration(fmt::format("folder for git mirrors {} {}", chosen.string(), *why),
                                 "bad-mirror-dir");
    }
    return chosen;
  }
  std::vector<fs::path> places;
  if (const auto cache = environment("XDG_CACHE_HOME")) {
    places.push_back(fs::path(*cache) / "kollect" / "git-mirrors");
  } else if (const auto home = environment("HOME")) {
    places.push_back(fs::path(*home) / ".cache" / "kollect" / "git-mirrors");
  }
  places.push_back(fs::path(environment("TMPDIR").value_or("/tmp")) / "kollect-git-mirrors");
  std::string reasons;
  for (const auto& place : places) {
    const auto why = place.is_absolute() ? unfit(place) : std::optional<std::string>("is relative");
    if (!why) return place;
    reasons += fmt::format("; {} {}", place.string(), *why);
  }
  return base::terminal("no folder for git mirrors (set KOLLECT_GIT_MIRROR_DIR)" + reasons,
                        "bad-mirror-dir");
}

std::string Mirror::key(const std::string& url, const std::string& branch) {
  return base::sha256_hex(url + "\n" + branch).substr(0, 32);
}

base::Result<Mirror> Mirror::open(const base::Context& context, const fs::path& root,
                                  const std::string& key) {
  const auto lock_path = root / (key + ".lock");
  auto lock = try_lock(lock_path);
  while (!lock.valid()) {
    if (::access(root.c_str(), W_OK) != 0) {
      return system_error("cannot use folder", root.string(), errno);
    }
    if (!context.sleep(std::chrono::milliseconds(20))) {
      KL_TRY(context.check());
      return base::retryable("another export to this repository takes too long", "busy");
    }
    lock = try_lock(lock_path);
  }
  touch(lock_path);
  clean(context, root, key);
  Mirror out(root / key, root / (key + ".busy"), std::move(lock));
  std::error_code error;
  if (fs::exists(out.busy_, error) || !fs::is_directory(out.git_dir_, error) ||
      pack_files(out.git_dir_) > kMostPacks) {
    out.discard();
  }
  const Fd busy(::open(out.busy_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!busy.valid()) return system_error("cannot write", out.busy_.string(), errno);
  return out;
}

void Mirror::discard() {
  drop_tree(git_dir_);
}

bool Mirror::is_crowded() const {
  return pack_files(git_dir_) > kManyPacks;
}

base::Result<> Mirror::compact(const base::Context& context) {
  base::Command command;
  command.program = "git";
  command.env = {{"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_SYSTEM", "/dev/null"},
                 {"GIT_CONFIG_NOSYSTEM", "1"},       {"LC_ALL", "C"},
                 {"HOME", "/nonexistent"},           {"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  const std::vector<std::string> in_mirror = {"--git-dir=" + git_dir_.string(), "-c",
                                              "safe.directory=*"};
  command.args = in_mirror;
  command.args.insert(command.args.end(), {"for-each-ref", "--format=%(objectname)"});
  KL_ASSIGN(const auto commits, base::run(context, command));
  if (commits.exit_code != 0) return base::retryable("git refs: " + commits.err, "damaged");
  // History ends where the file "shallow" says (git's documented format: a commit a line).
  KL_TRY(base::write_file_atomic(git_dir_ / "shallow", commits.out));
  // Old packs are copied as they are: a search for better deltas would cost more than it saves.
  command.args = in_mirror;
  command.args.insert(command.args.end(), {"-c", "pack.window=0", "-c", "repack.writeBitmaps=false",
                                           "repack", "-a", "-d", "-q"});
  KL_ASSIGN(const auto result, base::run(context, command));
  if (result.exit_code != 0) return base::retryable("git repack: " + result.err, "damaged");
  return {};
}

void Mirror::finish() {
  std::error_code error;
  fs::remove(busy_, error);
}

}  // namespace kollect::sinks::git
