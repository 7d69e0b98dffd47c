// What every sink must stand, for merge requests: names, sizes, a server that dies (spec: sinks 8;
// field-recreated-under-the-same-name, field-backend-crash-between-two-steps).
#include <fstream>

#include "base/clock.h"
#include "sinks/gitlab/gitlab_passes.h"

namespace kollect::sinks::gitlab {
namespace {

using namespace sinks::testing;  // NOLINT: the room's own helpers
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class GitLabCases : public GitLabPassFixture {
 protected:
  GitLabCases() { open(); }
  /// The process ends and another one starts, with its mirror or without.
  void restart(bool keep_mirror) {
    writer_.reset();
    if (!keep_mirror) std::filesystem::remove_all(options_.mirror_dir);
    open();
  }
  /// Paths as they are: git quotes odd ones elsewhere.
  std::vector<std::string> raw_listing(const std::string& branch) const {
    const auto text = server_.git({"ls-tree", "-r", "-z", "--name-only", branch});
    std::vector<std::string> out;
    for (const auto path : base::split(text, '\0')) {
      if (!path.empty()) out.emplace_back(path);
    }
    return out;
  }
  std::string document() const { return show(kBranch, "inventory/x/t.yaml"); }
  void hook(const std::string& name, const std::string& script) const {
    const auto path = server_.repository() / "hooks" / name;
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
};

TEST_F(GitLabCases, RenamedAndRecreatedObjects) {
  for (const char* mode : {"document", "perResource"}) {
    SCOPED_TRACE(mode);
    auto& layout = spec_.layout.emplace();
    layout.mode = mode;
    settings().branch_prefix = mode;
    open();
    const auto branch = fmt::format("{}/x/t", mode);
    const bool tree = std::string_view(mode) == "perResource";
    const auto file = [&](const std::string& name) {
      return show(branch, tree ? fmt::format("c/n/pod/{}.yaml", name) : "inventory/x/t.yaml");
    };
    put("beside", "1");
    put_row("job", "u1", R"({"v":"old"})");
    must_pass();
    EXPECT_THAT(file("job"), HasSubstr("v: old"));
    rows_.remove(owner_, "u1");
    put_row("job", "u2", R"({"v":"new"})");  // in one pass with the removal
    must_pass();
    EXPECT_THAT(file("job"), AllOf(HasSubstr("v: new"), HasSubstr("u2"), Not(HasSubstr("u1"))));
    put_row("renamed", "u2", R"({"v":"new"})");
    must_pass();
    EXPECT_THAT(file("renamed"), AllOf(HasSubstr("name: renamed"), Not(HasSubstr("name: job"))));
    if (tree) {
      EXPECT_THAT(listing(branch),
                  ElementsAre("README.md", "c/n/pod/beside.yaml", "c/n/pod/renamed.yaml",
                              "inventory/x/t.manifest.json"));
    }
    expect_as_a_whole_export();
    rows_.remove(owner_, "u2");
    must_pass();
  }
}

TEST_F(GitLabCases, AnEmptiedInventory) {
  put("a", "1");
  put("b", "1");
  must_pass();
  server_.merge(1);
  rows_.drop(owner_);
  must_pass();
  EXPECT_THAT(document(), AllOf(HasSubstr("[]"), Not(HasSubstr("name: a"))));
  EXPECT_EQ(server_.requests().back().state, "opened");
  expect_as_a_whole_export();
}

TEST_F(GitLabCases, OddNamesAndKeys) {
  const std::string attributes =
      R"({"":"empty","a.b/c":null,"big":18446744073709551615,"größe":"\u0001 \" \\ 🚢","nul\u0000key":"\u0000","~'()*!@$,;#?":[1.5,true]})";
  for (const char* mode : {"document", "perResource"}) {
    for (const char* format : {"yaml", "json"}) {
      SCOPED_TRACE(fmt::format("{} {}", mode, format));
      auto& layout = spec_.layout.emplace();
      layout.mode = mode;
      spec_.serialization.emplace().format = format;
      settings().branch_prefix = fmt::format("odd_x.1/{}-{}", mode, format);
      put_row("o'b\"rien %s \\ é:*?<>|", "odd", attributes);
      put_row("CON", "reserved", "{}");
      put_row("system:controller:token", "colon", R"({"v":"1"})");
      open();
      must_pass();
      put_row("system:controller:token", "colon", R"({"v":"2"})");
      must_pass();
      const auto branch = fmt::format("odd_x.1/{}-{}/x/t", mode, format);
      std::string all;
      std::size_t files = 0;
      for (const auto& path : raw_listing(branch)) {
        if (!path.ends_with(fmt::format(".{}", format)) || path.ends_with(".manifest.json"))
          continue;
        all += server_.git({"show", branch + ":" + path});
        ++files;
      }
      EXPECT_EQ(files, std::string_view(mode) == "document" ? 1U : 3U);
      EXPECT_THAT(all, AllOf(HasSubstr("18446744073709551615"), HasSubstr("größe"),
                             AnyOf(HasSubstr("🚢"), HasSubstr("\\U0001F6A2")), HasSubstr("a.b/c")));
      expect_as_a_whole_export();
    }
  }
}

TEST_F(GitLabCases, ADocumentAboveTheLimitIsProposedInParts) {
  max_bytes_ = 2000;
  for (int i = 0; i < 40; ++i) put(fmt::format("p{:02}", i), "1");
  EXPECT_GT(must_pass().written, 2U);
  const auto many = listing(kBranch);
  EXPECT_THAT(many, Not(Contains("inventory/x/t.yaml")));
  EXPECT_GT(many.size(), 4U);
  // Fewer parts: those of the numbering before go in the same proposal.
  for (int i = 1; i < 40; ++i) remove(fmt::format("p{:02}", i));
  must_pass();
  EXPECT_THAT(listing(kBranch), ElementsAre("README.md", "inventory/x/t.yaml"));
  // A row that fits into no part is named, and the proposal stays what it was.
  const auto tip = server_.tip(kBranch);
  const auto pushes = server_.pushes();
  put("giant", std::string(5000, 'x'));
  const auto report = pass();
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kTerminal);
  EXPECT_THAT(report.error().message, HasSubstr("n/giant"));
  EXPECT_EQ(server_.pushes(), pushes);
  EXPECT_EQ(server_.tip(kBranch), tip);
  remove("giant");
  put("p01", "1");
  must_pass();
  EXPECT_THAT(document(), HasSubstr("name: p01"));
  expect_as_a_whole_export();
}

