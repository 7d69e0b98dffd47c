// Which API groups of a server stream lists, learned once for all reflectors.
#pragma once

#include <mutex>
#include <set>
#include <string>

namespace kollect::kube {

/// Asking for a streamed list costs seconds where the wish is ignored without a word, so what one
/// reflector met is known to the others. Aggregated groups have servers of their own; two groups
/// that cannot do it speak for the whole server. Thread-safe.
class StreamedLists {
 public:
  [[nodiscard]] bool worth_asking(const std::string& group) const {
    const std::scoped_lock lock(mutex_);
    return missing_.size() < 2 && !missing_.contains(group);
  }
  void note_missing(const std::string& group) {
    const std::scoped_lock lock(mutex_);
    missing_.insert(group);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> missing_;
};

}  // namespace kollect::kube
