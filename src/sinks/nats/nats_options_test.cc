// Settings of sinks of type nats, their subjects, and keys of NATS.
#include <gmock/gmock.h>

#include "sinks/nats/nkey.h"
#include "sinks/nats/options.h"

namespace kollect::sinks::nats {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

api::EventSink sink(std::string url = "nats://bus.quay.example") {
  api::EventSink out;
  out.metadata.name = "bus";
  out.spec.type = "nats";
  out.spec.nats.emplace();
  out.spec.nats->url = std::move(url);
  out.spec.nats->subject = "kollect.inventory";
  return out;
}

base::Error refused(const api::EventSink& made, const SecretData& auth = {}) {
  const auto read = nats_options(made, auth, std::nullopt);
  EXPECT_FALSE(read.has_value());
  if (read.has_value()) return {};
  EXPECT_EQ(read.error().kind, base::ErrorKind::kConfiguration);
  EXPECT_THAT(read.error().message, HasSubstr("sink bus: "));
  return read.error();
}

TEST(NatsOptions, Defaults) {
  const auto made = nats_options(sink(), {}, std::nullopt).value();
  ASSERT_THAT(made.servers, SizeIs(1));
  EXPECT_EQ(made.servers[0].host, "bus.quay.example");
  EXPECT_EQ(made.servers[0].port, 4222);
  EXPECT_FALSE(made.servers[0].tls || made.wants_tls);
  EXPECT_EQ(made.stream, "kollect_events");
  EXPECT_TRUE(made.ensure);
  EXPECT_FALSE(made.changes);
  EXPECT_EQ(made.settings.duplicate_window, std::chrono::minutes(2));
}

TEST(NatsOptions, FormsOfUrls) {
  struct Case {
    const char* url;
    const char* host;
    int port;
    bool tls;
  };
  for (const Case& one : {Case{"nats://a:4333", "a", 4333, false},
                          {"tls://a", "a", 4222, true},
                          {"NATS://a/", "a", 4222, false},
                          {"a:1", "a", 1, false},
                          {"nats://[::1]:4333", "::1", 4333, false},
                          {"[fd00::7]", "fd00::7", 4222, false},
                          {"fd00::7", "fd00::7", 4222, false},
                          {" nats://u:p@a:7 ", "a", 7, false}}) {
    Login login;
    const auto servers = read_servers(one.url, login);
    ASSERT_TRUE(servers.has_value()) << one.url << servers.error().message;
    EXPECT_EQ(servers->at(0).host, one.host) << one.url;
    EXPECT_EQ(servers->at(0).port, one.port) << one.url;
    EXPECT_EQ(servers->at(0).tls, one.tls) << one.url;
  }
  Login login;
  EXPECT_THAT(read_servers("nats://a, tls://b:1,c", login).value(), SizeIs(3));
  for (const char* bad : {"", " , ", "ws://a", "http://a", "nats://", "nats://a:0", "nats://a:x",
                          "nats://a:70000", "nats://[::1", "nats://a/path", "nats://u:hunter2@"}) {
    const auto servers = read_servers(bad, login);
    ASSERT_FALSE(servers.has_value()) << bad;
    EXPECT_EQ(servers.error().reason, "bad-endpoint");
    EXPECT_THAT(servers.error().message, Not(HasSubstr("hunter2")));
  }
}

TEST(NatsOptions, TheSecretGoesBeforeTheUrl) {
  auto made = sink("nats://u%40x:p%3aw@bus");
  auto read = nats_options(made, {}, std::nullopt).value();
  EXPECT_EQ(read.login.username.reveal(), "u@x");
  EXPECT_EQ(read.login.password.reveal(), "p:w");
  read = nats_options(made, {{"token", base::Secret("t\n")}}, std::nullopt).value();
  EXPECT_EQ(read.login.token.reveal(), "t");  // K-16
  EXPECT_TRUE(read.login.username.empty());
  made.spec.nats->url.clear();
  made.spec.endpoint = "tls://other";
  EXPECT_EQ(nats_options(made, {}, std::nullopt)->servers[0].host, "other");
}

TEST(NatsOptions, Tls) {
  auto made = sink();
  EXPECT_TRUE(nats_options(made, {}, "pem")->wants_tls);
  made.spec.tls.emplace();
  made.spec.tls->insecure_skip_verify = true;
  EXPECT_TRUE(nats_options(made, {}, std::nullopt)->wants_tls);
  EXPECT_EQ(refused(sink(), {{"tls.crt", base::Secret("x")}}).reason, "bad-secret");
}

TEST(NatsOptions, StreamsAndTheirSettings) {
  auto made = sink();
  made.spec.nats->stream = "team.a.events";
  made.spec.options = {{"replicas", "3"},     {"storage", "memory"},     {"maxAge", "48h"},
                       {"maxBytes", "1000"},  {"duplicateWindow", "5m"}, {"retention", "interest"},
                       {"events", "changes"}, {"unknown", "x"}};
  auto read = nats_options(made, {}, std::nullopt).value();
  EXPECT_EQ(read.stream, "team_a_events");
  EXPECT_EQ(read.settings.replicas, 3);
  EXPECT_TRUE(read.settings.memory);
  EXPECT_EQ(read.settings.max_age, std::chrono::hours(48));
  EXPECT_EQ(read.settings.max_bytes, 1000);
  EXPECT_EQ(read.settings.duplicate_window, std::chrono::minutes(5));
  EXPECT_EQ(read.settings.retention, "interest");
  EXPECT_TRUE(read.changes);
  made.spec.provisioning.emplace();
  made.spec.provisioning->mode = "existing";
  made.spec.provisioning->naming.emplace();
  made.spec.provisioning->naming->name_template = "inv_{cluster}_{namespace}_{name}";
  read = nats_options(made, {}, std::nullopt).value();
  EXPECT_FALSE(read.ensure);
  EXPECT_EQ(stream_of(read, {"harbor", "led.ger"}, "pier 7/x"), "inv_pier_7_x_harbor_led_ger");
  made.spec.provisioning->naming->name_template = "s{generation}";
  EXPECT_EQ(refused(made).reason, "bad-name");
  for (const auto& [key, value] : std::map<std::string, std::string>{{"replicas", "0"},
                                                                     {"storage", "tape"},
                                                                     {"maxAge", "old"},
                                                                     {"maxBytes", "1Gi"},
                                                                     {"retention", "x"},
                                                                     {"events", "x"},
                                                                     {"duplicateWindow", "-1s"}}) {
    auto odd = sink();
    odd.spec.options = {{key, value}};
    const auto error = refused(odd);
    EXPECT_EQ(error.reason, "bad-option");
    EXPECT_THAT(error.message, HasSubstr("spec.options[" + key + "]"));
  }
}

TEST(NatsOptions, Subjects) {  // K-57
  auto made = sink();
  made.spec.nats->subject = "kollect.{cluster}.inv-{namespace}.{name}";
  auto read = nats_options(made, {}, std::nullopt).value();
  EXPECT_EQ(subject_of(read, {"har.bor", "a*b>c d"}, "", ""), "kollect._.inv-har_bor.a_b_c_d");
  EXPECT_EQ(subject_of(read, {"n", "i"}, "{name}", "upsert"), "kollect.{name}.inv-n.i.upsert");
  EXPECT_EQ(pattern_of(read), "kollect.*.*.*");
  read.changes = true;
  EXPECT_EQ(pattern_of(read), "kollect.*.*.*.*");
  for (const char* bad :
       {"", " ", "a..b", ".a", "a.", "a.*", "a.>", "a b", "$JS.API.x", "a.{generation}"}) {
    made.spec.nats->subject = bad;
    EXPECT_EQ(refused(made).reason, "bad-subject") << bad;
  }
}

TEST(NatsSubjects, Cover) {
  struct Case {
    const char* outer;
    const char* inner;
    bool covers;
  };
  for (const Case& one : {Case{"a.b", "a.b", true},
                          {"a.*", "a.b", true},
                          {"a.>", "a.b.c", true},
                          {"a.>", "a.*", true},
                          {"a.>", "a", false},
                          {"a.*", "a.*", true},
                          {"a.b", "a.*", false},
                          {"a.*", "a.>", false},
                          {"a.*", "a.b.c", false},
                          {">", "a.>", true},
                          {"a.b.c", "a.b", false}}) {
    EXPECT_EQ(covers(one.outer, one.inner), one.covers) << one.outer << " " << one.inner;
  }
}

// Format: the pair and the signature that the description of the format gives.
TEST(NKeys, AUserSeedHasItsPublicKey) {
  const auto key = NKey::from_seed(
      base::Secret(" SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY\n"));
  ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_EQ(key->public_key(), "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4");
  const auto signature = key->sign("nonce");
  ASSERT_TRUE(signature.has_value());
  EXPECT_THAT(*signature, SizeIs(86));
  for (const char* bad : {"", "SU", "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
                          "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VA"}) {
    const auto refused = NKey::from_seed(base::Secret(bad));
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().reason, "bad-secret");
    if (*bad != 0) {
      EXPECT_THAT(refused.error().message, Not(HasSubstr("CSSL3UAHUDX")));
    }
  }
}

TEST(NKeys, CredentialsFiles) {
  const auto read = read_credentials(
      base::Secret("-----BEGIN NATS USER JWT-----\neyJ.x.y\n------END NATS USER JWT------\n\n"
                   "************\n-----BEGIN USER NKEY SEED-----\r\nSUSEED\r\n------END USER NKEY "
                   "SEED------\n"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->jwt.reveal(), "eyJ.x.y");
  EXPECT_EQ(read->seed.reveal(), "SUSEED");
  EXPECT_FALSE(read_credentials(base::Secret("eyJ.x.y")).has_value());
}

}  // namespace
}  // namespace kollect::sinks::nats
