#include "sinks/google/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/json/document.h"
#include "base/strings.h"
#include "sinks/google/grants.h"

namespace kollect::sinks::google {

namespace {

namespace json = base::json;

constexpr std::chrono::minutes kMargin{5};  ///< a token is replaced so long before its end

class KeyCredentials final : public Credentials {
 public:
  KeyCredentials(ServiceAccount account, Network network)
      : account_(std::move(account)), network_(std::move(network)) {}
  [[nodiscard]] std::string mask(std::string text) const override {
    return base::replace_all(std::move(text), account_.email, "***");
  }

 private:
  base::Result<Granted> ask(const base::Context& context, const std::string& scope) override {
    return grant_of_key(context, network_, account_, scope);
  }

  ServiceAccount account_;
  Network network_;
};

class AmbientCredentials final : public Credentials {
 public:
  AmbientCredentials(Environment environment, Network network)
      : environment_(std::move(environment)), network_(std::move(network)) {
    network_.guard = nullptr;
    network_.tls = nullptr;
    network_.resolver = nullptr;
  }

 private:
  base::Result<Granted> ask(const base::Context& context, const std::string& scope) override {
    const auto file = environment_("GOOGLE_APPLICATION_CREDENTIALS");
    if (!file) {
      return grant_of_metadata(context, network_,
                               environment_("GCE_METADATA_HOST").value_or(kMetadataHost), scope);
    }
    auto granted = from_file(context, *file, scope);
    if (granted.has_value()) return granted;
    return granted.error().with_prefix("GOOGLE_APPLICATION_CREDENTIALS");
  }

  base::Result<Granted> from_file(const base::Context& context, const std::string& file,
                                  const std::string& scope) {
    KL_ASSIGN(const base::Secret text, read_small_file(file));
    KL_ASSIGN(const auto document, json::Document::parse(text.reveal()));
    const std::string_view type = document.root().text("type");
    if (type == "service_account") {
      KL_ASSIGN(const auto account, read_service_account(document.root()));
      return grant_of_key(context, network_, account, scope);
    }
    if (type == "external_account") {
      return grant_of_external_account(context, network_, document.root(), scope);
    }
    return base::configuration("the file is of neither type service_account nor external_account",
                               "bad-credentials");
  }

  Environment environment_;
  Network network_;
};

}  // namespace

base::Result<base::Secret> Credentials::token(const base::Context& context,
                                              const std::string& scope) {
  const std::scoped_lock lock(mutex_);
  Kept& kept = kept_[scope];
  if (!kept.token.empty() && context.clock().steady_now() < kept.until) return kept.token;
  const base::SteadyTime asked = context.clock().steady_now();
  KL_ASSIGN(Granted granted, ask(context, scope));
  const base::Duration margin = std::min<base::Duration>(kMargin, granted.lifetime / 2);
  kept = {std::move(granted.token), asked + granted.lifetime - margin};
  return kept.token;
}

void Credentials::forget(const std::string& scope) {
  const std::scoped_lock lock(mutex_);
  kept_.erase(scope);
}

base::Result<std::shared_ptr<Credentials>> key_credentials(const base::Secret& text,
                                                           const Network& network) {
  const auto document = json::Document::parse(text.reveal());
  // The parser's message may hold a piece of the text.
  if (!document.has_value() || !document->root().is_object()) {
    return base::configuration("credentials.json is not a JSON object", "bad-credentials");
  }
  if (document->root().text("type") != "service_account") {
    return base::configuration("credentials.json is not the key file of a service account",
                               "bad-credentials");
  }
  auto account = read_service_account(document->root());
  if (!account.has_value()) return account.error().with_prefix("credentials.json");
  return std::shared_ptr<Credentials>(
      std::make_shared<KeyCredentials>(std::move(*account), network));
}

std::shared_ptr<Credentials> ambient_credentials(Environment environment, const Network& network) {
  return std::make_shared<AmbientCredentials>(std::move(environment), network);
}

}  // namespace kollect::sinks::google