TEST_F(GitLabCases, FiftyThousandRows) {
  use_tree();
  open();
  for (int i = 0; i < 50'000; ++i) put(fmt::format("p{:05}", i), "1");
  EXPECT_EQ(must_pass().written, 50'001U);
  EXPECT_THAT(listing(kBranch), SizeIs(50'002));
  put("p00077", "2");
  remove("p00078");
  const auto report = must_pass();
  EXPECT_EQ(report.written, 2U);  // the manifest too
  EXPECT_EQ(report.removed, 1U);
  EXPECT_THAT(listing(kBranch), SizeIs(50'001));
  EXPECT_THAT(show(kBranch, "c/n/pod/p00077.yaml"), HasSubstr("v: \"2\""));
  // Another process without a mirror finds it done.
  const auto pushes = server_.pushes();
  restart(false);
  must_pass(true);
  EXPECT_EQ(server_.pushes(), pushes);
}

TEST_F(GitLabCases, DeletesMadeWhileDownAreProposed) {
  use_tree();
  open();
  for (const bool keep_mirror : {true, false}) {
    for (int i = 0; i < 20; ++i) put(fmt::format("p{:02}", i), keep_mirror ? "1" : "2");
    must_pass();
    EXPECT_THAT(listing(kBranch), SizeIs(22));
    writer_.reset();
    for (int i = 5; i < 20; ++i) remove(fmt::format("p{:02}", i));
    restart(keep_mirror);
    must_pass();
    EXPECT_THAT(listing(kBranch), SizeIs(7));
    EXPECT_THAT(listing(kBranch), Not(Contains("c/n/pod/p05.yaml")));
    // Also those of files that were merged by then.
    server_.merge(static_cast<std::int64_t>(server_.requests().size()));
    writer_.reset();
    remove("p04");
    restart(keep_mirror);
    must_pass();
    EXPECT_THAT(listing(kBranch), SizeIs(6));
    EXPECT_THAT(server_.git({"diff", "--name-status", "main", kBranch}),
                HasSubstr("D\tc/n/pod/p04.yaml"));
  }
  expect_as_a_whole_export();
}

TEST_F(GitLabCases, KilledInTheMiddleOfAPushAndBack) {
  const base::ManualClock clock;  // pauses between attempts take no time
  context_ = base::Context(clock, {});
  use_tree();
  open();
  for (int i = 0; i < 100; ++i) put(fmt::format("p{:02}", i), "0");
  must_pass();
  int round = 0;
  // Before the branch moves, and after it: then the answer alone is lost.
  for (const std::string when : {"pre-receive", "post-receive"}) {
    SCOPED_TRACE(when);
    const auto before = server_.tip(kBranch);
    const auto pushes = server_.pushes();
    hook(when, "kill -9 $PPID\n");
    for (int i = 0; i < 100; ++i) put(fmt::format("p{:02}", i), fmt::to_string(++round));
    const auto report = pass();
    EXPECT_GT(server_.pushes(), pushes);
    if (when == "pre-receive") {
      ASSERT_FALSE(report.has_value());
      EXPECT_EQ(server_.tip(kBranch), before);
    } else {
      EXPECT_NE(server_.tip(kBranch), before);
    }
    if (!report.has_value()) {
      EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable) << report.error().message;
    }
    // It stays away for a while, in which rows go on.
    server_.set_away(true);
    remove(fmt::format("p{:02}", round % 7));
    const auto down = pass();
    ASSERT_FALSE(down.has_value());
    EXPECT_EQ(down.error().kind, base::ErrorKind::kRetryable) << down.error().message;
    put("p99", "last");
    server_.set_away(false);
    std::filesystem::remove(server_.repository() / "hooks" / when);
    must_pass();
    EXPECT_THAT(listing(kBranch), Not(Contains(fmt::format("c/n/pod/p{:02}.yaml", round % 7))));
    EXPECT_THAT(show(kBranch, "c/n/pod/p99.yaml"), HasSubstr("v: last"));
    expect_rebuilt_on(kBranch, "main");
    only_request();
    expect_as_a_whole_export();
  }
  server_.git({"fsck", "--strict"});
}

}  // namespace
}  // namespace kollect::sinks::gitlab
