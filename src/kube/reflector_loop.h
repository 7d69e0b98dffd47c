// What a reflector's thread does: the steps of reflector_state.h, carried out.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/context.h"
#include "kube/backoff.h"
#include "kube/reflector.h"
#include "kube/reflector_state.h"
#include "kube/sender.h"
#include "kube/status_board.h"
#include "kube/watch_event.h"
#include "kube/watch_stream.h"

namespace kollect::kube {

/// run() on one thread; retry_now() and relist_now() from any.
class ReflectorLoop {
 public:
  ReflectorLoop(Client& client, WatchQuery query, ObjectReceiver& receiver, ListGate& gate,
                const base::Clock& clock, const base::Logger* log, ReflectorOptions options,
                StatusBoard& board);

  void run(const std::stop_token& stop);
  void retry_now();
  void relist_now();
  [[nodiscard]] const StreamLoad& load() const { return load_; }

 private:
  /// How a step ended and, for pauses, what the server said.
  struct Result {
    Ending ending = Ending::kStopped;
    std::optional<base::Error> error = {};
    std::optional<std::string> retry_after = {};
  };
  /// A request under way.
  struct Reading {
    bool list = false;  ///< before the end mark of a streamed list
    bool headed = false;
    base::SteadyTime since{};      ///< of the head
    std::uint64_t events = 0;      ///< with bookmarks, behind the list
    std::uint64_t listed = 0;      ///< objects before the end mark
    std::shared_ptr<void> place;   ///< of a list, at the gate
    std::shared_ptr<void> handle;  ///< Interruptible, of a watch
  };
  /// What retry_now() and relist_now() may interrupt, while it lasts.
  class Interruptible;

  Result list_pages(const base::Context& context);
  Result stream(const base::Context& context, Step& step);
  Result read(const base::Context& context, WatchStream& lines, Reading& reading);
  void let_interrupt(WatchStream& lines, Reading& reading);
  void take_head(Reading& reading);
  /// None: go on reading.
  std::optional<Result> take_line(std::string_view line, WatchStream& lines, Reading& reading);
  std::optional<Result> take_mark(const WatchEvent& event, WatchStream& lines, Reading& reading);
  std::optional<Result> take_event(const WatchEvent& event, Reading& reading);
  Result judge_error_event(const WatchEvent& event);
  Result judge_end(const base::Context& context, const WatchStream& lines, const Reading& reading);
  Result judge_break(const base::Context& context, const base::Error& error,
                     const Reading& reading) const;
  Result judge_status(const base::Context& context, const http::Response& answer, bool list);
  Result judge_list(const base::Context& context, const base::Error& error) const;
  Result judge_unauthorized(const base::Context& context, base::Error error);

  void finish_list(std::string_view version, std::uint64_t objects, bool streamed);
  /// Learns from a step that ended: what streams are worth, when back-off begins anew.
  void learn(Step step, Result& result);
  void count_list(const Result* before);
  /// False when there is nothing more to do.
  bool pause(const base::Context& context, const Move& move, const Result& result);
  [[nodiscard]] base::Duration length_of(Pause pause, const Result& result,
                                         const base::Context& context);
  void tell(const Move& move, const Result& result);
  void recovered();
  [[nodiscard]] Step resolve(Step ended, Step next) const;
  [[nodiscard]] std::string watch_path(bool list);
  [[nodiscard]] bool resync_is_due() const;
  [[nodiscard]] std::string label(std::string_view verb) const;

  Sender& sender_;
  const WatchQuery query_;
  ObjectReceiver& receiver_;
  ListGate& gate_;
  const base::Clock& clock_;
  const base::Logger* const log_;
  const ReflectorOptions options_;
  StatusBoard& board_;
  StreamLoad load_;

  // The loop's thread only.
  Backoff backoff_;
  std::string version_;
  base::json::Document document_;
  base::SteadyTime last_list_{};
  std::uint64_t generation_ = 0;  ///< of the credential that was sent
  bool renewed_ = false;          ///< once after a 401, until the server takes us again
  bool stream_failed_ = false;    ///< pages have to show that it was the stream's fault
  std::uint32_t stuck_ = 0;       ///< internal errors at one resourceVersion
  std::string logged_;            ///< reason of the last warning, "" while it is well

  std::mutex mutex_;
  std::function<void()> interrupt_;
  bool pausing_ = false;
  bool hurry_ = false;
  std::atomic<bool> asked_ = false;
};

}  // namespace kollect::kube
