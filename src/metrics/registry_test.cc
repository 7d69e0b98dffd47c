#include "metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "metrics/process.h"

namespace kollect::metrics {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Registry, ThePageIsSortedAndEscaped) {
  Registry registry;
  registry.gauge("b_level", "How high.").set(2.5);
  registry.counter("a_total", "How \"many\\.", {{"path", "a\"b\\c\nd"}, {"code", "200"}}).add(3);
  registry.counter("a_total", "How many.", {{"code", "404"}, {"path", ""}}).add();
  const auto histogram = registry.histogram("c_seconds", "How long.", {0.5, 1});
  for (const double value : {0.25, 0.5, 0.75, 7.0}) histogram.observe(value);
  EXPECT_EQ(registry.text(),
            "# HELP a_total How \"many\\.\n"
            "# TYPE a_total counter\n"
            "a_total{code=\"200\",path=\"a\\\"b\\\\c\\nd\"} 3\n"
            "a_total{code=\"404\",path=\"\"} 1\n"
            "# HELP b_level How high.\n"
            "# TYPE b_level gauge\n"
            "b_level 2.5\n"
            "# HELP c_seconds How long.\n"
            "# TYPE c_seconds histogram\n"
            "c_seconds_count 4\n"
            "c_seconds_sum 8.5\n"
            "c_seconds_bucket{le=\"0.5\"} 2\n"
            "c_seconds_bucket{le=\"1\"} 3\n"
            "c_seconds_bucket{le=\"+Inf\"} 4\n");
}

TEST(Registry, OneSeriesForEqualLabels) {
  Registry registry;
  const Labels labels{{"x", "1"}};
  registry.counter("a_total", "", labels).add(2);
  registry.counter("a_total", "", labels).add(3);
  EXPECT_EQ(registry.counter("a_total", "", labels).value(), 5);
}

TEST(Registry, SeriesOfWhatIsGoneAreRemoved) {
  Registry registry;
  registry.counter("a_total", "", {{"target", "x"}, {"kind", "k"}}).add();
  registry.gauge("b", "", {{"target", "x"}}).set(1);
  registry.gauge("b", "", {{"target", "y"}}).set(1);
  registry.histogram("c", "", {1}, {{"target", "x"}}).observe(1);
  registry.remove({{"target", "x"}});
  EXPECT_EQ(registry.text(), "# TYPE b gauge\nb{target=\"y\"} 1\n");
}

TEST(Registry, SeriesThatAreLookedUpComeAndGo) {
  Registry registry;
  registry.counter("b_total", "Kept.").add();
  std::vector<std::string> names = {"y", "x"};
  registry.on_page([&](Page& page) {
    for (const std::string& name : names) page.gauge("a", "How high.", {{"name", name}}, 1);
    page.counter("c_total", "", {}, 7);
    const std::vector<double> bounds = {0.5, 1};
    const std::vector<std::uint64_t> counts = {2, 1, 1};
    page.histogram("d_seconds", "", bounds, counts, 8.5, {{"k", "v"}});
  });
  EXPECT_EQ(registry.text(),
            "# HELP a How high.\n# TYPE a gauge\na{name=\"y\"} 1\na{name=\"x\"} 1\n"
            "# HELP b_total Kept.\n# TYPE b_total counter\nb_total 1\n"
            "# TYPE c_total counter\nc_total 7\n"
            "# TYPE d_seconds histogram\nd_seconds_count{k=\"v\"} 4\nd_seconds_sum{k=\"v\"} 8.5\n"
            "d_seconds_bucket{k=\"v\",le=\"0.5\"} 2\nd_seconds_bucket{k=\"v\",le=\"1\"} 3\n"
            "d_seconds_bucket{k=\"v\",le=\"+Inf\"} 4\n");
  names.clear();
  EXPECT_THAT(registry.text(), Not(HasSubstr("name=")));
}

TEST(Registry, NumbersThatAreLookedUp) {
  Registry registry;
  const auto gauge = registry.gauge("a", "");
  int looks = 0;
  registry.before_text([&] { gauge.set(++looks); });
  EXPECT_THAT(registry.text(), HasSubstr("\na 1\n"));
  EXPECT_THAT(registry.text(), HasSubstr("\na 2\n"));
}

TEST(Registry, WrongNamesEndTheProgram) {
  Registry registry;
  for (const char* name : {"", "1a", "a-b", "a b", "\xc3\xa4"}) {
    EXPECT_DEATH(registry.counter(name, ""), "not a name");
  }
  for (const char* label : {"", "__a", "le", "a:b", "1"}) {
    EXPECT_DEATH(registry.counter("a", "", {{label, ""}}), "not a label");
  }
  registry.counter("a", "");
  EXPECT_DEATH(registry.gauge("a", ""), "another type");
  EXPECT_DEATH(registry.histogram("h", "", {1, 1}), "ascend");
}

TEST(Registry, ManyThreadsLoseNothing) {
  Registry registry;
  std::vector<std::jthread> threads;
  constexpr int kThreads = 4;
  constexpr int kEach = 10000;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto counter = registry.counter("a_total", "");
      for (int n = 0; n < kEach; ++n) counter.add();
    });
  }
  threads.clear();
  EXPECT_EQ(registry.counter("a_total", "").value(), kThreads * kEach);
}

TEST(Process, TellsOfItself) {
  Registry registry;
  add_process_metrics(registry, {.version = "1.2.3", .commit = "abc"},
                      base::ManualClock(base::WallTime(std::chrono::hours(1))));
  const std::string page = registry.text();
  EXPECT_THAT(page, HasSubstr("\nkollect_build_info{commit=\"abc\",version=\"1.2.3\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("\nprocess_start_time_seconds 3600\n"));
  EXPECT_THAT(page, ContainsRegex("\nprocess_resident_memory_bytes [1-9]"));
  EXPECT_THAT(page, ContainsRegex("\nprocess_open_fds [1-9]"));
  EXPECT_THAT(page, ContainsRegex("\nprocess_max_fds [1-9]"));
  EXPECT_THAT(page, Not(HasSubstr("process_virtual_memory_bytes 0\n")));
}

}  // namespace
}  // namespace kollect::metrics
