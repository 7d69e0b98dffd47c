#include "pgsql/names.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::pgsql {

namespace {
constexpr std::size_t kNameLimit = 63;
}  // namespace

std::string companion_name(std::string_view table, std::string_view suffix) {
  std::string name = fmt::format("{}{}", table, suffix);
  if (name.size() <= kNameLimit) return name;
  constexpr std::size_t kHashDigits = 8;
  const std::string hash = base::sha256_hex(name).substr(0, kHashDigits);
  const std::string tail = fmt::format("_{}{}", hash, suffix);
  return fmt::format("{}{}", base::cut_utf8(table, kNameLimit - tail.size()), tail);
}

}  // namespace kollect::pgsql
