// The exporter with its threads, on a row store and backends in memory.
#include "exporter/exporter_fixture.h"

namespace kollect::exporter {
namespace {

TEST_F(ExporterTest, FirstEverythingThenDifferences) {
  put("a", "1");
  put("b", "2");
  backend_.rows["gone"] = "left over from before the start";
  exporter_->set(plan({binding("database/x", backend_)}));
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 1; }));
  EXPECT_THAT(backend_.rows, ElementsAre(Pair("a", "1"), Pair("b", "2")));
  put("b", "changed");
  store_.remove(kOwner, "a");
  ASSERT_TRUE(backend_.until([](Backend& b) {
    return b.rows == std::map<std::string, std::string>{{"b", "changed"}};
  }));
  EXPECT_EQ(backend_.passes.front(), "all 2");
  for (std::size_t i = 1; i < backend_.passes.size(); ++i) {
    EXPECT_THAT(backend_.passes[i], ::testing::StartsWith("changes "));
  }
}

TEST_F(ExporterTest, LargeSetsHaveMoreTime) {
  for (const char* uid : {"a", "b", "c"}) put(uid, "1");
  exporter_->set(plan({binding("database/x", backend_)}));
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.size() == 3; }));
  backend_.with([](Backend& b) {
    EXPECT_GT(b.time_left, 3h);
    EXPECT_LE(b.time_left, 3h + 1min);
  });
}

TEST_F(ExporterTest, NothingLeavesBeforeTheFirstListsAreComplete) {
  put("a", "1");
  backend_.rows["b"] = "exported by the run before";
  auto incomplete = plan({binding("database/x", backend_)});
  incomplete.complete = false;
  exporter_->set(incomplete);
  put("c", "3");
  Backend other;
  auto beside = plan({binding("database/y", other)});
  beside.id.name = "beside";
  exporter_->set(beside);
  ASSERT_TRUE(other.until([](Backend& b) { return b.rows.size() == 2; }));
  backend_.with([](Backend& b) { EXPECT_THAT(b.passes, IsEmpty()); });
  incomplete.complete = true;
  exporter_->set(incomplete);
  ASSERT_TRUE(
      backend_.until([](Backend& b) { return b.rows.size() == 2 && !b.rows.contains("b"); }));
  exporter_.reset();
}

TEST_F(ExporterTest, AfterAnErrorTheBackendIsCompared) {
  put("a", "1");
  exporter_->set(plan({binding("database/x", backend_)}));
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.size() == 1; }));
  backend_.with([](Backend& b) { b.down = base::retryable("out of reach"); });
  put("a", "2");
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.back() == "down"; }));
  backend_.with([](Backend& b) {
    b.down.reset();
    b.rows["half"] = "written by the pass that broke";
  });
  ASSERT_TRUE(backend_.until([](Backend& b) {
    return b.rows == std::map<std::string, std::string>{{"a", "2"}};
  }));
  backend_.with([](Backend& b) { EXPECT_EQ(b.passes.back(), "all 1"); });
  const auto status = exporter_->status(kInventory);
  ASSERT_TRUE(status);
  EXPECT_GE(status->bindings[0].failures, 1U);
}

TEST_F(ExporterTest, BreakersAndLooksAreTold) {
  put("a", "1");
  exporter_->set(plan({binding("database/x", backend_)}));
  ASSERT_TRUE(told_of_write(1));
  const std::string sink = "database/n/database/x";
  EXPECT_EQ(exporter_->breakers(), (std::map{std::pair(sink, Breaker::State::kClosed)}));
  EXPECT_GE(exporter_->looks(false).changed, 1U);
  backend_.with([](Backend& b) { b.down = base::retryable("out of reach"); });
  put("a", "2");
  const auto end = clock_.steady_now() + 30s;
  while (exporter_->breakers().at(sink) != Breaker::State::kOpen && clock_.steady_now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(exporter_->breakers().at(sink), Breaker::State::kOpen) << "five failures";
  EXPECT_EQ(exporter_->looks(true).changed, 0U) << "there is no cluster inventory";
  exporter_->remove(kInventory);
  // The last pass lets it go when it has told its outcome.
  while (!exporter_->breakers().empty() && clock_.steady_now() < end) std::this_thread::yield();
  EXPECT_TRUE(exporter_->breakers().empty()) << "nobody uses the sink";
}

TEST_F(ExporterTest, ASlowSinkDelaysNoOther) {
  Backend slow;
  slow.hang = true;
  exporter_->set(plan({binding("database/slow", slow), binding("database/x", backend_)}));
  ASSERT_TRUE(slow.until([](Backend& b) { return !b.passes.empty(); }));
  for (int i = 0; i < 20; ++i) {
    put("a", std::to_string(i));
    ASSERT_TRUE(backend_.until([&](Backend& b) { return b.rows["a"] == std::to_string(i); }));
  }
  EXPECT_EQ(slow.passes.size(), 1U) << "one pass in flight";
  slow.with([](Backend& b) { b.hang = false; });
  ASSERT_TRUE(slow.until([](Backend& b) { return b.rows["a"] == "19"; }));
  exporter_.reset();
}

TEST_F(ExporterTest, TargetsThatCannotBeReadKeepTheirRows) {
  put("a", "1");
  auto made = plan({binding("database/x", backend_)});
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.size() == 1; }));
  made.keep_targets = {"other"};
  exporter_->set(made);
  put("a", "2");
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows["a"] == "2"; }));
  // Differences alone could name rows of the target that went from the store only.
  backend_.with([](Backend& b) { EXPECT_EQ(b.passes.back(), "all 1"); });
  // When it can be read again, what it left behind is compared.
  backend_.with([](Backend& b) { b.rows["old"] = "of the other target"; });
  made.keep_targets.clear();
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return !b.rows.contains("old"); }));
}

