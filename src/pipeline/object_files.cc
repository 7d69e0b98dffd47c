#include "pipeline/object_files.h"

#include <fmt/format.h>

#include <algorithm>

namespace kollect::pipeline {
namespace {

namespace fs = std::filesystem;

bool is_object_file(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".yaml" || extension == ".yml" || extension == ".json" ||
         extension == ".ndjson" || extension == ".jsonl";
}

}  // namespace

base::Result<std::vector<fs::path>> object_files(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (error || !fs::exists(status)) {
    return base::configuration(fmt::format("{}: no such file or folder", path));
  }
  if (!fs::is_directory(status)) return std::vector<fs::path>{path};
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (is_object_file(it->path()) && fs::is_regular_file(it->path(), ignored)) {
      files.push_back(it->path());
    }
  }
  if (error) return base::configuration(fmt::format("{}: {}", path, error.message()));
  std::ranges::sort(files, {}, [](const fs::path& p) { return p.string(); });
  return files;
}

}  // namespace kollect::pipeline
