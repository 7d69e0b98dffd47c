// Secrets of the configuration folder (spec: pipeline 4).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/types.h"
#include "base/log.h"
#include "base/result.h"
#include "base/secret.h"
#include "pipeline/config.h"

namespace kollect::pipeline {

using SecretValues = std::map<std::string, base::Secret>;

/// Looks Secrets up and replaces ${env:NAME} and ${file:/path}. Replaced values of six characters
/// and more are given to the redactor. One thread.
class SecretStore {
 public:
  SecretStore(const Config& config, const std::map<std::string, std::string>& env,
              base::Redactor& redactor)
      : config_(config), env_(env), redactor_(redactor) {}

  /// Values of the Secret that `sink` refers to at `field`: in the reference's namespace, else the
  /// sink's, else the only Secret of that name (with a warning). Errors (configuration) name
  /// Secret, key and variable.
  base::Result<SecretValues> resolve(const Manifest& sink, const std::string& field,
                                     const api::SecretReference& reference);
  /// The same for a CA bundle, which may be in a ConfigMap.
  base::Result<SecretValues> resolve_ca(const Manifest& sink, const std::string& field,
                                        const api::SecretReference& reference);
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  base::Result<const Manifest*> find(const std::deque<Manifest>& list, const char* kind,
                                     const Manifest& sink, const std::string& field,
                                     const api::SecretReference& reference);
  base::Result<SecretValues> values(const Manifest& secret);
  base::Result<base::Secret> replace(const Manifest& secret, const std::string& key,
                                     std::string text);

  const Config& config_;
  const std::map<std::string, std::string>& env_;
  base::Redactor& redactor_;
  std::vector<std::string> warnings_;
};

}  // namespace kollect::pipeline
