#include "sinks/columns/parquet_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <system_error>

#include "base/strings.h"

namespace kollect::sinks::columns {

namespace {

constexpr const char* kFile = "libkollect-parquet.so";

base::Error missing(std::string_view what) {
  return base::configuration(
      fmt::format("Parquet files cannot be written: {} (docs/parquet.md says what to install)",
                  what),
      "parquet-missing");
}

std::string last_error() {
  const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): kept per thread
  return text == nullptr ? "unknown failure" : text;
}

}  // namespace

void ParquetModule::Close::operator()(void* handle) const {
  ::dlclose(handle);
}

std::vector<std::filesystem::path> ParquetModule::standard_places() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  const auto folder = program.parent_path();
  return {folder, folder.parent_path() / "lib" / "kollect"};
}

base::Result<ParquetModule> ParquetModule::load(const std::vector<std::filesystem::path>& places) {
  std::vector<std::string> looked;
  for (const auto& place : places) {
    const auto path = place / kFile;
    std::error_code failed;
    looked.push_back(place.string());
    if (!std::filesystem::exists(path, failed)) continue;
    ParquetModule out;
    // Arrow brings an OpenSSL and a simdjson of its own: it must find those, not ours, and nobody
    // else may find its. It stays in memory: it may have threads.
    constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND | RTLD_NODELETE;
    out.handle_.reset(::dlopen(path.c_str(), kFlags));
    if (!out.handle_) return missing(last_error());
    const auto entry =
        reinterpret_cast<KollectParquetEntry>(::dlsym(out.handle_.get(), "kollect_parquet"));
    if (entry == nullptr) return missing(last_error());
    out.calls_ = entry();
    if (out.calls_->version != kKollectParquetVersion) {
      return missing(fmt::format("{} is of another version of the program", path.string()));
    }
    return out;
  }
  return missing(fmt::format("{} is not in {}", kFile, base::join(looked, ", ")));
}

}  // namespace kollect::sinks::columns
