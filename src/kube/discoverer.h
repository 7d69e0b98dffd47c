// The requests of discovery.
#pragma once

#include "kube/discovery.h"
#include "kube/sender.h"

namespace kollect::kube {

/// Aggregated discovery where the server has it, else each group version on its own, several at a
/// time.
class Discoverer {
 public:
  explicit Discoverer(Sender& sender) : sender_(sender) {}
  base::Result<Discovery> run(const base::Context& context);

 private:
  base::Result<> read_all(const base::Context& context);
  /// One of "/api" and "/apis"; what must be asked for in the classic way is added to `rest`.
  base::Result<> read_root(const base::Context& context, const std::string& path,
                           std::vector<GroupVersion>& rest);
  base::Result<> read_classic(const base::Context& context, const std::vector<GroupVersion>& rest);
  base::Result<> take(const GroupVersion& group_version, base::Result<http::Response> answer);

  Sender& sender_;
  Discovery discovery_;
};

}  // namespace kollect::kube
