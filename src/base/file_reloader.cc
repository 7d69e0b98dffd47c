#include "base/file_reloader.h"

#include <optional>
#include <utility>

#include "base/files.h"
#include "base/strings.h"

namespace kollect::base {

namespace {

constexpr std::size_t kMaxSize = 64U << 20U;

}  // namespace

std::unique_ptr<FileReloader::Group> FileReloader::make_group(std::string what,
                                                              std::vector<std::string> paths,
                                                              Take take) {
  return std::make_unique<Group>(Group{.what = std::move(what),
                                       .paths = std::move(paths),
                                       .take = std::move(take),
                                       .seen = {},
                                       .waiting = {}});
}

Result<> FileReloader::first_look(Group& group) {
  for (const std::string& path : group.paths) {
    KL_ASSIGN(std::string content, read_file(path, kMaxSize));
    group.seen.push_back(std::move(content));
  }
  return group.take(group.seen);
}

Result<> FileReloader::add(std::string what, std::vector<std::string> paths, Take take) {
  auto group = make_group(std::move(what), std::move(paths), std::move(take));
  KL_TRY(first_look(*group));
  const std::scoped_lock lock(mutex_);
  groups_.push_back(std::move(group));
  return {};
}

Result<> FileReloader::add_or_await(std::string what, std::vector<std::string> paths, Take take) {
  auto group = make_group(std::move(what), std::move(paths), std::move(take));
  auto taken = first_look(*group);
  const std::scoped_lock lock(mutex_);
  groups_.push_back(std::move(group));
  return taken;
}

void FileReloader::look(Group& group) {
  std::vector<std::string> now;
  std::optional<Error> problem;
  for (const std::string& path : group.paths) {
    auto content = read_file(path, kMaxSize);
    if (!content) problem = content.error();
    now.push_back(content ? *std::move(content) : content.error().message);
  }
  if (now == group.seen || now != group.waiting) {
    group.waiting = std::move(now);
    return;
  }
  group.seen = std::exchange(group.waiting, {});
  if (!problem) {
    if (const auto taken = group.take(group.seen); !taken) problem = taken.error();
  }
  if (log_ == nullptr) return;
  const std::string files = join(group.paths, ", ");
  if (problem) {
    log_->error("changed files are of no use, the old state is kept",
                {{"what", group.what}, {"files", files}, {"error", problem->message}});
  } else {
    log_->info("changed files are taken over", {{"what", group.what}, {"files", files}});
  }
}

void FileReloader::look() {
  const std::scoped_lock lock(mutex_);
  for (const auto& group : groups_) look(*group);
}

void FileReloader::start(Duration every) {
  thread_ = std::jthread([this, every](const std::stop_token& stop) {
    while (clock_.sleep(every, stop)) look();
  });
}

}  // namespace kollect::base
