#include "webhook/cluster_state.h"

#include "base/hash.h"

namespace kollect::webhook {

namespace {

using base::json::Value;

constexpr const char* kServing = "tls.crt";
constexpr const char* kServingKey = "tls.key";
constexpr const char* kAuthorities = "ca.crt";
constexpr const char* kAuthorityKey = "ca.key";

/// The decoded value of a key; "" when there is none.
std::string value_of(const Value* data, const char* key) {
  if (data == nullptr) return {};
  auto decoded = base::base64_decode(data->text(key));
  return decoded ? std::move(*decoded) : std::string();
}

bool calls(const Value& webhook, std::string_view ns, std::string_view service) {
  const Value* called = webhook.at_path({"clientConfig", "service"});
  return called != nullptr && called->text("namespace") == ns && called->text("name") == service;
}

}  // namespace

base::Result<std::optional<Certificates>> certificates_in(const Value& secret) {
  const Value* data = secret.find("data");
  Certificates found{.authorities_pem = value_of(data, kAuthorities),
                     .authority_key = base::Secret(value_of(data, kAuthorityKey)),
                     .serving = {.certificate_pem = value_of(data, kServing),
                                 .key_pem = base::Secret(value_of(data, kServingKey))}};
  if (found.authority_key.empty() && read_certificates(found.serving.certificate_pem)) {
    return base::configuration(
        "it holds a certificate that is not of the operator's making: mount that one, or delete "
        "the Secret");
  }
  if (found.authorities_pem.empty()) return std::nullopt;
  return found;
}

Value data_of(const Certificates& certificates) {
  base::json::Object data;
  data.set(kServing, base::base64_encode(certificates.serving.certificate_pem));
  data.set(kServingKey, base::base64_encode(certificates.serving.key_pem.reveal()));
  data.set(kAuthorities, base::base64_encode(certificates.authorities_pem));
  data.set(kAuthorityKey, base::base64_encode(certificates.authority_key.reveal()));
  return data;
}

std::optional<Value> with_authorities(const Value& configuration, std::string_view ns,
                                      std::string_view service,
                                      const std::string& authorities_pem) {
  const Value* webhooks = configuration.find("webhooks");
  if (webhooks == nullptr || !webhooks->is_array()) return std::nullopt;
  const std::string bundle = base::base64_encode(authorities_pem);
  bool changed = false;
  Value made = *webhooks;
  for (Value& webhook : made.as_array()) {
    if (!calls(webhook, ns, service)) continue;
    Value* client = webhook.find("clientConfig");
    changed = changed || client->text("caBundle") != bundle;
    client->as_object().set("caBundle", bundle);
  }
  return changed ? std::optional(std::move(made)) : std::nullopt;
}

}  // namespace kollect::webhook
