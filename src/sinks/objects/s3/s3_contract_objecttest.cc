// The contract of object stores against a real S3 server, plain and over TLS.
#include "base/files.h"
#include "sinks/objects/contract_cases.h"
#include "sinks/objects/s3/s3_bucket.h"
#include "support/http_server.h"
#include "support/s3_server.h"

namespace kollect::sinks::objects::contract {
namespace {

using kollect::testing::S3Server;

class S3World final : public World {
 public:
  explicit S3World(bool tls) : S3World(tls ? S3Server::shared_tls() : S3Server::shared(), tls) {}
  S3World(S3Server& server, bool tls) : server_(server) {
    static int number = 0;
    name_ = fmt::format("contract-{}", number++);
    if (tls) trusted_ = trust(server_.ca_file());
    const auto made = bucket()->create(context_);
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }

  std::unique_ptr<Bucket> bucket() override {
    return open(server_.url(), name_, {server_.key(), base::Secret(server_.secret()), {}});
  }

  std::unique_ptr<Bucket> faulty(Fault fault) override {
    const s3::Credentials keys{server_.key(), base::Secret(server_.secret()), {}};
    switch (fault) {
      case Fault::kWrongKey:
        return open(server_.url(), name_, {server_.key(), base::Secret("wr0ng/secret"), {}});
      case Fault::kNoRights:
        return open(server_.url(), name_,
                    {server_.other_key(), base::Secret(server_.other_secret()), {}});
      case Fault::kWrongCa: {
        if (!trusted_) return nullptr;
        const auto right = std::exchange(trusted_, trust(other_authority()));
        auto made = open(server_.url(), name_, keys);
        trusted_ = right;
        return made;
      }
      case Fault::kNoBucket:
        return open(server_.url(), name_ + "-missing", keys);
      case Fault::kNobodyThere:
        return open(fmt::format("http://127.0.0.1:{}", kollect::testing::dead_port()), name_, keys);
    }
    return nullptr;
  }

  [[nodiscard]] std::vector<std::string> secrets() const override {
    return {server_.key(), server_.secret(), "wr0ng", server_.other_key() + ":",
            server_.other_secret()};
  }

  std::pair<std::string, std::string> content_of(const std::string& key) override {
    s3::Client client(options(server_.url(), name_),
                      s3::fixed_credentials({server_.key(), base::Secret(server_.secret()), {}}));
    s3::Request request;
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
  static std::shared_ptr<const http::TlsOptions> trust(const std::filesystem::path& file) {
    const auto pem = base::read_file(file);
    EXPECT_TRUE(pem.has_value());
    auto made = std::make_shared<http::TlsOptions>();
    if (pem.has_value()) made->ca_pem = *pem;
    return made;
  }
  /// The certificate of another server.
  static std::filesystem::path other_authority() {
    static const S3Server other("other-authority", true);
    return other.ca_file();
  }

  [[nodiscard]] s3::ClientOptions options(const std::string& url, const std::string& name) const {
    s3::ClientOptions out;
    const auto endpoint = s3::parse_endpoint(url + "/" + name, false);
    EXPECT_TRUE(endpoint.has_value());
    if (endpoint.has_value()) out.endpoint = *endpoint;
    out.region = "us-east-1";
    out.tls = trusted_;
    out.pause = base::Duration::zero();
    return out;
  }
  std::unique_ptr<Bucket> open(const std::string& url, const std::string& name,
                               s3::Credentials keys) {
    s3::BucketOptions settings;
    settings.part_bytes = std::size_t{5} << 20U;
    return s3::make_bucket(
        std::make_shared<s3::Client>(options(url, name), s3::fixed_credentials(std::move(keys))),
        settings);
  }

  S3Server& server_;
  std::string name_;
  std::shared_ptr<const http::TlsOptions> trusted_;
  base::Context context_ = base::Context::background();
};

Backend backend(const std::string& name, bool tls) {
  return {name, [tls] { return std::make_unique<S3World>(tls); }};
}

INSTANTIATE_TEST_SUITE_P(S3, ObjectSinkContract,
                         ::testing::Values(backend("plain", false), backend("tls", true)),
                         backend_name);
INSTANTIATE_TEST_SUITE_P(S3, ObjectPassContract, ::testing::Values(backend("plain", false)),
                         backend_name);

Backend mortal() {
  return {"s3", [] {
            static S3Server server("crash");
            return std::make_unique<S3World>(server, false);
          }};
}
INSTANTIATE_TEST_SUITE_P(S3, ObjectCrashContract, ::testing::Values(mortal()), backend_name);

}  // namespace
}  // namespace kollect::sinks::objects::contract
