#include "manager/status_draft.h"

#include <gtest/gtest.h>

#include "base/json/document.h"
#include "base/json/write.h"

namespace kollect::manager {
namespace {

base::json::Value parse(std::string_view text) {
  return base::json::to_value(base::json::Document::parse(text)->root());
}
const base::WallTime kNow = *base::parse_rfc3339("2026-02-03T04:05:06Z");

constexpr std::string_view kObject = R"({"metadata":{"generation":3},"status":{
  "observedGeneration":3,"itemCount":5,"old":"x","conditions":[
  {"type":"Ready","status":"True","reason":"Exported","message":"m","observedGeneration":3,
   "lastTransitionTime":"2026-01-01T00:00:00Z"}]}})";

TEST(StatusDraft, EqualStatusIsNotWritten) {
  StatusDraft draft(parse(kObject), kNow);
  draft.set({.type = "Ready", .status = "True", .reason = "Exported", .message = "m"});
  draft.set_field("itemCount", 5);
  EXPECT_FALSE(draft.patch().has_value());
}

TEST(StatusDraft, TheTimeMovesOnlyWhenTheStatusFlips) {
  StatusDraft draft(parse(kObject), kNow);
  draft.set({.type = "Ready", .status = "True", .reason = "PartiallySynced", .message = "n"});
  const auto same = draft.patch();
  ASSERT_TRUE(same);
  EXPECT_EQ(
      base::json::compact(*same),
      R"({"status":{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"n",)"
      R"("observedGeneration":3,"reason":"PartiallySynced","status":"True","type":"Ready"}]}})");
  draft.set({.type = "Ready", .status = "False", .reason = "X", .message = ""});
  EXPECT_NE(base::json::compact(*draft.patch()).find("2026-02-03T04:05:06Z"), std::string::npos);
}

TEST(StatusDraft, OnlyDifferencesAreSentAndRemovedFieldsAreNull) {
  StatusDraft draft(parse(kObject), kNow);
  draft.set_field("old", {});
  draft.set_field("itemCount", 6);
  EXPECT_EQ(base::json::compact(*draft.patch()), R"({"status":{"itemCount":6,"old":null}})");
}

TEST(StatusDraft, MembersOfMembersToo) {
  StatusDraft draft(parse(R"({"status":{"a":{"b":{"x":1,"y":2},"c":3},"d":{}}})"), kNow);
  draft.set_field("a", parse(R"({"b":{"x":1,"z":[{}]},"c":{"e":4}})"));
  EXPECT_EQ(base::json::canonical(*draft.patch()),
            R"({"status":{"a":{"b":{"y":null,"z":[{}]},"c":{"e":4}}}})");
}

TEST(StatusDraft, ANewObjectGetsAWholeStatus) {
  StatusDraft draft(parse(R"({"metadata":{"generation":1}})"), kNow);
  draft.set({.type = "Degraded", .status = "True", .reason = "Suspended", .message = "s"});
  draft.drop("Ready");
  EXPECT_EQ(draft.reason_of("Degraded", "True"), "Suspended");
  EXPECT_EQ(
      base::json::compact(*draft.patch()),
      R"({"status":{"conditions":[{"lastTransitionTime":"2026-02-03T04:05:06Z","message":"s",)"
      R"("observedGeneration":1,"reason":"Suspended","status":"True","type":"Degraded"}],)"
      R"("observedGeneration":1}})");
}

}  // namespace
}  // namespace kollect::manager
