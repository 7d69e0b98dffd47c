// What every object store must do, as tests that run against each of them. Only for *test.cc files:
// one file of a program includes this; it and others give backends with INSTANTIATE_TEST_SUITE_P.
// Cases: spec sinks 5, 9.3 (K-10, K-12, K-13), X-45, P-9, X-9.
#pragma once

#include <fmt/format.h>

#include "base/hash.h"
#include "inventory/envelope.h"
#include "sinks/objects/contract.h"
#include "sinks/testing.h"

namespace kollect::sinks::objects::contract {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

inline constexpr const char* kKey = "inventory/harbor/ledger.json";

/// `count` rows of about 150 bytes.
inline inventory::RowSet many(int count, const std::string& text = "x") {
  std::vector<TestRow> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({fmt::format("row-{:06}", i), fmt::format(R"({{"text":"{}"}})", text)});
  }
  return set_of(list);
}

TEST_P(ObjectSinkContract, AFirstExportIsTheEnvelope) {
  const auto set = set_of({{"crane-01", R"({"image":"a"})"}, {"crane-02"}});
  const auto report = write(set, head(0));
  EXPECT_EQ(report.written, 1U);
  const auto text = inventory::envelope_json(set, meta_of(head(0)));
  EXPECT_EQ(report.bytes, text.size());
  EXPECT_THAT(keys(), ElementsAre(kKey));
  EXPECT_EQ(bytes(kKey), text);
  EXPECT_EQ(world_->content_of(kKey), std::pair(std::string("application/json"), std::string()));
  const std::map<std::string, std::string> wanted = {
      {kChecksumKey, base::sha256_hex(text)},
      {kExportedAtKey, "2023-11-14T22:13:20Z"},
      {kInventoryKey, "harbor/ledger"},
      {kClusterKey, "pier-7"},
  };
  EXPECT_EQ(metadata(kKey), wanted);
}

TEST_P(ObjectSinkContract, TheSameRowsAreNotUploadedAgain) {
  const auto set = set_of({{"a"}, {"b"}});
  write(set, head(0));
  const auto before = bytes(kKey);
  const auto again = write(set, head(10));
  EXPECT_EQ(again.written + again.removed + again.bytes, 0U);
  EXPECT_EQ(again.unchanged, 1U);
  sink_ = new_sink();
  EXPECT_EQ(write(set, head(20)).unchanged, 1U);
  EXPECT_EQ(bytes(kKey), before);
  EXPECT_EQ(write(set_of({{"a"}}), head(30)).written, 1U);
  EXPECT_EQ(bytes(kKey), inventory::envelope_json(set_of({{"a"}}), meta_of(head(30))));
  // Another generation is written into the envelope.
  auto later = head(40);
  later.generation = 4;
  EXPECT_EQ(write(set_of({{"a"}}), later).written, 1U);
}

TEST_P(ObjectSinkContract, AnEmptySetIsAnEmptyEnvelope) {  // X-45
  write(set_of({{"a"}}), head(0));
  EXPECT_EQ(write(set_of({}), head(1)).written, 1U);
  EXPECT_EQ(bytes(kKey), inventory::envelope_json(set_of({}), meta_of(head(1))));
}

