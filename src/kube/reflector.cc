#include "kube/reflector.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "base/hash.h"
#include "kube/api_error.h"
#include "kube/reflector_state.h"
#include "kube/watch_stream.h"

namespace kollect::kube {
namespace {

constexpr const char* kEndMark = "k8s.io/initial-events-end";
/// A watch that ends sooner than this without an event is not asked for again at once.
constexpr base::Duration kHealthy = std::chrono::seconds(1);
/// A streamed list whose end mark does not come although nothing else comes either.
constexpr base::Duration kMarkPatience = std::chrono::seconds(10);

/// Hands the objects of list pages on.
class PageReceiver final : public ListReceiver {
 public:
  PageReceiver(ObjectReceiver& receiver, const Resource& resource, const base::Logger* log,
               std::string label)
      : receiver_(receiver),
        api_version_(resource.group.empty() ? resource.version
                                            : resource.group + "/" + resource.version),
        kind_(resource.kind),
        log_(log),
        label_(std::move(label)) {}
  base::Result<> begin() override {
    receiver_.begin_list();
    return {};
  }
  base::Result<> page(std::string_view text) override {
    const base::json::ListHandler handler{
        .on_item = [this](base::json::View item) -> base::Result<> {
          receiver_.object(item);
          return {};
        },
        // One object that cannot be read is not a reason to know nothing of the others.
        .on_bad_item =
            [this](const base::Error& error) {
              if (log_ != nullptr) {
                log_->warn("an object of a list cannot be read",
                           {{"list", label_}, {"error", error.message}});
              }
            },
        // Events name their type, elements of lists of built-in kinds do not.
        .item_api_version = api_version_,
        .item_kind = kind_};
    KL_TRY(base::json::walk_list(text, handler));
    return {};
  }

 private:
  ObjectReceiver& receiver_;
  std::string api_version_;
  std::string kind_;
  const base::Logger* log_;
  std::string label_;
};

/// Ending and, for waits, what the server said.
struct Outcome {
  Ending ending = Ending::kStopped;
  std::optional<base::Error> error = {};
  std::optional<std::string> retry_after = {};
  bool listed = false;  ///< a streamed list had its end mark: what ended was the watch behind it
};

Ending ending_of(const base::Error& error) {
  if (error.reason == "cancelled") return Ending::kStopped;
  if (error.reason == "expired") return Ending::kExpired;
  switch (error.kind) {
    case base::ErrorKind::kRetryable:
    case base::ErrorKind::kCancelled:
      return Ending::kBusy;
    default:
      return Ending::kRefused;
  }
}

}  // namespace

struct Reflector::Impl {
  Impl(Client& the_client, WatchQuery the_query, ObjectReceiver& the_receiver, ListGate& the_gate,
       const base::Clock& the_clock, const base::Logger* logger, ReflectorOptions the_options)
      : client(the_client),
        query(std::move(the_query)),
        receiver(the_receiver),
        gate(the_gate),
        clock(the_clock),
        log(logger),
        options(the_options),
        random(the_options.seed != 0 ? static_cast<std::minstd_rand::result_type>(the_options.seed)
                                     : std::random_device{}()),
        streams(options.watch_list) {
    label =
        query.resource.plural + (query.resource.group.empty() ? "" : "." + query.resource.group);
    if (!query.ns.empty()) label += " in " + query.ns;
  }

  void run(const std::stop_token& stop);
  Outcome list_pages(const base::Context& context);
  Outcome stream(const base::Context& context, bool with_list);
  Outcome read_stream(WatchStream& lines, bool with_list, bool& listing,
                      std::shared_ptr<void>& place);
  Outcome judge_end(const WatchStream& lines, bool listing, bool with_list);
  /// None: go on reading.
  std::optional<Outcome> handle(std::string_view line, bool& listing, std::shared_ptr<void>& place);
  std::optional<Outcome> judge_error_event(base::json::View object);
  Step pause(const base::Context& context, Step step, const Outcome& outcome);
  [[nodiscard]] std::string watch_path(bool with_list);
  void finish_list(std::string version);
  void publish();
  void enter(Step step);
  void fail(const std::optional<base::Error>& error);

  Client& client;
  WatchQuery query;
  ObjectReceiver& receiver;
  ListGate& gate;
  const base::Clock& clock;
  const base::Logger* log;
  ReflectorOptions options;
  std::string label;
  std::function<void(const ReflectorStatus&)> changed;

