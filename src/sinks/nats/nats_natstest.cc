// NATS as it can be set up: ways to log in, streams of others, limits, addresses. On real servers.
#include "sinks/nats/nats_fixture.h"

namespace kollect::sinks::nats {
namespace {

using events::Message;
using events::Mode;
using events::contract::parsed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const InventoryId kLedger{.ns = "harbor", .name = "ledger"};

class Nats : public ::testing::Test {
 protected:
  Nats() {
    static int number = 0;
    stream_ = fmt::format("kollect_{}", number++);
    options_ = server_.options(stream_, "kollect." + stream_);
  }

  static Message message(std::string body, std::string id) {
    Message out;
    out.inventory = kLedger;
    out.cluster = "pier-7";
    out.body = std::move(body);
    out.id = std::move(id);
    return out;
  }
  base::Result<> send(const NatsOptions& options, const std::string& body = "{}") const {
    const auto transport = make_transport(options);
    KL_TRY(transport->open(context_, kLedger, "pier-7"));
    KL_TRY(transport->send(context_, message(body, body)));
    return transport->flush(context_);
  }
  void must_send(const NatsOptions& options) const {
    const auto sent = send(options);
    EXPECT_TRUE(sent.has_value()) << sent.error().message;
    const auto probed = make_transport(options)->probe(context_);
    EXPECT_TRUE(probed.has_value()) << probed.error().message;
  }
  base::Error must_fail(const NatsOptions& options) const {
    const auto sent = send(options);
    EXPECT_FALSE(sent.has_value());
    return sent.has_value() ? base::Error{} : sent.error();
  }
  base::json::Value config_of(const std::string& stream) const {
    return *parsed(server_.api("$JS.API.STREAM.INFO." + stream)).find("config");
  }
  std::string create(const std::string& stream, const std::string& more) const {
    const auto answer = server_.api("$JS.API.STREAM.CREATE." + stream,
                                    fmt::format(R"({{"name":"{}",{}}})", stream, more));
    EXPECT_THAT(answer, Not(HasSubstr("\"error\""))) << answer;
    return answer;
  }
  static std::vector<std::string> subjects(const base::json::Value& config) {
    std::vector<std::string> out;
    for (const auto& one : config.find("subjects")->as_array()) out.push_back(one.as_string());
    return out;
  }

