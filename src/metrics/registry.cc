#include "metrics/registry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <sstream>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace kollect::metrics {
namespace {

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// [a-zA-Z_:][a-zA-Z0-9_:]*, for labels without the colon and not beginning with two underscores
/// (Prometheus data model).
bool good_name(const std::string& name, bool label) {
  if (name.empty() || (label && (name.starts_with("__") || name == "le"))) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool digit = c >= '0' && c <= '9';
    if (!letter(c) && !(i > 0 && digit) && (label || c != ':')) return false;
  }
  return true;
}

void must(bool good, const std::string& name, const char* why) {
  if (good) return;
  std::fprintf(stderr, "metric %s: %s\n", name.c_str(), why);
  std::abort();
}

template <class Series>
struct Family {
  std::string help;
  std::map<Labels, std::unique_ptr<Series>> series = {};
};

template <class Series>
using Families = std::map<std::string, Family<Series>>;

bool has_all(const Labels& labels, const Labels& wanted) {
  return std::includes(labels.begin(), labels.end(), wanted.begin(), wanted.end());
}

template <class Series>
void remove_from(Families<Series>& families, const Labels& labels) {
  for (auto& [name, family] : families) {
    std::erase_if(family.series, [&](const auto& one) { return has_all(one.first, labels); });
  }
}

template <class Series>
void append(std::vector<prometheus::MetricFamily>& to, const Families<Series>& families) {
  for (const auto& [name, family] : families) {
    if (family.series.empty()) continue;
    prometheus::MetricFamily shown;
    shown.name = name;
    shown.help = family.help;
    shown.type = Series::metric_type;
    for (const auto& [labels, series] : family.series) {
      prometheus::ClientMetric metric = series->Collect();
      for (const auto& [key, value] : labels) metric.label.push_back({key, value});
      shown.metric.push_back(std::move(metric));
    }
    to.push_back(std::move(shown));
  }
}

}  // namespace

struct Page::Impl {
  std::map<std::string, prometheus::MetricFamily> families;

  prometheus::ClientMetric& add(const std::string& name, const std::string& help,
                                prometheus::MetricType type, const Labels& labels) {
    must(good_name(name, false), name, "not a name of a metric");
    prometheus::MetricFamily& family = families[name];
    must(family.name.empty() || family.type == type, name, "is of another type already");
    family.name = name;
    family.help = help;
    family.type = type;
    prometheus::ClientMetric metric;
    for (const auto& [key, value] : labels) {
      must(good_name(key, true), name, "not a label");
      metric.label.push_back({key, value});
    }
    return family.metric.emplace_back(std::move(metric));
  }
};

void Page::counter(const std::string& name, const std::string& help, const Labels& labels,
                   double value) {
  impl_.add(name, help, prometheus::MetricType::Counter, labels).counter.value = value;
}

void Page::gauge(const std::string& name, const std::string& help, const Labels& labels,
                 double value) {
  impl_.add(name, help, prometheus::MetricType::Gauge, labels).gauge.value = value;
}

void Page::histogram(const std::string& name, const std::string& help,
                     std::span<const double> bounds, std::span<const std::uint64_t> counts,
                     double sum, const Labels& labels) {
  must(counts.size() == bounds.size() + 1, name, "one count more than bounds");
  auto& shown = impl_.add(name, help, prometheus::MetricType::Histogram, labels).histogram;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    shown.sample_count += counts[i];
    shown.bucket.push_back({shown.sample_count, i < bounds.size()
                                                    ? bounds[i]
                                                    : std::numeric_limits<double>::infinity()});
  }
  shown.sample_sum = sum;
}

struct Registry::Impl {
  std::mutex mutex;
  Families<prometheus::Counter> counters;
  Families<prometheus::Gauge> gauges;
  Families<prometheus::Histogram> histograms;
  std::vector<std::function<void()>> refreshes;
  std::vector<std::function<void(Page&)>> fills;

  /// `make` makes a series.
  template <class Series, class Make>
  Series& find(Families<Series>& families, const std::string& name, const std::string& help,
               const Labels& labels, const Make& make) {
    must(good_name(name, false), name, "not a name of a metric");
    for (const auto& [key, value] : labels) must(good_name(key, true), name, "not a label");
    const std::scoped_lock lock(mutex);
    const std::size_t types = counters.count(name) + gauges.count(name) + histograms.count(name);
    must(types == families.count(name), name, "is of another type already");
    Family<Series>& family = families.try_emplace(name, Family<Series>{help}).first->second;
    auto& series = family.series[labels];
    if (!series) series = make();
    return *series;
  }
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Counter Registry::counter(const std::string& name, const std::string& help, const Labels& labels) {
  return Counter(impl_->find(impl_->counters, name, help, labels,
                             [] { return std::make_unique<prometheus::Counter>(); }));
}

Gauge Registry::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  return Gauge(impl_->find(impl_->gauges, name, help, labels,
                           [] { return std::make_unique<prometheus::Gauge>(); }));
}

Histogram Registry::histogram(const std::string& name, const std::string& help,
                              const std::vector<double>& bounds, const Labels& labels) {
  must(std::ranges::is_sorted(bounds, std::less_equal<>()), name, "bounds must ascend");
  return Histogram(impl_->find(impl_->histograms, name, help, labels,
                               [&] { return std::make_unique<prometheus::Histogram>(bounds); }));
}

void Registry::remove(const Labels& labels) {
  const std::scoped_lock lock(impl_->mutex);
  remove_from(impl_->counters, labels);
  remove_from(impl_->gauges, labels);
  remove_from(impl_->histograms, labels);
}

void Registry::before_text(std::function<void()> refresh) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->refreshes.push_back(std::move(refresh));
}

void Registry::on_page(std::function<void(Page&)> fill) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->fills.push_back(std::move(fill));
}

std::string Registry::text() const {
  std::vector<std::function<void()>> refreshes;
  std::vector<std::function<void(Page&)>> fills;
  {
    const std::scoped_lock lock(impl_->mutex);
    refreshes = impl_->refreshes;
    fills = impl_->fills;
  }
  for (const auto& refresh : refreshes) refresh();
  Page::Impl looked_up;
  Page page(looked_up);
  for (const auto& fill : fills) fill(page);
  std::vector<prometheus::MetricFamily> families;
  for (auto& [name, family] : looked_up.families) families.push_back(std::move(family));
  {
    const std::scoped_lock lock(impl_->mutex);
    append(families, impl_->counters);
    append(families, impl_->gauges);
    append(families, impl_->histograms);
  }
  std::ranges::sort(families, {}, &prometheus::MetricFamily::name);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return std::move(out).str();
}

void Counter::add(double by) const {
  series_->Increment(by);
}
double Counter::value() const {
  return series_->Value();
}
void Gauge::set(double value) const {
  series_->Set(value);
}
void Gauge::add(double by) const {
  series_->Increment(by);
}
void Histogram::observe(double value) const {
  series_->Observe(value);
}

std::vector<double> second_bounds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
}

}  // namespace kollect::metrics
