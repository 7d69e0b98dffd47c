#include "kube/reflector_loop.h"

#include <fmt/format.h>

#include "kube/api_error.h"
#include "kube/pager.h"
#include "kube/reflector_interrupt.h"

namespace kollect::kube {

namespace {

/// So many failures in a row are shown even where one of them is normal life.
constexpr std::uint32_t kNoLongerNormal = 3;
/// Internal errors at one resourceVersion after which a list may help.
constexpr std::uint32_t kStuckAfter = 3;

std::string api_version_of(const Resource& resource) {
  return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
}

/// Hands the objects of list pages on.
class PageReceiver final : public ListReceiver {
 public:
  PageReceiver(ObjectReceiver& receiver, StatusBoard& board, const base::Clock& clock,
               const Resource& resource)
      : receiver_(receiver), board_(board), clock_(clock) {
    handler_.on_item = [this](base::json::View item) -> base::Result<> {
      const auto metadata = item.find("metadata");
      if (metadata && metadata->is_object()) {
        ++objects_;
        receiver_.object(item);
      } else {
        ++unreadable_;
      }
      return {};
    };
    // One object that cannot be read is no reason to know nothing of the others.
    handler_.on_bad_item = [this](const base::Error&) { ++unreadable_; };
    handler_.item_api_version = api_version_of(resource);
    handler_.item_kind = resource.kind;
  }

  base::Result<> begin() override {
    receiver_.begin_list();
    all_ = 0;
    return {};
  }
  /// Objects of the list so far.
  [[nodiscard]] std::uint64_t all() const { return all_; }
  base::Result<> page(std::string_view text) override {
    auto walked = base::json::walk_list(text, handler_);
    board_.count([this](ReflectorStatus& status) {
      all_ += objects_;
      status.objects += std::exchange(objects_, 0);
      status.unreadable += std::exchange(unreadable_, 0);
      status.last_contact = clock_.steady_now();
    });
    if (!walked) {
      return base::retryable(fmt::format("the list cannot be read: {}", walked.error().message),
                             "unreadable");
    }
    return {};
  }