TEST_P(ObjectSinkContract, PartsAreClosedByAManifest) {
  const auto set = many(20);
  auto exp = head(0);
  exp.max_bytes = 1600;
  exp.rows = &set;
  const auto parts = inventory::cut_parts(set, meta_of(exp), exp.max_bytes);
  ASSERT_TRUE(parts.has_value());
  ASSERT_GT(parts->size(), 2U);
  EXPECT_EQ(write(set, exp).written, parts->size() + 1);
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    wanted.push_back(
        fmt::format("inventory/harbor/ledger.part-{:04}-of-{:04}.json", i + 1, parts->size()));
    auto meta = meta_of(exp);
    meta.part_index = static_cast<std::uint32_t>(i + 1);
    meta.part_total = static_cast<std::uint32_t>(parts->size());
    EXPECT_EQ(bytes(wanted.back()),
              inventory::envelope_json(set, (*parts)[i].first, (*parts)[i].last, meta));
  }
  const std::string manifest_key = "inventory/harbor/ledger.json.manifest.json";
  const auto manifest = sinks::testing::parse_json(bytes(manifest_key));
  EXPECT_EQ(manifest.text("kind"), "KollectExportSetManifest");
  EXPECT_EQ(manifest.text("cluster"), "pier-7");
  EXPECT_EQ(manifest.find("partTotal")->as_int(), static_cast<std::int64_t>(parts->size()));
  EXPECT_EQ(sinks::testing::texts_of(*manifest.find("paths")), wanted);
  EXPECT_TRUE(sinks::testing::check_set(manifest, keys(), 3).complete());
  // Parts that did not change stay, the manifest too.
  exp.exported_at += std::chrono::seconds(9);
  EXPECT_EQ(write(set, exp).unchanged, parts->size() + 1);
}

TEST_P(ObjectSinkContract, AnEarlierNumberingIsRemovedAndNothingElse) {  // K-10
  auto exp = head(0);
  exp.max_bytes = 1600;
  const std::vector<std::string> others = {
      "inventory/harbor/ledger-2.json", "inventory/harbor/ledger.part-1.json",
      "inventory/harbor/ledger.part-0001-of-0002.txt", "inventory/other/ledger.json"};
  for (const auto& key : others) put(key, "theirs");
  // An inventory whose name looks like a part of ours.
  const std::string twin = "inventory/harbor/ledger.part-0007-of-0008.json";
  put(twin, "theirs", {{kInventoryKey, "harbor/ledger.part-0007-of-0008"}});
  write(many(2), head(0));
  ASSERT_THAT(keys(), ::testing::Contains(kKey));
  write(many(40), exp);
  EXPECT_THAT(keys(), Not(::testing::Contains(kKey)));
  const auto large = keys().size();
  // A new process knows nothing of the numbering.
  sink_ = new_sink();
  const auto report = write(many(20), exp);
  EXPECT_GT(report.removed, 2U);
  EXPECT_LT(keys().size(), large);
  const auto manifest =
      sinks::testing::parse_json(bytes("inventory/harbor/ledger.json.manifest.json"));
  for (const auto& path : sinks::testing::texts_of(*manifest.find("paths"))) {
    EXPECT_NE(bytes(path), "-") << path;
  }
  write(many(2), head(5));
  auto left = others;
  left.push_back(twin);
  left.emplace_back(kKey);
  std::ranges::sort(left);
  EXPECT_EQ(keys(), left);
}

TEST_P(ObjectSinkContract, ARowThatDoesNotFitStopsTheExport) {
  write(set_of({{"a"}}), head(0));
  const auto before = bytes(kKey);
  auto exp = head(1);
  exp.max_bytes = 1000;
  const auto large =
      set_of({{"a"}, {"big", fmt::format(R"({{"x":"{}"}})", std::string(2000, 'x'))}});
  const auto report = try_write(large, exp);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kTerminal);
  EXPECT_THAT(report.error().message, HasSubstr("quay/big"));
  EXPECT_EQ(bytes(kKey), before);
  EXPECT_THAT(keys(), ElementsAre(kKey));
}

TEST_P(ObjectSinkContract, TwoClustersShareABucket) {
  options_.path_template = "{cluster}/{namespace}/{name}{extension}";
  write(set_of({{"a"}}), head(0, "pier-7"));
  write(set_of({{"b"}}), head(0, "pier-8"));
  EXPECT_THAT(keys(), ElementsAre("pier-7/harbor/ledger.json", "pier-8/harbor/ledger.json"));
  auto small = head(1, "pier-7");
  small.max_bytes = 1600;
  write(many(20), small);
  write(set_of({}), head(2, "pier-7"));
  EXPECT_THAT(keys(), ElementsAre("pier-7/harbor/ledger.json", "pier-8/harbor/ledger.json"));
  // Without {cluster} they write over each other, which is said.
  options_.path_template = "";
  sink_ = new_sink();
  EXPECT_THAT(write(set_of({{"a"}}), head(0, "pier-7")).warnings, IsEmpty());
  EXPECT_THAT(write(set_of({{"b"}}), head(0, "pier-8")).warnings,
              ElementsAre(AllOf(HasSubstr(kKey), HasSubstr("pier-7"), HasSubstr("{cluster}"))));
}

