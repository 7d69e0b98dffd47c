#include "extract/helm.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/json/write.h"
#include "extract/program.h"

namespace kollect::extract {
namespace {

using base::base64_encode;
using base::json::Document;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

constexpr std::string_view kRelease =
    R"({"name":"shop","namespace":"n","version":3,"info":{"status":"deployed",)"
    R"("last_deployed":"2026-01-02T03:04:05.123456789+01:00"},)"
    R"("chart":{"metadata":{"name":"shop","version":"1.2.3","appVersion":"2.0","annotations":{"a.b/c":"d"}}},)"
    R"("config":{"db":{"password":"hunter2"},"list":[1,9007199254740993]}})";

Document object(std::string_view payload, std::string_view kind = "Secret") {
  std::string json =
      R"({"apiVersion":"v1","kind":")" + std::string(kind) +
      R"(","metadata":{"name":"sh.helm.release.v1.shop.v3","namespace":"n"},"data":{"release":)";
  base::json::append_string(json, payload);
  auto document = Document::parse(json + "}}");
  EXPECT_TRUE(document);
  return std::move(*document);
}

/// The field's value as JSON, "absent", or the error.
std::string field(std::string_view name, const Document& document,
                  std::size_t max_bytes = 32 * kMiB) {
  auto compiled = HelmField::compile(name);
  if (!compiled) return "refused: " + compiled.error();
  auto release = HelmRelease::decode(document.root(), max_bytes);
  if (!release) return (release.error().limit ? "limit: " : "error: ") + release.error().message;
  const auto value = compiled->find(release->root());
  return value ? base::json::canonical(*value) : "absent";
}

TEST(Helm, LayersAreRecognisedByContent) {
  const auto packed = gzip(kRelease);
  auto broken_lines = base64_encode(packed);
  for (std::size_t i = 60; i < broken_lines.size(); i += 61) broken_lines.insert(i, "\n");
  const std::string payloads[] = {
      base64_encode(base64_encode(packed)),
      base64_encode(packed),
      base64_encode(base64_encode(kRelease)),
      base64_encode(kRelease),
      base64_encode(gzip(kRelease.substr(0, 40)) + gzip(kRelease.substr(40))),
      broken_lines,
  };
  for (const auto& payload : payloads)
    EXPECT_EQ(field("chartVersion", object(payload)), "\"1.2.3\"");
  EXPECT_EQ(field("name", object(base64_encode("null"))), "absent");
  EXPECT_EQ(field("name", object(base64_encode(base64_encode("null")))), "absent");
}

TEST(Helm, FieldsAndPaths) {
  const auto document = object(base64_encode(kRelease));
  EXPECT_EQ(field("releaseName", document), "\"shop\"");
  EXPECT_EQ(field("revision", document), "3");
  EXPECT_EQ(field("Revision", document), "absent");
  EXPECT_EQ(field("lastDeployed", document), "\"2026-01-02T03:04:05.123456789+01:00\"");
  EXPECT_EQ(field("chart.metadata.annotations['a.b/c']", document), "\"d\"");
  EXPECT_EQ(field("chart.metadata.annotations.a\\.b/c", document), "\"d\"");
  EXPECT_EQ(field("config.list[1]", document), "9007199254740993");
  EXPECT_EQ(field("config.list[-1]", document), "9007199254740993");
  EXPECT_EQ(field("config.list[7]", document), "absent");
  EXPECT_EQ(field("name.x", document), "absent");
  EXPECT_EQ(field("name[0]", document), "absent");
  EXPECT_EQ(field("config.list.0", document), "absent");
}

TEST(Helm, RefusedInEverySpelling) {
  for (const auto* name : {"manifest", "manifest.x", "hooks", "hooks[0]", "chart",
                           "chart.templates", "chart['templates']", "chart[\"values\"].x",
                           "chart.files[0]", "chart.raw", "chart.va\\lues", "chart[0]"}) {
    EXPECT_TRUE(field(name, object(base64_encode(kRelease))).starts_with("refused: ")) << name;
    EXPECT_NE(field(name, object(base64_encode(kRelease))).find("refused", 9), std::string::npos)
        << name;
  }
  for (const auto* name : {"", ".name", "name.", "chart..x", "a[*]", "a.*", "a[?(@.x)]", "a['x'",
                           "a b", "a]", "$.name"}) {
    EXPECT_TRUE(field(name, object(base64_encode(kRelease))).starts_with("refused: ")) << name;
  }
}

TEST(Helm, BrokenPayloads) {
  const auto packed = base64_encode(base64_encode(gzip(kRelease)));
  EXPECT_TRUE(field("name", object(packed.substr(0, packed.size() * 6 / 10 / 4 * 4)))
                  .starts_with("error: "));
  EXPECT_TRUE(field("name", object(packed.substr(0, packed.size() * 6 / 10 / 4 * 4 - 1)))
                  .starts_with("error: "));
  EXPECT_TRUE(field("name", object(base64_encode(gzip(kRelease) + "x"))).starts_with("error: "));
  EXPECT_TRUE(field("name", object(base64_encode("[1,2]"))).starts_with("error: "));
  EXPECT_TRUE(field("name", object("%%%")).starts_with("error: "));
  EXPECT_TRUE(field("name", object("")).starts_with("error: "));
  for (const auto* json :
       {R"({})", R"({"data":{}})", R"({"data":{"release":7}})", R"({"data":[]})"}) {
    EXPECT_TRUE(field("name", *Document::parse(json)).starts_with("error: ")) << json;
  }
}

TEST(Helm, SizeIsCountedWhileUnpacking) {
  std::string text = R"({"name":")" + std::string(2000, 'x') + "\"}";
  EXPECT_TRUE(field("name", object(base64_encode(gzip(text))), 1000).starts_with("limit: "));
  EXPECT_TRUE(field("name", object(base64_encode(text)), 1000).starts_with("limit: "));
  EXPECT_TRUE(field("name", object(base64_encode(gzip(text))), text.size()).starts_with("\"xxx"));
}

