#include "sinks/kafka/login.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sinks/kafka/errors.h"
#include "sinks/kafka/fields.h"
#include "sinks/kafka/scram.h"

namespace kollect::sinks::kafka {

namespace {

constexpr std::int16_t kSaslHandshake = 17;
constexpr std::int16_t kSaslAuthenticate = 36;
constexpr std::size_t kLongestAnswer = 1U << 20U;
constexpr base::Duration kStep = std::chrono::milliseconds(50);

void append_number(std::string& out, std::int64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>((static_cast<std::uint64_t>(value) >> shift) & 0xffU);
  }
}
void append_string(std::string& out, std::string_view text) {
  append_number(out, static_cast<std::int64_t>(text.size()), 2);
  out += text;
}

base::Error no_answer() {
  return base::retryable("the broker's answer cannot be read; is it Kafka?", "unreachable");
}

class Conversation {
 public:
  Conversation(const base::Context& context, events::Wire& wire) : context_(context), wire_(wire) {}

  /// The body of the answer to one request.
  base::Result<std::string> ask(std::int16_t api, std::int16_t version, std::string_view body) {
    std::string request;
    append_number(request, api, 2);
    append_number(request, version, 2);
    append_number(request, ++asked_, 4);
    append_string(request, "kollect");
    request += body;
    append_number(wire_.output(), static_cast<std::int64_t>(request.size()), 4);
    wire_.output() += request;
    std::string& input = wire_.input();
    while (true) {
      if (input.size() >= 8) {
        Fields head(input);
        const auto size = head.number(4);
        if (size < 4 || static_cast<std::size_t>(size) > kLongestAnswer) return no_answer();
        const std::size_t end = 4 + static_cast<std::size_t>(size);
        if (input.size() >= end) {
          if (head.number(4) != asked_) return no_answer();
          std::string out = input.substr(8, end - 8);
          input.erase(0, end);
          return out;
        }
      }
      KL_TRY(wire_.pump(context_, kStep));
    }
  }

  /// Hands the broker one of our messages and gives its answer.
  base::Result<std::string> tell(std::string_view message) {
    std::string body;
    append_number(body, static_cast<std::int64_t>(message.size()), 4);
    body += message;
    KL_ASSIGN(const std::string answer, ask(kSaslAuthenticate, 0, body));
    Fields fields(answer);
    const auto code = static_cast<rd_kafka_resp_err_t>(fields.number(2));
    (void)fields.bytes(2);  // the broker's words
    std::string out(fields.bytes(4));
    if (fields.bad()) return no_answer();
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of(code, "logging in");
    return out;
  }

 private:
  const base::Context& context_;
  events::Wire& wire_;
  std::int64_t asked_ = 0;
};

base::Result<> choose(Conversation& conversation, const std::string& mechanism) {
  std::string body;
  append_string(body, mechanism);
  KL_ASSIGN(const std::string answer, conversation.ask(kSaslHandshake, 1, body));
  Fields fields(answer);
  const auto code = static_cast<rd_kafka_resp_err_t>(fields.number(2));
  if (fields.bad()) return no_answer();
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of(code, "logging in");
  return {};
}

}  // namespace

base::Result<> log_in(const base::Context& context, events::Wire& wire, const Login& login) {
  Conversation conversation(context, wire);
  KL_TRY(choose(conversation, login.mechanism));
  if (login.mechanism == "PLAIN") {
    std::string text(1, '\0');
    text.append(login.username).append(1, '\0').append(login.secret.reveal());
    KL_TRY(conversation.tell(text));
    return {};
  }
  if (login.mechanism == "OAUTHBEARER") {  // RFC 7628
    KL_ASSIGN(const std::string answer, conversation.tell(fmt::format("n,,\x01"
                                                                      "auth=Bearer {}\x01\x01",
                                                                      login.secret.reveal())));
    // A refusal comes as a challenge without an error: its words may quote the token.
    if (!answer.empty())
      return error_of(RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, "logging in");
    return {};
  }
  Scram scram(login.mechanism, login.username, login.secret, Scram::new_nonce());
  KL_ASSIGN(const std::string server_first, conversation.tell(scram.first()));
  KL_ASSIGN(const std::string last, scram.final(server_first));
  KL_ASSIGN(const std::string server_final, conversation.tell(last));
  return scram.check(server_final);
}

}  // namespace kollect::sinks::kafka
