#include "manager/leader/fence.h"

#include <gtest/gtest.h>

#include "manager/leader/lease.h"

namespace kollect::manager {
namespace {

using namespace std::chrono_literals;

/// Does in apply() what the test says.
class Sink final : public sinks::Sink {
 public:
  using Act = std::function<base::Result<>(const base::Context&)>;
  explicit Sink(Act act) : act_(std::move(act)) {}
  base::Result<sinks::ExportReport> export_all(const base::Context& context,
                                               const std::vector<sinks::Export>& /*exports*/,
                                               bool /*dry_run*/) override {
    KL_TRY(act_(context));
    return sinks::ExportReport();
  }
  base::Result<sinks::ExportReport> apply(const base::Context& context,
                                          const sinks::Pass& /*pass*/) override {
    return export_all(context, {}, false);
  }
  [[nodiscard]] bool takes_changes() const override { return true; }
  base::Result<> probe(const base::Context& /*context*/) override { return {}; }

 private:
  Act act_;
};

struct Fenced {
  base::ManualClock clock;
  Fence fence{clock};
  std::stop_source stop;
  int calls = 0;

  base::Result<sinks::ExportReport> write(const Sink::Act& act) {
    const auto sink = behind(fence, std::make_unique<Sink>([&](const base::Context& context) {
                               ++calls;
                               return act(context);
                             }));
    return sink->apply(base::Context(clock, stop.get_token()).with_timeout(2min), {});
  }
  base::SteadyTime in(base::Duration time) const { return clock.steady_now() + time; }
};

TEST(Fence, IsShutAtFirst) {
  Fenced f;
  const auto report = f.write([](const base::Context& context) { return context.check(); });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, base::ErrorKind::kCancelled);
  EXPECT_EQ(report.error().reason, "fenced");
  EXPECT_EQ(f.calls, 0);
  EXPECT_FALSE(f.fence.fallen());
}

TEST(Fence, LetsWritesThroughWhileItStands) {
  Fenced f;
  f.fence.extend(f.in(40s));
  EXPECT_TRUE(f.write([&](const base::Context& context) {
    EXPECT_EQ(context.remaining(), 2min);
    f.clock.advance(39s);
    f.fence.extend(f.in(40s));  // renewed while it runs
    f.clock.advance(39s);
    return context.check();
  }));
  EXPECT_EQ(f.calls, 1);
}

TEST(Fence, FallsByTheClockAloneInTheMiddleOfAWrite) {
  Fenced f;
  f.fence.extend(f.in(40s));
  const auto report = f.write([&](const base::Context& context) {
    f.clock.advance(40s);  // nobody calls fall(): the process stood still
    return context.check();
  });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().reason, "fenced");
  EXPECT_TRUE(f.fence.fallen());
  EXPECT_FALSE(f.write([](const base::Context&) { return base::Result<>(); }));
  EXPECT_EQ(f.calls, 1);
}

TEST(Fence, ItsFallCancelsWhatRuns) {
  Fenced f;
  f.fence.open();
  bool woken = false;
  const auto report = f.write([&](const base::Context& context) {
    const auto hook = context.on_cancel([&] { woken = true; });
    f.fence.fall();
    EXPECT_TRUE(woken);
    return context.check();
  });
  EXPECT_EQ(report.error().reason, "fenced");
  f.fence.extend(f.in(1h));  // never again
  EXPECT_FALSE(f.fence.stands());
  EXPECT_TRUE(f.fence.fallen());
}

TEST(Fence, TheCallersOwnCancellationAndDeadlineCountInside) {
  Fenced f;
  f.fence.open();
  auto report = f.write([&](const base::Context& context) {
    f.clock.advance(2min);
    return context.check();
  });
  EXPECT_EQ(report.error().reason, "timeout");
  report = f.write([&](const base::Context& context) {
    f.stop.request_stop();
    return context.check();
  });
  EXPECT_EQ(report.error().reason, "cancelled");
}

TEST(Fence, WorkThatIsBegunOutsideItIsCancelled) {
  Fenced f;
  const Fence::Work shut(f.fence, base::Context(f.clock, {}));
  EXPECT_TRUE(shut.context().cancelled());
  f.fence.extend(f.in(1s));
  f.clock.advance(1s);
  const Fence::Work late(f.fence, base::Context(f.clock, {}));
  EXPECT_TRUE(late.context().cancelled());
}

