// Keys, settings and small parts of object sinks. Cases: spec sinks 5.2, 9.3, K-11, K-12, K-40.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "inventory/envelope.h"
#include "sinks/objects/body.h"
#include "sinks/objects/compression.h"
#include "sinks/objects/keys.h"
#include "sinks/objects/object_sink.h"
#include "sinks/objects/xml.h"
#include "sinks/testing.h"

namespace kollect::sinks::objects {
namespace {

using ::testing::HasSubstr;
using testing::pods;

KeyTemplate keys_of(const ObjectSinkOptions& options) {
  return {{options.prefix, options.path_template, options.compression}, *options.encoder};
}

Export dock_ledger(const inventory::RowSet& rows) {
  Export exp;
  exp.rows = &rows;
  exp.inventory = {"harbor-ops", "dock-ledger"};
  exp.generation = 5;
  return exp;
}

TEST(ObjectKeys, ExampleCases) {
  const auto rows = pods({});
  std::size_t parquet = 0;
  const auto file = testing::read_case("paths/object-paths.json");
  for (const auto& one : file.as_array()) {
    auto spec = one.find("sink")->as_object();
    const bool is_parquet = spec.find("objectStore") != nullptr;
    // There an explicit template was ignored (K-40).
    if (is_parquet) {
      ++parquet;
      base::json::Object plain;
      for (const auto& [key, value] : spec) {
        if (key != "pathTemplate") plain.set(key, value);
      }
      spec = plain;
    }
    const auto options = object_sink_options(testing::sink_of(base::json::Value(spec)));
    ASSERT_TRUE(options.has_value()) << options.error().message;
    auto exp = dock_ledger(rows);
    exp.cluster = one.find("sink")->text("cluster");
    std::size_t index = 1;
    std::size_t total = 1;
    if (const auto* part = one.find("part")) {
      index = static_cast<std::size_t>(part->as_array()[0].as_int());
      total = static_cast<std::size_t>(part->as_array()[1].as_int());
    }
    const auto key = keys_of(*options).key(exp, index, total);
    ASSERT_TRUE(key.has_value()) << key.error().message;
    EXPECT_EQ(*key, one.text("objectPath"));
  }
  EXPECT_EQ(parquet, 3U);
}

ObjectSinkOptions options_with(const std::string& path_template,
                               Compression compression = Compression::kNone) {
  ObjectSinkOptions options;
  options.path_template = path_template;
  options.prefix = "pre/fix";
  options.compression = compression;
  options.encoder = make_json_encoder();
  return options;
}

TEST(ObjectKeys, AnExplicitTemplateWinsForParquet) {  // K-40
  const auto rows = pods({});
  const auto spec = testing::parse_json(
      R"({"type":"s3","endpoint":"b","pathTemplate":"x/{name}{extension}",
          "serialization":{"format":"Parquet"},"objectStore":{"format":"json"}})");
  const auto options = object_sink_options(testing::sink_of(spec));
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(keys_of(*options).key(dock_ledger(rows)), "x/dock-ledger.parquet");
}

TEST(ObjectKeys, PatternsKnowTheirOwn) {
  const auto rows = pods({});
  const auto exp = dock_ledger(rows);
  const auto pattern =
      KeyPattern::of(keys_of(options_with("x/{namespace}/{name}/g{generation}-{name}{extension}",
                                          Compression::kZstd)),
                     exp);
  ASSERT_TRUE(pattern.has_value());
  EXPECT_EQ(pattern->common_prefix(), "pre/fix/x/harbor-ops/dock-ledger");
  const std::string folder = "pre/fix/x/harbor-ops/dock-ledger";
  const auto match = pattern->match(folder + "/g5-dock-ledger.json.zst");
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->generation, 5);
  EXPECT_EQ(pattern->match(folder + ".part-0001-of-0003/g17-dock-ledger.part-0001-of-0003.json.zst")
                ->generation,
            17);
  for (const char* other : {"/g5-dock-ledger.json", "/g-dock-ledger.json.zst",
                            "/g5-dock-ledger.json.zst.bak", "-2/g5-dock-ledger-2.json.zst",
                            ".part-0001-of-0003/g17-dock-ledger.part-0002-of-0003.json.zst",
                            ".part-1-of-3/g17-dock-ledger.part-1-of-3.json.zst",
                            "/g99999999999999999999-dock-ledger.json.zst"}) {
    EXPECT_FALSE(pattern->match(folder + other).has_value()) << other;
  }
}

TEST(ObjectKeys, ManifestAndCompressedNames) {
  const auto rows = pods({});
  const auto keys = keys_of(options_with("", Compression::kGzip));
  EXPECT_EQ(keys.key(dock_ledger(rows)), "pre/fix/inventory/harbor-ops/dock-ledger.json.gz");
  EXPECT_EQ(keys.key(dock_ledger(rows), 2, 12),
            "pre/fix/inventory/harbor-ops/dock-ledger.part-0002-of-0012.json.gz");
  EXPECT_EQ(keys.manifest_key(dock_ledger(rows)),
            "pre/fix/inventory/harbor-ops/dock-ledger.json.manifest.json");
}

