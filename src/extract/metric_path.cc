#include "extract/metric_path.h"

namespace kollect::extract {

std::optional<std::expected<JsonPath, std::string>> object_metric(std::string_view path,
                                                                  std::string_view key) {
  if (key.empty() || !path.starts_with(key)) return std::nullopt;
  const auto rest = path.substr(key.size());
  if (rest.empty() || (rest.front() != '.' && rest.front() != '[')) return std::nullopt;
  auto compiled = JsonPath::compile("$" + std::string(rest));
  if (!compiled) return std::unexpected(std::move(compiled.error().message));
  return std::move(*compiled);
}

}  // namespace kollect::extract
