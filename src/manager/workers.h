// The threads of one controller.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/context.h"
#include "base/log.h"
#include "base/result.h"
#include "manager/work_queue.h"

namespace kollect::manager {

/// Takes keys from a queue and looks at them: an error puts the key back with growing waits, a
/// conflict quietly, an exception is logged and counts as an error (spec: runtime 4). Owns its
/// threads; the destructor stops and waits.
class Workers {
 public:
  using Look =
      std::function<base::Result<std::optional<base::Duration>>(const base::Context&, const Key&)>;
  /// What a look came to (null: well), and how long it took; on a worker, quick.
  using Seen = std::function<void(const Key& key, base::Duration took, const base::Error* error)>;
  Workers(std::string name, WorkQueue& queue, std::size_t threads, Look look,
          const base::Clock& clock, const base::Logger* log, Seen seen = nullptr);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  void stop();

 private:
  void run(const std::stop_token& stop);
  void look_at(const base::Context& context, const Key& key);
  base::Result<std::optional<base::Duration>> timed_look(const base::Context& context,
                                                         const Key& key);

  std::string name_;
  WorkQueue& queue_;
  Look look_;
  const base::Clock& clock_;
  const base::Logger* log_;
  Seen seen_;
  std::vector<std::jthread> threads_;
};

}  // namespace kollect::manager