TEST(ObjectKeys, ClustersThatAreNoFolders) {  // field-names-with-colons-and-slashes
  const auto rows = pods({});
  const auto keys = keys_of(options_with("{cluster}/{namespace}/{name}{extension}"));
  for (const auto& [cluster, folder] : std::map<std::string, std::string>{
           {"arn:aws:eks:eu-north-1:000000000000:cluster/prod",
            "arn-aws-eks-eu-north-1-000000000000-cluster-prod"},
           {"rak5/c28r7ot20s0mbcas9940", "rak5-c28r7ot20s0mbcas9940"},
           {"kind-dev@home", "kind-dev@home"},
           {"..", "default"}}) {
    auto exp = dock_ledger(rows);
    exp.cluster = cluster;
    EXPECT_EQ(keys.key(exp), "pre/fix/" + folder + "/harbor-ops/dock-ledger.json");
  }
}

TEST(ObjectKeys, KeysThatCannotBe) {
  const auto rows = pods({});
  for (const auto& path :
       {std::string("/abs/{namespace}/{name}"), std::string("a/../{namespace}/{name}"),
        fmt::format("{0}/{0}/{0}/{0}/{0}/{{namespace}}/{{name}}", std::string(250, 'k'))}) {
    const auto key = keys_of(options_with(path)).key(dock_ledger(rows));
    EXPECT_FALSE(key.has_value()) << path;
  }
}

TEST(ObjectSettings, FormatsAndCompression) {  // K-11, K-12
  const auto made = [](const std::string& members) {
    return object_sink_options(
        testing::sink_of(testing::parse_json(R"({"type":"s3","endpoint":"b")" + members + "}")));
  };
  EXPECT_EQ(made("")->encoder->extension(), ".json");
  const auto csv = made(R"(,"serialization":{"format":"csv","compression":"gzip"})");
  ASSERT_TRUE(csv.has_value()) << csv.error().message;
  EXPECT_EQ(csv->encoder->extension(), ".csv");
  EXPECT_EQ(csv->compression, Compression::kGzip);
  const auto parquet = made(R"(,"serialization":{"compression":"snappy"},
                               "objectStore":{"format":"parquet"})");
  ASSERT_TRUE(parquet.has_value()) << parquet.error().message;
  EXPECT_EQ(parquet->compression, Compression::kNone);
  const auto snappy = made(R"(,"serialization":{"compression":"snappy"})");
  ASSERT_FALSE(snappy.has_value());
  EXPECT_THAT(snappy.error().message, HasSubstr("snappy"));
  EXPECT_TRUE(made(R"(,"provisioning":{"mode":"existing"})")->existing);
  const auto options = made(R"(,"options":{"createBucket":"True","retainGenerations":" 7 "})");
  EXPECT_TRUE(options->create_bucket);
  EXPECT_EQ(options->retain_generations, 7U);
  for (const char* bad : {R"("createBucket":"yes")", R"("retainGenerations":"0")",
                          R"("retainGenerations":"-1")", R"("retainGenerations":"many")"}) {
    const auto refused = made(fmt::format(R"(,"options":{{{}}})", bad));
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().kind, base::ErrorKind::kConfiguration);
    EXPECT_THAT(refused.error().message, HasSubstr("spec.options["));
  }
}

