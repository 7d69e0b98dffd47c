// Talking to a repository with the git program: fetch, push, list (spec: sinks 7.3).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address_guard.h"
#include "base/context.h"
#include "base/process.h"
#include "base/resolve.h"
#include "sinks/git/access.h"
#include "sinks/git/git_error.h"

namespace kollect::sinks::git {

struct TransportOptions {
  Remote remote;
  Access access;
  std::shared_ptr<const base::AddressGuard>
      guard;                ///< none: the user is the author, nothing is refused
  base::Resolver resolver;  ///< none: with a guard the system's, without one git resolves by itself
};

struct PushResult {
  enum class What { kDone, kRace, kDeclined, kFailed } what = What::kDone;
  base::Error error;      ///< unless done
  std::string lock = {};  ///< with a race: the remote's lock file that was there already
};

/// Every call resolves and checks the address, makes the private files of the credentials and
/// removes them again. One thread at a time.
class Transport {
 public:
  explicit Transport(TransportOptions options);

  /// Fetches the branch's tip into a ref of the bare repository; false when the branch does not
  /// exist.
  base::Result<bool> fetch(const base::Context& context, const std::filesystem::path& git_dir,
                           const std::string& branch, int depth, const std::string& into) const;
  /// Names of the branches' tips at the remote, none where a branch does not exist. One question;
  /// nothing is fetched.
  base::Result<std::vector<std::optional<std::string>>> tips(
      const base::Context& context, const std::vector<std::string>& branches) const;
  /// The same for one branch.
  base::Result<std::optional<std::string>> tip(const base::Context& context,
                                               const std::string& branch) const;
  /// Pushes a commit. `lease`: forced if the branch is still at this commit ("" = does not exist);
  /// none: fast-forward only.
  base::Result<PushResult> push(const base::Context& context, const std::filesystem::path& git_dir,
                                const std::string& commit, const std::string& branch,
                                const std::optional<std::string>& lease) const;
  /// Lists the heads; proves name, trust and credentials.
  base::Result<> probe(const base::Context& context) const;

  [[nodiscard]] const Remote& remote() const { return options_.remote; }

 private:
  /// Runs a reading command again after failures that may pass. `fine`: an outcome to be returned.
  base::Result<base::CommandResult> read(
      const base::Context& context, std::string_view doing, const std::vector<std::string>& args,
      const std::function<bool(const base::CommandResult&)>& fine) const;
  base::Result<base::CommandResult> run(const base::Context& context,
                                        std::vector<std::string> args) const;
  base::Result<std::vector<std::string>> checked_addresses() const;
  [[nodiscard]] base::Error failure(std::string_view doing, std::string_view text) const;

  TransportOptions options_;
  base::Redactor redactor_;
};

}  // namespace kollect::sinks::git
