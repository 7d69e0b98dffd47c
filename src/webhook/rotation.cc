#include "webhook/rotation.h"

#include <algorithm>

namespace kollect::webhook {

namespace {

/// Clocks of API servers may be behind ours.
constexpr base::Duration kBackdated = std::chrono::minutes(5);

/// Two thirds of its life.
base::WallTime due(const Validity& validity) {
  return validity.until - (validity.until - validity.from) / 3;
}

base::Result<KeyPair> new_authority(const RotationRules& rules, base::WallTime now) {
  return make_authority("kollect webhooks",
                        {.from = now - kBackdated, .until = now + rules.authority_life});
}

/// The authorities as they are, newest first; empty when they cannot be used.
std::vector<CertificateFacts> usable_authorities(const std::optional<Certificates>& held,
                                                 base::WallTime now) {
  if (!held) return {};
  auto read = read_certificates(held->authorities_pem);
  if (!read || !read->front().validity.holds(now) ||
      !is_pair({.certificate_pem = read->front().pem, .key_pem = held->authority_key})) {
    return {};
  }
  std::erase_if(*read, [&](const CertificateFacts& one) { return one.validity.until <= now; });
  return std::move(*read);
}

/// The serving certificate, when clients that trust the authorities would take it.
std::optional<CertificateFacts> usable_serving(const Certificates& held,
                                               const std::vector<CertificateFacts>& authorities,
                                               const RotationRules& rules, base::WallTime now) {
  auto read = read_certificates(held.serving.certificate_pem);
  if (!read || !is_pair(held.serving)) return std::nullopt;
  CertificateFacts& own = read->front();
  const auto names_it = [&](const std::string& name) {
    return std::ranges::find(own.names, name) != own.names.end();
  };
  const bool trusted = std::ranges::any_of(
      authorities, [&](const CertificateFacts& one) { return is_signed_by(own.pem, one.pem); });
  if (!trusted || !own.validity.holds(now) || !std::ranges::all_of(rules.names, names_it)) {
    return std::nullopt;
  }
  return std::move(own);
}

std::string joined(const std::vector<CertificateFacts>& certificates) {
  std::string all;
  for (const CertificateFacts& one : certificates) all += one.pem;
  return all;
}

/// Puts a new authority in front; the others stay trusted.
base::Result<> renew_authority(Certificates& certificates, std::vector<CertificateFacts>& trusted,
                               const RotationRules& rules, base::WallTime now) {
  KL_ASSIGN(KeyPair made, new_authority(rules, now));
  certificates.authority_key = std::move(made.key_pem);
  KL_ASSIGN(auto facts, read_certificates(made.certificate_pem));
  trusted.insert(trusted.begin(), std::move(facts.front()));
  return {};
}

base::Result<KeyPair> new_serving(const Certificates& certificates, const CertificateFacts& signer,
                                  const RotationRules& rules, base::WallTime now) {
  return issue({.certificate_pem = signer.pem, .key_pem = certificates.authority_key}, rules.names,
               {.from = now - kBackdated,
                .until = std::min(now + rules.serving_life, signer.validity.until)});
}

}  // namespace

base::Result<Rotation> rotate(const std::optional<Certificates>& held, const RotationRules& rules,
                              base::WallTime now) {
  Rotation rotation;
  Certificates& made = rotation.certificates;
  auto trusted = usable_authorities(held, now);
  if (!trusted.empty()) made = *held;
  if (trusted.empty() || due(trusted.front().validity) <= now) {
    KL_TRY(renew_authority(made, trusted, rules, now));
  }
  const CertificateFacts& signer = trusted.front();
  const base::WallTime settled = signer.validity.from + kBackdated + rules.settle;
  auto serving = usable_serving(made, trusted, rules, now);
  // One of an authority before is replaced when the new one is known everywhere.
  const bool own = serving && is_signed_by(serving->pem, signer.pem);
  const bool is_time = serving && (own ? due(serving->validity) : settled) <= now;
  const bool signed_anew = !serving || is_time;
  if (signed_anew) {
    KL_ASSIGN(made.serving, new_serving(made, signer, rules, now));
    KL_ASSIGN(auto facts, read_certificates(made.serving.certificate_pem));
    serving = std::move(facts.front());
  }
  made.authorities_pem = joined(trusted);
  rotation.changed = !held || !(made == *held);
  rotation.next_look =
      std::min({due(signer.validity), signed_anew || own ? due(serving->validity) : settled,
                serving->validity.until});
  return rotation;
}

}  // namespace kollect::webhook
