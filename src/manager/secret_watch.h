// Secrets that are in use, watched one by one for their metadata alone (spec: runtime 3, X-13).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kube/client.h"
#include "kube/reflector.h"

namespace kollect::manager {

/// A watch, and its thread, for each Secret that somebody asks for, by its name: rights on single
/// Secrets are enough. Where they are not given nothing is known, and it is tried again later.
/// Values of Secrets never come here. stop() once, before what on_change() calls goes. Thread-safe.
class SecretWatch {
 public:
  struct Limits {
    std::size_t watches = 200;  ///< those beyond are not watched
    /// A watch ends when nobody has asked for so long.
    base::Duration idle = std::chrono::hours(1);
    base::Duration denied = std::chrono::minutes(10);   ///< until rights are tried again
    base::Duration silence = std::chrono::seconds(75);  ///< as in kube::ReflectorOptions
  };
  /// References must outlive it.
  SecretWatch(kube::Client& client, const base::Clock& clock, Limits limits);
  ~SecretWatch();
  SecretWatch(const SecretWatch&) = delete;
  SecretWatch& operator=(const SecretWatch&) = delete;

  /// Before the first follow(): called when a Secret came, went or has changed since it is watched,
  /// on a thread of its own; must be quick.
  void on_change(std::function<void(const std::string& ns, const std::string& name)> changed) {
    changed_ = std::move(changed);
  }
  /// The Secret is in use. Its version as last seen ("uid@resourceVersion"; "": there is none), or
  /// nothing when it is not watched (yet).
  std::optional<std::string> follow(const std::string& ns, const std::string& name);
  /// How many are in use and may not be watched.
  [[nodiscard]] std::size_t denied();
  /// Ends all watches; nothing is followed any more.
  void stop();

 private:
  struct One;
  using Name = std::pair<std::string, std::string>;

  std::vector<std::unique_ptr<One>> take_old(base::SteadyTime now);

  kube::Client& client_;
  const base::Clock& clock_;
  const Limits limits_;
  std::function<void(const std::string& ns, const std::string& name)> changed_;
  kube::ListGate gate_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::map<Name, std::unique_ptr<One>> watches_;
};

}  // namespace kollect::manager
