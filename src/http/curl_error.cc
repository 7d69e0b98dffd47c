#include "http/curl_error.h"

#include <fmt/format.h>

namespace kollect::http {

base::Error map_curl_error(CURLcode code, std::string_view label, std::string_view text) {
  const std::string message = fmt::format("{}: {}", label, text);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    // The only time limit that curl itself knows here is the one for connecting.
    case CURLE_OPERATION_TIMEDOUT:
      return base::retryable(message, "unreachable");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CLIENTCERT:
      return base::retryable(message, "tls");
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return base::configuration(message);
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return base::terminal(message);
    default:
      // Everything that can happen once a connection stood: reset, ended early, garbled framing.
      return base::retryable(message, "cut");
  }
}

}  // namespace kollect::http
