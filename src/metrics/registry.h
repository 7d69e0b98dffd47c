// Counters, gauges and histograms, and their text (Prometheus text exposition format 0.0.4).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace kollect::metrics {

using Labels = std::map<std::string, std::string>;

/// Only grows. A handle of a series: cheap to copy, valid as long as its registry and until the
/// series is removed. Thread-safe, as are the others.
class Counter {
 public:
  void add(double by = 1) const;
  [[nodiscard]] double value() const;

 private:
  friend class Registry;
  explicit Counter(prometheus::Counter& series) : series_(&series) {}
  prometheus::Counter* series_;
};

class Gauge {
 public:
  void set(double value) const;
  void add(double by) const;

 private:
  friend class Registry;
  explicit Gauge(prometheus::Gauge& series) : series_(&series) {}
  prometheus::Gauge* series_;
};

class Histogram {
 public:
  void observe(double value) const;

 private:
  friend class Registry;
  explicit Histogram(prometheus::Histogram& series) : series_(&series) {}
  prometheus::Histogram* series_;
};

/// What is looked up for one page and not kept: a series is there as long as somebody adds it.
/// Names and labels as of Registry; a name is either here or there.
class Page {
 public:
  void counter(const std::string& name, const std::string& help, const Labels& labels,
               double value);
  void gauge(const std::string& name, const std::string& help, const Labels& labels, double value);
  /// `counts`: up to each bound, not cumulative, and beyond the last one.
  void histogram(const std::string& name, const std::string& help, std::span<const double> bounds,
                 std::span<const std::uint64_t> counts, double sum, const Labels& labels = {});

 private:
  friend class Registry;
  struct Impl;
  explicit Page(Impl& impl) : impl_(impl) {}
  Impl& impl_;
};

/// Metrics of a program. Thread-safe.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// The series of these labels, made when it is not there. Taking a handle is slow: keep it.
  /// A name or label that Prometheus would not take, or a name of two types, ends the program:
  /// they are constants. Label values may be any text.
  Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  /// `bounds`: upper ends of the buckets, ascending; those of the first call count.
  Histogram histogram(const std::string& name, const std::string& help,
                      const std::vector<double>& bounds, const Labels& labels = {});
  /// Removes all series of any type that have all of these labels; their handles are dead then.
  void remove(const Labels& labels);

  /// Called before each text(): for numbers that are looked up and not counted. Must not take
  /// handles of series that others remove.
  void before_text(std::function<void()> refresh);

  /// Called for each text(), with its page.
  void on_page(std::function<void(Page&)> fill);

  /// The page: families by name, series by labels.
  [[nodiscard]] std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The media type of text().
inline constexpr const char* kTextType = "text/plain; version=0.0.4; charset=utf-8";

/// Bounds for times in seconds, from 100 us to 10 s.
std::vector<double> second_bounds();

}  // namespace kollect::metrics
