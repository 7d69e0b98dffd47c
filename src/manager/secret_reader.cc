#include "manager/secret_reader.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/strings.h"

namespace kollect::manager {
namespace {

constexpr const char* kAllowFrom = "kollect.dev/allow-references-from";
constexpr const char* kReason = "SecretResolveFailed";
/// What is watched is read again all the same after so long.
constexpr base::Duration kWatchedFreshFor = std::chrono::minutes(10);

bool allows(std::string_view list, std::string_view ns) {
  for (const std::string_view part : base::split(list, ',')) {
    const auto word = base::trim(part);
    if (word == "*" || word == ns) return true;
  }
  return false;
}

const kube::Resource& secrets() {
  static const kube::Resource kSecrets = {.group = "",
                                          .version = "v1",
                                          .kind = "Secret",
                                          .plural = "secrets",
                                          .namespaced = true,
                                          .verbs = {"get"}};
  return kSecrets;
}

}  // namespace

base::Result<SecretReader::Entry> SecretReader::fetch(const base::Context& context,
                                                      const std::string& ns,
                                                      const std::string& name) {
  const auto text = client_.get(context, secrets(), ns, name);
  if (!text) {
    const base::Error& error = text.error();
    if (error.kind == base::ErrorKind::kNotFound) {
      return base::configuration(fmt::format("there is no Secret {}/{}", ns, name), kReason);
    }
    if (error.kind == base::ErrorKind::kDenied) {
      return base::configuration(
          fmt::format("Secret {}/{} may not be read by the operator", ns, name), kReason);
    }
    return error.with_prefix(fmt::format("Secret {}/{}", ns, name));
  }
  KL_ASSIGN(const base::json::Document document, base::json::Document::parse(*text));
  const base::json::View root = document.root();
  Entry entry;
  entry.read_at = clock_.steady_now();
  if (const auto metadata = root.find("metadata")) {
    entry.state.version =
        fmt::format("{}@{}", metadata->text("uid"), metadata->text("resourceVersion"));
    if (const auto annotations = metadata->find("annotations")) {
      entry.allowed_from = annotations->text(kAllowFrom);
    }
  }
  if (const auto data = root.find("data")) {
    for (const auto& [key, value] : data->members()) {
      if (!value.is_string()) continue;
      auto decoded = base::base64_decode(value.as_string());
      if (!decoded) {
        return base::configuration(fmt::format("Secret {}/{}: key {} is not base64", ns, name, key),
                                   kReason);
      }
      redactor_.add(*decoded);
      entry.state.data.emplace(key, base::Secret(std::move(*decoded)));
    }
  }
  return entry;
}

bool SecretReader::is_fresh(const Entry& entry, const std::optional<std::string>& seen) const {
  const base::Duration age = clock_.steady_now() - entry.read_at;
  return seen ? *seen == entry.state.version && age < kWatchedFreshFor : age < fresh_for_;
}

base::Result<SecretState> SecretReader::read(const base::Context& context,
                                             const std::string& sink_namespace,
                                             const std::string& ns, const std::string& name,
                                             SecretAge age) {
  std::optional<Entry> entry;
  std::optional<Entry> stale;
  const auto seen = watch_ != nullptr ? watch_->follow(ns, name) : std::nullopt;
  {
    const std::scoped_lock lock(mutex_);
    const auto it = entries_.find({ns, name});
    if (it != entries_.end()) {
      const bool fresh = age == SecretAge::kRecent && is_fresh(it->second, seen);
      (fresh ? entry : stale) = it->second;
    }
  }
  if (!entry) {
    auto read = fetch(context, ns, name);
    if (!read && read.error().kind == base::ErrorKind::kRetryable && stale &&
        age == SecretAge::kRecent) {
      // An API server that is away for a while is no reason to stop exporting.
      read = std::move(*stale);
    }
    KL_ASSIGN(entry, std::move(read));
    const std::scoped_lock lock(mutex_);
    entries_.insert_or_assign({ns, name}, *entry);
    // Those that nobody has asked for in an hour are of sinks that are gone.
    const base::SteadyTime old = clock_.steady_now() - std::chrono::hours(1);
    std::erase_if(entries_, [&](const auto& item) { return item.second.read_at < old; });
  }
  if (ns != sink_namespace && !allows(entry->allowed_from, sink_namespace)) {
    return base::configuration(
        fmt::format("Secret {}/{} does not allow references from namespace {}; its owner can, with "
                    "the annotation {}",
                    ns, name, sink_namespace, kAllowFrom),
        kReason);
  }
  return entry->state;
}

void SecretReader::forget(const std::string& ns, const std::string& name) {
  const std::scoped_lock lock(mutex_);
  entries_.erase({ns, name});
}

}  // namespace kollect::manager
