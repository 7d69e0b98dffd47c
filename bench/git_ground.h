// Rows in a store and a Git repository for them on a real server: what the benchmarks of the Git
// sink share.
#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/files.h"
#include "bench_rows.h"
#include "inventory/row_store.h"
#include "sinks/factory.h"
#include "support/git_server.h"

namespace kollect::sinks {
namespace bench {

inline void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "bench: not as expected: %s\n", what);
  std::abort();
}

inline constexpr int kRowsOfANamespace = 100;

inline std::string uid_of(int i) {
  return fmt::format("{:08x}-0000-4000-8000-{:012x}", static_cast<unsigned>(i) * 2654435761U, i);
}

/// A row with six attributes.
inline void put(inventory::RowStore& store, int i, int version) {
  const std::string name = fmt::format("app-{:06}", i);
  const std::string ns = fmt::format("load-{:04}", i / kRowsOfANamespace);
  const std::string uid = uid_of(i);
  const std::string text = fmt::format(
      R"({{"created":"2026-02-03T04:05:06Z","images":["registry.example/web/app-{0:06}:{1}"],"partOf":"team-{2}","replicas":{3},"serviceAccount":"app-{0:06}","version":"{1}.0"}})",
      i, version, i % 40, i % 5);
  store.upsert(kOwner, 1,
               {"bench", "deployments", ns, name, "apps", "v1", "Deployment", uid, text});
}

inline double seconds_of(int who) {
  rusage used{};
  ::getrusage(who, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Processor time so far.
struct Cost {
  double own = seconds_of(RUSAGE_SELF);
  double programs = seconds_of(RUSAGE_CHILDREN);
};

/// `rows` rows in a store and in a repository of their own.
struct Ground {
  Ground(int rows, std::string repository)
      : folder(must(base::TempDir::create())), name(std::move(repository)) {
    for (int i = 0; i < rows; ++i) put(store, i, 1);
    reader = store.subscribe([](const inventory::Owner&) { return true; });
    folder_of_repository = kollect::testing::GitServer::shared().make_repository(name);
    sink = make_sink();
  }

  void first_export() { check(pass(false).written == reader->row_count() + 1, "first export"); }

  /// One that has been exported already.
  static Ground& of(int rows) {
    static std::map<int, Ground> all;
    const auto [ground, fresh] = all.try_emplace(rows, rows, fmt::format("bench-{}", rows));
    if (fresh) ground->second.first_export();
    return ground->second;
  }

  [[nodiscard]] std::unique_ptr<Sink> make_sink() const {
    api::SnapshotSink spec;
    spec.metadata.name = "bench";
    spec.spec.type = "git";
    spec.spec.endpoint = kollect::testing::GitServer::shared().http_url() + "/" + name + ".git";
    spec.spec.git.emplace();
    auto& layout = spec.spec.layout.emplace();
    layout.mode = "perResource";
    layout.content = "item";
    SinkOptions options;
    options.guard_addresses = false;
    options.mirror_dir = folder.path() / "mirrors";
    const SecretData secret = {{"username", base::Secret("test")},
                               {"password", base::Secret("secret")}};
    return must(make_snapshot_sink(spec, secret, {}, options));
  }

  ExportReport pass(bool differences) {
    inventory::ChangeSet changes;
    if (differences) changes = reader->changes();
    const auto rows = reader->snapshot();
    Pass pass;
    pass.head.inventory = {"bench", "inventory"};
    pass.head.generation = 1;
    pass.head.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + ++second));
    pass.head.cluster = "bench";
    pass.rows = &rows;
    pass.changes = differences ? &changes : nullptr;
    pass.row_count = rows.size();
    pass.set_hash = rows.set_hash();
    auto report = must(sink->apply(context, pass));
    reader->passed(differences ? changes.to() : rows.version());
    return report;
  }

  base::Context context = base::Context::background();
  base::TempDir folder;
  std::string name;
  std::filesystem::path folder_of_repository;
  inventory::RowStore store;
  std::unique_ptr<inventory::Reader> reader;
  std::unique_ptr<Sink> sink;
  int second = 0;
};

}  // namespace bench
}  // namespace kollect::sinks
