#include "manager/leader/fence.h"

#include <algorithm>
#include <utility>

namespace kollect::manager {
namespace {

/// No work inside a fence has a deadline farther away, and a fallen fence's time is past it.
constexpr base::Duration kLongestWork = std::chrono::hours(1);

base::Error fenced() {
  return base::cancelled("this process does not lead, or no longer", "fenced");
}

class FencedSink final : public sinks::Sink {
 public:
  FencedSink(const Fences& fences, std::unique_ptr<sinks::Sink> sink)
      : fences_(fences), sink_(std::move(sink)) {}

  base::Result<sinks::ExportReport> export_all(const base::Context& context,
                                               const std::vector<sinks::Export>& exports,
                                               bool dry_run) override {
    const std::string ns = exports.empty() ? std::string() : exports.front().inventory.ns;
    return inside(ns, context, [&](const base::Context& work) {
      return sink_->export_all(work, exports, dry_run);
    });
  }
  base::Result<sinks::ExportReport> apply(const base::Context& context,
                                          const sinks::Pass& pass) override {
    return inside(pass.head.inventory.ns, context,
                  [&](const base::Context& work) { return sink_->apply(work, pass); });
  }
  [[nodiscard]] bool takes_changes() const override { return sink_->takes_changes(); }
  base::Result<> probe(const base::Context& context) override { return sink_->probe(context); }

 private:
  base::Result<sinks::ExportReport> inside(const std::string& ns, const base::Context& context,
                                           const auto& work) {
    const std::shared_ptr<const Fence> fence = fences_.of(ns);
    if (!fence->stands()) return fenced();
    const Fence::Work fenced_work(*fence, context);
    auto result = work(fenced_work.context());
    if (!result && fence->fallen()) return fenced();
    return result;
  }

  const Fences& fences_;
  std::unique_ptr<sinks::Sink> sink_;
};

}  // namespace

Fence::Fence(const base::Clock& clock, std::shared_ptr<const Fence> outer)
    : clock_(clock), time_(*this), outer_(std::move(outer)) {
  if (outer_) outer_falls_.emplace(outer_->fall_.get_token(), [this] { fall(); });
}

std::shared_ptr<const Fence> Fence::of(std::string_view /*ns*/) const {
  return {std::shared_ptr<const Fence>(), this};
}

void Fence::extend(base::SteadyTime until) {
  if (!fall_.stop_requested()) until_ = until;
}

void Fence::fall() {
  fall_.request_stop();
}

bool Fence::stands() const {
  return !fall_.stop_requested() && clock_.steady_now() < until_.load() &&
         (!outer_ || outer_->stands());
}

bool Fence::fallen() const {
  const base::SteadyTime until = until_;
  return fall_.stop_requested() ||
         (until != base::SteadyTime::min() && clock_.steady_now() >= until) ||
         (outer_ && outer_->fallen());
}

base::SteadyTime Fence::until() const {
  const base::SteadyTime own = until_;
  return outer_ && own != base::SteadyTime::min() ? std::min(own, outer_->until()) : own;
}

base::SteadyTime Fence::Time::steady_now() const {
  const base::SteadyTime now = fence_.clock_.steady_now();
  return fence_.stands() ? now : now + 2 * kLongestWork;
}

Fence::Work::Work(const Fence& fence, const base::Context& outer)
    : fence_(fence),
      context_(base::Context(fence.time_, stop_.get_token())
                   .with_timeout(std::min(outer.remaining(), kLongestWork))),
      outer_(outer.on_cancel([this] { stop_.request_stop(); })),
      fallen_(fence.fall_.get_token(), [this] { stop_.request_stop(); }) {
  ++fence_.inside_;
  // A deadline that was reckoned in a fallen fence's time means nothing.
  if (!fence.stands()) stop_.request_stop();
}

Fence::Work::~Work() {
  --fence_.inside_;
}

std::unique_ptr<sinks::Sink> behind(const Fences& fences, std::unique_ptr<sinks::Sink> sink) {
  return std::make_unique<FencedSink>(fences, std::move(sink));
}

}  // namespace kollect::manager
