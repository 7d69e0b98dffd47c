// Merge requests by the API of a forge: GitLab, or Gitea and Forgejo.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/address_guard.h"
#include "base/context.h"
#include "base/json/document.h"
#include "base/log.h"
#include "http/client.h"
#include "sinks/gitlab/options.h"

namespace kollect::sinks::gitlab {

/// From which branch into which one.
struct Branches {
  std::string source;
  std::string target;
};

/// An open merge request.
struct OpenRequest {
  std::int64_t number = 0;
  std::string title;
  bool merges_by_itself = false;  ///< auto-merge is set
};

/// One call of an API and what it is for.
struct Call {
  std::string method;
  std::string path;   ///< with the query, below the forge's origin
  std::string body;   ///< JSON; empty: none
  std::string doing;  ///< for errors: "list merge requests"
};

/// Calls with the sink's trust, guard and credentials. One thread at a time.
class Api {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  explicit Api(const GitLabOptions& options);

  /// Any answer. What was cut and answers of an overloaded server (429, 502, 503, 504) are tried
  /// three times. Errors: of the transport, and such an answer.
  base::Result<http::Response> send(const base::Context& context, const Call& call,
                                    const Headers& credentials);
  /// The error that an answer of 300 or more means: its status and at most 240 bytes of its body.
  /// Kinds: denied (401, 403), not_found (404), retryable (408, 429, 5xx), terminal (the rest).
  [[nodiscard]] base::Error failure(const Call& call, const http::Response& answer) const;
  /// Its document. Error: failure(), retryable for what is no JSON.
  [[nodiscard]] base::Result<base::json::Document> read(const Call& call,
                                                        const http::Response& answer) const;

  [[nodiscard]] const base::Secret& token() const;
  [[nodiscard]] const GitLabOptions& options() const { return options_; }

 private:
  const GitLabOptions& options_;
  std::shared_ptr<const http::TlsOptions> tls_;
  base::Redactor redactor_;
  http::Client http_;
};

/// A dialect. Every call is one or more requests. Errors: as of Api; an answer of 404 or 405 has
/// the reason kNotThisForge.
class Forge {
 public:
  virtual ~Forge() = default;
  /// The token may see the project.
  virtual base::Result<> check(const base::Context& context) = 0;
  /// The open request between the two branches of the project itself, none when there is none.
  virtual base::Result<std::optional<OpenRequest>> find(const base::Context& context,
                                                        const Branches& branches) = 0;
  /// Opens one. None: there is one already.
  virtual base::Result<std::optional<OpenRequest>> open(const base::Context& context,
                                                        const Branches& branches,
                                                        const std::string& title) = 0;
  virtual base::Result<> set_title(const base::Context& context, std::int64_t number,
                                   const std::string& title) = 0;
  virtual base::Result<> close(const base::Context& context, std::int64_t number) = 0;
  /// Asks that it merges as soon as it may. True: agreed; false: not now.
  virtual base::Result<bool> merge_when_ready(const base::Context& context, std::int64_t number,
                                              const std::string& commit) = 0;
};

inline constexpr std::string_view kNotThisForge = "project-not-found";

/// Both borrow the Api.
std::unique_ptr<Forge> make_gitlab(Api& api);
std::unique_ptr<Forge> make_gitea(Api& api);

}  // namespace kollect::sinks::gitlab
