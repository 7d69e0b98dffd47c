#include "base/file_reloader.h"

#include <optional>
#include <utility>

#include "base/files.h"
#include "base/strings.h"

namespace kollect::base {

namespace {

constexpr std::size_t kMaxSize = 64U << 20U;

}  // namespace

Result<> FileReloader::add(std::string what, std::vector<std::string> paths, Take take) {
  auto group = std::make_unique<Group>(Group{.what = std::move(what),
                                             .paths = std::move(paths),
                                             .take = std::move(take),
                                             .seen = {},
                                             .waiting = {}});
  for (const std::string& path : group->paths) {
    KL_ASSIGN(std::string content, read_file(path, kMaxSize));
    group->seen.push_back(std::move(content));
  }
  KL_TRY(group->take(group->seen));
  const std::scoped_lock lock(mutex_);
  groups_.push_back(std::move(group));
  return {};
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
