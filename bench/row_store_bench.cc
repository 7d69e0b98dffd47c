// The row store: what rows cost in memory against the budget, what writes, changes and snapshots
// cost.
//
//   memory/...    a process of its own (a fork) fills a store; `of_limit` is what the store adds to
//                 the resident memory against 250 MiB (a million rows; for fewer in proportion, but
//                 at least 16 MiB), `process_of_limit` the whole process against 512 MiB (64 MiB up
//                 to ten thousand rows)
//   upsert/...    `of_map`: time against a std::unordered_map of std::string that takes the same
//                 rows
//   changes       reading 100 changes of 1,000,000 rows, `ratio` against the same of 1,000
//   snapshot      taking one of 1,000,000 rows, `ratio` against copying 4,000,000 bytes
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <random>
#include <unordered_map>

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "inventory/row_store.h"

namespace kollect::inventory {
namespace {

constexpr double kMiB = 1 << 20;

/// Rows as six attributes of a Deployment give them. Few: images are those of 4,000 releases;
/// unique: every image has a digest of its own.
enum class Images { kFew, kUnique };

struct MadeRow {
  std::string ns, name, uid, attributes;
  [[nodiscard]] RowView view() const {
    return {.target_namespace = {},
            .target_name = {},
            .ns = ns,
            .name = name,
            .group = "apps",
            .version = "v1",
            .kind = "Deployment",
            .uid = uid,
            .attributes = attributes};
  }
};

std::string uid_of(std::uint64_t index) {
  const base::Hash128 hash = base::xxh3_128(std::to_string(index));
  return fmt::format("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", hash.high >> 32,
                     hash.high >> 16 & 0xffff, hash.high & 0xfff, hash.low >> 52,
                     hash.low & 0xffffffffffff);
}

MadeRow six_attributes(std::size_t index, Images images, unsigned generation = 0) {
  MadeRow row;
  const std::size_t release = index * 2654435761U % 4000;
  row.ns = fmt::format("team-{:03}-prod", index / 250 % 400);
  row.name = fmt::format("checkout-service-{:07}", index);
  row.uid = uid_of(index);
  std::string image =
      fmt::format("registry.example.com/platform/checkout/service-{:03}", release / 10);
  image += images == Images::kFew ? fmt::format(":v{}.{}.0", release % 7, release % 10)
                                  : "@sha256:" + base::sha256_hex(row.name);
  row.attributes = fmt::format(
      R"({{"image":"{}","name":"{}","namespace":"{}","owner":"squad-{:02}.platform@example.com","replicas":{},)"
      R"("version":"{}.{}.{}"}})",
      image, row.name, row.ns, release % 40, (index + generation) % 12, index % 7, index % 13,
      index % 29);
  return row;
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

/// A Pod without status and managed fields, with the parts that differ from Pod to Pod.
MadeRow resource(std::size_t index) {
  static const std::string plain = [] {
    const auto pod =
        base::json::Document::parse(*base::read_file(KOLLECT_SOURCE_DIR "/bench/data/pod.json"));
    std::string text = R"({"resource":{)";
    for (const char* key : {"apiVersion", "kind", "spec"}) {
      text += fmt::format(R"("{}":{},)", key, base::json::canonical(*pod->root().find(key)));
    }
    text += R"("metadata":{)";
    for (const auto& member : pod->root().find("metadata")->members()) {
      if (member.key == "managedFields") continue;
      text += fmt::format(R"("{}":{},)", member.key, base::json::canonical(member.value));
    }
    text.back() = '}';
    return base::json::canonical(base::json::Document::parse(text + "}}")->root());
  }();
  MadeRow row;
  row.uid = uid_of(index);
  row.ns = fmt::format("team-{:03}-prod", index / 250 % 400);
  const std::string random = base::sha256_hex(row.uid);
  const std::string app = fmt::format("service-{:03}", index % 1000);
  const std::string set = fmt::format("{}-{}", app, base::sha256_hex(app).substr(0, 10));
  row.name = fmt::format("{}-{}", set, random.substr(0, 5));
  row.attributes = plain;
  replace_all(row.attributes, "web-6c5d4b7f9d-x2x7k", row.name);
  replace_all(row.attributes, "web-6c5d4b7f9d", set);
  replace_all(row.attributes, "6c5d4b7f9d", set.substr(set.size() - 10));
  replace_all(row.attributes, "shop-prod", row.ns);
  replace_all(row.attributes, "2f4f1f0e-7f3a-4b52-9f0b-3a1c6d2e8b10", row.uid);
  replace_all(row.attributes, "0d7d1c5e-1e0a-4a2c-8c9d-7b5f3a2e1d00", uid_of(~(index % 1000)));
  replace_all(row.attributes, "48120031", std::to_string(48120031 + index * 17));
  replace_all(row.attributes, "7xk2p", random.substr(5, 5));
  replace_all(row.attributes, "node-7", fmt::format("node-{}", index % 300));
  replace_all(row.attributes, "10:20:30Z",
              fmt::format("{:02}:{:02}:{:02}Z", index % 24, index % 60, index / 60 % 60));
  replace_all(row.attributes, "\"web\"", fmt::format("\"{}\"", app));
  replace_all(row.attributes, "1.4.2", fmt::format("1.{}.{}", index % 9, index % 7));
  return row;
}

Owner owner_of(std::size_t index, std::size_t owners) {
  if (owners == 1) return {OwnerClass::kTarget, "inventory", "deployments"};
  return {OwnerClass::kClusterTarget, fmt::format("team-{:04}", index % owners), "deployments"};
}

bool everything(const Owner&) {
  return true;
}

void fill(RowStore& store, std::size_t rows, Images images, std::size_t owners = 1) {
  for (std::size_t i = 0; i < rows; ++i) {
    store.upsert(owner_of(i, owners), 1, six_attributes(i, images).view());
  }
}

// Memory.

double resident() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double pages = 0;
  statm >> total >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

struct Figures {
  double store = 0;     ///< growth of the resident memory
  double reported = 0;  ///< stats().bytes
  double process = 0;   ///< resident in all
  double attributes = 0;
  double rows = 0;
};

/// Runs in a fork, so that nothing from earlier is in the figures.
Figures measured(const std::function<void(RowStore&)>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    Figures figures;
    (void)six_attributes(0, Images::kUnique);  // what making rows takes is there before
    (void)resource(0);
    const double before = resident();
    RowStore store;
    work(store);
    figures.process = resident();
    figures.store = figures.process - before;
    figures.reported = static_cast<double>(store.stats().bytes);
    figures.rows = static_cast<double>(store.stats().rows);
    (void)store.subscribe(everything)
        ->snapshot()
        .for_each([&](const RowView& row) -> base::Result<> {
          figures.attributes += static_cast<double>(row.attributes.size());
          return {};
        });
    ::_exit(::write(ends[1], &figures, sizeof figures) == sizeof figures ? 0 : 1);
  }
  Figures figures;
  ::close(ends[1]);
  (void)!::read(ends[0], &figures, sizeof figures);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return figures;
}

void report(benchmark::State& state, const Figures& figures) {
  constexpr double kLimitOfMillion = 250 * kMiB;
  constexpr double kSmall = 10'000;
  state.counters["rows"] = figures.rows;
  state.counters["json_per_row"] = figures.attributes / figures.rows;
  state.counters["bytes_per_row"] = figures.store / figures.rows;
  state.counters["reported_per_row"] = figures.reported / figures.rows;
  state.counters["store_mib"] = figures.store / kMiB;
  state.counters["process_mib"] = figures.process / kMiB;
  state.counters["of_limit"] =
      figures.store / std::max(kLimitOfMillion * figures.rows / 1e6, 16 * kMiB);
  state.counters["process_of_limit"] =
      figures.process / (figures.rows > kSmall ? 512 * kMiB : 64 * kMiB);
}

void memory(benchmark::State& state, Images images, std::size_t owners) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  Figures figures;
  for (auto _ : state) {
    figures = measured([&](RowStore& store) { fill(store, rows, images, owners); });
  }
  report(state, figures);
}
BENCHMARK_CAPTURE(memory, few_images, Images::kFew, 1)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(memory, unique_images, Images::kUnique, 1)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(memory, thousand_owners, Images::kFew, 1000)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(memory, ten_thousand_owners, Images::kFew, 10'000)
    ->Arg(1'000'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void memory_resources(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  Figures figures;
  for (auto _ : state) {
    figures = measured([&](RowStore& store) {
      for (std::size_t i = 0; i < rows; ++i) {
        store.upsert(owner_of(i, 1), 1, resource(i).view());
      }
    });
  }
  report(state, figures);
  state.counters["of_json"] = figures.store / figures.attributes;
}
BENCHMARK(memory_resources)->Arg(50'000)->Iterations(1)->Unit(benchmark::kMillisecond);

/// A million rows, every one changed twice, nine of ten removed: what is left of the memory.
void memory_after_peak(benchmark::State& state) {
  constexpr std::size_t kRows = 1'000'000;
  Figures figures;
  for (auto _ : state) {
    figures = measured([&](RowStore& store) {
      for (unsigned generation = 0; generation < 3; ++generation) {
        for (std::size_t i = 0; i < kRows; ++i) {
          store.upsert(owner_of(i, 1), 1, six_attributes(i, Images::kFew, generation).view());
        }
      }
      for (std::size_t i = 0; i < kRows; ++i) {
        if (i % 10 != 3) store.remove(owner_of(i, 1), uid_of(i));
      }
    });
  }
  report(state, figures);
}
BENCHMARK(memory_after_peak)->Iterations(1)->Unit(benchmark::kMillisecond);

// Time.

/// Of this thread's processor time: others on the machine do not count.
double seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double began = now();
  work();
  return now() - began;
}

/// The plain way to keep rows: by uid, each with its strings.
struct PlainRow {
  std::string ns, name, group, version, kind, attributes;
  bool operator==(const PlainRow&) const = default;
};

enum class Write { kNew, kEqual, kChanged };

void upsert(benchmark::State& state, Write write) {
  constexpr std::size_t kRows = 100'000;
  std::vector<MadeRow> rows;
  std::vector<MadeRow> changed;
  for (std::size_t i = 0; i < kRows; ++i) {
    rows.push_back(six_attributes(i, Images::kFew));
    changed.push_back(six_attributes(i, Images::kFew, 1));
  }
  const std::vector<MadeRow>& second = write == Write::kChanged ? changed : rows;
  const Owner owner = owner_of(0, 1);
  double ours = 0;
  double plain = 0;
  for (auto _ : state) {
    RowStore store;
    std::unordered_map<std::string, PlainRow> map;
    const auto put = [&](const std::vector<MadeRow>& from) {
      for (const MadeRow& row : from) store.upsert(owner, 1, row.view());
    };
    const auto put_plain = [&](const std::vector<MadeRow>& from) {
      for (const MadeRow& row : from) {
        PlainRow copy{row.ns, row.name, "apps", "v1", "Deployment", row.attributes};
        PlainRow& held = map[row.uid];
        if (held != copy) held = std::move(copy);
      }
    };
    if (write != Write::kNew) {
      put(rows);
      put_plain(rows);
    }
    const double store_seconds = seconds([&] { put(second); });
    plain += seconds([&] { put_plain(second); });
    ours += store_seconds;
    state.SetIterationTime(store_seconds);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kRows) * state.iterations());
  state.counters["of_map"] = ours / plain;
}
BENCHMARK_CAPTURE(upsert, new_row, Write::kNew)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(upsert, equal_row, Write::kEqual)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(upsert, changed_row, Write::kChanged)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void upsert_resource(benchmark::State& state) {
  constexpr std::size_t kRows = 5'000;
  std::vector<MadeRow> rows;
  for (std::size_t i = 0; i < kRows; ++i) rows.push_back(resource(i));
  for (auto _ : state) {
    RowStore store;
    state.SetIterationTime(seconds([&] {
      for (const MadeRow& row : rows) store.upsert(owner_of(0, 1), 1, row.view());
    }));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kRows) * state.iterations());
}
BENCHMARK(upsert_resource)->UseManualTime()->Unit(benchmark::kMillisecond);

/// A store whose reader has passed everything but the changes of 100 rows.
struct Changed {
  explicit Changed(std::size_t rows) {
    fill(store, rows, Images::kFew);
    reader = store.subscribe(everything);
    reader->passed(reader->snapshot().version());
    for (std::size_t i = 0; i < 100; ++i) {
      const std::size_t index = i * (rows / 100);
      store.upsert(owner_of(0, 1), 1, six_attributes(index, Images::kFew, 1).view());
    }
  }
  void read() const {
    (void)reader->changes().for_each([](const RowChange& change) -> base::Result<> {
      benchmark::DoNotOptimize(change.row.attributes.size());
      return {};
    });
  }
  RowStore store;
  std::unique_ptr<Reader> reader;
};

void changes(benchmark::State& state) {
  const Changed small(1'000);
  const Changed large(1'000'000);
  double of_small = 0;
  double of_large = 0;
  for (auto _ : state) {
    of_small += seconds([&] { small.read(); });
    const double time = seconds([&] { large.read(); });
    of_large += time;
    state.SetIterationTime(time);
  }
  state.SetItemsProcessed(100 * state.iterations());
  state.counters["ratio"] = of_large / of_small;
}
BENCHMARK(changes)->UseManualTime()->Unit(benchmark::kMicrosecond);

void snapshot(benchmark::State& state) {
  constexpr std::size_t kRows = 1'000'000;
  RowStore store;
  fill(store, kRows, Images::kFew);
  const auto reader = store.subscribe(everything);
  const std::vector<std::uint32_t> numbers(kRows, 7);
  double ours = 0;
  double copying = 0;
  for (auto _ : state) {
    Snapshot taken;
    const double time = seconds([&] { taken = reader->snapshot(); });
    ours += time;
    copying += seconds([&] {
      std::vector<std::uint32_t> copy = numbers;
      benchmark::DoNotOptimize(copy.data());
    });
    state.SetIterationTime(time);
  }
  state.counters["ratio"] = ours / copying;
  const Snapshot taken = reader->snapshot();
  const auto visit = [](const RowView& row) -> base::Result<> {
    benchmark::DoNotOptimize(row.attributes.size());
    return {};
  };
  state.counters["read_s"] = seconds([&] { (void)taken.for_each(visit); });
  state.counters["read_sorted_s"] = seconds([&] { (void)taken.for_each_sorted(visit); });
  state.counters["to_row_set_s"] = seconds([&] { (void)taken.to_row_set(); });
}
BENCHMARK(snapshot)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kollect::inventory