TEST_P(ObjectSinkContract, TwoDocumentsOfARunNeverShareAKey) {
  options_.path_template = "all/{namespace}{extension}";
  const auto set = set_of({{"a"}});
  auto one = head(0);
  auto two = head(0);
  one.rows = two.rows = &set;
  two.inventory.name = "other";
  const auto report = sink().export_all(context_, {one, two}, false);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "path-collision");
  EXPECT_THAT(report.error().message, HasSubstr("all/harbor.json"));
}

TEST_P(ObjectSinkContract, WhatCouldNotBeReadStays) {  // P-9, X-9
  for (const auto compression : {Compression::kNone, Compression::kGzip}) {
    options_.compression = compression;
    sink_ = new_sink();
    write(set_of({{"a"},
                  {"b", R"({"n":9007199254740993})", "lab"},
                  {"d", "{}", "quay", "", "cold"},
                  {"e", "{}", "quay", "", "lost"}}),
          head(0));
    auto exp = head(1);
    exp.keep_namespaces = {"lab"};
    exp.keep_targets = {"cold", "harbor/lost"};
    write(set_of({{"new"}}), exp);
    const auto want = set_of({{"new"},
                              {"b", R"({"n":9007199254740993})", "lab"},
                              {"d", "{}", "quay", "", "cold"},
                              {"e", "{}", "quay", "", "lost"}});
    const auto text = decompress(bytes(kKey + std::string(suffix_of(compression))), 1U << 20U);
    ASSERT_TRUE(text.has_value());
    EXPECT_EQ(*text, inventory::envelope_json(want, meta_of(exp)));
  }
}

TEST_P(ObjectSinkContract, RowsOfASplitSetStayToo) {
  auto exp = head(0);
  exp.max_bytes = 1600;
  write(many(20), exp);
  exp.exported_at += std::chrono::seconds(1);
  exp.keep_namespaces = {"quay"};
  const auto report = write(set_of({}), exp);
  EXPECT_EQ(report.written + report.removed, 0U);
  // What must stay and cannot be read stops the export.
  const auto parts = keys("inventory/harbor/ledger.part-");
  put(parts.back(), "{\"schemaVersion\":\"kollect.dev/v1alpha1\"", metadata(parts.back()));
  const auto broken = try_write(set_of({}), exp);
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().reason, "old-document");
  EXPECT_EQ(keys("inventory/harbor/ledger.part-"), parts);
}

TEST_P(ObjectSinkContract, WhatAKilledProcessLeftIsNotTakenForTheSet) {
  const auto rows_of = [](int n) {
    std::vector<TestRow> list;
    for (int i = 0; i < 20; ++i) {
      list.push_back({fmt::format("row-{:02}", i), fmt::format(R"({{"n":{}}})", n)});
    }
    return set_of(list);
  };
  auto split = head(0);
  split.max_bytes = 1600;
  const auto left_over = [&](const std::string& prefix) {
    std::map<std::string, std::string> out;
    for (const auto& key : keys(prefix)) out[key] = bytes(key);
    return out;
  };
  const auto keep = [&](int second) {
    auto exp = head(second);
    exp.keep_namespaces = {"quay"};
    write(set_of({}), exp);
    return bytes(kKey);
  };
  // The document before the set: killed before it was removed. The manifest says what counts.
  write(rows_of(1), head(0));
  const auto document = left_over(kKey);
  write(rows_of(2), split);
  for (const auto& [key, text] : document) put(key, text);
  EXPECT_EQ(keep(1), inventory::envelope_json(rows_of(2), meta_of(head(1))));
  // The other way round the manifest was the first to go.
  write(rows_of(1), split);
  const auto parts = left_over("inventory/harbor/ledger.part-");
  ASSERT_GT(parts.size(), 1U);
  write(rows_of(2), head(2));
  for (const auto& [key, text] : parts) put(key, text);
  auto more = head(3);
  more.keep_namespaces = {"quay"};
  write(set_of({{"new", "{}", "lab"}}), more);
  EXPECT_THAT(keys(), ElementsAre(kKey));
  EXPECT_THAT(bytes(kKey), AllOf(HasSubstr("\"itemCount\":21"), Not(HasSubstr("\"n\":1}"))));
}

