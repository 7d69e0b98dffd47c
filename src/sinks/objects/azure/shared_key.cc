#include "sinks/objects/azure/shared_key.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sinks::objects::azure {

std::string string_to_sign(const Signable& request, std::string_view account) {
  const auto header = [&request](const char* name) {
    const auto found = request.headers.find(name);
    return found == request.headers.end() ? std::string_view() : std::string_view(found->second);
  };
  std::string out = request.method + "\n";
  for (const char* name : {"content-encoding", "content-language"}) {
    out += header(name);
    out += '\n';
  }
  if (request.body_bytes > 0) out += fmt::to_string(request.body_bytes);
  out += '\n';
  // The date is signed as x-ms-date.
  for (const char* name : {"content-md5", "content-type", "", "if-modified-since", "if-match",
                           "if-none-match", "if-unmodified-since", "range"}) {
    out += header(name);
    out += '\n';
  }
  for (const auto& [name, value] : request.headers) {
    if (name.starts_with("x-ms-")) out += fmt::format("{}:{}\n", name, base::trim(value));
  }
  out += fmt::format("/{}{}", account, request.path);
  auto query = request.query;
  std::ranges::sort(query);
  for (const auto& [name, value] : query) out += fmt::format("\n{}:{}", name, value);
  return out;
}

std::string shared_key_authorization(const Signable& request, std::string_view account,
                                     std::string_view key) {
  const auto mac = base::hmac_sha256(key, string_to_sign(request, account));
  return fmt::format("SharedKey {}:{}", account,
                     base::base64_encode({reinterpret_cast<const char*>(mac.data()), mac.size()}));
}

std::string encode_path(std::string_view path) {
  std::string out;
  for (const auto segment : base::split(path, '/')) {
    if (!out.empty() || segment.data() != path.data()) out += '/';
    out += base::percent_encode(segment);
  }
  return out;
}

}  // namespace kollect::sinks::objects::azure
