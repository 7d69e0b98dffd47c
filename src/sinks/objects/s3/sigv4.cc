#include "sinks/objects/s3/sigv4.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sinks::objects::s3 {

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string hmac(std::string_view key, std::string_view text) {
  const auto out = base::hmac_sha256(key, text);
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

std::string date_of(const SigningScope& scope) {
  return amz_date(scope.time).substr(0, 8);
}

std::string scope_text(const SigningScope& scope) {
  return fmt::format("{}/{}/{}/aws4_request", date_of(scope), scope.region, scope.service);
}

std::string signed_headers(const Signable& request) {
  std::vector<std::string> names;
  for (const auto& [name, value] : request.headers) names.push_back(name);
  return base::join(names, ";");
}

/// Trimmed, inner runs of blanks as one.
std::string header_value(std::string_view value) {
  std::string out;
  for (const char c : base::trim(value)) {
    if (c == ' ' && !out.empty() && out.back() == ' ') continue;
    out += c;
  }
  return out;
}

}  // namespace

std::string amz_date(base::WallTime time) {
  // 2013-05-24T00:00:00Z without its marks.
  auto text = base::format_rfc3339_seconds(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

std::string encode_path(std::string_view path) {
  std::string out;
  bool first = true;
  for (const auto segment : base::split(path, '/')) {
    if (!first) out += '/';
    first = false;
    out += base::percent_encode(segment);
  }
  return out;
}

std::string encode_query(const std::vector<std::pair<std::string, std::string>>& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(base::percent_encode(name), base::percent_encode(value));
  }
  std::ranges::sort(encoded);
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out += '&';
    out += name + "=" + value;
  }
  return out;
}

std::string canonical_request(const Signable& request) {
  auto out = fmt::format("{}\n{}\n{}\n", request.method, request.path, encode_query(request.query));
  for (const auto& [name, value] : request.headers) {
    out += name + ":" + header_value(value) + "\n";
  }
  return out + "\n" + signed_headers(request) + "\n" + request.payload_sha256;
}

std::string string_to_sign(const Signable& request, const SigningScope& scope) {
  return fmt::format("{}\n{}\n{}\n{}", kAlgorithm, amz_date(scope.time), scope_text(scope),
                     base::sha256_hex(canonical_request(request)));
}

std::string authorization(const Signable& request, const Credentials& credentials,
                          const SigningScope& scope) {
  auto key = hmac("AWS4" + credentials.secret_key.reveal(), date_of(scope));
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service),
        std::string_view("aws4_request")}) {
    key = hmac(key, part);
  }
  return fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                     credentials.access_key, scope_text(scope), signed_headers(request),
                     base::hex_encode(hmac(key, string_to_sign(request, scope))));
}

}  // namespace kollect::sinks::objects::s3
