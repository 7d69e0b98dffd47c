// Passes of an operator that end as merge requests, with real pushes (spec: sinks 8, runtime 9.3).
#include "sinks/gitlab/gitlab_passes.h"

namespace kollect::sinks::gitlab {
namespace {

using namespace sinks::testing;  // NOLINT: the room's own helpers
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GitLabPasses : public GitLabPassFixture {
 protected:
  GitLabPasses() {
    use_tree();
    for (int i = 0; i < 300; ++i) put(fmt::format("p{}", i), "1");
    open();
  }
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