TEST_F(ExporterTest, APlanThatDoesNotKnowOfAHoldDoesNotEndIt) {
  put("a", "1");
  auto made = plan({binding("database/x", backend_)});
  made.as_of = exporter_->holds();
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.size() == 1; }));
  // The rows go; a plan that was made before says nothing of it.
  exporter_->hold(kOwner);
  put("a", "2");
  exporter_->set(made);
  auto after = made;
  after.as_of = exporter_->holds();
  after.keep_parts = {{.target = "t", .ns = "lab"}};
  put("b", "1");
  exporter_->set(after);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.size() == 2; }));
  backend_.with([](Backend& b) {
    // What is kept is another now: everything was compared, once.
    EXPECT_EQ(b.passes.size(), 2U);
    EXPECT_EQ(b.passes.back(), "all 2");
  });
  // From then on changes do.
  put("a", "3");
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows["a"] == "3"; }));
  backend_.with([](Backend& b) { EXPECT_NE(b.passes.back(), "all 2"); });
}

TEST_F(ExporterTest, AnotherSinkOrSpecExportsEverything) {
  put("a", "1");
  auto made = plan({binding("database/x", backend_)});
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 1; }));
  exporter_->set(made);  // equal: nothing
  made.bindings[0].sink_identity = "two";
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 2; }));
  made.generation = 2;
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 3; }));
  backend_.with([](Backend& b) {
    EXPECT_THAT(b.passes, ElementsAre("all 1", "all 1", "all 1"));
    EXPECT_THAT(b.known, ElementsAre("first", "first", "since 0"));
  });
}

TEST_F(ExporterTest, SuspendedHoldsAndRemoveCancels) {
  put("a", "1");
  backend_.hang = true;
  auto made = plan({binding("database/x", backend_)});
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 1; }));
  exporter_->remove(kInventory);  // returns although the backend hangs
  EXPECT_FALSE(exporter_->status(kInventory));
  backend_.with([](Backend& b) {
    b.hang = false;
    EXPECT_THAT(b.rows, IsEmpty());
  });
  made.suspended = true;
  exporter_->set(made);
  put("a", "2");
  made.suspended = false;
  made.generation = 2;
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows["a"] == "2"; }));
}

TEST_F(ExporterTest, ThoseThatLeaveMayEndWhatRuns) {
  put("a", "1");
  Backend stays;
  backend_.hang = true;
  exporter_->set(plan({binding("database/x", backend_)}));
  auto other = plan({binding("database/y", stays)});
  other.id.ns = "other";
  exporter_->set(other);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 1; }));
  ASSERT_TRUE(stays.until([](Backend& b) { return b.rows.size() == 1; }));
  std::vector<sinks::InventoryId> left;
  std::jthread leaving(
      [&] { left = exporter_->leave([](const auto& id) { return id == kInventory; }, 1h); });
  while (exporter_->status(kInventory)) std::this_thread::yield();
  put("b", "news for the other one alone");
  ASSERT_TRUE(stays.until([](Backend& b) { return b.rows.size() == 2; }));
  backend_.with([](Backend& b) { b.hang = false; });
  leaving.join();
  EXPECT_THAT(left, ElementsAre(kInventory));
  backend_.with([](Backend& b) {
    EXPECT_THAT(b.passes, ElementsAre("hangs", "all 1"));
    EXPECT_THAT(b.rows, ElementsAre(Pair("a", "1")));
  });
  exporter_->remove(other.id);  // its backend ends here
}

