#include "sinks/credentials.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/strings.h"
#include "sinks/postgres/postgres_sink.h"

namespace kollect::sinks {

namespace {

constexpr const char* kDefaultSecretNamespace = "kollect-system";
constexpr std::size_t kMostKeys = 6;

std::string title_of(const std::optional<api::SecretReference>& reference,
                     const std::string& sink_ns, std::vector<std::string> keys) {
  if (!reference || reference->name.empty()) return {};
  std::string title = fmt::format("{}/{}", secret_home(*reference, sink_ns), reference->name);
  if (keys.size() > kMostKeys) keys.resize(kMostKeys);
  if (keys.empty()) return title;
  return title + fmt::format(" ({} {})", keys.size() == 1 ? "key" : "keys", base::join(keys, ", "));
}

std::vector<std::string> keys_of(const SecretData& auth) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : auth) {
    if (!base::trim(value.reveal()).empty()) keys.push_back(key);
  }
  return keys;
}

class NamingSink final : public Sink {
 public:
  NamingSink(std::unique_ptr<Sink> inner, std::string title)
      : inner_(std::move(inner)), title_(std::move(title)) {}

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    return named(inner_->export_all(context, exports, dry_run));
  }
  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    return named(inner_->apply(context, pass));
  }
  [[nodiscard]] bool takes_changes() const override { return inner_->takes_changes(); }
  base::Result<> probe(const base::Context& context) override {
    return named(inner_->probe(context));
  }

 private:
  template <class T>
  base::Result<T> named(base::Result<T> result) const {
    if (result) return result;
    base::Error error = std::move(result.error());
    const bool refused = error.kind == base::ErrorKind::kDenied && error.reason != "forbidden" &&
                         error.reason != "address-refused";
    if (refused && error.message.find(title_) == std::string::npos) {
      error.message += fmt::format("; check Secret {}", title_);
    }
    return error;
  }

  std::unique_ptr<Sink> inner_;
  std::string title_;
};

}  // namespace

std::optional<api::SecretReference> secret_of(const api::SnapshotSinkSpec& spec) {
  if (spec.git && spec.git->auth && spec.git->auth->secret_ref) return spec.git->auth->secret_ref;
  return spec.secret_ref;
}

std::optional<api::SecretReference> secret_of(const api::DatabaseSinkSpec& spec) {
  if (spec.postgres) return spec.postgres->database_ref;
  if (spec.mongodb) return spec.mongodb->database_ref;
  if (spec.bigquery && spec.bigquery->secret_ref) return spec.bigquery->secret_ref;
  return spec.secret_ref;
}

std::optional<api::SecretReference> secret_of(const api::EventSinkSpec& spec) {
  if (spec.kafka && spec.kafka->secret_ref) return spec.kafka->secret_ref;
  if (spec.nats && spec.nats->secret_ref) return spec.nats->secret_ref;
  return spec.secret_ref;
}

std::string secret_home(const api::SecretReference& reference, const std::string& sink_ns) {
  if (!reference.ns.empty()) return reference.ns;
  return sink_ns.empty() ? std::string(kDefaultSecretNamespace) : sink_ns;
}

std::string credentials_title(const api::SnapshotSink& sink, const SecretData& auth) {
  return title_of(secret_of(sink.spec), sink.metadata.ns, keys_of(auth));
}

std::string credentials_title(const api::DatabaseSink& sink, const SecretData& auth) {
  const auto dsn = sink.spec.postgres ? dsn_key(auth) : std::nullopt;
  return title_of(secret_of(sink.spec), sink.metadata.ns,
                  dsn ? std::vector<std::string>{*dsn} : keys_of(auth));
}

std::string credentials_title(const api::EventSink& sink, const SecretData& auth) {
  return title_of(secret_of(sink.spec), sink.metadata.ns, keys_of(auth));
}

std::unique_ptr<Sink> naming_credentials(std::unique_ptr<Sink> sink, std::string title) {
  if (title.empty()) return sink;
  return std::make_unique<NamingSink>(std::move(sink), std::move(title));
}

}  // namespace kollect::sinks
