// What users met with repositories: names that are no file names, processes that are killed (spec:
// field-names-with-colons-and-slashes, field-backend-crash-between-two-steps).
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "base/strings.h"
#include "base/yaml/read.h"
#include "sinks/git/git_fixture.h"

namespace kollect::sinks::git {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using ::testing::Contains;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class GitField : public GitFixture {
 protected:
  GitField() { spec_.layout.emplace().mode = "perResource"; }
  bool exists() const { return fs::exists(repository_ / "refs/heads/main"); }
};

/// A name that Windows takes.
bool is_portable(std::string_view segment) {
  static const std::set<std::string> kDevices = {"con",  "prn",  "aux",  "nul",   "com1",
                                                 "com2", "lpt1", "lpt2", "clock$"};
  if (segment.empty() || segment.size() > 255 || segment.back() == '.' || segment.back() == ' ') {
    return false;
  }
  if (base::to_lower(segment) == ".git") return false;
  const auto is_bad = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 ||
           std::string_view("<>|?*\":\\").find(c) != std::string_view::npos;
  };
  if (std::ranges::any_of(segment, is_bad)) return false;
  return !kDevices.contains(base::to_lower(segment.substr(0, segment.find('.'))));
}

// field-names-with-colons-and-slashes: portable, inside, content, delete
TEST_F(GitField, OddNamesCheckOutEverywhere) {
  const std::vector<std::string> names = {"system:controller:job-controller",
                                          "Admin%2Fall",
                                          "con",
                                          "aux.x",
                                          "ends.",
                                          "q?*<>|\"name",
                                          "..",
                                          ".git"};
  const std::string long_name(253, 'a');
  for (const std::string cluster : {"arn:aws:eks:eu-north-1:000000000000:cluster/prod",
                                    "rak5/c28r7ot20s0mbcas9940", "kind-dev@home", ".."}) {
    SCOPED_TRACE(cluster);
    const auto before_all = exists() ? listing() : std::vector<std::string>();
    const auto export_without = [&](const std::string& gone) {
      inventory::RowSet rows;
      int number = 0;
      for (const auto& name : names) {
        const auto uid = fmt::format("u{}", number++);
        if (name == gone) continue;
        rows.add({"x", "t", "", name, "rbac.authorization.k8s.io", "v1", "ClusterRole", uid, "{}"});
      }
      if (gone != long_name) {
        rows.add({"x", "t", "n", long_name, "", "v1", "ConfigMap", "u99", "{}"});
      }
      rows.seal();
      auto exp = plain_export(rows);
      exp.cluster = cluster;
      return must_run({exp});
    };
    export_without("");
    // inside: nothing beside the repository, in it nothing above the root.
    const auto all = listing();
    EXPECT_EQ(all.size(), before_all.size() + 10);
    // portable
    for (const auto& path : all) {
      for (const auto segment : base::split(path, '/')) EXPECT_TRUE(is_portable(segment)) << path;
    }
    const auto work = temp_->path() / "checkout";
    fs::remove_all(work);
    git({"-c", "core.protectNTFS=true", "-c", "core.protectHFS=true", "clone", "--quiet",
         repository_.string(), work.string()});
    // content: every row's file has the true name.
    std::map<std::string, std::string> file_of;
    for (const auto& path : all) {
      if (std::ranges::binary_search(before_all, path) || path.ends_with(".manifest.json"))
        continue;
      const auto row = base::yaml::read_one(read_text(work / path));
      ASSERT_TRUE(row.has_value()) << path;
      file_of[std::string(row->text("name"))] = path;
    }
    auto want = names;
    want.push_back(long_name);
    EXPECT_EQ(file_of.size(), want.size());
    // delete: an object's end removes its file and no other.
    for (const auto& name : want) {
      ASSERT_TRUE(file_of.contains(name)) << name;
      EXPECT_EQ(export_without(name).removed, 1U);
      auto left = all;
      std::erase(left, file_of[name]);
      EXPECT_EQ(listing(), left);
    }
    export_without("");
  }
  std::vector<std::string> beside;
  for (const auto& entry : fs::directory_iterator(temp_->path())) {
    beside.push_back(entry.path().filename());
  }
  EXPECT_THAT(beside, ::testing::UnorderedElementsAre("repo.git", "mirrors", "checkout"));
  EXPECT_THAT(listing(), Contains("arn-aws-eks-eu-north-1-000000000000-cluster-prod/clusterrole/"
                                  "system-controller-job-controller.yaml"));
}