TEST_P(ObjectSinkContract, ADryRunWritesNothing) {
  using What = ExportReport::Change::What;
  const auto first = set_of({{"a"}, {"b"}});
  auto report = write(first, head(0), true);
  ASSERT_EQ(report.changes.size(), 1U);
  EXPECT_EQ(report.changes[0].what, What::kCreate);
  EXPECT_EQ(report.changes[0].path, kKey);
  EXPECT_EQ(report.changes[0].rows, 2U);
  EXPECT_THAT(keys(), IsEmpty());
  write(first, head(0));
  EXPECT_EQ(write(first, head(5), true).changes.at(0).what, What::kUnchanged);
  EXPECT_EQ(write(set_of({{"a"}}), head(5), true).changes.at(0).what, What::kUpdate);
  auto split = head(6);
  split.max_bytes = 1600;
  report = write(many(20), split, true);
  EXPECT_EQ(report.changes.back().what, What::kRemove);
  EXPECT_EQ(report.changes.back().path, kKey);
  EXPECT_EQ(report.removed, 1U);
  EXPECT_EQ(bytes(kKey), inventory::envelope_json(first, meta_of(head(0))));
  EXPECT_THAT(keys(), ElementsAre(kKey));
}

TEST_P(ObjectSinkContract, OddNames) {
  options_.prefix = "pre fix/ü+&=%25";
  options_.path_template = "~'()*!@$,;#?\"<>/{cluster}/{namespace}/{name}{extension}";
  const auto set = set_of({{"odd", R"({"text":"\u0000 ü 🚢"})"}});
  const auto exp = head(0, "Kaï №1");
  write(set, exp);
  const auto all = keys();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0], AllOf(HasSubstr("pre fix/ü+&=%25/"), HasSubstr("Kaï №1/harbor/ledger.json")));
  EXPECT_EQ(bytes(all[0]), inventory::envelope_json(set, meta_of(exp)));
  EXPECT_EQ(metadata(all[0]).at(kClusterKey), base::percent_encode("Kaï №1"));
  sink_ = new_sink();
  const auto again = write(set, head(5, "Kaï №1"));
  EXPECT_EQ(again.unchanged, 1U);
  EXPECT_THAT(again.warnings, IsEmpty());
  ASSERT_TRUE(bucket_->remove(context_, all[0]).has_value());
  EXPECT_TRUE(bucket_->remove(context_, all[0]).has_value());  // a missing object is no error
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(ObjectSinkContract, CompressedBodies) {  // K-12
  const auto set = many(500);
  for (const auto& [compression, key, encoding] :
       {std::tuple(Compression::kGzip, "inventory/harbor/ledger.json.gz", "gzip"),
        std::tuple(Compression::kZstd, "inventory/harbor/ledger.json.zst", "zstd")}) {
    options_.compression = compression;
    sink_ = new_sink();
    const auto report = write(set, head(0));
    const auto text = inventory::envelope_json(set, meta_of(head(0)));
    EXPECT_EQ(report.bytes, bytes(key).size());
    EXPECT_LT(report.bytes, text.size() / 5);
    const auto plain = decompress(bytes(key), text.size());
    ASSERT_TRUE(plain.has_value()) << plain.error().message;
    EXPECT_EQ(*plain, text);
    EXPECT_EQ(metadata(key).at(kChecksumKey), base::sha256_hex(text));
    EXPECT_EQ(world_->content_of(key),
              std::pair(std::string("application/json"), std::string(encoding)));
    EXPECT_EQ(write(set, head(9)).unchanged, 1U);
  }
}