 private:
  ObjectReceiver& receiver_;
  StatusBoard& board_;
  const base::Clock& clock_;
  base::json::ListHandler handler_;
  std::uint64_t all_ = 0;
  std::uint64_t objects_ = 0;  ///< of the page
  std::uint64_t unreadable_ = 0;
};

}  // namespace

ReflectorLoop::ReflectorLoop(Client& client, WatchQuery query, ObjectReceiver& receiver,
                             ListGate& gate, const base::Clock& clock, const base::Logger* log,
                             ReflectorOptions options, StatusBoard& board)
    : sender_(client.sender()),
      query_(std::move(query)),
      receiver_(receiver),
      gate_(gate),
      clock_(clock),
      log_(log),
      options_(options),
      board_(board),
      backoff_(options.backoff_base, options.backoff_cap, options.seed) {}

void ReflectorLoop::run(const std::stop_token& stop) {
  const base::Context context(clock_, stop);
  Result result;
  Step step = resolve(Step::kListPages, Step::kListStream);
  bool first = true;
  while (step != Step::kStop) {
    {
      const std::scoped_lock lock(mutex_);
      hurry_ = false;
    }
    if (step != Step::kWatch) count_list(std::exchange(first, false) ? nullptr : &result);
    Step ended = step;
    result = step == Step::kListPages ? list_pages(context) : stream(context, ended);
    learn(ended, result);
    const Move move = next_move(ended, result.ending);
    if (!pause(context, move, result)) break;
    if (asked_) result.ending = Ending::kAsked;
    step = resolve(ended, asked_ ? Step::kListStream : move.next);
  }
  board_.update([](ReflectorStatus& status) { status.state = ReflectorState::kStopped; });
}

void ReflectorLoop::retry_now() {
  const std::scoped_lock lock(mutex_);
  hurry_ = true;
  if (pausing_ && interrupt_) interrupt_();
}

void ReflectorLoop::relist_now() {
  asked_ = true;
  const std::scoped_lock lock(mutex_);
  if (interrupt_) interrupt_();
}

Step ReflectorLoop::resolve(Step ended, Step next) const {
  // Without a resourceVersion nothing can be resumed, only what follows a list at once is whole.
  const bool lost = next == Step::kWatch && version_.empty() && ended == Step::kWatch;
  if (next != Step::kListStream && !lost) return next;
  const bool streams = options_.watch_list && !stream_failed_ &&
                       sender_.streamed_lists().worth_asking(query_.resource.group);
  return streams ? Step::kListStream : Step::kListPages;
}

void ReflectorLoop::count_list(const Result* before) {
  asked_ = false;
  board_.update([&](ReflectorStatus& status) {
    status.state = ReflectorState::kListing;
    ListCauses& begun = status.begun;
    if (before == nullptr) {
      ++begun.start;
    } else if (before->ending == Ending::kExpired) {
      ++begun.expired;
    } else if (before->ending == Ending::kGarbled) {
      ++begun.unreadable;
    } else if (before->ending == Ending::kAsked) {
      ++begun.asked;
    } else {
      ++begun.failed;
    }
  });
}

ReflectorLoop::Result ReflectorLoop::list_pages(const base::Context& context) {
  auto place = gate_.enter(context);
  if (!place) return {};
  PageReceiver pages(receiver_, board_, clock_, query_.resource);
  const auto pager = std::make_shared<Pager>(sender_, context,
                                             ListQuery{.resource = query_.resource,
                                                       .ns = query_.ns,
                                                       .label_selector = query_.label_selector,
                                                       .field_selector = query_.field_selector,
                                                       .page_size = options_.page_size,
                                                       .metadata_only = query_.metadata_only,
                                                       .retry_first = false});
  const auto listed = pager->run(pages);
  if (!listed) {
    Result result = judge_list(context, listed.error());
    result.retry_after = pager->retry_after();
    return result;
  }
  finish_list(listed->resource_version, pages.all(), false);
  if (std::exchange(stream_failed_, false)) {
    sender_.streamed_lists().note_missing(query_.resource.group);
  }
  return {.ending = Ending::kComplete};
}

ReflectorLoop::Result ReflectorLoop::judge_list(const base::Context& context,
                                                const base::Error& error) const {
  using enum Ending;
  if (context.cancelled()) return {};
  const auto ending = [&] {
    if (error.reason == "unauthorized") return kUnauthorized;
    if (error.reason == "forbidden") return kForbidden;
    if (error.reason == "gvk-not-found") return kGone;
    if (error.reason == "expired") return kExpired;
    if (error.reason == "unreadable") return kGarbled;
    if (error.reason == "unreachable") return kUnreachable;
    if (error.reason == "timeout") return kNoAnswer;
    return error.kind == base::ErrorKind::kRetryable ? kBusy : kRejected;
  };
  return {.ending = ending(), .error = error};
}

void ReflectorLoop::finish_list(std::string_view version, std::uint64_t objects, bool streamed) {
  receiver_.end_list();
  version_ = version;
  last_list_ = clock_.steady_now();
  stuck_ = 0;
  board_.update([&](ReflectorStatus& status) {
    status.synced = true;
    status.error.reset();
    status.resource_version = version_;
    status.last_contact = last_list_;
    status.present = objects;
    ++status.lists;
    if (streamed) ++status.streamed_lists;
  });
  recovered();
}

bool ReflectorLoop::resync_is_due() const {
  return options_.resync > base::Duration::zero() &&
         clock_.steady_now() - last_list_ >= options_.resync;
}

void ReflectorLoop::learn(Step step, Result& result) {
  if (result.ending == Ending::kStopped) return;
  if (step == Step::kListStream &&
      (result.ending == Ending::kRejected || result.ending == Ending::kUnmarked)) {
    stream_failed_ = true;
  }
  if (stuck_ >= kStuckAfter && result.ending == Ending::kBusy) {
    stuck_ = 0;
    result.ending = Ending::kStuck;
  }
  if (result.ending == Ending::kServerEnded && step == Step::kWatch && resync_is_due()) {
    result.ending = Ending::kAsked;
  }
  if (asked_) result.ending = Ending::kAsked;
  board_.count([&](ReflectorStatus& status) {
    if (result.ending == Ending::kCut) ++status.cuts;
    if (result.ending == Ending::kSilent || result.ending == Ending::kNoAnswer) ++status.silences;
  });
}

bool ReflectorLoop::pause(const base::Context& context, const Move& move, const Result& result) {
  const base::Duration wait = length_of(move.pause, result, context);
  tell(move, result);
  if (wait > base::Duration::zero()) {
    std::stop_source wake;
    const Interruptible interruptible(
        *this, [&wake] { wake.request_stop(); }, true);
    context.with_stop(wake.get_token()).sleep(wait);
  }
  return !context.cancelled();
}

base::Duration ReflectorLoop::length_of(Pause pause, const Result& result,
                                        const base::Context& context) {
  switch (pause) {
    case Pause::kNone:
      break;
    case Pause::kBrief:
      return backoff_.brief();
    case Pause::kLong:
      return backoff_.spread(options_.watch_time);
    case Pause::kBackoff: {
      base::Duration wait = backoff_.next();
      if (result.retry_after) {
        wait = std::max(wait, retry_delay(0, result.retry_after, context.clock().now()));
      }
      return wait;
    }
  }
  return base::Duration::zero();
}

void ReflectorLoop::tell(const Move& move, const Result& result) {
  const std::uint32_t failures = backoff_.failures();
  const bool shown = move.shown || (move.pause == Pause::kBackoff && failures >= kNoLongerNormal);
  board_.update([&](ReflectorStatus& status) {
    status.failures = failures;
    if (!shown) return;
    status.state = ReflectorState::kWaiting;
    status.error = result.error;
  });
  if (log_ == nullptr || !result.error) return;
  const auto line =
      shown && logged_ != result.error->reason ? &base::Logger::warn : &base::Logger::debug;
  if (shown) logged_ = result.error->reason;
  (log_->*line)("watching is interrupted", {{"context", sender_.config().context_name},
                                            {"resource", query_.resource.plural},
                                            {"group", query_.resource.group},
                                            {"namespace", query_.ns},
                                            {"ending", std::string(to_string(result.ending))},
                                            {"reason", result.error->reason},
                                            {"error", result.error->message}});
}

void ReflectorLoop::recovered() {
  if (std::exchange(logged_, {}).empty() || log_ == nullptr) return;
  log_->info("watching goes on", {{"context", sender_.config().context_name},
                                  {"resource", query_.resource.plural},
                                  {"group", query_.resource.group},
                                  {"namespace", query_.ns}});
}

std::string ReflectorLoop::label(std::string_view verb) const {
  return fmt::format("{} {}{}{}", verb, query_.resource.plural,
                     query_.ns.empty() ? "" : " in namespace ", query_.ns);
}

}  // namespace kollect::kube