TEST_F(ExporterTest, StatusTellsWhatWasExported) {
  put("a", "1");
  put("b", "1");
  std::mutex mutex;
  std::condition_variable told;
  int outcomes = 0;
  exporter_->on_outcome([&](const sinks::InventoryId& id) {
    EXPECT_EQ(id, kInventory);
    const std::scoped_lock lock(mutex);
    ++outcomes;
    told.notify_all();
  });
  exporter_->set(plan({binding("database/x", backend_)}));
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(told.wait_for(lock, 30s, [&] { return outcomes == 1; }));
  }
  auto status = exporter_->status(kInventory);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->rows, 2U);
  ASSERT_EQ(status->bindings.size(), 1U);
  EXPECT_EQ(status->bindings[0].name, "database/x");
  EXPECT_EQ(status->bindings[0].writes, 1U);
  EXPECT_TRUE(status->bindings[0].last_write);
  EXPECT_THAT(status->bindings[0].last_checksum, ::testing::MatchesRegex("set:[0-9a-f]{32}"));
  exporter_.reset();
}

TEST_F(ExporterTest, OtherOwnersCompareEverythingAndKeepWhatWasTold) {
  put("a", "1");
  auto made = plan({binding("database/x", backend_)});
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 1; }));
  ASSERT_TRUE(told_of_write(1));
  const Owner other{.owner_class = OwnerClass::kTarget, .ns = "m", .name = "t"};
  store_.upsert(other, 1, row("b", "1"));
  made.wanted = [](const Owner&) { return true; };
  made.wanted_key = "all";
  backend_.with([](Backend& b) { b.hang = true; });
  exporter_->set(made);
  const auto status = exporter_->status(kInventory);
  EXPECT_TRUE(status->bindings[0].last_export);
  EXPECT_EQ(status->bindings[0].writes, 1U);
  EXPECT_EQ(status->rows, 2U);
  backend_.with([](Backend& b) { b.hang = false; });
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.size() == 2; }));
  ASSERT_TRUE(told_of_write(2));
}

TEST_F(ExporterTest, HeldUntilItIsSetAgain) {
  put("a", "1");
  Backend other;
  auto made = plan({binding("database/x", backend_)});
  exporter_->set(made);
  auto beside = plan({binding("database/y", other)});
  beside.id.name = "beside";
  beside.wanted = [](const Owner& owner) { return owner.ns == "n" || owner.ns == "m"; };
  exporter_->set(beside);
  ASSERT_TRUE(told_of_write(1));
  exporter_->hold(kOwner);
  exporter_->set(beside);
  store_.drop(kOwner);
  ASSERT_TRUE(other.until([](Backend& b) { return !b.passes.empty() && b.rows.empty(); }));
  backend_.with([](Backend& b) { EXPECT_EQ(b.rows.size(), 1U); });
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.empty(); }));
}

TEST_F(ExporterTest, WhatWaitsForAThreadIsHeldToo) {
  put("a", "1");
  const auto made = plan({binding("database/x", backend_)});
  exporter_->set(made);
  ASSERT_TRUE(told_of_write(1));
  // Eight passes that hang take all threads.
  Backend slow;
  slow.hang = true;
  for (int i = 0; i < 8; ++i) {
    auto other = plan({binding("database/" + std::to_string(i), slow)});
    other.id.name = std::to_string(i);
    other.bindings[0].open = [shared = std::make_shared<SharedSink>(std::make_unique<BackendSink>(
                                  slow))](const base::Context&) { return shared; };
    exporter_->set(other);
  }
  ASSERT_TRUE(slow.until([](Backend& b) { return b.passes.size() == 8; }));
  store_.upsert(kOwner, 1, row("b", "1"));
  while (!exporter_->status(kInventory)->bindings[0].running) std::this_thread::yield();
  exporter_->hold(kOwner);
  EXPECT_FALSE(exporter_->status(kInventory)->bindings[0].running);
  slow.with([](Backend& b) { b.hang = false; });
  ASSERT_TRUE(slow.until([](Backend& b) { return b.passes.size() > 8; }));
  backend_.with([](Backend& b) { EXPECT_EQ(b.rows.size(), 1U); });
  exporter_->set(made);
  ASSERT_TRUE(told_of_write(2));
  backend_.with([](Backend& b) { EXPECT_EQ(b.rows.size(), 2U); });
}