TEST_P(ObjectSinkContract, FiftyThousandRowsGoUpInPieces) {
  const auto set = many(50'000, std::string(100, 'y'));
  options_.whole_up_to = std::size_t{6} << 20U;
  const auto text = inventory::envelope_json(set, meta_of(head(0)));
  ASSERT_GT(text.size(), std::size_t{11} << 20U);  // three parts at least
  EXPECT_EQ(write(set, head(0)).bytes, text.size());
  EXPECT_TRUE(bytes(kKey) == text);
  EXPECT_EQ(metadata(kKey).at(kChecksumKey), base::sha256_hex(text));
  EXPECT_EQ(world_->content_of(kKey).first, "application/json");
  EXPECT_EQ(write(set, head(5)).unchanged, 1U);
}

TEST_P(ObjectSinkContract, AnUploadThatDoesNotEndLeavesNothing) {
  const std::string piece(std::size_t{3} << 20U, 'p');
  {
    auto upload = bucket_->start_upload(context_, "half", {"text/plain", "", {}});
    ASSERT_TRUE(upload.has_value()) << upload.error().message;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*upload)->write(context_, piece).has_value());
  }
  EXPECT_THAT(keys(), IsEmpty());
  auto small = bucket_->start_upload(context_, "small", {"text/plain", "", {{"kollect-x", "1"}}});
  ASSERT_TRUE(small.has_value());
  ASSERT_TRUE((*small)->write(context_, "little").has_value());
  ASSERT_TRUE((*small)->finish(context_).has_value());
  EXPECT_EQ(bytes("small"), "little");
  EXPECT_EQ(metadata("small").at("kollect-x"), "1");
}

TEST_P(ObjectSinkContract, OldGenerationsGo) {
  options_.path_template =
      "inventory/ns={namespace}/name={name}/generation={generation}{extension}";
  options_.retain_generations = 2;
  const std::string folder = "inventory/ns=harbor/name=ledger/";
  for (int generation = 8; generation <= 11; ++generation) {
    auto exp = head(generation);
    exp.generation = generation;
    write(set_of({{"a"}}), exp);
  }
  EXPECT_THAT(keys(), ElementsAre(folder + "generation=10.json", folder + "generation=11.json"));
  // What must stay is read from the last generation.
  auto exp = head(20);
  exp.generation = 12;
  exp.keep_namespaces = {"quay"};
  write(set_of({}), exp);
  EXPECT_THAT(keys(), ElementsAre(folder + "generation=11.json", folder + "generation=12.json"));
  EXPECT_EQ(bytes(folder + "generation=12.json"),
            inventory::envelope_json(set_of({{"a"}}), meta_of(exp)));
  // An inventory that was made anew counts from one: higher numbers are older.
  exp.keep_namespaces.clear();
  exp.generation = 1;
  write(set_of({{"b"}}), exp);
  EXPECT_THAT(keys(), ElementsAre(folder + "generation=1.json", folder + "generation=12.json"));
  exp.generation = 2;
  write(set_of({{"b"}}), exp);
  EXPECT_THAT(keys(), ElementsAre(folder + "generation=1.json", folder + "generation=2.json"));
}

