// The contract of object stores against an emulator of Google Cloud Storage.
#include "base/hash.h"
#include "base/json/document.h"
#include "sinks/objects/contract.h"
#include "sinks/objects/gcs/gcs_bucket.h"
#include "support/http_server.h"
#include "support/server_script.h"

namespace kollect::sinks::objects::contract {
namespace {

using kollect::testing::ServerScript;

const ServerScript& shared() {
  static const ServerScript script("gcs.sh", "shared");
  return script;
}

class GcsWorld final : public World {
 public:
  explicit GcsWorld(const ServerScript& server) : server_(server) {
    static int number = 0;
    name_ = fmt::format("contract-{}", number++);
    const auto made = bucket()->create(context_);
    EXPECT_TRUE(made.has_value()) << made.error().message;
  }
  std::unique_ptr<Bucket> bucket() override { return open(url_, name_); }
  std::unique_ptr<Bucket> faulty(Fault fault) override {
    if (fault == Fault::kNoBucket) return open(url_, name_ + "-missing");
    if (fault != Fault::kNobodyThere) return nullptr;  // it checks no credentials
    return open(fmt::format("http://127.0.0.1:{}", kollect::testing::dead_port()), name_);
  }
  [[nodiscard]] std::vector<std::string> secrets() const override { return {}; }
  std::pair<std::string, std::string> content_of(const std::string& key) override {
    google::Api api(options(url_));
    const auto answer = api.send(
        context_, {.path = fmt::format("/storage/v1/b/{}/o/{}", name_, base::percent_encode(key)),
                   .doing = "looking"});
    EXPECT_TRUE(answer.has_value());
    if (!answer.has_value()) return {};
    const auto document = base::json::Document::parse(answer->body);
    return {std::string(document->root().text("contentType")),
            std::string(document->root().text("contentEncoding"))};
  }
  void kill_server() override { server_.run("kill"); }
  void start_server() override { server_.run("start"); }

 private:
  static google::ApiOptions options(const std::string& url) {
    google::ApiOptions out;
    out.name = "gcs";
    out.base_url = url;
    out.pause = base::Duration::zero();
    return out;
  }
  static std::unique_ptr<Bucket> open(const std::string& url, const std::string& name) {
    gcs::BucketOptions settings;
    settings.name = name;
    settings.project = "test";
    settings.chunk_bytes = std::size_t{5} << 20U;
    return gcs::make_bucket(std::make_shared<google::Api>(options(url)), settings);
  }

  const ServerScript& server_;
  std::string url_ = server_.value("STORAGE_EMULATOR_HOST");
  std::string name_;
  base::Context context_ = base::Context::background();
};

Backend backend() {
  return {"gcs", [] { return std::make_unique<GcsWorld>(shared()); }};
}
Backend mortal() {
  return {"gcs", [] {
            static const ServerScript server("gcs.sh", "crash");
            return std::make_unique<GcsWorld>(server);
          }};
}

INSTANTIATE_TEST_SUITE_P(Gcs, ObjectSinkContract, ::testing::Values(backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(Gcs, ObjectPassContract, ::testing::Values(backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(Gcs, ObjectCrashContract, ::testing::Values(mortal()), backend_name);

}  // namespace
}  // namespace kollect::sinks::objects::contract
