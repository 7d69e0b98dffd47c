#include "sandbox/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "base/json/write.h"

namespace kollect::sandbox {

using base::json::Object;
using base::json::Value;
using base::json::View;

namespace {

constexpr std::size_t kScan = 1000;
/// A list without limit up to this many objects is answered from memory.
constexpr std::size_t kSmallList = 200;
constexpr std::size_t kPiece = 128U << 10U;
constexpr int kGatewayTimeout = 504;

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status too_large(std::uint64_t wanted, std::uint64_t current) {
  Status status;
  status.code = kGatewayTimeout;
  status.reason = "Timeout";
  status.message = fmt::format("Too large resource version: {}, current: {}", wanted, current);
  status.causes = {{"ResourceVersionTooLarge", "", "Too large resource version"}};
  status.retry_after = 1;
  return status;
}

Status option_error(std::string_view field, std::string_view why,
                    const char* reason = "FieldValueForbidden") {
  return invalid("meta.k8s.io", "ListOptions", "",
                 {{reason, std::string(field), std::string(why)}});
}

/// The resourceVersion parameter; 0 when not given.
Outcome<std::uint64_t> read_rv(const Call& call) {
  const std::string text = call.parameter("resourceVersion");
  if (text.empty()) return 0;
  const auto number = read_number(text);
  if (!number) {
    return std::unexpected(
        bad_request(fmt::format("resourceVersion: Invalid value: \"{}\": must be a number", text)));
  }
  return *number;
}

}  // namespace

// ---- filter

Outcome<Filter> Filter::of(const Call& call) {
  Filter filter;
  if (!call.ns.empty()) filter.prefix = call.ns + "/";
  SB_ASSIGN(filter.labels, LabelQuery::parse(call.parameter("labelSelector")));
  SB_ASSIGN(filter.fields, FieldQuery::parse(call.parameter("fieldSelector")));
  SB_TRY(filter.fields.check(call.served->selectable));
  const auto name = filter.fields.wanted("metadata.name");
  const auto ns = filter.fields.wanted("metadata.namespace");
  if (ns && call.ns.empty() && call.served->namespaced) filter.prefix = *ns + "/";
  if (name && (!filter.prefix.empty() || !call.served->namespaced)) {
    filter.key = filter.prefix + *name;
  }
  return filter;
}

bool Filter::takes_all() const {
  return key.empty() && labels.empty() && fields.empty();
}

bool Filter::matches(const std::string& object_key, std::uint64_t rv, const Body& body) const {
  if (!object_key.starts_with(prefix)) return false;
  if (!key.empty() && object_key != key) return false;
  if (labels.empty() && fields.empty()) return true;
  std::string text = "{";
  body.append(text, rv);
  const auto document = base::json::Document::parse_borrowed(text);
  if (!document) return false;
  const View root = document->root();
  return labels.matches(root.at_path({"metadata", "labels"})) && fields.matches(root);
}

// ---- continue

std::string ContinueToken::to_text() const {
  Object out;
  out.set("v", "meta.k8s.io/v1");
  out.set("rv", rv);
  out.set("n", seen);
  out.set("start", next);
  std::string text = base::base64_encode(base::json::compact(Value(std::move(out))));
  while (text.ends_with('=')) text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::optional<ContinueToken> ContinueToken::parse(std::string_view text) {
  std::string standard(text);
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  const auto json = base::base64_decode(standard);
  if (!json) return std::nullopt;
  const auto document = base::json::Document::parse(*json);
  if (!document) return std::nullopt;
  const auto rv = document->root().find("rv");
  const auto seen = document->root().find("n");
  if (!rv || !rv->is_number() || document->root().text("start").empty()) return std::nullopt;
  ContinueToken out;
  out.rv = rv->number().i;
  out.seen = seen && seen->is_number() ? static_cast<std::uint64_t>(seen->number().i) : 0;
  out.next = document->root().text("start");
  return out;
}

// ---- get

Outcome<Entry> Reader::entry(const Call& call) const {
  auto entry = store_.get(call.served->resource(), make_key(call.ns, call.name));
  if (!entry) {
    return std::unexpected(not_found(call.served->group, call.served->plural, call.name));
  }
  return std::move(*entry);
}

Outcome<http::Answer> Reader::get(const Call& call) const {
  SB_ASSIGN(const Entry found, entry(call));
  std::string text;
  Renderer renderer(call);
  renderer.append_single(text, found.rv, found.body);
  return http::Answer::json(200, text + "\n");
}

// ---- list

namespace {

/// A list that is written while it is read.
class ListSource final : public http::BodySource {
 public:
  ListSource(const Store& store, Renderer renderer, std::string resource, Filter filter,
             std::uint64_t rv)
      : store_(store),
        renderer_(std::move(renderer)),
        resource_(std::move(resource)),
        filter_(std::move(filter)),
        rv_(rv),
        epoch_(store.epoch()) {}

  Pull pull(std::string& out) override {
    if (store_.epoch() != epoch_) return {.next = Next::kCut};
    if (!begun_) renderer_.append_list_head(out, rv_, "", -1);
    begun_ = true;
    while (out.size() < kPiece) {
      const auto page = store_.page(resource_, rv_, from_, filter_.prefix, kScan / 10);
      // History has gone past this state: the client must not take it for a whole list.
      if (!page) return {.next = Next::kCut};
      for (const Entry& entry : page->entries) {
        if (!filter_.matches(entry.key, entry.rv, entry.body)) continue;
        if (!std::exchange(first_, false)) out += ',';
        renderer_.append_item(out, entry.rv, entry.body);
      }
      from_ = page->next;
      if (from_.empty()) {
        renderer_.append_list_end(out);
        return {.next = Next::kEnd};
      }
    }
    return {.next = Next::kMore};
  }

 private:
  const Store& store_;
  Renderer renderer_;
  std::string resource_;
  Filter filter_;
  std::uint64_t rv_;
  std::uint64_t epoch_;
  std::string from_;
  bool begun_ = false;
  bool first_ = true;
};

/// A page whose objects are known, and written piece by piece.
class PageSource final : public http::BodySource {
 public:
  PageSource(Renderer renderer, std::vector<Entry> entries, std::string head)
      : renderer_(std::move(renderer)), entries_(std::move(entries)), head_(std::move(head)) {}

  Pull pull(std::string& out) override {
    out += std::exchange(head_, {});
    while (at_ < entries_.size() && out.size() < kPiece) {
      if (at_ > 0) out += ',';
      renderer_.append_item(out, entries_[at_].rv, entries_[at_].body);
      ++at_;
    }
    if (at_ < entries_.size()) return {.next = Next::kMore};
    renderer_.append_list_end(out);
    return {.next = Next::kEnd};
  }

 private:
  Renderer renderer_;
  std::vector<Entry> entries_;
  std::string head_;
  std::size_t at_ = 0;
};

http::Answer streamed(std::shared_ptr<http::BodySource> source) {
  http::Answer answer = http::Answer::json(200, "");
  answer.source = std::move(source);
  return answer;
}

}  // namespace

Outcome<http::Answer> Reader::list(const Call& call) const {
  SB_ASSIGN(const Filter filter, Filter::of(call));
  SB_ASSIGN(const std::uint64_t asked, read_rv(call));
  const std::string match = call.parameter("resourceVersionMatch");
  const std::string token_text = call.parameter("continue");
  const std::uint64_t now = store_.rv();
  if (!call.parameter("sendInitialEvents").empty()) {
    return std::unexpected(
        option_error("sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list"));
  }
  if (!match.empty() && match != "Exact" && match != "NotOlderThan") {
    return std::unexpected(option_error(
        "resourceVersionMatch",
        fmt::format("Unsupported value: \"{}\": supported values: \"Exact\", \"NotOlderThan\"",
                    match),
        "FieldValueNotSupported"));
  }
  if (match == "Exact" && call.parameter("resourceVersion") == "0") {
    return std::unexpected(option_error("resourceVersionMatch",
                                        "Forbidden: resourceVersionMatch \"Exact\" is forbidden "
                                        "for resourceVersion \"0\""));
  }
  if (!match.empty() && !token_text.empty()) {
    return std::unexpected(
        option_error("resourceVersionMatch",
                     "Forbidden: resourceVersionMatch is forbidden when continue is provided"));
  }
  if (!match.empty() && call.parameter("resourceVersion").empty()) {
    return std::unexpected(option_error(
        "resourceVersionMatch",
        "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  const std::string limit_text = call.parameter("limit");
  const std::size_t limit = read_number(limit_text).value_or(0);
  if (!token_text.empty()) {
    if (asked > 0) {
      return std::unexpected(
          bad_request("specifying resource version is not allowed when using continue"));
    }
    const auto token = ContinueToken::parse(token_text);
    if (!token) {
      return std::unexpected(bad_request("continue key is not valid"));
    }
    const std::uint64_t rv = token->rv < 0 ? now : static_cast<std::uint64_t>(token->rv);
    return list_page(call, filter, rv, *token, limit);
  }
  if (asked > now) return std::unexpected(too_large(asked, now));
  const std::uint64_t rv = match == "Exact" ? asked : now;
  if (rv < store_.oldest(call.served->resource())) {
    return std::unexpected(
        expired(fmt::format("The resourceVersion for the provided list is too old.")));
  }
  const std::string resource = call.served->resource();
  if (limit == 0 && filter.key.empty() && store_.count(resource, call.ns) > kSmallList) {
    return streamed(std::make_shared<ListSource>(store_, Renderer(call), resource, filter, rv));
  }
  return list_page(call, filter, rv, {}, limit);
}

Outcome<http::Answer> Reader::list_page(const Call& call, const Filter& filter, std::uint64_t rv,
                                        const ContinueToken& from, std::size_t limit) const {
  const std::string resource = call.served->resource();
  const std::size_t most = limit == 0 ? std::numeric_limits<std::size_t>::max() : limit;
  std::vector<Entry> entries;
  std::string at = filter.key.empty() ? from.next : std::max(from.next, filter.key);
  while (true) {
    const std::size_t wanted =
        filter.takes_all() && limit > 0 ? most - entries.size() : (filter.key.empty() ? kScan : 1);
    auto page = store_.page(resource, rv, at, filter.prefix, wanted);
    if (!page) {
      Status status = expired(
          "The provided continue parameter is too old to display a consistent list result. You can "
          "start a new list without the continue parameter, or use the continue token in this "
          "response to retrieve the remainder of the results. Continuing with the provided token "
          "results in an inconsistent list - objects that were created, modified, or deleted "
          "between the time the first chunk was returned and now may show up in the list.");
      ContinueToken rest = from;
      rest.rv = -1;
      status.continue_token = rest.to_text();
      return std::unexpected(std::move(status));
    }
    at = page->next;
    for (Entry& entry : page->entries) {
      if (!filter.matches(entry.key, entry.rv, entry.body)) continue;
      if (entries.size() == most) {
        at = entry.key;
        break;
      }
      entries.push_back(std::move(entry));
    }
    if (at.empty() || entries.size() >= most || !filter.key.empty()) break;
  }
  if (!filter.key.empty()) at.clear();
  ContinueToken token{
      .rv = static_cast<std::int64_t>(rv), .seen = from.seen + entries.size(), .next = at};
  std::int64_t remaining = -1;
  if (!at.empty() && filter.takes_all()) {
    const auto all = static_cast<std::int64_t>(store_.count(resource, call.ns));
    remaining = std::max<std::int64_t>(1, all - static_cast<std::int64_t>(token.seen));
  }
  Renderer renderer(call);
  std::string head;
  renderer.append_list_head(head, rv, at.empty() ? "" : token.to_text(), remaining);
  if (entries.size() > kSmallList) {
    return streamed(
        std::make_shared<PageSource>(std::move(renderer), std::move(entries), std::move(head)));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) head += ',';
    renderer.append_item(head, entries[i].rv, entries[i].body);
  }
  renderer.append_list_end(head);
  return http::Answer::json(200, std::move(head));
}

// ---- watch

namespace {

class WatchSource final : public http::BodySource {
 public:
  struct Plan {
    bool initial = false;   ///< begin with everything that exists
    bool mark_end = false;  ///< and say where that ends
    bool bookmarks = false;
    std::uint64_t after = 0;
    base::Duration timeout{};
  };

  WatchSource(Store& store, const base::Clock& clock, ReaderOptions options, const Call& call,
              Filter filter, Plan plan)
      : store_(store),
        clock_(clock),
        options_(options),
        served_(call.served),
        resource_(call.served->resource()),
        filter_(std::move(filter)),
        plan_(plan),
        renderer_(call),
        at_(plan.after),
        end_(clock.steady_now() + plan.timeout),
        next_bookmark_(clock.steady_now() + options.bookmark_interval),
        epoch_(store.epoch()) {}

  void start(std::function<void()> wake) override {
    subscription_ = store_.subscribe(resource_, std::move(wake));
    if (plan_.initial) at_ = store_.rv();
  }

  Pull pull(std::string& out) override {
    if (store_.epoch() != epoch_) return {.next = Next::kCut};
    if (plan_.initial && !pull_initial(out)) {
      return {.next = plan_.initial && out.empty() ? Next::kCut : Next::kMore};
    }
    while (out.size() < kPiece) {
      const Store::Events news = store_.events(resource_, at_, kEventBatch);
      if (news.epoch != epoch_) return {.next = Next::kCut};
      if (news.too_old) {
        append_error(out,
                     expired(fmt::format("too old resource version: {} ({})", at_, news.oldest)));
        return {.next = Next::kEnd};
      }
      for (const Event& event : news.events) append_event(out, event);
      at_ = news.rv;
      if (news.events.empty()) return wait(out);
    }
    return {.next = Next::kMore};
  }

 private:
  static constexpr std::size_t kEventBatch = 200;

  /// A piece of what exists; true when all of it was given.
  bool pull_initial(std::string& out) {
    while (out.size() < kPiece) {
      const std::string& prefix = filter_.key.empty() ? filter_.prefix : filter_.key;
      const auto page = store_.page(resource_, at_, from_, prefix, kScan / 10);
      if (!page) {
        out.clear();
        return false;
      }
      for (const Entry& entry : page->entries) {
        if (!filter_.matches(entry.key, entry.rv, entry.body)) continue;
        append_change(out, "ADDED", entry.rv, entry.body);
      }
      from_ = page->next;
      if (from_.empty()) {
        if (plan_.mark_end) append_bookmark(out, true);
        plan_.initial = false;
        return true;
      }
    }
    return false;
  }

  Pull wait(std::string& out) {
    const base::SteadyTime now = clock_.steady_now();
    if (now >= end_) return {.next = Next::kEnd};
    if (plan_.bookmarks && now >= next_bookmark_) append_bookmark(out, false);
    const base::SteadyTime next = plan_.bookmarks ? std::min(end_, next_bookmark_) : end_;
    return {.next = Next::kWait, .at_most = next - now};
  }

  void append_change(std::string& out, std::string_view type, std::uint64_t rv, const Body& body) {
    out += R"({"type":")";
    out += type;
    out += R"(","object":)";
    renderer_.append_single(out, rv, body);
    out += "}\n";
  }

  void append_event(std::string& out, const Event& event) {
    const Version& now = *event.now;
    const Version* before = event.before.get();
    const bool was = before != nullptr && !before->deleted &&
                     filter_.matches(event.key, before->rv, before->body);
    const bool is = !now.deleted && filter_.matches(event.key, now.rv, now.body);
    if (is) return append_change(out, was ? "MODIFIED" : "ADDED", now.rv, now.body);
    if (!was) return;
    // What left the selection is told in its last fitting state, with the event's version.
    append_change(out, "DELETED", now.rv, now.deleted ? now.body : before->body);
  }

  void append_bookmark(std::string& out, bool initial_end) {
    next_bookmark_ = clock_.steady_now() + options_.bookmark_interval;
    out += R"({"type":"BOOKMARK","object":)";
    renderer_.append_mark(out, at_, initial_end ? R"({"k8s.io/initial-events-end":"true"})" : "");
    out += "}\n";
  }

  static void append_error(std::string& out, const Status& status) {
    out += R"({"type":"ERROR","object":)";
    base::json::append_compact(out, status.to_value());
    out += "}\n";
  }

  Store& store_;
  const base::Clock& clock_;
  ReaderOptions options_;
  ServedPtr served_;
  std::string resource_;
  Filter filter_;
  Plan plan_;
  Renderer renderer_;
  std::uint64_t at_;
  std::string from_;
  base::SteadyTime end_;
  base::SteadyTime next_bookmark_;
  std::uint64_t epoch_;
  std::shared_ptr<void> subscription_;
};

}  // namespace

Outcome<http::Answer> Reader::watch(const Call& call) const {
  SB_ASSIGN(Filter filter, Filter::of(call));
  SB_ASSIGN(const std::uint64_t asked, read_rv(call));
  const std::string match = call.parameter("resourceVersionMatch");
  const std::string send_initial = call.parameter("sendInitialEvents");
  if (!call.name.empty() && filter.key.empty()) filter.key = make_key(call.ns, call.name);
  if (!match.empty() && send_initial.empty()) {
    return std::unexpected(option_error("resourceVersionMatch",
                                        "Forbidden: resourceVersionMatch is forbidden for watch "
                                        "unless sendInitialEvents is provided"));
  }
  if (!send_initial.empty() && match != "NotOlderThan") {
    return std::unexpected(option_error(
        "resourceVersionMatch",
        "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  WatchSource::Plan plan;
  const bool wants_list = call.flag("sendInitialEvents");
  plan.bookmarks = call.flag("allowWatchBookmarks");
  plan.initial = wants_list || (send_initial.empty() && asked == 0);
  plan.mark_end = wants_list && plan.bookmarks;
  plan.after = asked == 0 ? store_.rv() : asked;
  plan.timeout = options_.watch_timeout;
  if (const auto seconds = read_number(call.parameter("timeoutSeconds")); seconds && *seconds > 0) {
    plan.timeout = std::chrono::seconds(*seconds);
  }
  return streamed(
      std::make_shared<WatchSource>(store_, clock_, options_, call, std::move(filter), plan));
}

}  // namespace kollect::sandbox
