// The contract of object stores against Azure Blob Storage (an emulator that checks signatures),
// and the three ways of being allowed.
#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "sinks/columns/encoders.h"
#include "sinks/objects/azure/azure_bucket.h"
#include "sinks/objects/contract.h"
#include "support/azure_server.h"
#include "support/certificates.h"
#include "support/http_server.h"

namespace kollect::sinks::objects::contract {
namespace {

using kollect::testing::AzureServer;

std::string key_of(const std::string& text) {
  return base::base64_decode(text).value_or("");
}

/// A shared access signature of a container, with these rights (format: "Create a service SAS" of
/// the Azure Storage REST reference).
std::string signature(const AzureServer& server, const std::string& container,
                      const std::string& rights, const std::string& end = "2099-01-01T00:00:00Z") {
  const std::string version = "2021-12-02";
  const auto text = fmt::format("{}\n\n{}\n/blob/{}/{}\n\n\n\n{}\nc\n\n\n\n\n\n\n", rights, end,
                                server.account(), container, version);
  const auto mac = base::hmac_sha256(key_of(server.key()), text);
  const auto signed_text =
      base::base64_encode({reinterpret_cast<const char*>(mac.data()), mac.size()});
  return fmt::format("sv={}&se={}&sr=c&sp={}&sig={}", version, base::percent_encode(end), rights,
                     base::percent_encode(signed_text));
}

std::shared_ptr<const http::TlsOptions> trust(const std::string& pem) {
  auto made = std::make_shared<http::TlsOptions>();
  made->ca_pem = pem;
  return made;
}

class AzureWorld final : public World {
 public:
  explicit AzureWorld(bool tls)
      : AzureWorld(tls ? AzureServer::shared_tls() : AzureServer::shared(), tls) {}
  AzureWorld(AzureServer& server, bool tls) : server_(server) {
    static int number = 0;
    name_ = fmt::format("contract-{}", number++);
    if (tls) trusted_ = trust(base::read_file(server_.ca_file()).value_or(""));
    const auto made = bucket()->create(context_);
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }

