// What the REST clients of object stores share: a request, and sending it until it may not pass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "http/client.h"

namespace kollect::sinks::objects {

/// One request, without what every request of a store has.
struct RestRequest {
  std::string method = "GET";
  std::string key;  ///< whole; empty: the bucket itself
  std::vector<std::pair<std::string, std::string>> query;
  std::map<std::string, std::string> headers;  ///< lower-case names
  std::string_view body;                       ///< borrowed for the call
  std::string body_sha256 = {};                ///< hex; empty: not known yet
  std::size_t max_answer = std::size_t{16} << 20U;
  base::Duration patience = std::chrono::minutes(1);  ///< without a byte
  /// Answers that are no errors beside 2xx.
  std::vector<int> accepted = {};
};

/// What an answer means that is neither 2xx nor accepted.
struct Refused {
  base::Error error;
  bool at_once = false;  ///< something was put right: tried again, and no failed attempt
};

/// Up to three attempts while errors may pass, with `pause` between them, doubled each time.
base::Result<http::Response> send_repeatedly(
    const base::Context& context, const RestRequest& request, base::Duration pause,
    const std::function<base::Result<http::Response>()>& attempt,
    const std::function<Refused(const http::Response&)>& judge);

/// A size out of an answer; 0 for what is no number.
std::uint64_t number_of(std::string_view text);

}  // namespace kollect::sinks::objects