TEST_F(ExporterTest, OneRowOfEachUid) {
  const Owner last{.owner_class = OwnerClass::kTarget, .ns = "n", .name = "u"};
  put("a", "of t");
  auto made = plan({binding("database/x", backend_)});
  made.choice = inventory::RowChoice::kLastOfUid;
  exporter_->set(made);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows["a"] == "of t"; }));
  store_.upsert(last, 1, row("a", "of u"));
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows["a"] == "of u"; }));
  put("a", "nobody sees it");
  put("b", "1");
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows.contains("b"); }));
  backend_.with([](Backend& b) { EXPECT_EQ(b.rows["a"], "of u"); });
  const auto shards = exporter_->shards(kInventory);
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(shards[0].rows, 2U);
  EXPECT_EQ(shards[0].targets, 2U);
  store_.drop(last);
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.rows["a"] == "nobody sees it"; }));
  backend_.with([](Backend& b) {
    for (const auto& pass : b.passes) EXPECT_THAT(pass, ::testing::StartsWith("all "));
  });
}

TEST_F(ExporterTest, RemovedRowsAreForgottenWhenTheyAreExported) {
  put("a", "1");
  put("b", "1");
  exporter_->set(plan({binding("database/x", backend_)}));
  ASSERT_TRUE(told_of_write(1));
  store_.remove(kOwner, "a");
  ASSERT_TRUE(told_of_write(2));
  EXPECT_EQ(store_.stats().tombstones, 0U);
}

TEST_F(ExporterTest, CleaningWritesTheEmptySet) {
  backend_.rows = {{"a", "1"}, {"b", "2"}};
  const auto made = plan({binding("database/x", backend_)});
  ASSERT_TRUE(exporter_->clean(base::Context::background(), made, made.bindings[0]));
  EXPECT_THAT(backend_.rows, IsEmpty());
}

TEST_F(ExporterTest, ARefreshGivesWayToChangesAndIsDoneInTheEnd) {
  start(fast_);
  put("a", "0");
  auto refreshed = binding("database/x", backend_);
  refreshed.interval = 1s;
  backend_.compares_for_ever = true;
  exporter_->set(plan({refreshed}));
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(backend_.until(
        [](Backend& b) { return !b.passes.empty() && b.passes.back() == "compares"; }));
    put("a", std::to_string(i));
    ASSERT_TRUE(backend_.until([&](Backend& b) { return b.rows["a"] == std::to_string(i); }));
  }
  // The fourth one is not asked any more; the one after it may give way again.
  ASSERT_TRUE(backend_.until([](Backend& b) { return b.passes.size() == 9; }));
  backend_.with([](Backend& b) {
    EXPECT_THAT(b.passes, ElementsAre("all 1", "compares", "changes 1", "compares", "changes 1",
                                      "compares", "changes 1", "all 1", "compares"));
  });
  const auto status = exporter_->status(kInventory);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->bindings[0].failures, 0U);
  exporter_.reset();
}

TEST_F(ExporterTest, ARefreshGivesWayToAnotherInventoryOfItsSink) {
  start(fast_);
  put("a", "0");
  backend_.compares_for_ever = true;
  auto refreshed = binding("database/x", backend_);
  auto other = refreshed;
  refreshed.interval = 1s;
  exporter_->set(plan({refreshed}));
  auto beside = plan({other});
  beside.id.name = "beside";
  beside.wanted = [](const Owner& owner) { return owner.ns == "m"; };
  beside.wanted_key = "m";
  exporter_->set(beside);
  ASSERT_TRUE(backend_.until(
      [](Backend& b) { return !b.passes.empty() && b.passes.back() == "compares"; }));
  store_.upsert({.owner_class = OwnerClass::kTarget, .ns = "m", .name = "t"}, 1, row("b", "1"));
  ASSERT_TRUE(backend_.until([&](Backend& b) { return b.rows.contains("b"); }));
  exporter_.reset();
}

TEST_F(ExporterTest, UnderConstantChangeTheLastStateArrives) {
  exporter_->set(plan({binding("database/x", backend_)}));
  for (int i = 0; i < 20'000; ++i) put("row-" + std::to_string(i % 50), std::to_string(i));
  ASSERT_TRUE(backend_.until([](Backend& b) {
    if (b.rows.size() != 50) return false;
    for (int i = 0; i < 50; ++i) {
      if (b.rows["row-" + std::to_string(i)] != std::to_string(19'950 + i)) return false;
    }
    return true;
  }));
}

}  // namespace
}  // namespace kollect::exporter
