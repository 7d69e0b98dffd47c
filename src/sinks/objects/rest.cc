#include "sinks/objects/rest.h"

#include <algorithm>
#include <charconv>

namespace kollect::sinks::objects {

namespace {

constexpr int kAttempts = 3;

}  // namespace

base::Result<http::Response> send_repeatedly(
    const base::Context& context, const RestRequest& request, base::Duration pause,
    const std::function<base::Result<http::Response>()>& attempt,
    const std::function<Refused(const http::Response&)>& judge) {
  for (int left = kAttempts - 1;;) {
    auto answer = attempt();
    base::Error error;
    if (answer.has_value()) {
      const int status = answer->status;
      const bool fine = (status >= 200 && status < 300) ||
                        std::ranges::find(request.accepted, status) != request.accepted.end();
      if (fine) return std::move(*answer);
      Refused refused = judge(*answer);
      if (refused.at_once) continue;
      error = std::move(refused.error);
    } else {
      error = answer.error();
    }
    if (error.kind != base::ErrorKind::kRetryable || left == 0) return error;
    if (!context.sleep(pause)) return error;
    pause *= 2;
    --left;
  }
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace kollect::sinks::objects
