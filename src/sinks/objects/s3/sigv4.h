// AWS Signature Version 4 in the Authorization header (docs.aws.amazon.com, "Signing AWS API
// requests"; for S3: the path is encoded once, the payload's SHA-256 is a header).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/secret.h"

namespace kollect::sinks::objects::s3 {

struct Credentials {
  std::string access_key;
  base::Secret secret_key;
  base::Secret session_token;  ///< empty: none
};

/// What is signed. All headers are; names in lower case, `host` among them.
struct Signable {
  std::string method;
  std::string path = "/";                                  ///< percent-encoded, as sent
  std::vector<std::pair<std::string, std::string>> query;  ///< not encoded
  std::map<std::string, std::string> headers;
  std::string payload_sha256;  ///< hex
};

struct SigningScope {
  base::WallTime time{};
  std::string region;
  std::string service = "s3";
};

/// "20130524T000000Z"
std::string amz_date(base::WallTime time);
/// Path of an object with everything but unreserved characters and slashes percent-encoded.
std::string encode_path(std::string_view path);
/// Query string, sorted and encoded: what is signed and what is sent.
std::string encode_query(const std::vector<std::pair<std::string, std::string>>& query);

std::string canonical_request(const Signable& request);
std::string string_to_sign(const Signable& request, const SigningScope& scope);
/// Value of the Authorization header.
std::string authorization(const Signable& request, const Credentials& credentials,
                          const SigningScope& scope);

}  // namespace kollect::sinks::objects::s3
