// Uploads in chunks that go on after a cut (the "resumable" protocol of Google's upload URLs).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sinks/google/api.h"

namespace kollect::sinks::google {

/// Chunks have this size, a multiple of 256 KiB; one is in memory.
inline constexpr std::size_t kUploadChunk = std::size_t{8} << 20U;

/// One upload. Nothing is there before finish(); without it the session is given up.
class ResumableUpload {
 public:
  /// Opens a session: `open` is the request whose answer names it, `type` the type of what is
  /// uploaded. `api` must outlive the upload.
  static base::Result<ResumableUpload> start(const base::Context& context, Api& api, Call open,
                                             const std::string& type,
                                             std::size_t chunk = kUploadChunk);
  ResumableUpload(ResumableUpload&& other) noexcept;
  ResumableUpload& operator=(ResumableUpload&&) = delete;
  ~ResumableUpload() = default;

  base::Result<> write(const base::Context& context, std::string_view data);
  /// The answer to the last chunk.
  base::Result<http::Response> finish(const base::Context& context);
  /// Tells the service that nothing follows. No error is of interest.
  void give_up(const base::Context& context);
  [[nodiscard]] bool open() const { return !session_.empty(); }
  [[nodiscard]] std::uint64_t bytes() const { return sent_ + buffer_.size(); }

 private:
  ResumableUpload(Api& api, std::string session, std::string doing, std::string type,
                  std::size_t chunk)
      : api_(&api),
        session_(std::move(session)),
        doing_(std::move(doing)),
        type_(std::move(type)),
        chunk_(chunk) {}
  base::Result<http::Response> send(const base::Context& context, bool last);
  base::Result<http::Response> put(const base::Context& context, bool buffer,
                                   const std::string& range);

  Api* api_;
  std::string session_;
  std::string doing_;
  std::string type_;
  std::size_t chunk_;
  std::string buffer_;      ///< what the service does not hold yet
  std::uint64_t sent_ = 0;  ///< bytes that the service holds
};

}  // namespace kollect::sinks::google
