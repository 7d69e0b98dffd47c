// File: the text of one file of an export.
#include "base/strings.h"
#include "sinks/layout.h"

namespace kollect::sinks {

namespace {
constexpr std::size_t kMostInSegment = 255;
}  // namespace

base::Result<> File::chunks(const ChunkFn& out, std::optional<base::WallTime> at) const {
  if (write) return write(out, at.value_or(exported_at));
  return out(content);
}

base::Result<std::string> File::text(std::optional<base::WallTime> at) const {
  if (!write) return content;
  std::string all;
  KL_TRY(write(
      [&](std::string_view piece) -> base::Result<> {
        all += piece;
        return {};
      },
      at.value_or(exported_at)));
  return all;
}

std::optional<base::WallTime> exported_at_of(std::string_view old_text) {
  constexpr std::size_t kHead = 4096;
  constexpr std::string_view kKey = "exportedAt";
  const auto head = old_text.substr(0, kHead);
  const auto key = head.find(kKey);
  if (key == std::string_view::npos) return {};
  auto rest = head.substr(key + kKey.size());
  const auto start = rest.find_first_not_of("\": ");
  if (start == std::string_view::npos) return {};
  rest = rest.substr(start);
  const auto time = base::parse_rfc3339(rest.substr(0, rest.find_first_of("\",\n")));
  if (!time.has_value()) return {};
  return *time;
}

std::string part_name(std::string_view name, std::size_t index, std::size_t total) {
  return fmt::format("{}.part-{:04}-of-{:04}", name, index, total);
}

std::string part_path(std::string_view path, std::size_t index, std::size_t total) {
  if (total < 2) return std::string(path);
  const auto slash = path.rfind('/');
  const auto file_at = slash == std::string_view::npos ? 0 : slash + 1;
  auto dot = path.rfind('.');
  // A dot with a long text behind it is part of the name: a cut must have something to cut.
  constexpr std::size_t kMostInExtension = 32;
  if (dot == std::string_view::npos || dot <= file_at || path.size() - dot > kMostInExtension) {
    dot = path.size();
  }
  const auto suffix = part_name({}, index, total) + std::string(path.substr(dot));
  const auto stem =
      base::cut_utf8(path.substr(file_at, dot - file_at),
                     suffix.size() < kMostInSegment ? kMostInSegment - suffix.size() : 0);
  return std::string(path.substr(0, file_at)) + std::string(stem) + suffix;
}

}  // namespace kollect::sinks
