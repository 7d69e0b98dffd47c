// Passes of an operator that end as merge requests, with real pushes (spec: sinks 8, runtime 9.3).
#include "inventory/row_store.h"
#include "sinks/gitlab/gitlab_fixture.h"

namespace kollect::sinks::gitlab {
namespace {

using namespace sinks::testing;  // NOLINT: the room's own helpers
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// An operator's passes: changes where the last pass was confirmed, else a comparison.
class GitLabPasses : public GitLabFixture {
 protected:
  GitLabPasses() {
    use_tree();
    for (int i = 0; i < 300; ++i) put(fmt::format("p{}", i), "1");
    open();
  }
  void open() {
    writer_ = sink();
    confirmed_ = false;
  }
  void put(const std::string& name, const std::string& value) {
    rows_.upsert(
        owner_, 1,
        {"x", "t", "n", name, "", "v1", "Pod", "u-" + name, fmt::format(R"({{"v":"{}"}})", value)});
  }
  void remove(const std::string& name) { rows_.remove(owner_, "u-" + name); }

  base::Result<ExportReport> pass(bool compare = false) {
    const auto changes = reader_->changes();
    const auto all = reader_->snapshot();
    Pass what{.head = {},
              .rows = &all,
              .changes = confirmed_ && !compare ? &changes : nullptr,
              .row_count = all.size(),
              .set_hash = all.set_hash()};
    what.head.inventory = {"x", "t"};
    what.head.cluster = "c";
    what.head.exported_at = time_of("2026-02-03T04:05:06Z") + std::chrono::minutes(minute_++);
    auto report = writer_->apply(base::Context::background(), what);
    confirmed_ = report.has_value();
    if (confirmed_) reader_->passed(changes.to());
    return report;
  }
  ExportReport must_pass(bool compare = false) {
    auto report = pass(compare);
    EXPECT_TRUE(report.has_value()) << (report.has_value() ? "" : report.error().message);
    return report.has_value() ? *report : ExportReport{};
  }
  /// Another process that compares everything finds nothing to push.
  void expect_as_a_whole_export() {
    const auto pushes = server_.pushes();
    auto fresh = options_;
    options_.mirror_dir = temp_->path() / "fresh-mirrors";
    std::filesystem::remove_all(options_.mirror_dir);
    open();
    options_ = fresh;
    must_pass(true);
    EXPECT_EQ(server_.pushes(), pushes);
    open();
    must_pass(true);
    EXPECT_EQ(server_.pushes(), pushes);
  }

  const inventory::Owner owner_{inventory::OwnerClass::kTarget, "x", "t"};
  inventory::RowStore rows_;
  std::unique_ptr<inventory::Reader> reader_ =
      rows_.subscribe([](const inventory::Owner&) { return true; });
  std::unique_ptr<Sink> writer_;
  bool confirmed_ = false;
  int minute_ = 0;
};

TEST_F(GitLabPasses, ChangesBuildOnTheProposal) {
  EXPECT_EQ(must_pass().written, 301U);
  put("p7", "2");
  // The changed file alone: the target has none of the others.
  EXPECT_EQ(must_pass().written, 1U);
  expect_rebuilt_on(kBranch, "main");
  EXPECT_THAT(listing(kBranch), SizeIs(302));
  remove("p8");
  put("new", "1");
  EXPECT_EQ(must_pass().removed, 1U);
  EXPECT_THAT(listing(kBranch), SizeIs(302));
  expect_as_a_whole_export();
  // Without changes nothing is asked at all.
  server_.forget_calls();
  must_pass();
  EXPECT_THAT(server_.calls(), IsEmpty());
  only_request();
}

TEST_F(GitLabPasses, ChangesAfterTheTargetHasMoved) {
  must_pass();
  server_.commit("main", "by-hand.txt", "1\n");
  put("p7", "2");
  must_pass();
  expect_rebuilt_on(kBranch, "main");
  EXPECT_THAT(listing(kBranch), SizeIs(303));
  server_.merge(1);
  put("p7", "3");
  EXPECT_EQ(must_pass().written, 1U);
  expect_rebuilt_on(kBranch, "main");
  EXPECT_THAT(server_.git({"diff", "--name-only", "main", kBranch}),
              ::testing::EndsWith("/p7.yaml"));
  // Back to what was merged: no proposal of times alone.
  put("p7", "2");
  must_pass();
  EXPECT_EQ(server_.requests().back().state, "closed");
  put("p9", "2");
  must_pass();
  EXPECT_EQ(server_.git({"diff", "--name-only", "main", kBranch}), "c/n/pod/p9.yaml");
  expect_as_a_whole_export();
}

TEST_F(GitLabPasses, RequestThatFailedIsMadeUpFor) {
  server_.answer_next("POST", 500, "oops");
  EXPECT_FALSE(pass().has_value());
  EXPECT_EQ(server_.pushes(), 1);
  EXPECT_THAT(server_.requests(), IsEmpty());
  must_pass();
  only_request();
  EXPECT_EQ(server_.pushes(), 1);
  // Also when the change comes with it.
  put("p7", "2");
  server_.answer_next("GET", 500, "oops");
  EXPECT_FALSE(pass().has_value());
  must_pass();
  EXPECT_EQ(server_.pushes(), 2);
}

TEST_F(GitLabPasses, BranchThatSomebodyRemovedComesBack) {
  must_pass();
  server_.git({"update-ref", "-d", "refs/heads/kollect/x/t"});
  must_pass(true);
  EXPECT_THAT(listing(kBranch), SizeIs(302));
  EXPECT_EQ(server_.requests().back().state, "opened");
}

TEST_F(GitLabPasses, DeletedInventoryProposesItsRemoval) {
  must_pass();
  server_.merge(1);
  rows_.drop(owner_);
  must_pass(true);
  EXPECT_THAT(listing(kBranch), ElementsAre("README.md", "inventory/x/t.manifest.json"));
  ASSERT_THAT(server_.requests(), SizeIs(2));
  EXPECT_THAT(listing("main"), SizeIs(302));
}

TEST_F(GitLabPasses, ManyPassesInOneMirror) {
  // More packs than a mirror keeps: it is repacked on the way.
  must_pass();
  for (int i = 0; i < 64; ++i) {
    put("p1", fmt::format("x{}", i));
    must_pass();
  }
  std::size_t packs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.mirror_dir)) {
    if (entry.path().extension() == ".pack") ++packs;
  }
  EXPECT_LT(packs, 10U);
  expect_rebuilt_on(kBranch, "main");
  expect_as_a_whole_export();
}

}  // namespace
}  // namespace kollect::sinks::gitlab