TEST(ObjectCompression, BothWays) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += fmt::format("{} ", i * 7919);
  for (const auto how : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    std::string packed;
    const auto compressor = make_compressor(how, [&](std::string_view piece) -> base::Result<> {
      packed += piece;
      return {};
    });
    ASSERT_TRUE(compressor.has_value());
    for (std::size_t at = 0; at < text.size(); at += 10'007) {
      ASSERT_TRUE((*compressor)->write(std::string_view(text).substr(at, 10'007)).has_value());
    }
    ASSERT_TRUE((*compressor)->finish().has_value());
    const auto plain = decompress(packed, text.size());
    ASSERT_TRUE(plain.has_value()) << plain.error().message;
    EXPECT_TRUE(*plain == text);
    if (how == Compression::kNone) continue;
    EXPECT_LT(packed.size(), text.size());
    EXPECT_FALSE(decompress(packed, text.size() - 1).has_value());
    EXPECT_FALSE(decompress(packed.substr(0, packed.size() / 2), text.size()).has_value());
    packed[packed.size() / 2] ^= 0x55;
    EXPECT_FALSE(decompress(packed, text.size()).has_value());
  }
}

/// What a rendering with room for `limit` bytes says of a document at two times.
void expect_rendered(const Encoder& encoder, const Document& document, Compression compression,
                     std::size_t limit) {
  for (const auto time : {base::WallTime(std::chrono::seconds(1'700'000'000)),
                          base::WallTime(std::chrono::nanoseconds(1'700'000'000'120'000'000))}) {
    auto at = document;
    at.exported_at = time;
    std::string plain;
    const auto add = [&](std::string_view piece) -> base::Result<> {
      plain += piece;
      return {};
    };
    ASSERT_TRUE(encoder.write(at, add).has_value());
    Rendering fresh(encoder, at, compression, limit);
    Rendering asked(encoder, at, compression, limit);
    EXPECT_EQ(asked.checksum(time - std::chrono::seconds(1)).has_value(), true);
    for (Rendering* rendering : {&fresh, &asked}) {
      const auto body = rendering->body();
      ASSERT_TRUE(body.has_value()) << body.error().message;
      EXPECT_EQ(body->checksum, base::sha256_hex(plain));
      EXPECT_EQ(*rendering->checksum(time), body->checksum);
      if (compression == Compression::kNone) {
        EXPECT_EQ(body->bytes.has_value(), plain.size() <= limit);
      }
      if (!body->bytes) continue;
      EXPECT_TRUE(*decompress(std::string(*body->bytes), plain.size()) == plain);
    }
  }
}

TEST(ObjectRendering, TheSameBytesWhateverIsKept) {
  std::vector<std::pair<std::string, std::string>> names;
  for (int i = 0; i < 900; ++i) names.emplace_back("quay", fmt::format("pod-{:04}", i));
  const auto rows = pods(names);
  const auto exp = dock_ledger(rows);
  Document whole;
  whole.exp = &exp;
  whole.last = rows.size();
  auto part = whole;
  part.first = 100;
  part.last = 500;
  part.part_index = 2;
  part.part_total = 3;
  const auto none = pods({});
  const auto empty = dock_ledger(none);
  Document nothing;
  nothing.exp = &empty;
  for (const char* format : {"json", "ndjson", "csv"}) {
    const auto encoder = make_encoder(format, {});
    ASSERT_TRUE(encoder.has_value());
    for (const auto how : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
      for (const std::size_t limit : {std::size_t{0}, std::size_t{90'000}, std::size_t{1} << 30U}) {
        expect_rendered(**encoder, whole, how, limit);
      }
      expect_rendered(**encoder, part, how, 1'000'000);
      expect_rendered(**encoder, nothing, how, 1'000'000);
    }
  }
}

TEST(ObjectRendering, AnEnvelopeIsThatOfTheInventory) {
  const auto rows = pods({{"q", "a"}, {"q", "b"}, {"q", "c"}});
  const auto exp = dock_ledger(rows);
  Document document;
  document.exp = &exp;
  document.first = 1;
  document.last = 3;
  document.part_index = 2;
  document.part_total = 2;
  document.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000));
  const auto encoder = make_json_encoder();
  Rendering rendering(*encoder, document, Compression::kNone, 1'000'000);
  inventory::EnvelopeMeta meta;
  meta.generation = exp.generation;
  meta.part_index = 2;
  meta.part_total = 2;
  meta.exported_at = document.exported_at;
  EXPECT_EQ(rendering.body()->checksum,
            base::sha256_hex(inventory::envelope_json(rows, 1, 3, meta)));
}

TEST(ObjectXml, AnswersOfStores) {
  const auto root = parse_xml(
      "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- a -->"
      "<s:List xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\" odd='>'>"
      "<Contents><Key>a&amp;b&lt;&#x1F6A2;&#252;<![CDATA[<raw>]]></Key><Size>5</Size></Contents>"
      "<Empty/><Contents><Key> blank </Key></Contents></s:List>\n");
  ASSERT_TRUE(root.has_value()) << root.error().message;
  EXPECT_EQ(root->name, "List");
  ASSERT_EQ(root->children.size(), 3U);
  EXPECT_EQ(root->children[0].text_of("Key"), "a&b<🚢ü<raw>");
  EXPECT_EQ(root->children[2].text_of("Key"), " blank ");
  EXPECT_EQ(root->text_of("Absent"), "");
  EXPECT_EQ(xml_escape("<a&\"b\">"), "&lt;a&amp;&quot;b&quot;&gt;");
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "<a>";
  for (const std::string& bad :
       {std::string(), std::string("no"), std::string("<a>"), std::string("<a></b>"),
        std::string("<a/><b/>"), std::string("<a>&nope;</a>"), std::string("<a>&#xD800;</a>"),
        std::string("<a b></a>"), std::string("<a b=c></a>"), std::string("<a>&amp</a>"),
        std::string("<!DOCTYPE a><a/>"), std::string("<a><!-- </a>"), std::string("<:></.:>"),
        deep}) {
    const auto refused = parse_xml(bad);
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().kind, base::ErrorKind::kRetryable);
  }
}

}  // namespace
}  // namespace kollect::sinks::objects