// field-backend-crash-between-two-steps: repairs, no-human
TEST_F(GitField, KilledAtAnyPointTheNextRunEndsRight) {
  const inventory::Owner owner{inventory::OwnerClass::kTarget, "x", "t"};
  Export head;
  head.inventory = {"x", "t"};
  head.cluster = "c";
  head.exported_at = time_of("2026-02-03T04:05:06Z");
  head.max_bytes = 0;
  /// An operator with thirty rows of which some come and go: a comparison first, then changes.
  struct Operator {
    inventory::RowStore rows;
    std::unique_ptr<inventory::Reader> reader;
    std::unique_ptr<Sink> sink;
    bool differences = false;
  };
  const auto start = [&](Operator& one) {
    one.reader = one.rows.subscribe([](const inventory::Owner&) { return true; });
    one.sink = sink();
  };
  const auto pass = [&](Operator& one, int number) {
    for (int i = 0; i < 30; ++i) {
      const auto uid = fmt::format("u{}", i + number % 2 * 15);
      const auto name = fmt::format("pod-{}", i + number % 2 * 15);
      if (one.differences && i % 10 != number % 10) continue;
      one.rows.upsert(
          owner, 1,
          {"x", "t", "n", name, "", "v1", "Pod", uid, fmt::format(R"({{"v":"{}"}})", number)});
    }
    for (int i = 0; i < 15; ++i) {
      one.rows.remove(owner, fmt::format("u{}", i + (number % 2 == 0 ? 30 : 0)));
    }
    const auto changes = one.reader->changes();
    const auto rows = one.reader->snapshot();
    const Pass what{.head = head,
                    .rows = &rows,
                    .changes = one.differences ? &changes : nullptr,
                    .row_count = rows.size(),
                    .set_hash = rows.set_hash()};
    const auto report = one.sink->apply(base::Context::background(), what);
    one.differences = report.has_value();
    if (report.has_value()) one.reader->passed(changes.to());
    return report.has_value();
  };
  std::mt19937 random(11);  // NOLINT: the same points in every run are fine
  const auto tip = [&] { return in_repo({"for-each-ref", "--format=%(objectname)"}); };
  for (int round = 0; round < 100; ++round) {
    const auto before = tip();
    const auto pid = ::fork();
    if (pid == 0) {
      ::setpgid(0, 0);
      Operator one;
      start(one);
      for (int number = round;; ++number) (void)pass(one, number);
    }
    // Three in five are killed when they have pushed something, however slow the machine is; the
    // others at any moment.
    if (round % 5 < 3) {
      while (tip() == before) ::usleep(1000);
    }
    ::usleep(std::uniform_int_distribution<useconds_t>(1000, 120'000)(random));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    // This state is new to the branch, so our push moves it: a push of the killed run that the
    // server's side completes late is refused then.
    Operator next;
    start(next);
    ASSERT_TRUE(pass(next, 1000 + round));
    ASSERT_EQ(listing().size(), 31U);
    for (const int i : {15, 29}) {
      ASSERT_THAT(show(fmt::format("c/n/pod/pod-{}.yaml", i)),
                  HasSubstr(fmt::format("v: \"{}\"", 1000 + round)));
    }
  }
  in_repo({"fsck", "--strict"});
  // No duplicated commit with an empty difference.
  const auto text = in_repo({"log", "--format=%T", "main"});
  const auto trees = base::split(text, '\n');
  EXPECT_GT(trees.size(), 150U);
  EXPECT_EQ(std::adjacent_find(trees.begin(), trees.end()), trees.end());
}

}  // namespace
}  // namespace kollect::sinks::git
