// Certificates are made, kept and renewed.
#include "webhook/rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "webhook/cluster_state.h"

namespace kollect::webhook {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr base::WallTime kStart{std::chrono::hours(24 * 365 * 56)};
constexpr auto kDay = std::chrono::hours(24);
constexpr auto kSecond = std::chrono::seconds(1);

/// When something made now with this life is due: at two thirds, counted from five minutes ago.
base::WallTime due(base::WallTime now, base::Duration life) {
  return now + life - (life + std::chrono::minutes(5)) / 3;
}

RotationRules rules() {
  RotationRules made;
  made.names = {"hooks.kollect-system.svc", "hooks.kollect-system.svc.cluster.local"};
  return made;
}

Rotation rotated(const std::optional<Certificates>& held, base::WallTime now,
                 const RotationRules& by = rules()) {
  auto made = rotate(held, by, now);
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::move(*made) : Rotation();
}

std::vector<CertificateFacts> read(const std::string& pem) {
  auto found = read_certificates(pem);
  EXPECT_TRUE(found);
  return found ? std::move(*found) : std::vector<CertificateFacts>(1);
}

/// A client that trusts the authorities takes the serving certificate now.
void expect_good(const Certificates& held, base::WallTime now) {
  const auto serving = read(held.serving.certificate_pem);
  EXPECT_TRUE(serving.front().validity.holds(now));
  EXPECT_EQ(serving.front().names, rules().names);
  EXPECT_TRUE(is_pair(held.serving));
  const auto authorities = read(held.authorities_pem);
  EXPECT_TRUE(is_pair({.certificate_pem = authorities.front().pem, .key_pem = held.authority_key}));
  EXPECT_EQ(std::ranges::count_if(authorities,
                                  [&](const auto& one) {
                                    return one.validity.holds(now) &&
                                           is_signed_by(serving.front().pem, one.pem);
                                  }),
            1);
}

TEST(Rotation, MakesAuthorityAndCertificate) {
  const Rotation first = rotated(std::nullopt, kStart);
  EXPECT_TRUE(first.changed);
  expect_good(first.certificates, kStart);
  EXPECT_THAT(read(first.certificates.authorities_pem), SizeIs(1));
  EXPECT_EQ(first.next_look, due(kStart, 90 * kDay));
  // Nothing to do until then.
  for (const base::WallTime now : {kStart, first.next_look - kSecond}) {
    const Rotation again = rotated(first.certificates, now);
    EXPECT_FALSE(again.changed);
    EXPECT_EQ(again.certificates, first.certificates);
    EXPECT_EQ(again.next_look, first.next_look);
  }
}

TEST(Rotation, RenewsTheCertificateAtTwoThirds) {
  const Rotation first = rotated(std::nullopt, kStart);
  const Rotation second = rotated(first.certificates, first.next_look);
  EXPECT_TRUE(second.changed);
  expect_good(second.certificates, first.next_look);
  EXPECT_EQ(second.certificates.authorities_pem, first.certificates.authorities_pem);
  EXPECT_NE(second.certificates.serving.certificate_pem,
            first.certificates.serving.certificate_pem);
  EXPECT_EQ(second.next_look, due(first.next_look, 90 * kDay));
}

TEST(Rotation, ANewAuthorityIsKnownBeforeItIsUsed) {
  RotationRules by = rules();
  by.authority_life = 30 * kDay;  // its certificates end with it
  const Rotation first = rotated(std::nullopt, kStart, by);
  const base::WallTime renewal = due(kStart, 30 * kDay);
  EXPECT_EQ(first.next_look, renewal);
  EXPECT_FALSE(rotated(first.certificates, renewal - kSecond, by).changed);

  const Rotation known = rotated(first.certificates, renewal, by);
  EXPECT_TRUE(known.changed);
  expect_good(known.certificates, renewal);
  const auto authorities = read(known.certificates.authorities_pem);
  ASSERT_THAT(authorities, SizeIs(2));
  EXPECT_EQ(authorities[1].pem, first.certificates.authorities_pem);
  EXPECT_EQ(known.certificates.serving.certificate_pem, first.certificates.serving.certificate_pem);
  EXPECT_EQ(known.next_look, renewal + by.settle);
  EXPECT_FALSE(rotated(known.certificates, renewal + by.settle - kSecond, by).changed);

  const Rotation used = rotated(known.certificates, known.next_look, by);
  EXPECT_TRUE(used.changed);
  expect_good(used.certificates, known.next_look);
  EXPECT_TRUE(is_signed_by(used.certificates.serving.certificate_pem, authorities[0].pem));
  EXPECT_EQ(used.certificates.authorities_pem, known.certificates.authorities_pem);
  EXPECT_FALSE(rotated(used.certificates, known.next_look, by).changed);
  // The one before goes when it has ended.
  const Rotation later = rotated(used.certificates, kStart + 31 * kDay, by);
  EXPECT_TRUE(later.changed);
  EXPECT_EQ(later.certificates.authorities_pem, authorities[0].pem);
  expect_good(later.certificates, kStart + 31 * kDay);
}

TEST(Rotation, ReplacesWhatIsOfNoUse) {
  const Certificates good = rotated(std::nullopt, kStart).certificates;
  const Certificates other = rotated(std::nullopt, kStart).certificates;
  std::vector<std::pair<std::string, Certificates>> broken(7, {"", good});
  broken[0].first = "no serving certificate";
  broken[0].second.serving.certificate_pem = "garbage";
  broken[1].first = "somebody else's key";
  broken[1].second.serving.key_pem = other.serving.key_pem;
  broken[2].first = "somebody else's certificate";
  broken[2].second.serving = other.serving;
  broken[3].first = "no authority";
  broken[3].second.authorities_pem = "";
  broken[4].first = "somebody else's authority";
  broken[4].second.authorities_pem = other.authorities_pem;
  broken[5].first = "no authority key";
  broken[5].second.authority_key = base::Secret("x");
  broken[6].first = "other names";
  RotationRules elsewhere = rules();
  elsewhere.names = {"other.kollect-system.svc"};
  broken[6].second = rotated(std::nullopt, kStart, elsewhere).certificates;
  for (const auto& [what, held] : broken) {
    SCOPED_TRACE(what);
    const Rotation mended = rotated(held, kStart);
    EXPECT_TRUE(mended.changed);
    expect_good(mended.certificates, kStart);
    EXPECT_FALSE(rotated(mended.certificates, kStart).changed);
  }
  // What has ended, too.
  const base::WallTime late = kStart + 4000 * kDay;
  expect_good(rotated(good, late).certificates, late);
}

TEST(Rotation, SecretsHoldItAll) {
  const Certificates made = rotated(std::nullopt, kStart).certificates;
  base::json::Object secret;
  secret.set("data", data_of(made));
  const auto back = certificates_in(secret);
  ASSERT_TRUE(back && back->has_value());
  EXPECT_EQ(**back, made);
  // Empty, or half of it: to be made anew.
  const auto nothing = certificates_in(base::json::Object());
  EXPECT_TRUE(nothing && !nothing->has_value());
  // A certificate without its authority's key is somebody else's.
  secret.find("data")->as_object().erase("ca.key");
  EXPECT_FALSE(certificates_in(secret));
}

base::json::Value webhook(const std::string& ns, const std::string& service,
                          const std::string& bundle) {
  base::json::Object called;
  called.set("namespace", ns);
  called.set("name", service);
  base::json::Object client;
  client.set("service", std::move(called));
  client.set("caBundle", bundle);
  base::json::Object made;
  made.set("clientConfig", std::move(client));
  return made;
}

TEST(Rotation, TellsWhomToTrustWhereItIsCalled) {
  base::json::Object configuration;
  configuration.set(
      "webhooks", base::json::Array{webhook("k", "hooks", "eA=="), webhook("k", "hooks", "YQ=="),
                                    webhook("k", "others", "YQ=="), webhook("o", "hooks", "YQ==")});
  const auto made = with_authorities(configuration, "k", "hooks", "x");
  ASSERT_TRUE(made);
  std::vector<std::string> bundles;
  for (const auto& one : made->as_array()) {
    bundles.emplace_back(one.find("clientConfig")->text("caBundle"));
  }
  EXPECT_THAT(bundles, ElementsAre("eA==", "eA==", "YQ==", "YQ=="));
  configuration.set("webhooks", *made);
  EXPECT_FALSE(with_authorities(configuration, "k", "hooks", "x"));
  EXPECT_FALSE(with_authorities(base::json::Object(), "k", "hooks", "x"));
}

}  // namespace
}  // namespace kollect::webhook
