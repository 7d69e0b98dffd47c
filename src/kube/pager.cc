#include "kube/pager.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/document.h"
#include "kube/api_error.h"

namespace kollect::kube {

namespace {

/// Pages that may be there unhandled, the one under way included: enough to keep the server busy.
constexpr std::size_t kMostAhead = 4;
/// Requests at a time. The head of a page comes long before its end, so two overlap well.
constexpr std::size_t kMostStreams = 2;
/// Error documents are short; what is longer is no use.
constexpr std::size_t kMostErrorText = 1U << 20U;
constexpr std::size_t kFirstBuffer = 512U << 10U;

}  // namespace

std::string list_path(const ListQuery& query, std::string_view token) {
  std::string path = query.resource.path(query.ns);
  path += fmt::format("?limit={}", query.page_size);
  // Selectors and limit go with every page: the token alone does not carry them
  // (field-pages-without-remaining-count).
  const auto add = [&path](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    path += '&';
    path += name;
    path += '=';
    path += base::percent_encode(value);
  };
  add("labelSelector", query.label_selector);
  add("fieldSelector", query.field_selector);
  add("continue", token);
  return path;
}

Pager::Pager(Sender& sender, base::Context context, ListQuery query)
    : sender_(sender), context_(std::move(context)), query_(std::move(query)) {}

base::Result<ListOutcome> Pager::run(ListReceiver& receiver) {
  KL_ASSIGN(credential_, sender_.credentials().current(context_));
  auto done = loop(receiver);
  close();
  if (!done) return done.error();
  return outcome_;
}

// ---- I/O thread

bool Pager::receive(const PagePtr& page, const http::Response& head, std::string_view data) {
  if (head.status != 200) {
    if (page->text.size() < kMostErrorText) page->text.append(data);
    return true;
  }
  page->text.append(data);
  const bool sound = page->scanner.feed(page->text);
  const std::lock_guard lock(mutex_);
  if (page->dropped) return false;
  page->garbled = !sound;
  held_bytes_ += data.size();
  page->counted += data.size();
  if (!page->head_known && page->scanner.metadata()) {
    learn_head(*page);
    start_ahead();
  }
  return !page->garbled;
}

void Pager::finish(const PagePtr& page, base::Result<http::Response> answer) {
  const std::lock_guard lock(mutex_);
  page->answer = std::move(answer);
  start_ahead();
  changed_.notify_all();
}

// ---- both threads, under the mutex

void Pager::learn_head(Page& page) {
  page.head_known = true;
  const auto span = *page.scanner.metadata();
  const auto document = base::json::Document::parse_borrowed(
      std::string_view(page.text).substr(span.begin, span.size));
  if (!document) {
    page.garbled = true;
    return;
  }
  page.next_token = document->root().text("continue");
  page.resource_version = document->root().text("resourceVersion");
}

void Pager::start_page(std::string token) {
  auto page = std::make_shared<Page>();
  page->token = std::move(token);
  if (!spare_.empty()) {
    page->text = std::move(spare_.back());
    spare_.pop_back();
  } else {
    page->text.reserve(kFirstBuffer);
  }
  pages_.push_back(page);
  Call call;
  call.path = list_path(query_, page->token);
  call.accept = accept_of(query_.metadata_only, true);
  auto self = shared_from_this();
  sender_.http().start_stream(
      context_.with_stop(page->stop.get_token()), sender_.make_request(call, credential_),
      [self, page](const http::Response& head, std::string_view data) {
        return self->receive(page, head, data);
      },
      [self, page](base::Result<http::Response> answer) { self->finish(page, std::move(answer)); });
}

void Pager::start_ahead() {
  if (closed_ || pages_.empty() || pages_.size() >= kMostAhead) return;
  const Page& last = *pages_.back();
  if (!last.head_known || last.garbled || last.next_token.empty()) return;
  if (held_bytes_ >= sender_.options().read_ahead_bytes) return;
  const auto under_way =
      std::ranges::count_if(pages_, [](const PagePtr& page) { return !page->answer.has_value(); });
  if (static_cast<std::size_t>(under_way) >= kMostStreams) return;
  start_page(last.next_token);
}

void Pager::recycle(Page& page) {
  held_bytes_ -= page.counted;
  page.counted = 0;
  page.text.clear();
  if (spare_.size() < kMostStreams) spare_.push_back(std::move(page.text));
}

void Pager::drop_from(std::size_t index) {
  while (pages_.size() > index) {
    Page& page = *pages_.back();
    // Its callbacks may still come; they find a page that nobody looks at any more.
    page.dropped = true;
    page.stop.request_stop();
    held_bytes_ -= page.counted;
    page.counted = 0;
    pages_.pop_back();
  }
}

// ---- calling thread

void Pager::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  drop_from(0);
  spare_.clear();
}

void Pager::begin_from(std::string token) {
  const std::lock_guard lock(mutex_);
  drop_from(0);
  start_page(std::move(token));
}

Pager::PagePtr Pager::wait_for_first() {
  std::unique_lock lock(mutex_);
  // Every request ends by itself: at its deadline, when stalled, or when the context is cancelled.
  changed_.wait(lock, [this] { return pages_.front()->answer.has_value(); });
  return pages_.front();
}

