#include "readapi/stream/hub.h"

#include <charconv>
#include <random>

#include <fmt/format.h>

#include "base/json/write.h"
#include "readapi/item.h"

namespace kollect::readapi {
namespace {

constexpr base::Duration kLookLimit = std::chrono::seconds(30);

std::string new_epoch() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

void append_frame(std::string& out, const std::string& epoch, std::uint64_t number, bool removed,
                  const SourceRow& row) {
  fmt::format_to(std::back_inserter(out),
                 "id: {}-{}\nevent: change\ndata: {{\"op\":\"{}\",\"item\":", epoch, number,
                 removed ? "delete" : "upsert");
  if (removed) {
    static const std::vector<std::string> kIdentity = {
        "targetNamespace",    "targetName", "namespace", "name", "group", "version", "kind", "uid",
        "inventoryNamespace", "inventory",  "cluster"};
    ItemWriter(kIdentity).append(out, row);
  } else {
    ItemWriter({}).append(out, row);
  }
  out += "}\n\n";
}

}  // namespace

// ---- Event

Event::Event(std::uint64_t number, const std::string& epoch, const RowNews& news)
    : number_(number) {
  append_frame(frame_, epoch, number, news.removed, news.row);
  const SourceRow& from = news.row;
  inventory::RowView row = from.row;
  row.attributes = {};
  keys_.reserve(from.cluster.size() + from.inventory_namespace.size() + from.inventory.size() +
                from.exported_at.size() + inventory::text_bytes(row));
  const auto keep = [this](std::string_view text) {
    const std::size_t at = keys_.size();
    keys_ += text;
    return std::string_view(keys_).substr(at);
  };
  news_ = {.removed = news.removed,
           .of_cluster_target = news.of_cluster_target,
           .row = {.cluster = keep(from.cluster),
                   .inventory_namespace = keep(from.inventory_namespace),
                   .inventory = keep(from.inventory),
                   .exported_at = keep(from.exported_at),
                   .row = inventory::copy_row(row, keys_)}};
  // They stand in the frame already, byte for byte, as the last member.
  const std::size_t at = news.removed ? std::string::npos : frame_.find(",\"attributes\":");
  if (at != std::string::npos && !from.row.attributes.empty()) {
    const std::size_t where = frame_.find(from.row.attributes, at);
    if (where != std::string::npos) {
      news_.row.row.attributes = std::string_view(frame_).substr(where, from.row.attributes.size());
    }
  }
}

void Event::append_as_removed(std::string& out, const std::string& epoch) const {
  append_frame(out, epoch, number_, true, news_.row);
}

std::size_t Event::bytes() const {
  constexpr std::size_t kRoundAbout = 64;  // of the allocations
  return sizeof(Event) + keys_.capacity() + frame_.capacity() + kRoundAbout;
}

// ---- Hub

Hub::Hub(Feed& feed, const base::Clock& clock, const base::Logger* log, HubOptions options)
    : feed_(feed), clock_(clock), log_(log), options_(options), epoch_(new_epoch()) {
  told_ = feed_.on_news([this] {
    {
      const std::scoped_lock lock(mutex_);
      if (news_) return;
      news_ = true;
    }
    changed_.notify_all();
  });
}

Hub::~Hub() {
  // The feed may call until it is told otherwise.
  feed_.on_news(nullptr);
  thread_ = {};
  const std::scoped_lock lock(feed_mutex_);
  if (open_) feed_.close();
}

Hub::Listener::~Listener() {
  hub_.leave(*this);
}

std::unique_ptr<Hub::Listener> Hub::listen(std::function<void()> wake) {
  std::unique_ptr<Listener> listener(new Listener(*this, std::move(wake)));
  {
    const std::scoped_lock lock(listeners_mutex_);
    listeners_.insert(listener.get());
  }
  ensure_open();
  changed_.notify_all();
  return listener;
}

void Hub::leave(Listener& listener) {
  const std::scoped_lock lock(listeners_mutex_);
  listeners_.erase(&listener);
  if (!listeners_.empty()) return;
  const std::scoped_lock own(mutex_);
  alone_since_ = clock_.steady_now();
}

void Hub::ensure_open() {
  const std::scoped_lock lock(feed_mutex_);
  if (open_) return;
  const auto opened = feed_.open(base::Context(clock_, {}).with_timeout(kLookLimit));
  if (!opened) {
    if (log_ != nullptr) {
      log_->warn("changes cannot be followed", {{"error", opened.error().message}});
    }
    return;  // the next turn tries again
  }
  open_ = true;
  // What changed while nobody looked has no events: states from before are not known any more.
  const std::scoped_lock own(mutex_);
  ++newest_;
  oldest_known_ = newest_;
  ++generation_;
}

void Hub::rest() {
  {
    const std::scoped_lock lock(listeners_mutex_, mutex_);
    if (!listeners_.empty() || clock_.steady_now() - alone_since_ < options_.linger) return;
    ring_.clear();
    bytes_ = 0;
    oldest_known_ = newest_;
  }
  feed_.close();
  open_ = false;
}

void Hub::turn() {
  {
    const std::scoped_lock own(mutex_);
    news_ = false;
  }
  bool anybody = false;
  {
    const std::scoped_lock lock(listeners_mutex_);
    anybody = !listeners_.empty();
  }
  if (anybody) ensure_open();
  bool changed = false;
  {
    const std::scoped_lock lock(feed_mutex_);
    if (!open_) return;
    if (!anybody) rest();
    if (!open_) return;
    const auto polled =
        feed_.poll(base::Context(clock_, {}).with_timeout(kLookLimit), [this](const RowNews& news) {
          // newest_ is written under feed_mutex_ alone: it may be read without the other lock.
          auto event = std::make_shared<const Event>(newest_ + 1, epoch_, news);
          const std::scoped_lock own(mutex_);
          ++newest_;
          bytes_ += event->bytes();
          ring_.push_back(std::move(event));
          while (bytes_ > options_.buffer_bytes && ring_.size() > 1) {
            bytes_ -= ring_.front()->bytes();
            oldest_known_ = ring_.front()->number();
            ring_.pop_front();
          }
        });
    if (!polled && log_ != nullptr && !failing_) {
      log_->warn("changes cannot be followed", {{"error", polled.error().message}});
    }
    failing_ = !polled;
    changed = polled && *polled;
    if (changed) {
      const std::scoped_lock own(mutex_);
      ++generation_;
    }
  }
  if (changed) wake_all();
}

void Hub::wake_all() {
  const std::scoped_lock lock(listeners_mutex_);
  for (Listener* listener : listeners_) listener->wake_();
}

Hub::Batch Hub::after(std::uint64_t number, std::size_t bytes) const {
  Batch batch;
  const std::scoped_lock lock(mutex_);
  if (number < oldest_known_) {
    batch.lost = true;
    return batch;
  }
  std::size_t taken = 0;
  for (std::size_t i = number - oldest_known_; i < ring_.size() && taken < bytes; ++i) {
    batch.events.push_back(ring_[i]);
    taken += ring_[i]->frame().size();
  }
  return batch;
}

std::uint64_t Hub::newest() const {
  const std::scoped_lock lock(mutex_);
  return newest_;
}

std::uint64_t Hub::generation() const {
  const std::scoped_lock lock(mutex_);
  return generation_;
}

std::size_t Hub::kept_bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

std::string Hub::state(std::uint64_t number) const {
  return fmt::format("{}-{}", epoch_, number);
}

std::optional<std::uint64_t> Hub::number_of(std::string_view state) const {
  const std::size_t dash = state.rfind('-');
  if (dash == std::string_view::npos || state.substr(0, dash) != epoch_) return std::nullopt;
  const std::string_view digits = state.substr(dash + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  if (number < oldest_known_ || number > newest_) return std::nullopt;
  return number;
}

void Hub::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Hub::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      // Also without news: a feed that failed is tried again, one that nobody reads is closed.
      changed_.wait_for(lock, stop, clock_.real_time(options_.poll), [this] { return news_; });
    }
    if (stop.stop_requested()) return;
    turn();
    clock_.sleep(options_.pace, stop);
  }
}

}  // namespace kollect::readapi