TEST_P(ObjectSinkContract, FaultsAreNamedAndClassified) {
  const std::vector<std::pair<Fault, base::ErrorKind>> faults = {
      {Fault::kWrongKey, base::ErrorKind::kDenied},
      {Fault::kNoRights, base::ErrorKind::kDenied},
      {Fault::kWrongCa, base::ErrorKind::kRetryable},
      {Fault::kNoBucket, base::ErrorKind::kTerminal},
      {Fault::kNobodyThere, base::ErrorKind::kRetryable},
  };
  const auto set = set_of({{"a"}});
  for (const auto& [fault, kind] : faults) {
    if (auto bucket = world_->faulty(fault)) {
      const auto broken = make_object_sink(options_, std::move(bucket));
      auto exp = head(0);
      exp.rows = &set;
      const auto report = broken->export_all(context_, {exp}, false);
      const auto probed = broken->probe(context_);
      ASSERT_FALSE(report.has_value()) << static_cast<int>(fault);
      ASSERT_FALSE(probed.has_value()) << static_cast<int>(fault);
      for (const auto& error : {report.error(), probed.error()}) {
        EXPECT_EQ(error.kind, kind) << static_cast<int>(fault) << ": " << error.message;
        if (fault == Fault::kNoBucket) {
          EXPECT_EQ(error.reason, kNoBucket);
        }
        for (const auto& secret : world_->secrets()) {
          EXPECT_THAT(error.message, Not(HasSubstr(secret)));
        }
      }
    }
  }
  EXPECT_TRUE(sink().probe(context_).has_value());
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(ObjectSinkContract, BucketsAreCreatedOnlyWhenAsked) {  // K-13
  const auto set = set_of({{"a"}});
  const auto attempt = [&](bool dry_run) {
    const auto made = make_object_sink(options_, world_->faulty(Fault::kNoBucket));
    auto exp = head(0);
    exp.rows = &set;
    auto report = made->export_all(context_, {exp}, dry_run);
    if (report.has_value()) return std::string("written");
    return report.error().reason;
  };
  EXPECT_EQ(attempt(false), kNoBucket);
  options_.create_bucket = true;
  options_.existing = true;
  EXPECT_EQ(attempt(false), kNoBucket);
  options_.existing = false;
  const auto missing = world_->faulty(Fault::kNoBucket);
  EXPECT_TRUE(make_object_sink(options_, world_->faulty(Fault::kNoBucket))->probe(context_));
  EXPECT_EQ(attempt(true), "written");
  EXPECT_FALSE(missing->check(context_).has_value());
  EXPECT_EQ(attempt(false), "written");
  EXPECT_TRUE(missing->check(context_).has_value());
  EXPECT_TRUE(missing->create(context_).has_value());  // it is ours already
  // The next one must find none.
  ASSERT_TRUE(missing->remove(context_, kKey).has_value());
}

TEST_P(ObjectPassContract, ChangesAreWrittenAndTheRestIsRemembered) {
  upsert({"a"});
  upsert({"b"});
  EXPECT_EQ(pass(0, false).written, 1U);
  EXPECT_EQ(bytes(kKey), envelope(0));
  EXPECT_EQ(pass(1, true).unchanged, 1U);
  upsert({"c"});
  EXPECT_EQ(pass(2, true).written, 1U);
  EXPECT_EQ(bytes(kKey), envelope(2));
  erase({"b"});
  EXPECT_EQ(pass(3, true).written, 1U);
  EXPECT_EQ(bytes(kKey), envelope(3));
  // What others do to the object is found by a comparison, not by a pass with changes.
  ASSERT_TRUE(bucket_->remove(context_, kKey).has_value());
  EXPECT_EQ(pass(4, true).unchanged, 1U);
  EXPECT_EQ(pass(5, false).written, 1U);
  EXPECT_EQ(bytes(kKey), envelope(5));
}

TEST_P(ObjectPassContract, PartsThatDidNotChangeStay) {
  for (int i = 0; i < 20; ++i) upsert({fmt::format("row-{:02}", i)});
  const auto first = pass(0, false, 1600);
  ASSERT_GT(first.written, 3U);
  upsert({"row-00", R"({"n":1})"});
  const auto second = pass(1, true, 1600);
  EXPECT_EQ(second.written, 2U);  // its part and the manifest
  EXPECT_EQ(second.unchanged, first.written - 2);
  EXPECT_THAT(bytes("inventory/harbor/ledger.json.manifest.json"),
              HasSubstr("\"exportedAt\": \"2023-11-14T22:13:21Z\""));
  for (int i = 0; i < 20; ++i) erase({fmt::format("row-{:02}", i)});
  const auto third = pass(2, true, 1600);
  EXPECT_EQ(third.removed, first.written);
  EXPECT_THAT(keys(), ElementsAre(kKey));
  EXPECT_EQ(bytes(kKey), envelope(2));
}

// field-recreated-under-the-same-name: one-row
TEST_P(ObjectPassContract, RenamedAndRecreatedObjects) {
  const TestRow old_row{"job", R"({"n":"old"})", "quay", "u1"};
  const TestRow new_row{"job", R"({"n":"new"})", "quay", "u2"};
  const TestRow renamed{"job-renamed", R"({"n":"new"})", "quay", "u2"};
  for (int i = 0; i < 20; ++i) upsert({fmt::format("row-{:02}", i)});
  const auto rows_of_parts = [&] {
    std::string all;
    for (const auto& key : keys("inventory/harbor/ledger.part-")) all += bytes(key);
    return all;
  };
  for (const std::size_t max_bytes : {std::size_t{0}, std::size_t{1600}}) {
    for (const bool changes_known : {true, false}) {
      upsert(old_row);
      pass(0, false, max_bytes);
      erase(old_row);
      upsert(new_row);  // in one pass with the removal
      EXPECT_GE(pass(1, changes_known, max_bytes).written, 1U);
      const auto after = max_bytes == 0 ? bytes(kKey) : rows_of_parts();
      EXPECT_THAT(after, AllOf(HasSubstr(R"("uid":"u2")"), Not(HasSubstr(R"("uid":"u1")"))));
      upsert(renamed);
      EXPECT_GE(pass(2, changes_known, max_bytes).written, 1U);
      const auto last = max_bytes == 0 ? bytes(kKey) : rows_of_parts();
      EXPECT_THAT(last,
                  AllOf(HasSubstr(R"("name":"job-renamed")"), Not(HasSubstr(R"("name":"job")"))));
      if (max_bytes == 0) {
        EXPECT_EQ(last, envelope(2));
      }
      erase(renamed);
      pass(3, changes_known, max_bytes);
    }
  }
}

// field-backend-crash-between-two-steps: repairs, no-human
TEST_P(ObjectCrashContract, KilledInTheMiddleOfAnUploadAndBack) {
  const std::string text(1000, 'x');
  for (int i = 0; i < 12'000; ++i) {
    upsert({fmt::format("row-{:05}", i), fmt::format(R"({{"text":"{}"}})", text)});
  }
  pass(0, false);
  const auto before = bytes(kKey);
  ASSERT_EQ(before, envelope(0));
  options_.whole_up_to = std::size_t{1} << 20U;
  bool killed = false;
  sink_ = make_object_sink(options_, std::make_unique<Interrupted>(world_->bucket(), [&] {
                             killed = true;
                             world_->kill_server();
                           }));
  upsert({"row-00007", R"({"n":2})"});
  auto report = try_pass(1, false);
  EXPECT_TRUE(killed);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable) << report.error().message;
  // Rows go on while the server is down.
  erase({"row-00008"});
  report = try_pass(2, true);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable) << report.error().message;
  world_->start_server();
  // An emulator may have forgotten its buckets: making one that is there changes nothing.
  ASSERT_TRUE(bucket_->create(context_).has_value());
  for (const auto& key : keys()) EXPECT_EQ(bytes(key), before) << "half an upload is to be seen";
  EXPECT_EQ(pass(3, false).written, 1U);
  EXPECT_THAT(keys(), ElementsAre(kKey));
  EXPECT_EQ(bytes(kKey), envelope(3));
  EXPECT_EQ(pass(4, true).unchanged, 1U);
}

TEST_P(ObjectPassContract, DeletesMadeWhileDownAreFound) {
  for (int i = 0; i < 20; ++i) upsert({fmt::format("row-{:02}", i)});
  pass(0, false, 1600);
  for (int i = 5; i < 20; ++i) erase({fmt::format("row-{:02}", i)});
  sink_ = new_sink();
  const auto report = pass(1, false, 1600);
  EXPECT_GT(report.removed, 1U);
  EXPECT_THAT(keys(), ElementsAre(kKey));
  EXPECT_EQ(bytes(kKey), envelope(1));
}

}  // namespace kollect::sinks::objects::contract