TEST(Fence, StandsOnlyWhileTheOuterOneDoes) {
  Fenced f;
  const auto outer = std::make_shared<Fence>(f.clock);
  Fence inner(f.clock, outer);
  inner.extend(f.in(40s));
  EXPECT_FALSE(inner.stands());
  EXPECT_FALSE(inner.fallen());
  outer->extend(f.in(20s));
  EXPECT_TRUE(inner.stands());
  EXPECT_EQ(inner.until(), f.in(20s));
  outer->extend(f.in(60s));
  EXPECT_EQ(inner.until(), f.in(40s));
  outer->extend(f.in(20s));
  f.clock.advance(20s);
  EXPECT_FALSE(inner.stands());
  EXPECT_TRUE(inner.fallen());
}

TEST(Fence, TheFallOfTheOuterOneCancelsWhatRuns) {
  Fenced f;
  const auto outer = std::make_shared<Fence>(f.clock);
  Fence inner(f.clock, outer);
  outer->open();
  inner.open();
  EXPECT_FALSE(inner.busy());
  {
    const Fence::Work work(inner, base::Context(f.clock, {}));
    EXPECT_TRUE(inner.busy());
    outer->fall();
    EXPECT_TRUE(work.context().cancelled());
    EXPECT_TRUE(inner.busy()) << "it has not ended yet";
  }
  EXPECT_FALSE(inner.busy());
  outer->extend(f.in(1h));
  EXPECT_FALSE(inner.stands());
}

/// A fence for each of two namespaces.
class TwoFences final : public Fences {
 public:
  explicit TwoFences(const base::Clock& clock)
      : a(std::make_shared<Fence>(clock)), b(std::make_shared<Fence>(clock)) {}
  [[nodiscard]] std::shared_ptr<const Fence> of(std::string_view ns) const override {
    return ns == "a" ? a : b;
  }
  std::shared_ptr<Fence> a;
  std::shared_ptr<Fence> b;
};

TEST(Fence, EachPassStandsBehindTheOneOfItsNamespace) {
  const base::ManualClock clock;
  TwoFences fences(clock);
  const auto sink = behind(fences, std::make_unique<Sink>([&](const base::Context& context) {
                             fences.b->fall();
                             return context.check();
                           }));
  sinks::Pass pass;
  pass.head.inventory = {.ns = "a", .name = "all"};
  EXPECT_FALSE(sink->apply(base::Context(clock, {}), pass));
  fences.a->open();
  fences.b->open();
  EXPECT_TRUE(sink->apply(base::Context(clock, {}), pass)) << "another one's fall is nothing to it";
  pass.head.inventory.ns = "b";
  EXPECT_EQ(sink->apply(base::Context(clock, {}), pass).error().reason, "fenced");
}

TEST(Lease, IsReadAndWritten) {
  const LeaseRecord record{.holder = "pod-1_ab",
                           .duration = 59500ms,
                           .acquired = base::WallTime(1700000000s + 5us),
                           .renewed = base::WallTime(1700000060s),
                           .transitions = 3,
                           .version = "77"};
  base::json::Object lease;
  lease.set("spec", lease_spec(record));
  const base::json::Value value(lease);
  EXPECT_EQ(value.at_path({"spec", "acquireTime"})->as_string(), "2023-11-14T22:13:20.000005Z");
  EXPECT_EQ(value.at_path({"spec", "renewTime"})->as_string(), "2023-11-14T22:14:20.000000Z");
  const LeaseRecord back = lease_record(value);
  EXPECT_EQ(back.holder, "pod-1_ab");
  EXPECT_EQ(back.duration, 60s);  // never shorter than promised
  EXPECT_EQ(back.acquired, record.acquired);
  EXPECT_EQ(back.transitions, 3);
  EXPECT_TRUE(lease_spec({}).find("holderIdentity")->is_null());
  EXPECT_EQ(lease_record(base::json::Value(base::json::Object())).holder, "");
}

}  // namespace
}  // namespace kollect::manager
