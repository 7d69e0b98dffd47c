// CEL on a Pod: compiling and evaluating ten inventory expressions, beside the same ten written by
// hand in C++ on the same parsed JSON. The counters of Summary: geometric mean of the ten ratios,
// and the ten evaluations together as a share of parsing the Pod.
#include <benchmark/benchmark.h>
#include <time.h>

#include <cmath>
#include <functional>

#include "base/files.h"
#include "base/json/document.h"
#include "cel/cel.h"

namespace kollect::cel {
namespace {

namespace json = base::json;
using json::View;

struct Subject {
  const char* name;
  const char* expression;
  json::Value (*by_hand)(View object);
};

json::Value node_name(View object) {
  return object.find("spec")->text("nodeName");
}

json::Value pod_ip(View object) {
  const auto ip = object.at_path({"status", "podIP"});
  return ip ? ip->as_string() : std::string_view();
}

json::Value images(View object) {
  json::Array images;
  for (const View container : object.at_path({"spec", "containers"})->items()) {
    images.emplace_back(container.text("image"));
  }
  return images;
}

json::Value limited(View object) {
  json::Array names;
  for (const View container : object.at_path({"spec", "containers"})->items()) {
    const auto resources = container.find("resources");
    if (resources && resources->find("limits")) names.emplace_back(container.text("name"));
  }
  return names;
}

json::Value restarts(View object) {
  for (const View status : object.at_path({"status", "containerStatuses"})->items()) {
    const auto count = status.find("restartCount");
    if (count && count->number().i > 3) return true;
  }
  return false;
}

json::Value tag(View object) {
  const std::string_view image = object.at_path({"spec", "containers"})->at(0).text("image");
  return image.substr(image.find(':') + 1);
}

/// Bytes of a quantity with a binary suffix.
std::int64_t bytes(std::string_view text) {
  std::int64_t number = 0;
  std::size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    number = number * 10 + (text[at] - '0');
  const std::string_view suffix = text.substr(at);
  if (suffix == "Ki") return number << 10;
  if (suffix == "Mi") return number << 20;
  return suffix == "Gi" ? number << 30 : number;
}

json::Value memory(View object) {
  const auto memory =
      object.at_path({"spec", "containers"})->at(0).at_path({"resources", "requests", "memory"});
  return bytes(memory->as_string()) > 100 << 20;
}

json::Value full_name(View object) {
  const View metadata = *object.find("metadata");
  std::string name(metadata.find("labels")->text("app.kubernetes.io/name"));
  name += '/';
  name += metadata.text("name");
  return name;
}

json::Value ready(View object) {
  for (const View condition : object.at_path({"status", "conditions"})->items()) {
    if (condition.text("type") == "Ready" && condition.text("status") == "True") return true;
  }
  return false;
}

json::Value team(View object) {
  const auto team = object.at_path({"metadata", "annotations", "team"});
  return team ? team->as_string() : std::string_view("none");
}

constexpr Subject kSubjects[] = {
    {"field", "object.spec.nodeName", node_name},
    {"has", "has(object.status.podIP) ? object.status.podIP : ''", pod_ip},
    {"map", "object.spec.containers.map(c, c.image)", images},
    {"filter_map",
     "object.spec.containers.filter(c, has(c.resources) && has(c.resources.limits)).map(c, c.name)",
     limited},
    {"exists_number", "object.status.containerStatuses.exists(s, s.restartCount > 3)", restarts},
    {"split", "object.spec.containers[0].image.split(':')[1]", tag},
    {"quantity",
     "quantity(object.spec.containers[0].resources.requests.memory).isGreaterThan(quantity('100Mi')"
     ")",
     memory},
    {"concatenation",
     "object.metadata.labels['app.kubernetes.io/name'] + '/' + object.metadata.name", full_name},
    {"exists_text", "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
     ready},
    {"optional", "object.?metadata.?annotations[?'team'].orValue('none')", team},
};

const std::string& pod_text() {
  static const std::string text = *base::read_file(KOLLECT_SOURCE_DIR "/bench/data/pod.json");
  return text;
}

Environment environment() {
  Environment environment;
  environment.variables = {{"object", "dyn"}};
  return environment;
}

void compile(benchmark::State& state, const Subject& subject) {
  const Environment names = environment();
  for (auto _ : state) benchmark::DoNotOptimize(Program::compile(subject.expression, names));
  state.SetLabel(
      subject.expression);  // scripts/bench/cel_bench.py gives it to the reference evaluator
}

void evaluate(benchmark::State& state, const Subject& subject) {
  const auto program = Program::compile(subject.expression, environment());
  const auto pod = json::Document::parse(pod_text());
  const std::vector<Binding> bindings = {{"object", pod->root()}};
  if (*program->evaluate(bindings)->value != subject.by_hand(pod->root()))
    state.SkipWithError("results differ");
  for (auto _ : state) benchmark::DoNotOptimize(program->evaluate(bindings));
}

void by_hand(benchmark::State& state, const Subject& subject) {
  const auto pod = json::Document::parse(pod_text());
  for (auto _ : state) benchmark::DoNotOptimize(subject.by_hand(pod->root()));
}

void parse(benchmark::State& state) {
  json::Document document;
  for (auto _ : state) benchmark::DoNotOptimize(document.reparse_borrowed(pod_text()).has_value());
}

/// CPU time of this thread, so that other programs on the machine do not count.
double thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Nanoseconds a call, the best of five rounds.
double nanoseconds(const std::function<void()>& call) {
  constexpr int kCalls = 4000;
  double best = 1e18;
  for (int round = 0; round < 5; ++round) {
    const double start = thread_nanoseconds();
    for (int n = 0; n < kCalls; ++n) call();
    best = std::min(best, (thread_nanoseconds() - start) / kCalls);
  }
  return best;
}

void summary(benchmark::State& state) {
  const auto pod = json::Document::parse(pod_text());
  const std::vector<Binding> bindings = {{"object", pod->root()}};
  json::Document document;
  for (auto _ : state) {
    double logarithms = 0;
    double total = 0;
    for (const Subject& subject : kSubjects) {
      const auto program = Program::compile(subject.expression, environment());
      const double engine =
          nanoseconds([&] { benchmark::DoNotOptimize(program->evaluate(bindings)); });
      const double hand =
          nanoseconds([&] { benchmark::DoNotOptimize(subject.by_hand(pod->root())); });
      logarithms += std::log(engine / hand);
      total += engine;
    }
    const double parsing = nanoseconds(
        [&] { benchmark::DoNotOptimize(document.reparse_borrowed(pod_text()).has_value()); });
    state.counters["ratio_to_hand_written"] = std::exp(logarithms / std::size(kSubjects));
    state.counters["ten_evaluations_to_parse"] = total / parsing;
  }
}

const bool registered = [] {
  for (const Subject& subject : kSubjects) {
    const std::string name(subject.name);
    benchmark::RegisterBenchmark(("Compile/" + name).c_str(), compile, subject);
    benchmark::RegisterBenchmark(("Evaluate/" + name).c_str(), evaluate, subject);
    benchmark::RegisterBenchmark(("ByHand/" + name).c_str(), by_hand, subject);
  }
  benchmark::RegisterBenchmark("ParsePod", parse);
  benchmark::RegisterBenchmark("Summary", summary)->Iterations(1);
  return true;
}();

}  // namespace
}  // namespace kollect::cel