base::Result<> Pager::loop(ListReceiver& receiver) {
  KL_TRY(receiver.begin());
  begin_from("");
  while (true) {
    const PagePtr page = wait_for_first();
    KL_ASSIGN(const Verdict verdict, judge(*page));
    if (verdict == Verdict::kRestart) {
      KL_TRY(restart(receiver, "the page token expired"));
      continue;
    }
    if (verdict == Verdict::kAgain) {
      begin_from(page->token);
      continue;
    }
    if (outcome_.pages > 0 && page->resource_version != outcome_.resource_version) {
      KL_TRY(restart(receiver, "the pages stand at different revisions"));
      continue;
    }
    KL_TRY(handle(*page, receiver));
    if (page->next_token.empty()) return {};
    const std::lock_guard lock(mutex_);
    pages_.pop_front();
    recycle(*page);
    if (pages_.empty()) {
      start_page(page->next_token);
    } else {
      start_ahead();
    }
  }
}

base::Result<> Pager::handle(Page& page, ListReceiver& receiver) {
  attempt_ = 0;
  outcome_.pages += 1;
  outcome_.bytes += page.text.size();
  outcome_.items += page.scanner.items();
  outcome_.resource_version = page.resource_version;
  return receiver.page(page.text);
}

base::Result<> Pager::restart(ListReceiver& receiver, const std::string& why) {
  const std::uint32_t restarts = outcome_.restarts + 1;
  if (restarts > sender_.options().list_restarts) {
    return base::retryable(fmt::format("{}: {} in each of {} tries", label(), why, restarts),
                           "transient");
  }
  if (sender_.log() != nullptr) {
    sender_.log()->info("list begins anew", {{"context", sender_.config().context_name},
                                             {"kind", query_.resource.kind},
                                             {"error", why}});
  }
  outcome_ = {};
  outcome_.restarts = restarts;
  KL_TRY(receiver.begin());
  begin_from("");
  return {};
}

base::Result<Pager::Verdict> Pager::judge(Page& page) {
  if (!page.answer->has_value()) {
    const base::Error& error = page.answer->error();
    KL_TRY(context_.check());
    // Stopped by receive(): the text is no list.
    if (page.garbled) return again(passing("the answer is not a JSON document"));
    if (sender_.worth_retry(error)) return again(transport_error(error));
    return transport_error(error);
  }
  const http::Response& answer = **page.answer;
  sender_.note(answer);
  if (answer.status != 200) return judge_status(answer, page);
  if (page.garbled || !page.scanner.complete()) {
    return again(passing("the answer ended before its end"));
  }
  if (!page.scanner.has_items()) {
    return base::terminal(fmt::format("{}: the answer is not a list", label()), "rejected");
  }
  return Verdict::kHandle;
}

base::Result<Pager::Verdict> Pager::judge_status(const http::Response& answer, const Page& page) {
  if (answer.status == 401) return judge_unauthorized(answer, page.text);
  if (answer.status == 410) {
    if (!page.token.empty()) return Verdict::kRestart;
    return again(passing("410 to the first page", "expired"));
  }
  if (is_passing(answer.status)) {
    return again(error_of(label(), answer.status, page.text), answer.header("retry-after"));
  }
  base::Error error = error_of(label(), answer.status, page.text);
  // The kind was in discovery a moment ago; now its path is gone.
  if (answer.status == 404) error.reason = "gvk-not-found";
  return error;
}

base::Result<Pager::Verdict> Pager::judge_unauthorized(const http::Response& answer,
                                                       std::string_view text) {
  if (!std::exchange(renewed_, true)) {
    const std::uint64_t refused = credential_.generation;
    KL_ASSIGN(Credential fresh, sender_.credentials().renew(context_, refused));
    if (fresh.generation != refused) {
      const std::lock_guard lock(mutex_);
      credential_ = std::move(fresh);
      return Verdict::kAgain;
    }
  }
  return sender_.refusal(context_, label(), answer.status, text);
}

base::Error Pager::passing(std::string_view why, std::string reason) const {
  return base::retryable(fmt::format("{}: {}", label(), why), std::move(reason));
}

base::Result<Pager::Verdict> Pager::again(const base::Error& why,
                                          const std::optional<std::string>& retry_after) {
  retry_after_ = retry_after;
  if (outcome_.pages == 0 && !query_.retry_first) return why;
  if (attempt_ >= sender_.options().retries) {
    return base::retryable(fmt::format("{} (tried {} times)", why.message, attempt_ + 1),
                           "transient");
  }
  {
    // Nothing behind a failed page is of use, and its requests would only load the server.
    const std::lock_guard lock(mutex_);
    drop_from(1);
  }
  KL_TRY(sender_.wait(context_, attempt_++, why.message, retry_after));
  KL_ASSIGN(Credential fresh, sender_.credentials().current(context_));
  const std::lock_guard lock(mutex_);
  credential_ = std::move(fresh);
  return Verdict::kAgain;
}

std::string Pager::label() const {
  return fmt::format("list {}{}", query_.resource.plural,
                     query_.ns.empty() ? "" : " in namespace " + query_.ns);
}

}  // namespace kollect::kube
