// What sinks of type s3 do against a real server, made from their specs as the programs make them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "sinks/columns/encoders.h"
#include "sinks/factory.h"
#include "sinks/objects/contract.h"
#include "sinks/objects/s3/s3_bucket.h"
#include "sinks/testing.h"
#include "support/s3_server.h"

namespace kollect::sinks::objects::s3 {
namespace {

using kollect::testing::S3Server;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const base::Context kContext = base::Context::background();

SecretData secret_of(const S3Server& server) {
  return {{"AWS_ACCESS_KEY_ID", base::Secret(server.key())},
          {"AWS_SECRET_ACCESS_KEY", base::Secret(server.secret() + "\n")}};
}

/// A sink from the members of its spec; addresses of this machine are allowed.
base::Result<std::unique_ptr<Sink>> make(const S3Server& server, const std::string& bucket,
                                         const std::string& members,
                                         const std::optional<std::string>& ca = {}) {
  SinkOptions options;
  options.guard_addresses = false;
  const auto spec = testing::parse_json(
      fmt::format(R"({{"type":"s3","cluster":"pier-7","endpoint":"{}/{}/pre/fix"{}}})",
                  server.url(), bucket, members));
  return make_snapshot_sink(testing::sink_of(spec, "ledger"), secret_of(server), ca, options);
}

std::unique_ptr<Bucket> bucket_of(const S3Server& server, const std::string& name,
                                  std::size_t part_bytes = std::size_t{5} << 20U) {
  ClientOptions options;
  options.endpoint = *parse_endpoint(server.url() + "/" + name, false);
  options.region = "us-east-1";
  options.pause = base::Duration::zero();
  BucketOptions settings;
  settings.part_bytes = part_bytes;
  return make_bucket(
      std::make_shared<Client>(
          options, fixed_credentials({server.key(), base::Secret(server.secret()), {}})),
      settings);
}

Export dock_ledger(const inventory::RowSet& rows) {
  Export exp;
  exp.inventory = {"harbor-ops", "dock-ledger"};
  exp.generation = 5;
  exp.exported_at = testing::time_of("2026-02-03T04:05:06.789Z");
  exp.cluster = "pier-7";
  exp.rows = &rows;
  return exp;
}

std::vector<std::string> keys_in(Bucket& bucket) {
  const auto listed = bucket.list(kContext, "");
  EXPECT_TRUE(listed.has_value()) << listed.error().message;
  std::vector<std::string> out;
  for (const auto& one : listed.value_or(std::vector<ObjectInfo>())) out.push_back(one.key);
  return out;
}

TEST(S3Server, TheEnvelopeArrivesByteForByte) {
  auto& server = S3Server::shared();
  const auto rows = testing::named_rows("rows");
  const auto sink = make(server, "exact", R"(,"options":{"createBucket":"true"})");
  ASSERT_TRUE(sink.has_value()) << sink.error().message;
  ASSERT_TRUE((*sink)->probe(kContext).has_value());
  ASSERT_TRUE((*sink)->export_all(kContext, {dock_ledger(rows)}, false).has_value());
  // As a file of the server: nobody of ours has read it back.
  EXPECT_EQ(
      testing::read_text(server.data() / "exact/pre/fix/inventory/harbor-ops/dock-ledger.json"),
      testing::read_text(testing::case_path("envelope/rows.envelope.json")));
}

TEST(S3Server, TablesAreComparedLikeDocuments) {
  auto& server = S3Server::shared();
  const auto rows = testing::named_rows("rows");
  const auto sink = make(server, "tables",
                         R"(,"options":{"createBucket":"true"},"serialization":{"format":"csv"})");
  ASSERT_TRUE(sink.has_value()) << sink.error().message;
  const auto report = (*sink)->export_all(kContext, {dock_ledger(rows)}, false);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const auto file = server.data() / "tables/pre/fix/inventory/harbor-ops/dock-ledger.csv";
  EXPECT_TRUE(testing::read_text(file).starts_with("api_version,attr"));
  // The export time is a column: that alone is no change.
  auto later = dock_ledger(rows);
  later.exported_at += std::chrono::hours(1);
  EXPECT_EQ((*sink)->export_all(kContext, {later}, false)->unchanged, 1U);
  // Rows that could not be read stay in a table too.
  auto kept = dock_ledger(rows);
  const auto none = testing::pods({});
  kept.rows = &none;
  kept.keep_targets = {"fleet"};
  const auto before = testing::read_text(file);
  ASSERT_TRUE((*sink)->export_all(kContext, {kept}, false).has_value());
  EXPECT_THAT(testing::read_text(file), HasSubstr("node-042"));
  EXPECT_LE(testing::read_text(file).size(), before.size());
}

TEST(S3Server, ParquetArrivesWhereTheExampleSays) {
  auto& server = S3Server::shared();
  const auto rows = testing::named_rows("rows");
  const auto file = testing::read_case("objectstore/s3.json");
  std::size_t examples = 0;
  for (const auto& one : file.find("exports")->as_array()) {
    const auto& wanted = *one.find("request");
    if (!wanted.text("path").ends_with(".parquet")) continue;
    ++examples;
    auto spec = one.find("sink")->as_object();
    spec.set("endpoint", server.url() + "/vault");
    spec.set("options", testing::parse_json(R"({"createBucket":"true"})"));
    auto options =
        s3_options(testing::sink_of(base::json::Value(std::move(spec))), secret_of(server), {});
    ASSERT_TRUE(options.has_value()) << options.error().message;
    // The module stands beside the program, two folders above this one.
    columns::ParquetSettings built;
    built.places = {std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../.."};
    options->objects.encoder = *columns::make_parquet_encoder({}, built);
    const auto sink = make_s3_sink(*std::move(options));
    const auto report = sink->export_all(kContext, {dock_ledger(rows)}, false);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    const auto path = base::percent_decode(wanted.text("path"));
    ASSERT_TRUE(path.has_value());
    const auto bytes = testing::read_text(server.data() / path->substr(1));
    inventory::RowSet back;
    ASSERT_TRUE(columns::read_parquet(bytes, built, back).has_value());
    back.seal();
    EXPECT_EQ(back.checksum(), rows.checksum());
    Client client(
        [&] {
          ClientOptions made;
          made.endpoint = *parse_endpoint(server.url() + "/vault", false);
          made.region = "us-east-1";
          return made;
        }(),
        fixed_credentials({server.key(), base::Secret(server.secret()), {}}));
    Request request;
    request.method = "HEAD";
    request.key = path->substr(std::string_view("/vault/").size());
    const auto head = client.send(kContext, request);
    ASSERT_TRUE(head.has_value()) << head.error().message;
    EXPECT_EQ(head->header("content-type"), wanted.text("contentType"));
    EXPECT_EQ(head->header("x-amz-meta-kollect-checksum"), base::sha256_hex(bytes));
    // Equal rows are equal bytes, whichever thread encoded a column first.
    auto later = dock_ledger(rows);
    later.exported_at += std::chrono::hours(1);
    EXPECT_EQ(sink->export_all(kContext, {later}, false)->unchanged, 1U);
  }
  EXPECT_EQ(examples, 1U);
}

TEST(S3Server, TrustComesFromTheSpec) {
  auto& server = S3Server::shared_tls();
  const auto pem = base::read_file(server.ca_file());
  ASSERT_TRUE(pem.has_value());
  const auto rows = testing::named_rows("rows");
  const char* create = R"(,"options":{"createBucket":"true"})";
  const auto outcome = [&](base::Result<std::unique_ptr<Sink>> sink) {
    EXPECT_TRUE(sink.has_value()) << sink.error().message;
    const auto done = (*sink)->export_all(kContext, {dock_ledger(rows)}, false);
    return done.has_value() ? std::string("written") : done.error().reason;
  };
  EXPECT_EQ(outcome(make(server, "trust", create)), "tls");
  EXPECT_EQ(outcome(make(server, "trust", create, *pem)), "written");
  EXPECT_EQ(outcome(make(server, "trust",
                         fmt::format(R"(,"tls":{{"caBundle":"{}"}})", base::base64_encode(*pem)))),
            "written");
  EXPECT_EQ(outcome(make(server, "trust", R"(,"tls":{"insecureSkipVerify":true})")), "written");
}

TEST(S3Server, MoreObjectsThanAPageHas) {
  const auto bucket = bucket_of(S3Server::shared(), "pages");
  ASSERT_TRUE(bucket->create(kContext).has_value());
  for (int i = 0; i < 1001; ++i) {
    ASSERT_TRUE(bucket->put(kContext, fmt::format("p/{:04}", i), "x", {}).has_value());
  }
  ASSERT_TRUE(bucket->put(kContext, "q", "x", {}).has_value());
  EXPECT_EQ(bucket->list(kContext, "p/")->size(), 1001U);
}

TEST(S3Server, KilledWhileAnUploadIsUnderWay) {
  const S3Server server("killed");
  const std::string piece(std::size_t{6} << 20U, 'p');
  const auto bucket = bucket_of(server, "killed");
  ASSERT_TRUE(bucket->create(kContext).has_value());
  {
    const auto rows = testing::named_rows("rows");
    auto sink = make(server, "killed", "");
    ASSERT_TRUE((*sink)->export_all(kContext, {dock_ledger(rows)}, false).has_value());
    auto upload = bucket->start_upload(kContext, "half", {});
    ASSERT_TRUE(upload.has_value()) << upload.error().message;
    ASSERT_TRUE((*upload)->write(kContext, piece).has_value());
    server.kill();
    const auto written = (*upload)->write(kContext, piece);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().kind, base::ErrorKind::kRetryable);
    const auto failed = (*sink)->export_all(kContext, {dock_ledger(rows)}, false);
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().kind, base::ErrorKind::kRetryable);
    server.restart();
    // The same sink goes on, and nothing half is to be seen.
    const auto again = (*sink)->export_all(kContext, {dock_ledger(rows)}, false);
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(again->unchanged, 1U);
    EXPECT_THAT(keys_in(*bucket), ElementsAre("pre/fix/inventory/harbor-ops/dock-ledger.json"));
    auto anew = bucket->start_upload(kContext, "half", {});
    ASSERT_TRUE(anew.has_value());
    ASSERT_TRUE((*anew)->write(kContext, piece).has_value());
    ASSERT_TRUE((*anew)->finish(kContext).has_value());
  }
  EXPECT_EQ(bucket->head(kContext, "half")->value().bytes, piece.size());
  // The upload that the kill left is gone: nobody pays for its parts.
  EXPECT_TRUE(std::filesystem::is_empty(server.data() / "killed/.sgwtmp/multipart"))
      << "parts are left";
}

TEST(S3Server, ACancelledExportLeavesTheOldObject) {
  auto& server = S3Server::shared();
  const auto rows = testing::named_rows("rows");
  const auto more = testing::named_rows("bulk-a");
  auto sink = make(server, "cancelled", R"(,"options":{"createBucket":"true"})");
  ASSERT_TRUE((*sink)->export_all(kContext, {dock_ledger(rows)}, false).has_value());
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled =
      (*sink)->export_all(kContext.with_stop(stop.get_token()), {dock_ledger(more)}, false);
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_EQ(cancelled.error().kind, base::ErrorKind::kCancelled);
  EXPECT_EQ((*sink)->export_all(kContext, {dock_ledger(rows)}, false)->unchanged, 1U);
}

}  // namespace
}  // namespace kollect::sinks::objects::s3
