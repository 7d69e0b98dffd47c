// Real servers for the tests of this folder, and a consumer that is not ours. Only for *test.cc
// files.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nats/nats.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "sinks/events/contract.h"
#include "sinks/nats/nats_transport.h"
#include "support/server_script.h"

namespace kollect::sinks::nats {

using events::contract::Received;

inline std::string text_of_file(const std::string& path) {
  const std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

template <auto kFree>
struct FreeHandle {
  template <class T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};
template <class T, auto kFree>
using Handle = std::unique_ptr<T, FreeHandle<kFree>>;

/// One nats-server.
class NatsServer {
 public:
  explicit NatsServer(const std::string& name, std::map<std::string, std::string> env = {})
      : script_("nats.sh", "sinks-" + name, std::move(env)) {}
  static NatsServer& plain() {
    static NatsServer server("plain");
    return server;
  }
  static NatsServer& with_tls() {
    static NatsServer server("tls", {{"TLS", "1"}});
    return server;
  }

  [[nodiscard]] std::string value(const std::string& key) const { return script_.value(key); }
  void kill() const { script_.run("kill"); }
  void start() const { script_.run("start"); }
  void set(const std::string& pair) const { script_.run("set", {pair}); }

  /// Options of the user who may do everything.
  [[nodiscard]] NatsOptions options(const std::string& stream, const std::string& subject) const {
    NatsOptions out;
    out.sink = "bus";
    out.servers = read_servers(value("NATS_HOST"), out.login).value();
    out.login.username = base::Secret("test");
    out.login.password = base::Secret("secret");
    out.stream = stream;
    out.subject = subject;
    if (!value("NATS_CA").empty()) {
      out.tls.ca_pem = text_of_file(value("NATS_CA"));
      out.wants_tls = true;
    }
    return out;
  }

  /// All messages of a stream, read with the client library of NATS' authors.
  [[nodiscard]] std::vector<Received> read_all(const std::string& stream) const;
  /// Answer of JetStream's API to a question.
  std::string api(const std::string& subject, const std::string& body = "") const;
  /// Number of a gauge or counter of the server ("slow_consumers").
  [[nodiscard]] base::json::Value vars() const;

 private:
  using Connection = Handle<natsConnection, &natsConnection_Destroy>;
  [[nodiscard]] Connection connect() const;
  kollect::testing::ServerScript script_;
};

inline NatsServer::Connection NatsServer::connect() const {
  natsOptions* raw = nullptr;
  natsOptions_Create(&raw);
  const Handle<natsOptions, &natsOptions_Destroy> options(raw);
  natsOptions_SetURL(raw, value("NATS_URL").c_str());
  natsOptions_SetUserInfo(raw, "test", "secret");
  if (!value("NATS_CA").empty()) {
    natsOptions_SetSecure(raw, true);
    natsOptions_LoadCATrustedCertificates(raw, value("NATS_CA").c_str());
  }
  natsConnection* connection = nullptr;
  const natsStatus status = natsConnection_Connect(&connection, raw);
  EXPECT_EQ(status, NATS_OK) << natsStatus_GetText(status);
  return Connection(connection);
}

inline std::string NatsServer::api(const std::string& subject, const std::string& body) const {
  const auto connection = connect();
  natsMsg* answer = nullptr;
  const natsStatus status = natsConnection_RequestString(&answer, connection.get(), subject.c_str(),
                                                         body.c_str(), 10'000);
  EXPECT_EQ(status, NATS_OK) << subject;
  if (status != NATS_OK) return {};
  const Handle<natsMsg, &natsMsg_Destroy> owner(answer);
  return {natsMsg_GetData(answer), static_cast<std::size_t>(natsMsg_GetDataLength(answer))};
}

inline std::vector<Received> NatsServer::read_all(const std::string& stream) const {
  const auto info = events::contract::parsed(api("$JS.API.STREAM.INFO." + stream));
  if (info.find("error") != nullptr) return {};
  const std::int64_t count = info.find("state")->find("messages")->as_int();
  const auto connection = connect();
  jsCtx* context = nullptr;
  EXPECT_EQ(natsConnection_JetStream(&context, connection.get(), nullptr), NATS_OK);
  const Handle<jsCtx, &jsCtx_Destroy> context_owner(context);
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = stream.c_str();
  options.Ordered = true;
  natsSubscription* subscription = nullptr;
  const natsStatus subscribed =
      js_SubscribeSync(&subscription, context, ">", nullptr, &options, nullptr);
  EXPECT_EQ(subscribed, NATS_OK) << natsStatus_GetText(subscribed);
  if (subscribed != NATS_OK) return {};
  const Handle<natsSubscription, &natsSubscription_Destroy> subscription_owner(subscription);
  natsSubscription_SetPendingLimits(subscription, -1, -1);
  std::vector<Received> out;
  while (static_cast<std::int64_t>(out.size()) < count) {
    natsMsg* message = nullptr;
    const natsStatus next = natsSubscription_NextMsg(&message, subscription, 10'000);
    EXPECT_EQ(next, NATS_OK) << natsStatus_GetText(next) << " after " << out.size();
    if (next != NATS_OK) return out;
    const Handle<natsMsg, &natsMsg_Destroy> owner(message);
    Received one;
    one.place = natsMsg_GetSubject(message);
    one.body = std::string(natsMsg_GetData(message),
                           static_cast<std::size_t>(natsMsg_GetDataLength(message)));
    const char** keys = nullptr;
    int keys_count = 0;
    if (natsMsgHeader_Keys(message, &keys, &keys_count) == NATS_OK) {
      for (int i = 0; i < keys_count; ++i) {
        const char* text = nullptr;
        natsMsgHeader_Get(message, keys[i], &text);
        one.headers[keys[i]] = text;
      }
      std::free(static_cast<void*>(keys));
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace kollect::sinks::nats
