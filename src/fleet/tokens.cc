#include "fleet/tokens.h"

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::fleet {

void Tokens::add(std::string name, Right right, const base::Secret& token) {
  if (token.reveal().empty()) return;
  known_.push_back(
      {.name = std::move(name), .right = right, .hash = base::sha256_hex(token.reveal())});
}

std::optional<std::string> Tokens::owner(const http::ServerRequest& request, Right right) const {
  const auto is_authorization = [](const auto& header) { return header.first == "authorization"; };
  if (std::ranges::count_if(request.headers, is_authorization) != 1) return std::nullopt;
  const std::string_view header = base::trim(*request.header("authorization"));
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() <= kScheme.size() ||
      base::to_lower(header.substr(0, kScheme.size())) != kScheme) {
    return std::nullopt;
  }
  const std::string hash = base::sha256_hex(header.substr(kScheme.size()));
  for (const Known& known : known_) {
    if (known.right == right && known.hash == hash) return known.name;
  }
  return std::nullopt;
}

}  // namespace kollect::fleet
