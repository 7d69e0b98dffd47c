// The lines of a watch's answer, with back-pressure.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/result.h"
#include "http/client.h"
#include "kube/line_buffer.h"

namespace kollect::kube {

/// What streams have read ahead, for those who look. Thread-safe.
struct StreamLoad {
  std::atomic<std::uint64_t> waiting = 0;  ///< lines that have come and were not taken
  std::atomic<std::uint64_t> held_up = 0;  ///< times that the bound stopped the reading
};

/// One request whose answer is lines. The I/O thread fills a bounded buffer; while what is there
/// but not yet taken exceeds the bound, the socket is not read. Lines are taken by one thread. The
/// destructor ends the request and waits until nothing of it is under way.
class WatchStream {
 public:
  struct Limits {
    std::size_t queue_bytes = 4U << 20U;
    std::size_t line_bytes = 64U << 20U;  ///< a longer line ends the stream
    base::Duration silence{};             ///< no byte for so long ends the stream
    StreamLoad* load = nullptr;           ///< counts there; not owned, outlives the stream
  };
  WatchStream(http::Client& http, const base::Context& context, http::Request request,
              Limits limits);
  ~WatchStream();
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  enum class What : std::uint8_t {
    kHead,  ///< once, first: the answer is a success
    kLine,  ///< a complete line without its end; blank ones are left out
    kEnd,   ///< see answer(); again at every further call
  };
  struct Item {
    What what = What::kEnd;
    std::string_view line;  ///< valid until the next call
  };
  /// Waits for the next item. Ends without a deadline of its own: the request ends when it is
  /// silent, cut or cancelled. What stands behind the last line break counts as a line only when
  /// the answer ended in order.
  Item next();
  /// After kEnd: the answer's head (body: the server's words when it is no success), or why it
  /// broke off. A line that is too long: error of reason "too-large".
  [[nodiscard]] const base::Result<http::Response>& answer() const { return *shared_->answer; }
  /// Replaces Limits::silence.
  void set_silence(base::Duration silence) { shared_->flow->set_stall_timeout(silence); }
  /// Ends the request from any thread; next() then gives what is there and kEnd.
  void cancel() { stop_.request_stop(); }
  /// Of the last byte, or of the request when none came.
  [[nodiscard]] base::SteadyTime last_byte() const;
  [[nodiscard]] std::uint64_t bytes() const { return shared_->bytes; }

 private:
  /// What both threads see; lives until the request's last callback.
  struct Shared {
    explicit Shared(const base::Clock& the_clock) : clock(the_clock) {}
    void on_head(const http::Response& head);
    bool on_data(const http::Response& head, std::string_view data);
    void on_done(base::Result<http::Response> result);
    void resume();

    const base::Clock& clock;
    std::shared_ptr<http::Flow> flow = std::make_shared<http::Flow>();
    std::size_t queue_bytes = 0;
    StreamLoad* load = nullptr;
    std::mutex mutex;
    std::condition_variable changed;
    bool head = false;
    std::string arrived;
    std::uint64_t arrived_lines = 0;
    std::atomic<bool> held_up = false;
    std::string error_body;
    std::optional<base::Result<http::Response>> answer;
    std::atomic<std::size_t> queued = 0;  ///< bytes that have come and were not handled
    std::atomic<base::Duration::rep> last_byte = 0;
    std::atomic<std::uint64_t> bytes = 0;
  };

  Item take_rest();
  Item end_too_long();
  void settle();
  void take_arrived();
  /// Lines of the buffer that are waiting no longer.
  void lines_taken(std::uint64_t count);
  void wait_for_more(std::unique_lock<std::mutex>& lock);

  const Limits limits_;
  std::stop_source stop_;
  std::shared_ptr<Shared> shared_;
  LineBuffer buffer_;
  std::uint64_t lines_ = 0;  ///< in the buffer
  std::size_t held_ = 0;     ///< bytes that were in the buffer when settle() last looked
  bool head_given_ = false;
};

}  // namespace kollect::kube
