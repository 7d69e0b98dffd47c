#include "pipeline/secrets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"

namespace kollect::pipeline {
namespace {

constexpr std::size_t kMaxSecretFile = 1U << 20U;

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name.front())) return false;
  return std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// The text between "${prefix:" and "}", when the value is that as a whole but for one newline
/// (L-50).
std::optional<std::string_view> placeholder(std::string_view text, std::string_view prefix) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  const std::string opening = fmt::format("${{{}:", prefix);
  if (!text.starts_with(opening) || !text.ends_with('}')) return std::nullopt;
  text.remove_prefix(opening.size());
  text.remove_suffix(1);
  return text;
}

std::string drop_final_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

base::Result<const Manifest*> SecretStore::find(const std::deque<Manifest>& list, const char* kind,
                                                const Manifest& sink, const std::string& field,
                                                const api::SecretReference& reference) {
  const std::string ns = reference.ns.empty() ? sink.ns : reference.ns;
  std::vector<const Manifest*> elsewhere;
  for (const Manifest& manifest : list) {
    if (manifest.name != reference.name) continue;
    if (manifest.ns == ns) return &manifest;
    elsewhere.push_back(&manifest);
  }
  const auto at_field = [&](std::string message) {
    return problem_at(sink, field, std::move(message)).text();
  };
  if (elsewhere.empty()) {
    return base::configuration(at_field(
        fmt::format("there is no {} {}/{} in the configuration", kind, ns, reference.name)));
  }
  if (elsewhere.size() > 1 || !reference.ns.empty()) {
    return base::configuration(at_field(
        fmt::format("{} {} is not in namespace {}, but in {} other {}", kind, reference.name, ns,
                    elsewhere.size(), elsewhere.size() == 1 ? "one" : "ones")));
  }
  warnings_.push_back(at_field(fmt::format("{} {} is taken from namespace {}", kind, reference.name,
                                           elsewhere.front()->ns)));
  return elsewhere.front();
}

base::Result<base::Secret> SecretStore::replace(const Manifest& secret, const std::string& key,
                                                std::string text) {
  const std::string at = fmt::format("{}: {}: key {}", secret.where(), secret.title(), key);
  std::string value;
  if (const auto name = placeholder(text, "env"); name && is_variable_name(*name)) {
    const auto it = env_.find(std::string(*name));
    if (it == env_.end() || it->second.empty()) {
      return base::configuration(fmt::format("{}: environment variable {} is {}", at, *name,
                                             it == env_.end() ? "not set" : "empty"));
    }
    value = it->second;
  } else if (const auto path = placeholder(text, "file"); path && path->starts_with('/')) {
    auto content = base::read_file(std::string(*path), kMaxSecretFile);
    if (!content) return base::configuration(at + ": " + content.error().message);
    value = drop_final_newline(std::move(*content));
  } else {
    value = std::move(text);
  }
  redactor_.add(value);
  return base::Secret(std::move(value));
}

base::Result<SecretValues> SecretStore::values(const Manifest& secret) {
  std::map<std::string, std::string> texts;
  const auto collect = [&](const char* section, bool encoded) -> base::Result<> {
    const base::json::Value* members = secret.value.find(section);
    if (members == nullptr || !members->is_object()) return {};
    for (const auto& [key, value] : members->as_object()) {
      if (!value.is_string()) {
        return base::configuration(
            problem_at(secret, fmt::format("{}.{}", section, key), "must be text").text());
      }
      std::string text = value.as_string();
      if (encoded) {
        auto decoded = base::base64_decode(text);
        if (!decoded) {
          return base::configuration(
              problem_at(secret, fmt::format("{}.{}", section, key), "is not base64").text());
        }
        text = std::move(*decoded);
      }
      texts[key] = std::move(text);
    }
    return {};
  };
  KL_TRY(collect("data", secret.kind == "Secret"));
  KL_TRY(collect("stringData", false));
  SecretValues values;
  for (auto& [key, text] : texts) {
    KL_ASSIGN(values[key], replace(secret, key, std::move(text)));
  }
  return values;
}

base::Result<SecretValues> SecretStore::resolve(const Manifest& sink, const std::string& field,
                                                const api::SecretReference& reference) {
  KL_ASSIGN(const Manifest* secret,
            find(config_.manifests->secrets, "Secret", sink, field, reference));
  return values(*secret);
}

base::Result<SecretValues> SecretStore::resolve_ca(const Manifest& sink, const std::string& field,
                                                   const api::SecretReference& reference) {
  const bool in_config_map =
      std::ranges::any_of(config_.manifests->config_maps,
                          [&](const Manifest& m) { return m.name == reference.name; }) &&
      std::ranges::none_of(config_.manifests->secrets,
                           [&](const Manifest& m) { return m.name == reference.name; });
  KL_ASSIGN(const Manifest* source,
            in_config_map
                ? find(config_.manifests->config_maps, "ConfigMap", sink, field, reference)
                : find(config_.manifests->secrets, "Secret", sink, field, reference));
  return values(*source);
}

}  // namespace kollect::pipeline
