// The only file that knows Beast, which reads heads only: what its decoder of chunks (Boost 1.81)
// takes depends on how the bytes are cut.
#include "http/request_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <algorithm>

#include "base/strings.h"

namespace kollect::http {

namespace {

namespace beast_http = boost::beast::http;
using BeastParser = beast_http::request_parser<beast_http::empty_body>;

constexpr unsigned kHttp10 = 10;
constexpr unsigned kHttp11 = 11;
constexpr int kBadRequest = 400;
constexpr int kTooLarge = 413;
constexpr int kExpectationFailed = 417;
constexpr int kHeadTooLarge = 431;
constexpr int kNotImplemented = 501;
constexpr int kVersionNotSupported = 505;

std::string_view plain(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

std::size_t count(const BeastParser& parser, beast_http::field name) {
  const auto range = parser.get().equal_range(name);
  return static_cast<std::size_t>(std::distance(range.first, range.second));
}

/// "/path?query" of an origin-form or absolute-form target (RFC 9112, 3.2); empty: neither.
std::string_view path_of_target(std::string_view target, std::string_view method) {
  if (target.starts_with('/')) return target;
  if (target == "*" && method == "OPTIONS") return target;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t slash = target.find('/', scheme.size());
    return slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return {};
}

}  // namespace

struct RequestReader::Parser : BeastParser {};

RequestReader::RequestReader(std::uint32_t max_header_bytes, std::uint64_t max_body_bytes)
    : max_header_bytes_(max_header_bytes), max_body_bytes_(max_body_bytes) {
  begin();
}

RequestReader::~RequestReader() = default;

void RequestReader::begin() {
  parser_ = std::make_unique<Parser>();
  parser_->header_limit(max_header_bytes_);
  parser_->body_limit(boost::none);
  parser_->skip(true);
  state_ = State::kEmpty;
  expects_continue_ = keep_alive_ = old_protocol_ = false;
  chunks_.reset();
  length_ = 0;
  body_.clear();
}

void RequestReader::fail(int status, std::string why) {
  state_ = State::kFailed;
  failure_status_ = status;
  failure_ = std::move(why);
}

std::size_t RequestReader::feed(std::string_view bytes) {
  std::size_t used = 0;
  // Blank lines before a request are skipped (RFC 9112, 2.2).
  while (state_ == State::kEmpty && used < bytes.size() &&
         (bytes[used] == '\r' || bytes[used] == '\n')) {
    ++used;
  }
  if (state_ == State::kEmpty && used < bytes.size()) state_ = State::kHead;
  if (state_ == State::kHead) used += feed_head(bytes.substr(used));
  if (state_ == State::kBody) used += feed_body(bytes.substr(used));
  return used;
}

std::size_t RequestReader::feed_head(std::string_view bytes) {
  std::size_t used = 0;
  while (state_ == State::kHead && used < bytes.size()) {
    boost::beast::error_code error;
    const std::string_view rest = bytes.substr(used);
    used += parser_->put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    if (error == beast_http::error::need_more) break;
    if (error == beast_http::error::header_limit) {
      fail(kHeadTooLarge, "head of the request is too large");
    } else if (error == beast_http::error::bad_version) {
      fail(kVersionNotSupported, "HTTP/1.1 is spoken here");
    } else if (error) {
      fail(kBadRequest, "malformed request");
    } else if (parser_->is_header_done()) {
      state_ = State::kBody;
      check_head();
    }
  }
  return used;
}

std::size_t RequestReader::feed_body(std::string_view bytes) {
  if (!chunks_) {
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(length_ - body_.size(), bytes.size()));
    body_.append(bytes, 0, size);
    if (body_.size() == length_) state_ = State::kDone;
    return size;
  }
  const std::size_t used = chunks_->feed(bytes, body_);
  switch (chunks_->state()) {
    case ChunkDecoder::State::kMore:
      break;
    case ChunkDecoder::State::kDone:
      state_ = State::kDone;
      break;
    case ChunkDecoder::State::kMalformed:
      fail(kBadRequest, "malformed chunk");
      break;
    case ChunkDecoder::State::kTrailer:
      fail(kBadRequest, "trailers are not accepted");
      break;
    case ChunkDecoder::State::kTooLarge:
      fail(kTooLarge, "body of the request is too large");
      break;
  }
  return used;
}

void RequestReader::check_head() {
  using beast_http::field;
  const auto& head = parser_->get();
  old_protocol_ = head.version() == kHttp10;
  keep_alive_ = head.keep_alive() && !old_protocol_;
  const std::size_t lengths = count(*parser_, field::content_length);
  const std::size_t codings = count(*parser_, field::transfer_encoding);
  if (head.version() != kHttp10 && head.version() != kHttp11) {
    return fail(kVersionNotSupported, "HTTP/1.1 is spoken here");
  }
  if (lengths > 1) return fail(kBadRequest, "Content-Length is repeated");
  if (lengths > 0 && codings > 0) {
    return fail(kBadRequest, "Content-Length beside Transfer-Encoding");
  }
  if (codings > 1 ||
      (codings == 1 && !base::iequals(plain(head[field::transfer_encoding]), "chunked"))) {
    return fail(kNotImplemented, "the only transfer coding is chunked");
  }
  if (codings > 0) chunks_.emplace(max_body_bytes_);
  length_ = parser_->content_length().value_or(0);
  if (old_protocol_ && (codings > 0 || length_ > 0)) {
    return fail(kBadRequest, "HTTP/1.0 requests with a body are not accepted");
  }
  if (length_ > max_body_bytes_) return fail(kTooLarge, "body of the request is too large");
  if (count(*parser_, field::host) != 1 && !old_protocol_) {
    return fail(kBadRequest, "exactly one Host is needed");
  }
  if (path_of_target(plain(head.target()), plain(head.method_string())).empty()) {
    return fail(kBadRequest, "target is no path");
  }
  const auto expect = plain(head[field::expect]);
  expects_continue_ = base::iequals(expect, "100-continue") && !old_protocol_;
  if (!expect.empty() && !expects_continue_) fail(kExpectationFailed, "unknown expectation");
}

ServerRequest RequestReader::take() {
  auto& message = parser_->get();
  ServerRequest request;
  request.method = plain(message.method_string());
  const std::string_view target = path_of_target(plain(message.target()), request.method);
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string_view::npos) request.query = target.substr(mark + 1);
  for (const auto& field : message) {
    request.headers.emplace_back(base::to_lower(plain(field.name_string())), plain(field.value()));
  }
  request.body = std::move(body_);
  begin();
  return request;
}

}  // namespace kollect::http