  // The reflector's thread only.
  std::minstd_rand random;
  bool streams;  ///< streamed lists are worth asking for
  std::string version;
  std::uint32_t failures = 0;
  std::uint64_t events_of_watch = 0;
  bool renewed = false;  ///< the credential was renewed after a 401
  base::json::Document document;

  mutable std::mutex mutex;
  std::condition_variable_any wake;
  ReflectorStatus status;
  bool hurry = false;
  std::jthread thread;
};

void Reflector::Impl::publish() {
  ReflectorStatus copy;
  {
    const std::scoped_lock lock(mutex);
    copy = status;
  }
  if (changed) changed(copy);
}

void Reflector::Impl::enter(Step step) {
  {
    const std::scoped_lock lock(mutex);
    if (status.state == state_of(step)) return;
    status.state = state_of(step);
  }
  publish();
}

void Reflector::Impl::fail(const std::optional<base::Error>& error) {
  {
    const std::scoped_lock lock(mutex);
    const bool same = error.has_value() == status.error.has_value() &&
                      (!error || error->message == status.error->message);
    if (same) return;
    status.error = error;
  }
  publish();
}

void Reflector::Impl::finish_list(std::string new_version) {
  receiver.end_list();
  version = std::move(new_version);
  failures = 0;
  {
    const std::scoped_lock lock(mutex);
    status.synced = true;
    status.error.reset();
    status.resource_version = version;
    status.last_contact = clock.steady_now();
    ++status.lists;
  }
  publish();
}

Outcome Reflector::Impl::list_pages(const base::Context& context) {
  const auto place = gate.enter(context);
  if (!place) return {.ending = Ending::kStopped};
  PageReceiver pages(receiver, query.resource, log, label);
  const auto listed = client.list(context,
                                  {.resource = query.resource,
                                   .ns = query.ns,
                                   .label_selector = query.label_selector,
                                   .field_selector = query.field_selector,
                                   .page_size = options.page_size,
                                   .metadata_only = query.metadata_only},
                                  pages);
  if (!listed) return {.ending = ending_of(listed.error()), .error = listed.error()};
  finish_list(listed->resource_version);
  return {.ending = Ending::kComplete};
}

std::string Reflector::Impl::watch_path(bool with_list) {
  std::string path = query.resource.path(query.ns) + "?watch=1&allowWatchBookmarks=true";
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) path += fmt::format("&{}={}", name, base::percent_encode(value));
  };
  add("labelSelector", query.label_selector);
  add("fieldSelector", query.field_selector);
  if (with_list) {
    path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  } else {
    add("resourceVersion", version);
  }
  const auto seconds = std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::seconds>(options.watch_time).count());
  path += fmt::format("&timeoutSeconds={}",
                      std::uniform_int_distribution<std::int64_t>(seconds, 2 * seconds)(random));
  return path;
}

std::optional<Outcome> Reflector::Impl::judge_error_event(base::json::View object) {
  const auto code = object.find("code");
  const std::int64_t number = code && code->is_number() ? code->number().i : 0;
  const std::string said = fmt::format("watch {}: {}", label, object.text("message"));
  if (number == 410 || object.text("reason") == "Expired" || object.text("reason") == "Gone") {
    return Outcome{.ending = Ending::kExpired, .error = base::retryable(said, "expired")};
  }
  return Outcome{.ending = Ending::kGarbled, .error = base::retryable(said, "transient")};
}

