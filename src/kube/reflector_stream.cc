// The part of ReflectorLoop that reads watches and streamed lists.
#include <fmt/format.h>

#include "base/hash.h"
#include "kube/api_error.h"
#include "kube/reflector_interrupt.h"
#include "kube/reflector_loop.h"

namespace kollect::kube {

namespace {

/// A watch that ends sooner is not asked for again at once.
constexpr base::Duration kShortest = std::chrono::seconds(1);
/// A watch that lasted so long did well, events or not.
constexpr base::Duration kDoesWell = std::chrono::seconds(10);
/// After an event longer than this the parser's memory is given back.
constexpr std::size_t kLongLine = 64U << 10U;

/// An API server that has not seen our resourceVersion yet says so with 504 (or an event of that
/// code): either it lags for a moment, or its data was restored from an older state.
bool is_from_the_future(std::int64_t code, std::string_view message) {
  return code == 504 && message.find("Too large resource version") != std::string_view::npos;
}

}  // namespace

std::string ReflectorLoop::watch_path(bool list) {
  std::string path = query_.resource.path(query_.ns) + "?watch=true&allowWatchBookmarks=true";
  const auto add = [&path](std::string_view name, std::string_view value) {
    if (!value.empty()) path += fmt::format("&{}={}", name, base::percent_encode(value));
  };
  add("labelSelector", query_.label_selector);
  add("fieldSelector", query_.field_selector);
  if (list) {
    path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  } else {
    add("resourceVersion", version_);
  }
  const auto length = std::chrono::ceil<std::chrono::seconds>(backoff_.spread(options_.watch_time));
  return path + fmt::format("&timeoutSeconds={}", std::max<std::int64_t>(1, length.count()));
}

ReflectorLoop::Result ReflectorLoop::stream(const base::Context& context, Step& step) {
  Reading reading;
  reading.list = step == Step::kListStream;
  if (reading.list) {
    auto place = gate_.enter(context);
    if (!place) return {};
    reading.place = std::move(*place);
  }
  auto credential = sender_.credentials().current(context);
  if (!credential) {
    if (context.cancelled()) return {};
    return {.ending = Ending::kUnauthorized, .error = credential.error()};
  }
  generation_ = credential->generation;
  Call call;
  call.path = watch_path(reading.list);
  call.accept = accept_of(query_.metadata_only, false);
  WatchStream lines(sender_.http(), context, sender_.make_request(call, *credential),
                    {.queue_bytes = options_.queue_bytes,
                     .silence = reading.list ? options_.mark_patience : options_.silence,
                     .load = &load_});
  if (!reading.list) let_interrupt(lines, reading);
  Result result = read(context, lines, reading);
  reading.handle.reset();
  if (step == Step::kListStream && !reading.list) step = Step::kWatch;
  const bool does_well = reading.events > 0 || (reading.headed && !reading.list &&
                                                clock_.steady_now() - reading.since >= kDoesWell);
  if (does_well) backoff_.reset();
  board_.count([&](ReflectorStatus& status) { status.bytes += lines.bytes(); });
  return result;
}

void ReflectorLoop::let_interrupt(WatchStream& lines, Reading& reading) {
  reading.handle = std::make_shared<Interruptible>(
      *this, [&lines] { lines.cancel(); }, /*pausing=*/false);
}

ReflectorLoop::Result ReflectorLoop::read(const base::Context& context, WatchStream& lines,
                                          Reading& reading) {
  while (true) {
    const WatchStream::Item item = lines.next();
    board_.count([&](ReflectorStatus& status) { status.last_contact = lines.last_byte(); });
    switch (item.what) {
      case WatchStream::What::kHead:
        take_head(reading);
        break;
      case WatchStream::What::kLine:
        if (auto result = take_line(item.line, lines, reading)) return *std::move(result);
        if (item.line.size() > kLongLine) document_ = base::json::Document();
        // A watch that never falls silent must still hear that it is to end.
        if (context.cancelled()) return {};
        break;
      case WatchStream::What::kEnd:
        return judge_end(context, lines, reading);
    }
  }
}

void ReflectorLoop::take_head(Reading& reading) {
  reading.headed = true;
  reading.since = clock_.steady_now();
  renewed_ = false;
  if (reading.list) {
    receiver_.begin_list();
    return;
  }
  board_.update([](ReflectorStatus& status) {
    status.state = ReflectorState::kWatching;
    status.error.reset();
    ++status.watches;
  });
  recovered();
}

std::optional<ReflectorLoop::Result> ReflectorLoop::take_line(std::string_view line,
                                                              WatchStream& lines,
                                                              Reading& reading) {
  auto event = read_watch_event(document_, line);
  if (!event) {
    return Result{.ending = Ending::kGarbled, .error = event.error().with_prefix(label("watch"))};
  }
  switch (event->type) {
    case WatchEvent::Type::kError:
      return judge_error_event(*event);
    case WatchEvent::Type::kMark:
      return take_mark(*event, lines, reading);
    case WatchEvent::Type::kPut:
    case WatchEvent::Type::kDeleted:
      break;
  }
  return take_event(*event, reading);
}

std::optional<ReflectorLoop::Result> ReflectorLoop::take_event(const WatchEvent& event,
                                                               Reading& reading) {
  if (event.type == WatchEvent::Type::kPut) {
    receiver_.object(event.object);
  } else {
    receiver_.deleted(event.object);
  }
  if (reading.list) {
    // The versions of a list's objects stand in no order: only its end mark tells where it stands.
    ++reading.listed;
    board_.count([](ReflectorStatus& status) { ++status.objects; });
    return std::nullopt;
  }
  ++reading.events;
  stuck_ = 0;
  // What was handed over need not come again.
  if (!event.version.empty()) version_ = event.version;
  board_.count([&](ReflectorStatus& status) {
    ++status.events;
    if (event.added) ++status.present;
    if (event.type == WatchEvent::Type::kDeleted && status.present > 0) --status.present;
    status.resource_version = version_;
  });
  return std::nullopt;
}

std::optional<ReflectorLoop::Result> ReflectorLoop::take_mark(const WatchEvent& event,
                                                              WatchStream& lines,
                                                              Reading& reading) {
  if (reading.list) {
    if (!event.end_of_list || event.version.empty()) {
      return Result{.ending = Ending::kUnmarked,
                    .error = base::retryable(label("list") + ": its end is not marked", "timeout")};
    }
    reading.list = false;
    reading.place.reset();
    reading.since = clock_.steady_now();
    lines.set_silence(options_.silence);
    finish_list(event.version, reading.listed, true);
    board_.update([](ReflectorStatus& status) {
      status.state = ReflectorState::kWatching;
      ++status.watches;
    });
    let_interrupt(lines, reading);
    return std::nullopt;
  }
  if (went_back(event.version, version_)) {
    return Result{.ending = Ending::kExpired,
                  .error = base::retryable(
                      label("watch") + ": the server's state is older than ours", "expired")};
  }
  ++reading.events;
  stuck_ = 0;
  if (!event.version.empty()) version_ = event.version;
  board_.count([this](ReflectorStatus& status) {
    ++status.bookmarks;
    status.resource_version = version_;
  });
  if (resync_is_due()) return Result{.ending = Ending::kAsked};
  return std::nullopt;
}

ReflectorLoop::Result ReflectorLoop::judge_error_event(const WatchEvent& event) {
  using enum Ending;
  const std::string_view message = event.object.text("message");
  base::Error error = error_of(label("watch"), static_cast<int>(event.code), message);
  if (event.code == 410 || event.reason == "Expired" || event.reason == "Gone" ||
      is_from_the_future(event.code, message)) {
    error.reason = "expired";
    return {.ending = kExpired, .error = error};
  }
  switch (event.code) {
    case 401:
      return {.ending = kUnauthorized, .error = error};
    case 403:
      return {.ending = kForbidden, .error = error};
    case 404:
      error.reason = "gvk-not-found";
      return {.ending = kGone, .error = error};
    case 500:
      ++stuck_;
      break;
    default:
      break;
  }
  if (!is_passing(static_cast<int>(event.code))) return {.ending = kGarbled, .error = error};
  const auto delay = event.object.at_path({"details", "retryAfterSeconds"});
  const bool asks = delay && delay->is_number();
  return {.ending = kBusy,
          .error = error,
          .retry_after = asks ? std::optional(std::string(delay->number_text())) : std::nullopt};
}

ReflectorLoop::Result ReflectorLoop::judge_end(const base::Context& context,
                                               const WatchStream& lines, const Reading& reading) {
  if (context.cancelled()) return {};
  const auto& answer = lines.answer();
  if (!answer) return judge_break(context, answer.error(), reading);
  sender_.note(*answer);
  if (answer->status != 200) return judge_status(context, *answer, reading.list);
  if (reading.list) {
    return {
        .ending = Ending::kServerEnded,
        .error = base::retryable(label("list") + ": it ended before its end mark", "transient")};
  }
  if (clock_.steady_now() - reading.since >= kShortest) return {.ending = Ending::kServerEnded};
  return {.ending = Ending::kShortLived,
          .error = base::retryable(label("watch") + ": the server ended it at once", "transient")};
}

ReflectorLoop::Result ReflectorLoop::judge_break(const base::Context& context,
                                                 const base::Error& error,
                                                 const Reading& reading) const {
  using enum Ending;
  if (context.cancelled()) return {};
  const base::Error shown = transport_error(error);
  if (asked_ && error.kind == base::ErrorKind::kCancelled) return {.ending = kAsked};
  if (error.reason == "too-large") return {.ending = kGarbled, .error = shown};
  if (error.reason == "timeout") {
    if (!reading.headed) return {.ending = kNoAnswer, .error = shown};
    return {.ending = reading.list ? kUnmarked : kSilent, .error = shown};
  }
  if (error.kind != base::ErrorKind::kRetryable) return {.ending = kRejected, .error = shown};
  return {.ending = reading.headed ? kCut : kUnreachable, .error = shown};
}

ReflectorLoop::Result ReflectorLoop::judge_status(const base::Context& context,
                                                  const http::Response& answer, bool list) {
  using enum Ending;
  base::Error error =
      sender_.refusal(context, label(list ? "list" : "watch"), answer.status, answer.body);
  switch (answer.status) {
    case 401:
      return judge_unauthorized(context, std::move(error));
    case 403:
      return {.ending = kForbidden, .error = error};
    case 404:
      error.reason = "gvk-not-found";
      return {.ending = kGone, .error = error};
    case 405:
      error.reason = "not-watchable";
      return {.ending = kNoWatch, .error = error};
    case 410:
      return {.ending = kExpired, .error = error};
    default:
      break;
  }
  if (is_from_the_future(answer.status, error.message)) {
    error.reason = "expired";
    return {.ending = kExpired, .error = error};
  }
  if (answer.status == 500) ++stuck_;
  if (is_passing(answer.status) || answer.status == 408) {
    return {.ending = kBusy, .error = error, .retry_after = answer.header("retry-after")};
  }
  return {.ending = kRejected, .error = error};
}

ReflectorLoop::Result ReflectorLoop::judge_unauthorized(const base::Context& context,
                                                        base::Error error) {
  if (!std::exchange(renewed_, true)) {
    const auto fresh = sender_.credentials().renew(context, generation_);
    if (context.cancelled()) return {};
    if (fresh && fresh->generation != generation_) {
      return {.ending = Ending::kRenewed, .error = std::move(error)};
    }
  }
  return {.ending = Ending::kUnauthorized, .error = std::move(error)};
}

}  // namespace kollect::kube
