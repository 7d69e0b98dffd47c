// The in-memory Kubernetes API server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json/value.h"
#include "base/log.h"
#include "base/result.h"
#include "http/server.h"

namespace kollect::sandbox {

struct SandboxOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: a free one
  std::optional<http::ServerIdentity> tls = {};
  std::size_t workers = 2;
  std::size_t history_events = 50'000;  ///< per resource; older ones give 410
  base::Duration bookmark_interval = std::chrono::seconds(60);
  std::uint64_t seed = 1;  ///< of uids, generated names, changes and faults

  struct Generate {
    std::string kind;  ///< "Deployment", "pods", "widgets.example.com"
    std::uint32_t count = 0;
  };
  /// Objects that are made when they are asked for, so that a million of them costs little.
  std::vector<Generate> generate = {};
  std::uint32_t namespaces = 10;  ///< "load-0000" and so on, for generated objects
  double changes_per_second = 0;  ///< of generated objects
};

/// Serves from start() to its end. Thread-safe.
///
/// Beside the Kubernetes API it answers below /sandbox: GET, PUT, DELETE /sandbox/faults (rules),
/// PUT /sandbox/access (rules, see Access::set), POST /sandbox/restart?downMs=N,
/// POST /sandbox/change?count=N, GET /sandbox/stats.
class Sandbox {
 public:
  /// `clock` and `log` (may be null) must outlive it.
  static base::Result<std::unique_ptr<Sandbox>> start(const base::Clock& clock,
                                                      SandboxOptions options,
                                                      const base::Logger* log = nullptr);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// "http://127.0.0.1:port".
  [[nodiscard]] std::string url() const;
  /// A kubeconfig with one context, "sandbox".
  [[nodiscard]] std::string kubeconfig() const;

  /// Puts a manifest (or a List of them) in, with its status; what is there is replaced. Missing
  /// namespaces are made. Error (configuration): a kind that is not served, a bad name.
  base::Result<> load(const base::json::Value& manifest);
  struct Loaded {
    std::size_t objects = 0;
    std::vector<std::string> skipped;  ///< one line each
  };
  /// Files and folders (their .yaml, .yml and .json files, in order of names). Definitions of kinds
  /// first. Error: a file that cannot be read.
  base::Result<Loaded> load_paths(const std::vector<std::string>& paths);

  /// Rules of faults.h, as JSON. Error (configuration): names what is wrong.
  base::Result<> set_faults(const base::json::Value& rules);
  /// Cuts every watch and list, forgets history, and cuts every request for so long.
  void restart(base::Duration down = {});
  /// Makes so many changes of generated objects.
  void change(std::uint64_t count);

  struct Counts {
    std::uint64_t objects = 0;
    std::uint64_t events = 0;
    std::uint64_t watches = 0;
    std::uint64_t requests = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t connections = 0;
  };
  [[nodiscard]] Counts counts() const;

  /// Ends watches in good order, then closes.
  void stop();

 private:
  struct Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kollect::sandbox
