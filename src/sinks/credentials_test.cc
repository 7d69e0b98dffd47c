#include "sinks/credentials.h"

#include <gtest/gtest.h>

namespace kollect::sinks {
namespace {

/// A backend that fails in one way.
class Failing final : public Sink {
 public:
  explicit Failing(base::Error error) : error_(std::move(error)) {}
  base::Result<ExportReport> export_all(const base::Context& /*context*/,
                                        const std::vector<Export>& /*exports*/,
                                        bool /*dry_run*/) override {
    return error_;
  }
  base::Result<ExportReport> apply(const base::Context& /*context*/,
                                   const Pass& /*pass*/) override {
    return error_;
  }
  [[nodiscard]] bool takes_changes() const override { return true; }
  base::Result<> probe(const base::Context& /*context*/) override { return error_; }

 private:
  base::Error error_;
};

std::string told(const base::Error& error, const std::string& title) {
  const auto sink = naming_credentials(std::make_unique<Failing>(error), title);
  EXPECT_TRUE(sink->takes_changes());
  const auto context = base::Context::background();
  const std::string message = sink->probe(context).error().message;
  EXPECT_EQ(sink->export_all(context, {}, false).error().message, message);
  EXPECT_EQ(sink->apply(context, Pass()).error().message, message);
  EXPECT_EQ(sink->probe(context).error().reason, error.reason);
  return message;
}

TEST(Credentials, AreNamedWhereTheBackendRefusesThem) {
  const std::string title = "shop/s (key token)";
  EXPECT_EQ(told(base::denied("no entry", "auth"), title),
            "no entry; check Secret shop/s (key token)");
  EXPECT_EQ(told(base::denied("no entry"), title), "no entry; check Secret shop/s (key token)");
  EXPECT_EQ(told(base::denied("no entry", "auth"), ""), "no entry");
  const std::string once = "no entry, check Secret shop/s (key token): closed";
  EXPECT_EQ(told(base::denied(once, "access-denied"), title), once);
  EXPECT_EQ(told(base::denied("may not write", "forbidden"), title), "may not write");
  EXPECT_EQ(told(base::denied("loopback", "address-refused"), title), "loopback");
  EXPECT_EQ(told(base::retryable("nobody there", "unreachable"), title), "nobody there");
}

TEST(Credentials, TitlesHaveNamespaceNameAndKeysButNoValue) {
  api::DatabaseSink sink;
  sink.metadata.ns = "shop";
  sink.spec.type = "postgres";
  sink.spec.postgres.emplace().database_ref.name = "pg";
  const SecretData auth = {{"dsn", base::Secret(" ")},
                           {"extra", base::Secret("hidden")},
                           {"url", base::Secret("hidden")}};
  EXPECT_EQ(credentials_title(sink, auth), "shop/pg (key url)");
  sink.spec.postgres->database_ref.ns = "vault";
  EXPECT_EQ(credentials_title(sink, {}), "vault/pg");
  api::SnapshotSink git;
  git.spec.type = "git";
  EXPECT_EQ(credentials_title(git, auth), "");
  git.spec.secret_ref.emplace().name = "token";
  EXPECT_EQ(credentials_title(git, auth), "kollect-system/token (keys extra, url)");
}

}  // namespace
}  // namespace kollect::sinks