std::optional<Outcome> Reflector::Impl::handle(std::string_view line, bool& listing,
                                               std::shared_ptr<void>& place) {
  if (const auto parsed = document.reparse_borrowed(line); !parsed) {
    return Outcome{.ending = Ending::kGarbled,
                   .error = base::retryable(fmt::format("watch {}: an event cannot be read: {}",
                                                        label, parsed.error().message),
                                            "transient")};
  }
  const base::json::View root = document.root();
  const std::string_view type = root.text("type");
  const auto object = root.find("object");
  if (!object || !object->is_object()) {
    return Outcome{.ending = Ending::kGarbled,
                   .error = base::retryable(
                       fmt::format("watch {}: an event without an object", label), "transient")};
  }
  if (type == "ERROR") return judge_error_event(*object);
  const auto metadata = object->find("metadata");
  const std::string_view object_version =
      metadata ? metadata->text("resourceVersion") : std::string_view();
  if (type == "BOOKMARK") {
    if (listing) {
      const auto annotations = metadata ? metadata->find("annotations") : std::nullopt;
      if (!annotations || annotations->text(kEndMark) != "true") return std::nullopt;
      listing = false;
      finish_list(std::string(object_version));
      place.reset();
      enter(Step::kWatch);
      return std::nullopt;
    }
  } else if (type == "ADDED" || type == "MODIFIED") {
    receiver.object(*object);
  } else if (type == "DELETED") {
    receiver.deleted(*object);
  } else {
    return std::nullopt;  // a type of a newer server: nothing to know from it
  }
  if (listing) return std::nullopt;
  ++events_of_watch;
  // Whatever was handed on need not come again.
  if (!object_version.empty()) version = object_version;
  const std::scoped_lock lock(mutex);
  status.resource_version = version;
  if (type != "BOOKMARK") ++status.events;
  return std::nullopt;
}

Outcome Reflector::Impl::judge_end(const WatchStream& lines, bool listing, bool with_list) {
  const auto& answer = lines.answer();
  if (!answer) {
    const base::Error error = transport_error(answer.error());
    if (error.reason == "cancelled") return {.ending = Ending::kStopped};
    if (error.kind == base::ErrorKind::kDenied) return {.ending = Ending::kRefused, .error = error};
    return {.ending = Ending::kBusy, .error = error};
  }
  if (answer->status == 200) {
    return {.ending = listing ? Ending::kNoEnd : Ending::kServerEnded,
            .error = listing ? std::optional(base::retryable(
                                   fmt::format("list {}: it broke off before its end", label),
                                   "transient"))
                             : std::nullopt};
  }
  const std::string what = (with_list ? "list " : "watch ") + label;
  base::Error error = error_of(what, answer->status, answer->body);
  if (with_list && (answer->status == 400 || answer->status == 422)) {
    return {.ending = Ending::kNotOffered, .error = error};
  }
  if (answer->status == 410) return {.ending = Ending::kExpired, .error = error};
  if (is_passing(answer->status)) {
    return {.ending = Ending::kBusy, .error = error, .retry_after = answer->header("retry-after")};
  }
  return {.ending = Ending::kRefused, .error = error};
}

Outcome Reflector::Impl::read_stream(WatchStream& lines, bool with_list, bool& listing,
                                     std::shared_ptr<void>& place) {
  while (true) {
    const base::Duration patience =
        listing ? std::min(options.silence, kMarkPatience) : options.silence;
    const WatchStream::Item item = lines.next(patience);
    switch (item.what) {
      case WatchStream::What::kLine: {
        if (auto outcome = handle(item.line, listing, place)) return *outcome;
        break;
      }
      case WatchStream::What::kEnd:
        return judge_end(lines, listing, with_list);
      case WatchStream::What::kCancelled:
        return {.ending = Ending::kStopped};
      case WatchStream::What::kSilent:
        if (listing) {
          // It may ignore the wish for a list and send changes only: pages tell for certain.
          return {.ending = Ending::kNotOffered,
                  .error = base::retryable(fmt::format("list {}: its end was never marked", label),
                                           "timeout")};
        }
        return {.ending = Ending::kSilent,
                .error = base::retryable(fmt::format("watch {}: no byte received for {}", label,
                                                     base::format_duration(options.silence)),
                                         "timeout")};
    }
    bool recovered = false;
    {
      const std::scoped_lock lock(mutex);
      status.last_contact = lines.last_byte();
      recovered = !listing && status.error.has_value();
    }
    if (recovered) fail(std::nullopt);
  }
}