  std::unique_ptr<Bucket> bucket() override {
    return open(server_.url(), name_, by_key(server_.key()));
  }
  std::unique_ptr<Bucket> open_with(std::unique_ptr<azure::Authority> authority) const {
    return open(server_.url(), name_, std::move(authority));
  }
  [[nodiscard]] const AzureServer& server() const { return server_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  std::unique_ptr<Bucket> faulty(Fault fault) override {
    switch (fault) {
      case Fault::kWrongKey:
        return open(server_.url(), name_, by_key(server_.other_key()));
      case Fault::kNoRights:
        return open_with(azure::by_signature(base::Secret(signature(server_, name_, "r"))));
      case Fault::kWrongCa: {
        if (!trusted_) return nullptr;
        const auto right =
            std::exchange(trusted_, trust(kollect::testing::TestAuthority("somebody else").pem()));
        auto made = bucket();
        trusted_ = right;
        return made;
      }
      case Fault::kNoBucket:
        return open(server_.url(), name_ + "-missing", by_key(server_.key()));
      case Fault::kNobodyThere:
        return open(fmt::format("http://127.0.0.1:{}/test", kollect::testing::dead_port()), name_,
                    by_key(server_.key()));
    }
    return nullptr;
  }

  [[nodiscard]] std::vector<std::string> secrets() const override {
    return {server_.key(), key_of(server_.key()), server_.other_key(), key_of(server_.other_key()),
            "sig="};
  }

  std::pair<std::string, std::string> content_of(const std::string& key) override {
    azure::Client client(options(server_.url(), name_), by_key(server_.key()));
    azure::Request request;
    request.method = "HEAD";
    request.key = key;
    const auto answer = client.send(context_, request);
    EXPECT_TRUE(answer.has_value());
    if (!answer.has_value()) return {};
    return {answer->header("content-type").value_or(""),
            answer->header("content-encoding").value_or("")};
  }
  void kill_server() override { server_.kill(); }
  void start_server() override { server_.restart(); }

 private:
  [[nodiscard]] std::unique_ptr<azure::Authority> by_key(const std::string& key) const {
    return azure::by_account_key(server_.account(), base::Secret(key_of(key)));
  }
  [[nodiscard]] azure::ClientOptions options(const std::string& url,
                                             const std::string& name) const {
    azure::ClientOptions out;
    const auto endpoint = azure::parse_endpoint(url + "/" + name, "");
    EXPECT_TRUE(endpoint.has_value()) << endpoint.error().message;
    if (endpoint.has_value()) out.endpoint = *endpoint;
    out.tls = trusted_;
    out.pause = base::Duration::zero();
    return out;
  }
  [[nodiscard]] std::unique_ptr<Bucket> open(const std::string& url, const std::string& name,
                                             std::unique_ptr<azure::Authority> authority) const {
    azure::BucketOptions settings;
    settings.part_bytes = std::size_t{5} << 20U;
    return azure::make_bucket(
        std::make_shared<azure::Client>(options(url, name), std::move(authority)), settings);
  }

  AzureServer& server_;
  std::string name_;
  std::shared_ptr<const http::TlsOptions> trusted_;
  base::Context context_ = base::Context::background();
};

Backend backend(const std::string& name, bool tls) {
  return {name, [tls] { return std::make_unique<AzureWorld>(tls); }};
}

INSTANTIATE_TEST_SUITE_P(Azure, ObjectSinkContract,
                         ::testing::Values(backend("plain", false), backend("tls", true)),
                         backend_name);
INSTANTIATE_TEST_SUITE_P(Azure, ObjectPassContract, ::testing::Values(backend("plain", false)),
                         backend_name);

Backend mortal() {
  return {"azure", [] {
            static AzureServer server("crash");
            return std::make_unique<AzureWorld>(server, false);
          }};
}
INSTANTIATE_TEST_SUITE_P(Azure, ObjectCrashContract, ::testing::Values(mortal()), backend_name);

/// Writes, reads, lists and removes an object; the first error, or "fine".
std::string used(Bucket& bucket) {
  const auto context = base::Context::background();
  const auto run = [&]() -> base::Result<> {
    KL_TRY(bucket.check(context));
    KL_TRY(bucket.put(context, "a/b", "text", {"text/plain", "", {{"kollect-x", "1"}}}));
    KL_ASSIGN(const auto upload, bucket.start_upload(context, "a/c", {"text/plain", "", {}}));
    KL_TRY(upload->write(context, "more"));
    KL_TRY(upload->finish(context));
    KL_ASSIGN(const auto listed, bucket.list(context, "a/"));
    EXPECT_EQ(listed.size(), 2U);
    KL_ASSIGN(const auto text, bucket.get(context, "a/c"));
    EXPECT_EQ(text.value_or("-"), "more");
    KL_ASSIGN(const auto info, bucket.head(context, "a/b"));
    EXPECT_TRUE(info && info->bytes == 4 && info->metadata.at("kollect-x") == "1");
    KL_TRY(bucket.remove(context, "a/b"));
    return bucket.remove(context, "a/c");
  };
  const auto done = run();
  return done.has_value() ? "fine" : done.error().message;
}

TEST(AzureAuthority, SharedAccessSignatures) {
  const AzureWorld world(false);
  const auto with = [&](const std::string& sas) {
    return used(*world.open_with(azure::by_signature(base::Secret(sas))));
  };
  EXPECT_EQ(with(signature(world.server(), world.name(), "rcwdl")), "fine");
  EXPECT_THAT(with(signature(world.server(), world.name(), "rl")),
              ::testing::HasSubstr("403 AuthorizationPermissionMismatch; give it the role"));
  EXPECT_THAT(with(signature(world.server(), world.name(), "rcwdl", "2020-01-01T00:00:00Z")),
              ::testing::HasSubstr("403 "));
  EXPECT_THAT(with(signature(world.server(), "another", "rcwdl")), ::testing::HasSubstr("403 "));
}

std::string base64_url(std::string_view text) {
  auto out = base::base64_encode(text);
  out.erase(out.find_last_not_of('=') + 1);
  return base::replace_all(base::replace_all(std::move(out), "+", "-"), "/", "_");
}

TEST(AzureAuthority, TokensOfTheOwnIdentity) {
  const AzureWorld world(true);
  std::string audience = "https://storage.azure.com";
  std::atomic<int> asked = 0;
  const kollect::testing::HttpServer issuer([&](const kollect::testing::Received&) {
    ++asked;
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                         base::SystemClock().now().time_since_epoch())
                         .count();
    const auto claims = fmt::format(
        R"({{"iss":"https://sts.windows.net/11111111-1111-1111-1111-111111111111/","aud":"{}","nbf":{},"iat":{},"exp":{}}})",
        audience, now - 60, now - 60, now + 3600);
    return kollect::testing::Reply::json(fmt::format(
        R"({{"access_token":"{}.{}.{}","expires_in":3600}})",
        base64_url(R"({"alg":"RS256","typ":"JWT"})"), base64_url(claims), base64_url("signed")));
  });
  const auto identity = [&] {
    return azure::by_own_identity([&](const std::string& name) -> std::optional<std::string> {
      if (name == "AZURE_POD_IDENTITY_AUTHORITY_HOST") return issuer.url();
      return std::nullopt;
    });
  };
  EXPECT_EQ(used(*world.open_with(identity())), "fine");
  EXPECT_EQ(asked, 1);
  // A token for something else is refused, and another one is fetched once.
  audience = "https://elsewhere.example";
  asked = 0;
  EXPECT_THAT(used(*world.open_with(identity())), ::testing::HasSubstr("AuthenticationFailed"));
  EXPECT_LE(asked, 2);
}

/// Tables go the way of every document: written once, left alone, split, kept rows read back.
TEST(AzureTables, CsvAndParquet) {
  AzureWorld world(AzureServer::shared(), false);
  const auto context = base::Context::background();
  columns::ParquetSettings parquet;
  // Where the build puts the module: beside the program, two folders above this one.
  parquet.places = {std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../.."};
  const auto made = columns::make_parquet_encoder({}, parquet);
  ASSERT_TRUE(made.has_value());
  const auto bucket = world.bucket();
  for (const auto& encoder : {columns::make_csv_encoder({}), *made}) {
    ObjectSinkOptions options;
    options.encoder = encoder;
    const auto write = [&](const inventory::RowSet& rows, int second, std::size_t most,
                           const std::vector<std::string>& keep = {}) {
      Export exp;
      exp.inventory = {"harbor", "ledger"};
      exp.generation = 5;
      exp.cluster = "pier 7";
      exp.rows = &rows;
      exp.exported_at = base::WallTime(std::chrono::seconds(kStart + second));
      exp.max_bytes = most;
      exp.keep_namespaces = keep;
      // As a new process would do it.
      const auto report =
          make_object_sink(options, world.bucket())->export_all(context, {exp}, false);
      EXPECT_TRUE(report.has_value()) << report.error().message;
      return report.value_or(ExportReport{});
    };
    const auto names = [&] {
      std::vector<std::string> out;
      for (const auto& one : bucket->list(context, "").value_or(std::vector<ObjectInfo>())) {
        out.push_back(one.key);
      }
      return out;
    };
    const bool csv = encoder->extension() == ".csv";
    const std::string whole =
        csv ? "inventory/harbor/ledger.csv"
            : "inventory/cluster=pier_7/ns=harbor/name=ledger/generation=5.parquet";
    const auto rows = set_of({{"a", R"({"image":"x"})"}, {"b", R"({"image":"y"})"}});
    EXPECT_EQ(write(rows, 0, 0).written, 1U);
    EXPECT_THAT(names(), ::testing::ElementsAre(whole));
    EXPECT_EQ(world.content_of(whole).first, encoder->content_type());
    EXPECT_EQ(write(rows, 9, 0).unchanged, 1U);
    // The namespace of all rows cannot be read: they stay.
    EXPECT_EQ(write(set_of({}), 10, 0, {"quay"}).unchanged, 1U);
    inventory::RowSet back;
    ASSERT_TRUE(encoder->read(bucket->get(context, whole)->value_or(""), back).has_value());
    back.seal();
    EXPECT_EQ(back.checksum(), rows.checksum());
    // Two parts and the manifest that closes them.
    EXPECT_EQ(write(rows, 11, 500).written, 3U);
    EXPECT_THAT(names(), ::testing::SizeIs(3));
    for (const auto& name : names()) ASSERT_TRUE(bucket->remove(context, name).has_value());
  }
}

TEST(AzureOutage, AServiceThatWasKilledIsWrittenAgain) {
  AzureServer server("killed");
  AzureWorld world(server, false);
  const auto context = base::Context::background();
  ObjectSinkOptions options;
  options.encoder = make_json_encoder();
  const auto sink = make_object_sink(options, world.bucket());
  const auto rows = set_of({{"a"}, {"b"}});
  Export exp;
  exp.inventory = {"harbor", "ledger"};
  exp.rows = &rows;
  exp.max_bytes = 0;
  ASSERT_TRUE(sink->export_all(context, {exp}, false).has_value());

  auto bucket = world.bucket();
  auto upload = bucket->start_upload(context, "half", {"text/plain", "", {}});
  ASSERT_TRUE(upload.has_value());
  ASSERT_TRUE((*upload)->write(context, std::string(std::size_t{6} << 20U, 'x')).has_value());
  server.kill();
  const auto changed = set_of({{"a"}, {"c"}});
  exp.rows = &changed;
  const auto down = sink->export_all(context, {exp}, false);
  ASSERT_FALSE(down.has_value());
  EXPECT_EQ(down.error().kind, base::ErrorKind::kRetryable);
  server.restart();

  // What was begun before may be lost; it never appears as a half.
  const auto finished = (*upload)->finish(context);
  const auto half = bucket->get(context, "half");
  ASSERT_TRUE(half.has_value()) << half.error().message;
  EXPECT_EQ(half->has_value(), finished.has_value());
  // The emulator may have forgotten the container too: it is its owner's to make it again.
  if (!finished.has_value() && finished.error().reason != kNoBucket) {
    EXPECT_EQ(finished.error().kind, base::ErrorKind::kRetryable) << finished.error().message;
  }
  ASSERT_TRUE(bucket->create(context).has_value());
  const auto again = sink->export_all(context, {exp}, false);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  const auto text = bucket->get(context, "inventory/harbor/ledger.json");
  ASSERT_TRUE(text.has_value() && text->has_value());
  EXPECT_THAT(**text, ::testing::HasSubstr("\"name\":\"c\""));
}

}  // namespace
}  // namespace kollect::sinks::objects::contract
