// How a request is signed with the key of a storage account (format: "Authorize with Shared Key" of
// the Azure Storage REST reference).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kollect::sinks::objects::azure {

/// What of a request is signed.
struct Signable {
  std::string method;
  std::string path;                                        ///< as sent, percent-encoded
  std::vector<std::pair<std::string, std::string>> query;  ///< not encoded; lower-case names
  std::map<std::string, std::string> headers;              ///< lower-case names
  std::size_t body_bytes = 0;
};

/// The text whose HMAC is the signature.
std::string string_to_sign(const Signable& request, std::string_view account);

/// Value of the header Authorization. `key` is the account's key, decoded.
std::string shared_key_authorization(const Signable& request, std::string_view account,
                                     std::string_view key);

/// A path of which everything but unreserved characters and "/" is percent-encoded.
std::string encode_path(std::string_view path);

}  // namespace kollect::sinks::objects::azure