Outcome Reflector::Impl::stream(const base::Context& context, bool with_list) {
  std::shared_ptr<void> place;
  if (with_list) {
    auto entered = gate.enter(context);
    if (!entered) return {.ending = Ending::kStopped};
    place = std::move(*entered);
    receiver.begin_list();
  } else {
    const std::scoped_lock lock(mutex);
    ++status.watches;
  }
  events_of_watch = 0;
  const base::SteadyTime began = clock.steady_now();
  auto credential = client.sender().credentials().current(context);
  const std::uint64_t generation = credential ? credential->generation : 0;
  Outcome outcome;
  {
    WatchStream lines(client.sender(), context, watch_path(with_list),
                      accept_of(query.metadata_only, false), options.queue_bytes);
    bool listing = with_list;
    outcome = read_stream(lines, with_list, listing, place);
    outcome.listed = with_list && !listing;
    if (lines.ended() && lines.answer().has_value() && lines.answer()->status == 401 && !renewed) {
      // Once: a token that was rotated is there to be read.
      renewed = true;
      const auto fresh = client.sender().credentials().renew(context, generation);
      if (fresh && fresh->generation != generation) {
        return {.ending = with_list ? Ending::kNoEnd : Ending::kBusy, .error = outcome.error};
      }
    }
  }
  if (outcome.ending == Ending::kServerEnded && events_of_watch == 0 &&
      clock.steady_now() - began < kHealthy) {
    outcome.ending = Ending::kShortLived;
  }
  if (events_of_watch > 0 || outcome.ending == Ending::kServerEnded ||
      outcome.ending == Ending::kSilent) {
    failures = 0;
    renewed = false;
  }
  return outcome;
}

Step Reflector::Impl::pause(const base::Context& context, Step step, const Outcome& outcome) {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures++, 10);
  base::Duration wait =
      std::min(options.backoff_cap, options.backoff_base * (std::int64_t{1} << doublings));
  wait = base::Duration(
      static_cast<base::Duration::rep>(static_cast<double>(wait.count()) *
                                       std::uniform_real_distribution<double>(0.5, 1.0)(random)));
  if (outcome.retry_after) {
    wait = std::max(wait, std::min<base::Duration>(retry_delay(0, outcome.retry_after, clock.now()),
                                                   std::chrono::minutes(2)));
  }
  const auto cancel = context.on_cancel([this] {
    const std::scoped_lock lock(mutex);
    wake.notify_all();
  });
  std::unique_lock lock(mutex);
  wake.wait_for(lock, wait, [&] { return hurry || context.cancelled(); });
  hurry = false;
  if (context.cancelled()) return Step::kStop;
  if (step == Step::kWaitToWatch) return Step::kWatch;
  return streams ? Step::kListStream : Step::kListPages;
}

void Reflector::Impl::run(const std::stop_token& stop) {
  const base::Context context(clock, stop);
  Step step = streams ? Step::kListStream : Step::kListPages;
  Outcome outcome;
  while (step != Step::kStop) {
    if (step == Step::kListStream && !streams) step = Step::kListPages;
    enter(step);
    switch (step) {
      case Step::kListStream:
        outcome = stream(context, true);
        break;
      case Step::kListPages:
        outcome = list_pages(context);
        break;
      case Step::kWatch:
        outcome = stream(context, false);
        break;
      case Step::kWaitToList:
      case Step::kWaitToWatch:
        step = pause(context, step, outcome);
        continue;
      case Step::kStop:
        break;
    }
    if (outcome.ending == Ending::kNotOffered) streams = false;
    if (outcome.error && outcome.ending != Ending::kNotOffered) {
      if (log != nullptr && outcome.ending != Ending::kExpired) {
        log->debug("reflector", {{"of", label},
                                 {"ended", std::string(to_string(outcome.ending))},
                                 {"error", outcome.error->message}});
      }
      fail(outcome.error);
    } else if (outcome.ending == Ending::kServerEnded) {
      fail(std::nullopt);
    }
    step = next_step(outcome.listed ? Step::kWatch : step, outcome.ending);
  }
  enter(Step::kStop);
}

Reflector::Reflector(Client& client, WatchQuery query, ObjectReceiver& receiver, ListGate& gate,
                     const base::Clock& clock, const base::Logger* log, ReflectorOptions options)
    : impl_(std::make_unique<Impl>(client, std::move(query), receiver, gate, clock, log, options)) {
}

Reflector::~Reflector() {
  stop();
}

void Reflector::start(std::function<void(const ReflectorStatus&)> changed) {
  impl_->changed = std::move(changed);
  impl_->thread = std::jthread([this](const std::stop_token& stop) { impl_->run(stop); });
}

void Reflector::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->thread.request_stop();
  impl_->thread.join();
}

void Reflector::retry_now() {
  const std::scoped_lock lock(impl_->mutex);
  impl_->hurry = true;
  impl_->wake.notify_all();
}

ReflectorStatus Reflector::status() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->status;
}

}  // namespace kollect::kube
