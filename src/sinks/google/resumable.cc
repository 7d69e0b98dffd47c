#include "sinks/google/resumable.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace kollect::sinks::google {

namespace {

constexpr int kGoesOn = 308;
constexpr int kTries = 4;

/// How many bytes the service says it holds: "bytes=0-41" is 42, no header is none.
std::optional<std::uint64_t> held_by(const http::Response& answer) {
  const std::string range = answer.header("range").value_or("");
  if (range.empty()) return 0;
  const auto dash = range.rfind('-');
  if (dash == std::string::npos) return std::nullopt;
  std::uint64_t last = 0;
  const char* end = range.data() + range.size();
  const auto [stop, error] = std::from_chars(range.data() + dash + 1, end, last);
  if (error != std::errc() || stop != end) return std::nullopt;
  return last + 1;
}

}  // namespace

base::Result<ResumableUpload> ResumableUpload::start(const base::Context& context, Api& api,
                                                     Call open, const std::string& type,
                                                     std::size_t chunk) {
  open.method = "POST";
  open.headers.emplace_back("X-Upload-Content-Type", type);
  KL_ASSIGN(const auto answer, api.send(context, open));
  KL_ASSIGN(auto session, api.checked_location(answer, open.doing));
  return ResumableUpload(api, std::move(session), open.doing, type, chunk);
}

ResumableUpload::ResumableUpload(ResumableUpload&& other) noexcept
    : api_(other.api_),
      session_(std::move(other.session_)),
      doing_(std::move(other.doing_)),
      type_(std::move(other.type_)),
      chunk_(other.chunk_),
      buffer_(std::move(other.buffer_)),
      sent_(other.sent_) {
  other.session_.clear();
}

base::Result<> ResumableUpload::write(const base::Context& context, std::string_view data) {
  while (!data.empty()) {
    const std::size_t part = std::min(data.size(), chunk_ - buffer_.size());
    buffer_.append(data.substr(0, part));
    data.remove_prefix(part);
    // A full chunk waits for the next byte: the last one must be told as such.
    if (buffer_.size() == chunk_ && !data.empty()) KL_TRY(send(context, false));
  }
  return {};
}

base::Result<http::Response> ResumableUpload::finish(const base::Context& context) {
  auto answer = send(context, true);
  if (answer.has_value()) session_.clear();
  return answer;
}

void ResumableUpload::give_up(const base::Context& context) {
  if (session_.empty()) return;
  Call call{.method = "DELETE", .path = session_, .doing = doing_};
  (void)api_->send_once(context, call);
  session_.clear();
}

base::Result<http::Response> ResumableUpload::put(const base::Context& context, bool buffer,
                                                  const std::string& range) {
  Call call{.method = "PUT", .path = session_, .doing = doing_};
  call.content_type = type_;
  call.headers.emplace_back("Content-Range", range);
  // Lent, not copied.
  if (buffer) call.body.swap(buffer_);
  auto answer = api_->send_once(context, call);
  if (buffer) call.body.swap(buffer_);
  return answer;
}

/// Sends the buffer; after a failure the service is asked how much of it came, and the rest is
/// sent again.
base::Result<http::Response> ResumableUpload::send(const base::Context& context, bool last) {
  const std::uint64_t end = sent_ + buffer_.size();
  const std::string total = last ? std::to_string(end) : std::string("*");
  bool ask = false;
  for (int attempt = 1;; ++attempt) {
    const std::string range = ask || buffer_.empty()
                                  ? fmt::format("bytes */{}", total)
                                  : fmt::format("bytes {}-{}/{}", sent_, end - 1, total);
    auto answer = put(context, !ask, range);
    if (answer.has_value()) {
      const int status = answer->status;
      if (last && (status == 200 || status == 201)) return answer;
      const auto held = held_by(*answer);
      if (status == kGoesOn && held && *held >= sent_ && *held <= end) {
        buffer_.erase(0, *held - sent_);
        if (*held > sent_) attempt = 0;
        sent_ = *held;
        if (!last && buffer_.empty()) return answer;
        ask = false;
        if (attempt < kTries) continue;
      }
      answer = api_->error_of(*answer, doing_);
    }
    if (!is_passing(answer.error()) || attempt >= kTries) return answer;
    ask = true;
    if (!context.sleep(std::chrono::seconds(attempt))) {
      KL_TRY(context.check());
      return answer;
    }
  }
}

}  // namespace kollect::sinks::google