  NatsServer& server_ = NatsServer::plain();
  std::string stream_;
  NatsOptions options_;
  base::Context context_ = base::Context::background().with_timeout(std::chrono::seconds(60));
};

TEST_F(Nats, WaysToLogIn) {  // K-54
  must_send(options_);
  auto nkey = options_;
  nkey.login = {};
  nkey.login.nkey = base::Secret(server_.value("NATS_SEED"));
  must_send(nkey);
  const NatsServer by_token("token", {{"AUTH", "token"}});
  auto token = by_token.options("s", "s");
  token.login = {};
  token.login.token = base::Secret(by_token.value("NATS_TOKEN"));
  must_send(token);
  const NatsServer by_jwt("jwt", {{"AUTH", "jwt"}});
  auto creds = by_jwt.options("s", "s");
  creds.login = {};
  creds.login.credentials = base::Secret(text_of_file(by_jwt.value("NATS_CREDS")));
  must_send(creds);
  creds.login.credentials = base::Secret("-----BEGIN NATS USER JWT-----\neyJ\n------END\n");
  EXPECT_EQ(must_fail(creds).reason, "bad-secret");
  nkey.login.nkey = base::Secret("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY");
  EXPECT_EQ(must_fail(nkey).reason, "auth");
  auto none = options_;
  none.login = {};
  EXPECT_EQ(must_fail(none).reason, "auth");
}

TEST_F(Nats, WaysOfTls) {
  const NatsServer& server = NatsServer::with_tls();
  const auto good = server.options("tls", "tls");
  must_send(good);
  auto other = good;
  other.wants_tls = false;  // the server says that it wants it
  must_send(other);
  other.tls.ca_pem.reset();
  EXPECT_EQ(must_fail(other).reason, "tls");  // not in the system's trust
  other.tls.insecure_skip_verify = true;
  must_send(other);
  // The name of the URL counts, whatever address it has.
  auto named = good;
  named.servers[0].host = "bus.test";
  named.resolver = [](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; };
  must_send(named);
  named.servers[0].host = "other.test";
  EXPECT_EQ(must_fail(named).reason, "tls");
  // A server without TLS gets no password from who asked for TLS.
  auto plain = options_;
  plain.servers[0].tls = true;
  const auto error = must_fail(plain);
  EXPECT_EQ(error.reason, "tls");
  EXPECT_THAT(error.message, HasSubstr("has no TLS"));
}

TEST_F(Nats, AClientCertificate) {
  const NatsServer server("mutual", {{"TLS", "mutual"}});
  auto options = server.options("m", "m");
  EXPECT_NE(must_fail(options).reason, "");
  options.tls.certificate = base::Secret(text_of_file(server.value("NATS_CLIENT_CERT")));
  options.tls.key = base::Secret(text_of_file(server.value("NATS_CLIENT_KEY")));
  must_send(options);
  options.tls.key = base::Secret("no key");
  EXPECT_EQ(must_fail(options).kind, base::ErrorKind::kConfiguration);
}

TEST_F(Nats, WhatTheUserMayNotDoIsSaid) {
  must_send(options_);
  auto poor = options_;
  poor.login.username = base::Secret("poor");
  const auto error = must_fail(poor);
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_EQ(error.reason, "permission");
  auto plain = options_;
  plain.login.username = base::Secret("plain");
  const auto probed = make_transport(plain)->probe(context_);
  ASSERT_FALSE(probed.has_value());
  EXPECT_EQ(probed.error().reason, "no-jetstream");
}

TEST_F(Nats, AMissingStreamIsCreatedAsTheOptionsSay) {  // K-56
  options_.settings.max_age = std::chrono::hours(1);
  options_.settings.max_bytes = 1 << 20;
  options_.settings.memory = true;
  const auto transport = make_transport(options_);
  ASSERT_TRUE(transport->open(context_, kLedger, "pier-7").has_value());
  EXPECT_TRUE(transport->take_created());
  EXPECT_FALSE(transport->take_created());
  const auto config = config_of(stream_);
  EXPECT_THAT(subjects(config), ElementsAre("kollect." + stream_));
  EXPECT_EQ(config.text("storage"), "memory");
  EXPECT_EQ(config.text("retention"), "limits");
  EXPECT_EQ(config.find("max_age")->as_int(), 3'600'000'000'000);
  EXPECT_EQ(config.find("max_bytes")->as_int(), 1 << 20);
  EXPECT_EQ(config.find("duplicate_window")->as_int(), 120'000'000'000);
  EXPECT_EQ(config.find("metadata")->text("kollect.dev/managed"), "true");
}

TEST_F(Nats, OurStreamGetsOurSubjectsAndNothingElseChanges) {  // K-56
  must_send(options_);
  // An administrator's setting.
  auto config = config_of(stream_);
  config.as_object().set("max_msgs", 77);
  server_.api("$JS.API.STREAM.UPDATE." + stream_, base::json::compact(config));
  auto second = options_;
  second.subject = "kollect." + stream_ + ".{cluster}.{name}";
  must_send(second);
  auto third = second;
  third.changes = true;
  must_send(third);
  const auto after = config_of(stream_);
  EXPECT_THAT(subjects(after), ElementsAre("kollect." + stream_, "kollect." + stream_ + ".*.*",
                                           "kollect." + stream_ + ".*.*.*"));
  EXPECT_EQ(after.find("max_msgs")->as_int(), 77);
  must_send(options_);
  EXPECT_EQ(config_of(stream_), after);
}

TEST_F(Nats, StreamsOfOthersStayAsTheyAre) {  // K-56
  create(stream_, fmt::format(R"("subjects":["{}.mine"])", stream_));
  const auto before = config_of(stream_);
  const auto error = must_fail(options_);
  EXPECT_EQ(error.reason, "stream-subject");
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("stream " + stream_));
  EXPECT_THAT(error.message, HasSubstr("subject kollect." + stream_));
  EXPECT_EQ(make_transport(options_)->probe(context_).error().reason, "stream-subject");
  EXPECT_EQ(config_of(stream_), before);
  // One that takes our subject is good enough.
  options_.subject = stream_ + ".mine";
  must_send(options_);
  EXPECT_EQ(config_of(stream_), before);
  // Nobody else's subject is taken.
  options_.stream = stream_ + "_other";
  const auto overlap = must_fail(options_);
  EXPECT_EQ(overlap.reason, "stream-subject");
  EXPECT_THAT(overlap.message, HasSubstr("another stream has the subject"));
}

TEST_F(Nats, ExistingMeansExisting) {  // K-13
  options_.ensure = false;
  for (const auto& error :
       {must_fail(options_), make_transport(options_)->probe(context_).error()}) {
    EXPECT_EQ(error.reason, "stream-missing");
    EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
    EXPECT_THAT(error.message, HasSubstr(stream_));
  }
  create(stream_, fmt::format(R"("subjects":["kollect.{}"])", stream_));
  must_send(options_);
  // With ensure a probe creates nothing.
  options_.ensure = true;
  options_.stream = stream_ + "_none";
  EXPECT_TRUE(make_transport(options_)->probe(context_).has_value());
  EXPECT_THAT(server_.api("$JS.API.STREAM.INFO." + options_.stream), HasSubstr("not found"));
}

TEST_F(Nats, ARepetitionIsStoredOnce) {  // K-55
  const auto transport = make_transport(options_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(transport->open(context_, kLedger, "pier-7").has_value());
    ASSERT_TRUE(transport->send(context_, message("one", "id-1")).has_value());
    ASSERT_TRUE(transport->send(context_, message("two", "id-2")).has_value());
    ASSERT_TRUE(transport->flush(context_).has_value());
  }
  const auto stored = server_.read_all(stream_);
  ASSERT_THAT(stored, SizeIs(2));
  EXPECT_EQ(stored[0].headers.at("Nats-Msg-Id"), "id-1");
  EXPECT_EQ(stored[0].place, "kollect." + stream_);
}

TEST_F(Nats, AServerThatCameBackBetweenPassesIsNoFailure) {
  const NatsServer server("restarts");
  const auto options = server.options("r", "r");
  const auto transport = make_transport(options);
  for (const char* id : {"a", "b"}) {
    const auto opened = transport->open(context_, kLedger, "pier-7");
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    ASSERT_TRUE(transport->send(context_, message("{}", id)).has_value());
    const auto flushed = transport->flush(context_);
    ASSERT_TRUE(flushed.has_value()) << flushed.error().message;
    server.kill();
    server.start();
  }
  EXPECT_THAT(server.read_all("r"), SizeIs(2));
  server.kill();
  const auto down = transport->open(context_, kLedger, "pier-7");
  ASSERT_FALSE(down.has_value());
  EXPECT_EQ(down.error().reason, "unreachable");
  EXPECT_EQ(down.error().kind, base::ErrorKind::kRetryable);
}

// field-payload-past-nats-limit
TEST_F(Nats, LimitsOfServerAndStreamHold) {
  const NatsServer server("limits");
  auto options = server.options("limits", "limits");
  options.changes = true;
  server.api("$JS.API.STREAM.CREATE.limits",
             R"({"name":"limits","subjects":["limits.*"],"max_msg_size":262144})");
  const auto sink = events::make_sink(Mode::kChanges, make_transport(options));
  inventory::RowStore store;
  const auto reader = store.subscribe([](const inventory::Owner&) { return true; });
  const auto pass = [&](int second) {
    const auto rows = reader->snapshot();
    Pass made{.head = {}, .rows = &rows, .row_count = rows.size(), .set_hash = rows.set_hash()};
    made.head.inventory = kLedger;
    made.head.max_bytes = 0;
    made.head.exported_at = base::WallTime(std::chrono::seconds(1'700'000'000 + second));
    return sink->apply(context_, made);
  };
  for (const std::size_t size : {1000U, 100'000U, 250'000U, 262'200U, 1'048'576U, 2'000'000U}) {
    std::string uid;
    const events::contract::TestRow row{fmt::format("row-{}", size),
                                        fmt::format(R"({{"x":"{}"}})", std::string(size, 'x'))};
    store.upsert({inventory::OwnerClass::kTarget, "harbor", "cranes"}, 1,
                 events::contract::view_of(row, uid));
  }
  const auto sizes = [&] {
    std::vector<std::string> out;
    for (const auto& one : server.read_all("limits")) {
      const auto event = parsed(*one.body);
      if (event.text("type") != "upsert") continue;
      const bool whole = event.find("tooLarge") == nullptr;
      out.push_back(std::string(event.find("row")->text("name")) + (whole ? "" : " replaced"));
    }
    return out;
  };
  const auto first = pass(0);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(first->replaced, 3U);
  EXPECT_THAT(sizes(), ::testing::UnorderedElementsAre(
                           "row-1000", "row-100000", "row-250000", "row-262200 replaced",
                           "row-1048576 replaced", "row-2000000 replaced"));
  server.kill();
  server.set("max_payload=65536");
  server.start();
  const auto second = pass(1);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->replaced, 5U);
  // A stream that takes less while we are connected: refused once, learned, replaced.
  auto config = *parsed(server.api("$JS.API.STREAM.INFO.limits")).find("config");
  config.as_object().set("max_msg_size", 900);
  server.api("$JS.API.STREAM.UPDATE.limits", base::json::compact(config));
  const auto third = pass(2);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().reason, "too-large");
  EXPECT_EQ(third.error().kind, base::ErrorKind::kRetryable);
}

TEST_F(Nats, AStreamDeletedMeanwhileIsMadeAgainAndGetsEverything) {
  options_.changes = true;
  const auto transport = make_transport(options_);
  ASSERT_TRUE(transport->open(context_, kLedger, "pier-7").has_value());
  EXPECT_TRUE(transport->take_created());
  server_.api("$JS.API.STREAM.DELETE." + stream_);
  auto lost = message("{}", "x");
  lost.type = "upsert";
  ASSERT_TRUE(transport->send(context_, lost).has_value());
  const auto flushed = transport->flush(context_);
  ASSERT_FALSE(flushed.has_value());
  EXPECT_EQ(flushed.error().reason, "stream-missing");
  EXPECT_EQ(flushed.error().kind, base::ErrorKind::kRetryable);
  ASSERT_TRUE(transport->open(context_, kLedger, "pier-7").has_value());
  EXPECT_TRUE(transport->take_created());
}

TEST_F(Nats, AddressesAreCheckedBeforeTheyAreDialled) {
  options_.guard = std::make_shared<const base::AddressGuard>(true);
  const auto error = must_fail(options_);
  EXPECT_EQ(error.reason, "address-refused");
  EXPECT_EQ(error.kind, base::ErrorKind::kConfiguration);
  // The complete answer counts, and all servers.
  options_.servers[0].host = "bus.test";
  options_.resolver = [](const std::string&) {
    return std::vector<std::string>{"10.1.2.3", "127.0.0.1"};
  };
  EXPECT_EQ(must_fail(options_).reason, "address-refused");
  EXPECT_EQ(make_transport(options_)->probe(context_).error().reason, "address-refused");
}

TEST_F(Nats, OneServerOfSeveralIsEnough) {
  auto options = options_;
  options.servers.insert(options.servers.begin(), Server{.host = "127.0.0.1", .port = 1});
  must_send(options);
}

}  // namespace
}  // namespace kollect::sinks::nats