// field-helm-release-wrapped-twice
TEST(Helm, ReleaseWrappedTwice) {
  api::ProfileSpec spec;
  spec.target_gvk = {"", "v1", "Secret"};
  for (const auto& [name, path] : {std::pair("chart", "helm:release.chart.metadata.name"),
                                   std::pair("version", "helm:release.chart.metadata.version"),
                                   std::pair("status", "helm:release.info.status")}) {
    api::Attribute attribute;
    attribute.name = name;
    attribute.path = path;
    attribute.type = "string";
    spec.attributes.push_back(attribute);
  }
  Program::CompileInput input;
  input.spec = &spec;
  auto program = Program::compile(input);
  ASSERT_TRUE(program);
  const auto run = [&](const Document& document) {
    auto extracted = program->extract(document.root(), {});
    return extracted ? extracted->attributes_json
                     : std::string(to_string(extracted.error().error_class)) + ": " +
                           extracted.error().message;
  };
  constexpr auto* kRow = R"({"chart":"shop","status":"deployed","version":"1.2.3"})";
  const auto packed = base64_encode(base64_encode(gzip(kRelease)));
  EXPECT_EQ(run(object(packed)), kRow);
  EXPECT_EQ(run(object(base64_encode(base64_encode(kRelease)))), kRow);
  EXPECT_EQ(run(object(base64_encode(gzip(kRelease)), "ConfigMap")), kRow);

  std::string big(kRelease.substr(0, kRelease.size() - 1));
  big += R"(,"manifest":")" + std::string(1500 << 10U, 'm') + R"(","x":")" +
         std::string(5 * kMiB, 'x') + "\"}";
  EXPECT_EQ(run(object(base64_encode(base64_encode(gzip(big))))), kRow);

  const auto cut = run(object(packed.substr(0, packed.size() * 6 / 10)));
  EXPECT_TRUE(cut.starts_with("helm: ")) << cut;
  EXPECT_NE(cut.find("n/sh.helm.release.v1.shop.v3"), std::string::npos) << cut;
  EXPECT_EQ(cut.find("hunter2"), std::string::npos);

  // 2 GiB of zeros in 32 members: never unpacked beyond the limit.
  const std::string zeros(64 * kMiB, '\0');
  const auto member = gzip(zeros);
  std::string members;
  for (int i = 0; i < 32; ++i) members += member;
  const auto bomb = object(base64_encode(base64_encode(members)));
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const auto failed = run(bomb);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_TRUE(failed.starts_with("limit: ")) << failed;
  EXPECT_NE(failed.find("n/sh.helm.release.v1.shop.v3"), std::string::npos) << failed;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 70 << 10);  // KiB
#endif
}

}  // namespace
}  // namespace kollect::extract
