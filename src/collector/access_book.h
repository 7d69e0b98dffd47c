// What this identity may list, by access review or by what lists were told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"

namespace kollect::collector {

struct Access {
  enum class Verdict { kUnknown, kAllowed, kDenied };
  Verdict verdict = Verdict::kUnknown;
  std::optional<base::Error> error;  ///< the last review got no answer; the verdict is older
  std::string message;               ///< when denied: what is not allowed
};

/// Decisions on "list" per resource and namespace. Asked when first wanted and again when they
/// expire, never on the way of an object (L-18). Thread-safe.
class AccessBook {
 public:
  struct Options {
    bool reviews = true;
    base::Duration ttl = std::chrono::seconds(30);
    std::size_t entries = 4096;
  };
  explicit AccessBook(Options options) : options_(options) {}

  /// The decision that stands ("" as namespace: all of them, or cluster-scoped). Notes a question
  /// when there is none or it has expired.
  Access ask(const kube::Resource& resource, const std::string& ns, base::SteadyTime now);
  /// A list was refused: denied until it expires, whatever a review said.
  void refused(const kube::Resource& resource, const std::string& ns, base::SteadyTime now,
               std::string message);
  /// A watch was refused: what was known is no longer good enough.
  void doubt(const kube::Resource& resource, const std::string& ns);

  struct Question {
    kube::Resource resource;
    std::string ns;
  };
  /// Questions that nobody has taken yet.
  std::vector<Question> take_questions();
  void answered(const Question& question, const base::Result<bool>& answer, base::SteadyTime now);

  /// Forgets what was not asked for since the last call.
  void sweep();
  /// When the next decision expires.
  [[nodiscard]] base::SteadyTime next() const;
  [[nodiscard]] std::uint64_t hits() const;
  [[nodiscard]] std::uint64_t misses() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  struct Entry {
    Access access;
    bool asking = false;
    bool used = true;
    std::uint32_t failures = 0;
    base::SteadyTime expires{};
  };
  static Key key_of(const kube::Resource& resource, const std::string& ns);

  const Options options_;
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::vector<Question> questions_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace kollect::collector
