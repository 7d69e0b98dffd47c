#include "readapi/stream/streams.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json/write.h"

namespace kollect::readapi {
namespace {

constexpr base::Duration kBeat = std::chrono::seconds(15);
constexpr base::Duration kLeastRecheck = std::chrono::seconds(1);
/// Between two summaries for one client.
constexpr base::Duration kSummaryPace = std::chrono::seconds(1);
constexpr std::size_t kPiece = 64U << 10U;
/// Events that are looked at before other clients have their turn.
constexpr std::size_t kLook = 256U << 10U;

void append_notice(std::string& out, std::string_view event, std::string_view id,
                   std::string_view reason, std::string_view message) {
  if (!id.empty()) fmt::format_to(std::back_inserter(out), "id: {}\n", id);
  fmt::format_to(std::back_inserter(out), "event: {}\ndata: {{\"reason\":", event);
  base::json::append_string(out, reason);
  out += ",\"message\":";
  base::json::append_string(out, message);
  out += "}\n\n";
}

/// What both kinds of streams do besides: beats, and asking again whether they are allowed.
class Stream : public http::BodySource {
 public:
  explicit Stream(StreamParts parts) : parts_(std::move(parts)) {
    const base::SteadyTime now = parts_.clock.steady_now();
    beat_ = now + kBeat;
    check_ = now + recheck();
  }

  void start(std::function<void()> wake) override {
    wake_ = wake;
    listener_ = parts_.hub.listen(std::move(wake));
  }

  Pull pull(std::string& out) final {
    const base::SteadyTime now = parts_.clock.steady_now();
    if (now >= check_) {
      check_ = now + recheck();
      const Verdict verdict = parts_.allowed();
      // Who cannot be asked about keeps what he has, as with a cached decision.
      if (verdict.kind == Verdict::Kind::kUnauthenticated ||
          verdict.kind == Verdict::Kind::kForbidden) {
        append_notice(out, "dropped", "",
                      verdict.kind == Verdict::Kind::kForbidden ? "Forbidden" : "Unauthorized",
                      verdict.message);
        return {.next = Next::kEnd};
      }
    }
    const Pull pull = more(out, now);
    if (!out.empty()) beat_ = now + kBeat;
    if (pull.next != Next::kWait) return pull;
    if (now >= beat_) {
      out += ": still here\n\n";
      beat_ = now + kBeat;
    }
    return {.next = Next::kWait, .at_most = std::min({pull.at_most, beat_ - now, check_ - now})};
  }

 protected:
  /// What there is to send.
  virtual Pull more(std::string& out, base::SteadyTime now) = 0;
  [[nodiscard]] Hub& hub() const { return parts_.hub; }
  [[nodiscard]] const StreamParts& parts() const { return parts_; }

 private:
  [[nodiscard]] base::Duration recheck() const { return std::max(parts_.recheck, kLeastRecheck); }

  StreamParts parts_;
  base::SteadyTime beat_;
  base::SteadyTime check_;
  std::function<void()> wake_;
  std::unique_ptr<Hub::Listener> listener_;  ///< last: ends first
};

class ChangeStream final : public Stream {
 public:
  ChangeStream(StreamParts parts, ChangeStreamPlan plan)
      : Stream(std::move(parts)),
        plan_(std::move(plan)),
        match_(std::move(plan_.filter), std::move(plan_.sight)) {}

 protected:
  Pull more(std::string& out, base::SteadyTime /*now*/) override {
    if (!begun_) begin(out);
    begun_ = true;
    const Hub::Batch batch = hub().after(passed_, kLook);
    if (batch.lost) {
      if (parts().dropped) parts().dropped();
      append_notice(out, "dropped", "", "TooSlow",
                    "changes came faster than they were read, and are not kept any more");
      return {.next = Next::kEnd};
    }
    for (const auto& event : batch.events) {
      if (out.size() >= kPiece) return {.next = Next::kMore};
      append(out, *event);
      passed_ = event->number();
    }
    return {.next = batch.events.empty() ? Next::kWait : Next::kMore};
  }

