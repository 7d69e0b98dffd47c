// What a pass is told of the state that its backend has confirmed.
#include "exporter/exporter_fixture.h"

namespace kollect::exporter {
namespace {

// Streams cannot be compared with: they are told what is new whatever the reason of the pass.
TEST_F(ExporterTest, AfterAnErrorItIsToldWhatIsNewSinceTheLastSuccess) {
  put("a", "1");
  exporter_->set(plan({binding("database/x", backend_)}));
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 1; }));
  backend_.with([](Backend& b) { b.down = base::retryable("down"); });
  put("b", "1");
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.back() == "down"; }));
  put("a", "2");
  store_.remove(kOwner, "b");
  backend_.with([](Backend& b) { b.down.reset(); });
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows["a"] == "2"; }));
  // What was added and went again while nothing could be sent is among it.
  backend_.with([](Backend& b) { EXPECT_THAT(b.known, ElementsAre("first", "since 2")); });
}

TEST_F(ExporterTest, WithTargetsThatCannotBeReadItIsToldWhatIsNewAllTheSame) {
  put("a", "1");
  auto made = plan({binding("database/x", backend_)});
  made.keep_targets = {"n/other"};
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 1; }));
  put("b", "1");
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.size() == 2; }));
  backend_.with([](Backend& b) { EXPECT_THAT(b.known, ElementsAre("first", "since 1")); });
}

}  // namespace
}  // namespace kollect::exporter
