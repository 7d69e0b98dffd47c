#include "sinks/objects/s3/credentials.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/files.h"
#include "base/strings.h"

namespace kollect::sinks::objects::s3 {

namespace {

/// Renewed so long before their end: a long upload must not outlive them.
constexpr base::Duration kEarly = std::chrono::minutes(5);

/// The usual accident of secrets made from files.
std::string without_line_end(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return std::string(text);
}

std::string first_of(const SecretData& secret, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = secret.find(key);
    if (found == secret.end()) continue;
    auto text = without_line_end(found->second.reveal());
    if (!text.empty()) return text;
  }
  return {};
}

class Fixed final : public CredentialSource {
 public:
  explicit Fixed(Credentials credentials) : credentials_(std::move(credentials)) {}
  base::Result<Credentials> get(const base::Context& /*context*/) override { return credentials_; }

 private:
  Credentials credentials_;
};

class Ambient final : public CredentialSource {
 public:
  Ambient(Environment environment, std::string region)
      : environment_(std::move(environment)), region_(std::move(region)) {}

  base::Result<Credentials> get(const base::Context& context) override {
    const auto now = context.clock().now();
    if (issued_ && (!issued_->expires || now < *issued_->expires - kEarly)) {
      return issued_->credentials;
    }
    auto fresh = find(context);
    if (fresh.has_value()) {
      issued_ = std::move(*fresh);
      return issued_->credentials;
    }
    // The old ones are good until their end.
    if (issued_ && now < *issued_->expires) return issued_->credentials;
    return fresh.error();
  }

  bool renew() override {
    if (!issued_) return false;
    issued_.reset();
    return true;
  }

 private:
  base::Result<Issued> find(const base::Context& context) {
    KL_ASSIGN(auto issued, from_environment(environment_));
    if (!issued) {
      KL_ASSIGN(issued, from_web_identity(context, client_, environment_, region_));
    }
    if (!issued) {
      KL_ASSIGN(issued, from_container(context, client_, environment_));
    }
    if (!issued) {
      KL_ASSIGN(issued, from_profile(environment_));
    }
    if (!issued) {
      KL_ASSIGN(issued, from_instance(context, client_, environment_));
    }
    if (issued) return std::move(*issued);
    return base::configuration(
        "no credentials: give spec.secretRef a Secret with accessKeyID and secretAccessKey, or the "
        "process an identity (environment, web identity, container, profile, instance role)",
        "no-credentials");
  }

  Environment environment_;
  std::string region_;
  http::Client client_;
  std::optional<Issued> issued_;
};

/// A profile of an INI file: name to value.
std::map<std::string, std::string> profile_of(std::string_view text, std::string_view wanted) {
  std::map<std::string, std::string> out;
  bool inside = false;
  for (const auto line : base::split(text, '\n')) {
    const auto trimmed = base::trim(line);
    if (trimmed.empty() || trimmed.front() == '#' || trimmed.front() == ';') continue;
    if (trimmed.front() == '[') {
      auto name = base::trim(trimmed.substr(1, trimmed.find(']') - 1));
      if (name.starts_with("profile ")) name = base::trim(name.substr(8));
      inside = name == wanted;
      continue;
    }
    const auto equals = trimmed.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    out[base::to_lower(base::trim(trimmed.substr(0, equals)))] =
        std::string(base::trim(trimmed.substr(equals + 1)));
  }
  return out;
}

}  // namespace

base::Result<std::optional<Credentials>> secret_credentials(const SecretData& secret) {
  Credentials out;
  out.access_key = first_of(secret, {"accessKeyID", "AWS_ACCESS_KEY_ID"});
  out.secret_key = base::Secret(first_of(secret, {"secretAccessKey", "AWS_SECRET_ACCESS_KEY"}));
  out.session_token = base::Secret(first_of(secret, {"sessionToken", "AWS_SESSION_TOKEN"}));
  if (out.access_key.empty() && out.secret_key.empty()) return std::optional<Credentials>();
  if (out.access_key.empty() || out.secret_key.empty()) {
    return base::configuration(
        fmt::format("the Secret has no key {}; accessKeyID and secretAccessKey go together",
                    out.access_key.empty() ? "accessKeyID" : "secretAccessKey"),
        "bad-secret");
  }
  const auto odd = [](const std::string& text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
  };
  if (odd(out.access_key) || odd(out.session_token.reveal())) {
    return base::configuration("accessKeyID or sessionToken of the Secret has a line break",
                               "bad-secret");
  }
  return std::optional(std::move(out));
}

std::unique_ptr<CredentialSource> fixed_credentials(Credentials credentials) {
  return std::make_unique<Fixed>(std::move(credentials));
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return {};
    return std::string(value);
  };
}

std::unique_ptr<CredentialSource> ambient_credentials(Environment environment, std::string region) {
  return std::make_unique<Ambient>(std::move(environment), std::move(region));
}

MaybeIssued from_environment(const Environment& environment) {
  const auto key = environment("AWS_ACCESS_KEY_ID");
  const auto secret = environment("AWS_SECRET_ACCESS_KEY");
  if (!key || !secret) return std::optional<Issued>();
  return std::optional(
      Issued{{*key, base::Secret(*secret),
              base::Secret(environment("AWS_SESSION_TOKEN").value_or(std::string()))},
             {}});
}

MaybeIssued from_profile(const Environment& environment) {
  const auto home = environment("HOME");
  const auto path = environment("AWS_SHARED_CREDENTIALS_FILE")
                        .value_or(home ? *home + "/.aws/credentials" : std::string());
  if (path.empty() || !std::filesystem::exists(path)) return std::optional<Issued>();
  KL_ASSIGN(const auto text, base::read_file(path));
  const auto name = environment("AWS_PROFILE").value_or("default");
  auto profile = profile_of(text, name);
  if (profile["aws_access_key_id"].empty() || profile["aws_secret_access_key"].empty()) {
    return std::optional<Issued>();
  }
  return std::optional(
      Issued{{profile["aws_access_key_id"], base::Secret(profile["aws_secret_access_key"]),
              base::Secret(profile["aws_session_token"])},
             {}});
}

}  // namespace kollect::sinks::objects::s3