 private:
  void begin(std::string& out) {
    const std::optional<std::uint64_t> known =
        plan_.after.empty() ? std::nullopt : hub().number_of(plan_.after);
    passed_ = known.value_or(hub().newest());
    const std::string state = hub().state(passed_);
    fmt::format_to(std::back_inserter(out),
                   "id: {0}\nevent: hello\ndata: {{\"state\":\"{0}\"}}\n\n", state);
    if (plan_.after.empty() || known) return;
    append_notice(out, "reset", state, "Expired",
                  "what came after that state is not known any more: list anew; the stream goes on "
                  "from now");
  }

  void append(std::string& out, const Event& event) {
    const RowNews& news = event.news();
    if (!match_.keys(news.row) || (plan_.belongs && !plan_.belongs(news))) return;
    if (news.removed || match_.attributes(news.row)) {
      out += event.frame();
    } else {
      // It may have matched before.
      event.append_as_removed(out, hub().epoch());
    }
  }

  ChangeStreamPlan plan_;
  RowMatch match_;
  bool begun_ = false;
  std::uint64_t passed_ = 0;  ///< number of the last event that was looked at
};

/// A frame is written twice: named, and as the default event for onmessage of browsers, which does
/// not see named ones.
class SummaryStream final : public Stream {
 public:
  SummaryStream(StreamParts parts, SummaryStreamPlan plan)
      : Stream(std::move(parts)), plan_(std::move(plan)), told_(plan_.after) {}

 protected:
  Pull more(std::string& out, base::SteadyTime now) override {
    if (!writer_) {
      const std::uint64_t generation = hub().generation();
      if (seen_ && *seen_ == generation) return {.next = Next::kWait};
      if (seen_ && now < last_ + kSummaryPace) {
        return {.next = Next::kWait, .at_most = last_ + kSummaryPace - now};
      }
      last_ = now;
      if (!open(out, false)) return {.next = Next::kWait, .at_most = kSummaryPace};
      seen_ = generation;
      if (!writer_) return {.next = Next::kWait};
    }
    const auto going_on = writer_->next(out);
    if (!going_on) {
      if (parts().log != nullptr) {
        parts().log->warn("a summary is cut short", {{"error", going_on.error().message}});
      }
      return {.next = Next::kCut};
    }
    if (*going_on) return {.next = Next::kMore};
    out += "\n\n";
    writer_.reset();
    if (plain_) {
      plain_ = false;
      return {.next = Next::kMore};
    }
    (void)open(out, true);  // without it the next summary will do
    return {.next = Next::kMore};
  }

 private:
  /// Begins a frame unless the client has this state. False: the source cannot be read at the
  /// moment.
  bool open(std::string& out, bool plain) {
    auto page = plan_.page();
    if (!page) {
      if (parts().log != nullptr && !std::exchange(failing_, true)) {
        parts().log->warn("a summary cannot be read", {{"error", page.error().message}});
      }
      return false;
    }
    failing_ = false;
    const std::string state = page->first->state();
    if (!plain && state == told_) return true;
    told_ = state;
    plain_ = plain;
    fmt::format_to(std::back_inserter(out), "id: {}\n{}data: ", state,
                   plain ? "" : "event: inventory\n");
    writer_.emplace(std::move(page->first), std::move(page->second), plan_.fields);
    return true;
  }

  SummaryStreamPlan plan_;
  std::string told_;
  std::optional<std::uint64_t> seen_;  ///< generation of the hub
  base::SteadyTime last_{};
  std::optional<SummaryWriter> writer_;
  bool plain_ = false;  ///< the frame under way is the default event
  bool failing_ = false;
};

}  // namespace

std::shared_ptr<http::BodySource> change_stream(StreamParts parts, ChangeStreamPlan plan) {
  return std::make_shared<ChangeStream>(std::move(parts), std::move(plan));
}

std::shared_ptr<http::BodySource> summary_stream(StreamParts parts, SummaryStreamPlan plan) {
  return std::make_shared<SummaryStream>(std::move(parts), std::move(plan));
}

}  // namespace kollect::readapi
