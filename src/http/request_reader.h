// Bytes of a connection to requests, with everything refused that proxies may read differently.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/chunk_decoder.h"
#include "http/server.h"

namespace kollect::http {

/// Reads one request after the other. One thread. It never throws on input.
class RequestReader {
 public:
  enum class State {
    kEmpty,   ///< nothing of the next request was seen
    kHead,    ///< the head is not complete
    kBody,    ///< the head is complete, the body is not
    kDone,    ///< take() it
    kFailed,  ///< answer with failure_status() and close
  };

  RequestReader(std::uint32_t max_header_bytes, std::uint64_t max_body_bytes);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Takes bytes from the front of `bytes` as far as they belong to this request; returns how many.
  /// What is left must stand in front at the next call.
  std::size_t feed(std::string_view bytes);
  [[nodiscard]] State state() const { return state_; }
  /// The client waits for "100 Continue" before it sends the body (RFC 9110, 10.1.1).
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }
  /// The client wants to send more requests on this connection.
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }
  /// HTTP/1.0: no chunked answers.
  [[nodiscard]] bool old_protocol() const { return old_protocol_; }
  [[nodiscard]] int failure_status() const { return failure_status_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

  /// The request; the reader begins anew.
  ServerRequest take();

 private:
  struct Parser;
  void begin();
  std::size_t feed_head(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  void check_head();
  void fail(int status, std::string why);

  std::uint32_t max_header_bytes_;
  std::uint64_t max_body_bytes_;
  std::unique_ptr<Parser> parser_;
  State state_ = State::kEmpty;
  bool expects_continue_ = false;
  bool keep_alive_ = false;
  bool old_protocol_ = false;
  std::optional<ChunkDecoder> chunks_;
  std::uint64_t length_ = 0;  ///< of the body, when it is not chunked
  std::string body_;
  int failure_status_ = 0;
  std::string failure_;
};

}  // namespace kollect::http
