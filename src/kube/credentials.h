// Who we are to an API server: fixed, from a file that is replaced, or from a program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/context.h"
#include "base/result.h"
#include "http/client.h"
#include "kube/exec_plugin.h"
#include "kube/kubeconfig.h"

namespace kollect::kube {

/// What goes into one request.
struct Credential {
  base::Secret bearer;  ///< empty: none
  std::optional<std::pair<std::string, base::Secret>> basic;
  std::shared_ptr<const http::TlsOptions> tls;
  std::uint64_t generation = 0;  ///< grows whenever the content changes
};

/// Thread-safe; while a program runs, other callers wait for its answer.
class Credentials {
 public:
  Credentials(const ClusterConfig& config, std::map<std::string, std::string> env);

  /// The credential for a request that is sent now. A token file is read when it changed; what is
  /// empty is never used. Errors: reason "unauthorized".
  base::Result<Credential> current(const base::Context& context);
  /// The server answered 401 to `generation`: a newer credential, or the same generation when there
  /// is none.
  base::Result<Credential> renew(const base::Context& context, std::uint64_t generation);
  /// Why the server may have refused it, as far as it can be told: "the token expired at …". Empty:
  /// no idea.
  std::string explain_refusal(base::WallTime now);
  /// Impersonation headers.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& headers() const {
    return headers_;
  }

 private:
  struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t seconds = 0;
    std::int64_t nanos = 0;
    std::int64_t size = 0;
    bool operator==(const FileStamp&) const = default;
  };

  base::Result<> refresh_token_file(const base::Context& context, bool force);
  base::Result<> refresh_exec(const base::Context& context);
  [[nodiscard]] bool exec_is_due(const base::Context& context) const;
  void take(ExecCredential fresh, base::WallTime now);
  static std::optional<FileStamp> stamp_of(const std::filesystem::path& path);

  const ClusterConfig config_;
  const std::map<std::string, std::string> env_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::mutex mutex_;
  Credential credential_;
  std::optional<FileStamp> stamp_;
  std::optional<base::WallTime> renew_at_;
  bool have_exec_ = false;
};

/// End of a JSON web token's validity (claim "exp"); none for other tokens. The signature is not
/// looked at.
std::optional<base::WallTime> token_valid_until(std::string_view token);

}  // namespace kollect::kube
