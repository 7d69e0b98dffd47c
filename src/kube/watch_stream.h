// The lines of a watch's answer, with back-pressure.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "http/client.h"
#include "kube/sender.h"

namespace kollect::kube {

/// One request whose answer is JSON lines. The I/O thread fills a bounded buffer; when it is full
/// the socket is not read on. Lines are taken by one thread. The destructor ends the request and
/// waits until nothing of it is under way.
class WatchStream {
 public:
  WatchStream(Sender& sender, const base::Context& context, const std::string& path,
              std::string_view accept, std::size_t max_buffered);
  ~WatchStream();
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  enum class What { kLine, kEnd, kSilent, kCancelled };
  struct Item {
    What what = What::kEnd;
    std::string_view line;  ///< valid until the next call
  };
  /// The next complete line; kSilent when no byte came for so long. A line that is cut off by the
  /// end is dropped.
  Item next(base::Duration silence);
  [[nodiscard]] bool ended() const;
  /// When ended(): the answer's head (body: the server's words when it is no success), or why it
  /// broke off.
  [[nodiscard]] const base::Result<http::Response>& answer() const { return *shared_->answer; }
  /// The last byte from the server.
  [[nodiscard]] base::SteadyTime last_byte() const;

 private:
  struct Shared {
    mutable std::mutex mutex;
    std::condition_variable_any changed;
    std::string arrived;
    std::optional<base::Result<http::Response>> answer;
    std::string error_body;
    base::SteadyTime last_byte;
    std::shared_ptr<http::Flow> flow = std::make_shared<http::Flow>();
  };

  std::optional<std::string_view> take_line();

  const base::Context context_;
  std::stop_source stop_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<void> wake_on_cancel_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t scanned_ = 0;  ///< bytes behind at_ without a line break
};

}  // namespace kollect::kube
