// Secrets of the cluster by name (spec: runtime 3, X-13, and 21, X-74).
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/secret_watch.h"
#include "sinks/sink.h"

namespace kollect::manager {

struct SecretState {
  sinks::SecretData data;
  std::string version;  ///< uid and resourceVersion: another text is another content
};

enum class SecretAge {
  kRecent,  ///< as it was read a moment ago will do
  kNow,     ///< the server is asked: what was put right just now counts
};

/// Reads a Secret when it is asked for and either its watch has seen another version or, where it
/// is not watched, its last reading is older than `fresh_for`; nothing is kept of Secrets that
/// nobody asks for. Values are given to the redactor. Thread-safe.
class SecretReader {
 public:
  /// References must outlive it. `watch` null: none is watched.
  SecretReader(kube::Client& client, const base::Clock& clock, base::Redactor& redactor,
               SecretWatch* watch = nullptr, base::Duration fresh_for = std::chrono::seconds(30))
      : client_(client), clock_(clock), redactor_(redactor), watch_(watch), fresh_for_(fresh_for) {}

  /// The Secret `ns`/`name` on behalf of a sink in `sink_namespace`: of another namespace only when
  /// the Secret's annotation kollect.dev/allow-references-from names the sink's. Errors:
  /// configuration with reason SecretResolveFailed; retryable when the server cannot be asked.
  base::Result<SecretState> read(const base::Context& context, const std::string& sink_namespace,
                                 const std::string& ns, const std::string& name,
                                 SecretAge age = SecretAge::kRecent);
  /// Asks the server again next time, whatever the age.
  void forget(const std::string& ns, const std::string& name);

 private:
  struct Entry {
    SecretState state;
    std::string allowed_from;
    base::SteadyTime read_at;
  };
  base::Result<Entry> fetch(const base::Context& context, const std::string& ns,
                            const std::string& name);
  [[nodiscard]] bool is_fresh(const Entry& entry, const std::optional<std::string>& seen) const;

  kube::Client& client_;
  const base::Clock& clock_;
  base::Redactor& redactor_;
  SecretWatch* watch_;
  base::Duration fresh_for_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Entry> entries_;
};

}  // namespace kollect::manager
