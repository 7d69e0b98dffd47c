#include "collector/kind_book.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace kollect::collector {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Looks after a change of CRDs: names are accepted, handlers and discovery documents follow one
/// after the other.
constexpr std::array<base::Duration, 5> kEchoes = {milliseconds(50), milliseconds(500), seconds(2),
                                                   seconds(5), seconds(10)};
constexpr base::Duration kSuspicion = seconds(3);
/// Nobody asked for a missing kind for so long: it is not looked for any more.
constexpr base::Duration kPatience = std::chrono::minutes(5);
constexpr base::SteadyTime kNever = base::SteadyTime::max();

bool same(const kube::Discovery& a, const kube::Discovery& b) {
  const auto key = [](const kube::Resource& r) {
    return std::tie(r.group, r.version, r.kind, r.plural, r.namespaced, r.verbs);
  };
  return std::ranges::equal(a.resources, b.resources, {}, key, key) &&
         a.group_versions == b.group_versions &&
         std::ranges::equal(
             a.failed_groups, b.failed_groups, {}, [](const auto& p) { return p.first; },
             [](const auto& p) { return p.first; }) &&
         std::ranges::equal(a.not_listable, b.not_listable, {}, key, key);
}

}  // namespace

void KindBook::changed_crds() {
  const std::scoped_lock lock(mutex_);
  if (!crds_listed_) return;
  echo_ = 0;
  due_ = clock_.steady_now() + kEchoes[0];
  again_ = true;
  bell_.plan();
}

void KindBook::object(base::json::View) {
  changed_crds();
}

void KindBook::deleted(base::json::View) {
  changed_crds();
}

void KindBook::end_list() {
  const std::scoped_lock lock(mutex_);
  // The first list is as old as the first discovery; after a later one something may have gone
  // unnoticed.
  if (!std::exchange(crds_listed_, true)) return;
  due_ = std::min(due_, clock_.steady_now());
  bell_.plan();
}

void KindBook::suspect() {
  const std::scoped_lock lock(mutex_);
  // A resource that discovery goes on to name would be asked for in circles.
  due_ = std::min(due_, std::max(clock_.steady_now() + kEchoes[0], last_ + kSuspicion));
  bell_.plan();
}

base::Result<kube::Discovery::Found> KindBook::find(const api::GroupVersionKind& kind) const {
  std::shared_ptr<const kube::Discovery> known;
  {
    const std::scoped_lock lock(mutex_);
    known = known_;
    if (!known) {
      if (error_) return *error_;
      return base::retryable("the kinds of the cluster are not known yet", "discovery-pending");
    }
  }
  auto found = known->find(kind.group, kind.version, kind.kind);
  if (!found) {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(missing_, clock_.steady_now())) bell_.plan();
  } else if (!found->resource.can("watch")) {
    return base::not_found(fmt::format("kind {} cannot be watched", kind.kind), "gvk-not-found");
  }
  return found;
}

base::SteadyTime KindBook::due() const {
  const bool wanted = missing_ && *missing_ + kPatience > last_;
  const bool failing = known_ && !known_->failed_groups.empty();
  return wanted || failing ? std::min(due_, last_ + retry_) : due_;
}

bool KindBook::take_due(base::SteadyTime now) {
  const std::scoped_lock lock(mutex_);
  if (asking_ || now < due()) return false;
  asking_ = true;
  again_ = false;
  return true;
}

void KindBook::answered(base::Result<kube::Discovery> answer) {
  const std::scoped_lock lock(mutex_);
  const base::SteadyTime now = clock_.steady_now();
  asking_ = false;
  last_ = now;
  due_ = kNever;
  if (answer) {
    failures_ = 0;
    // After an event of CRDs a resource may be another one under the same name.
    changed_ = changed_ || !known_ || error_ || echo_ < kEchoes.size() || !same(*known_, *answer);
    error_.reset();
    known_ = std::make_shared<const kube::Discovery>(std::move(*answer));
  } else {
    changed_ = changed_ || !error_ || error_->message != answer.error().message;
    error_ = answer.error();
    due_ = now + std::min<base::Duration>(retry_, seconds(1) * (1U << std::min(failures_++, 10U)));
  }
  if (again_) {
    due_ = std::min(due_, now + kEchoes[0]);
  } else if (echo_ < kEchoes.size() && ++echo_ < kEchoes.size()) {
    due_ = std::min(due_, now + kEchoes[echo_]);
  }
  bell_.plan();
}

base::SteadyTime KindBook::next() const {
  const std::scoped_lock lock(mutex_);
  return asking_ ? kNever : due();
}

bool KindBook::take_changed() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(changed_, false);
}

}  // namespace kollect::collector
