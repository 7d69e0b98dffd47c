// Resource mode: the object cut down to what a profile exports (spec: extraction 7).
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/json/document.h"
#include "cel/cel.h"
#include "extract/cel_environment.h"
#include "extract/jsonpath.h"
#include "extract/node_set.h"
#include "extract/prune_preset.h"
#include "extract/scrub.h"

namespace kollect::extract {

/// A JSON pointer (RFC 6901) as its unescaped tokens. Error: why the text is none.
std::expected<std::vector<std::string>, std::string> parse_pointer(std::string_view text);

/// The rules of `export` of one profile. Immutable, shared by threads.
class Pruner {
 public:
  /// `report(field, message)` gets what does not compile; field below "spec.export.prune", such as
  /// "jsonPaths[0]". Everything is compiled whatever the mode, so that admission sees all of it.
  using Report =
      std::function<void(const std::string& field, ErrorClass error_class, std::string message)>;
  static Pruner compile(const api::ExportSpec& spec, const Report& report);

  struct Outcome {
    std::uint32_t errors = 0;  ///< failed evaluations of prune.cel, which counted as false
  };
  /// Appends the pruned, scrubbed object. `redact_secret_data`: E-16. Errors: limits only.
  std::expected<Outcome, std::string> write(base::json::View object, const ObjectContext& context,
                                            const Scrubber& scrubber, bool redact_secret_data,
                                            std::string& out) const;

 private:
  enum class Include : std::uint8_t { kAll, kMetadata, kSpec, kStatus, kSpecAndStatus };

  void mark_sections(base::json::View object, NodeSet& removed) const;
  void mark_fixed(base::json::View object, NodeSet& removed) const;
  static void mark_pointer(base::json::View object, const std::vector<std::string>& tokens,
                           NodeSet& removed);
  std::expected<void, std::string> mark_paths(base::json::View object, NodeSet& removed) const;
  std::expected<Outcome, std::string> mark_cel(base::json::View pruned, base::json::View object,
                                               const ObjectContext& context,
                                               NodeSet& removed) const;

  Include include_ = Include::kSpecAndStatus;
  bool dedupe_identity_ = true;
  PrunePreset preset_ = PrunePreset::kKubernetes;
  std::vector<std::vector<std::string>> pointers_;
  std::vector<JsonPath> paths_;  ///< jsonPaths, then jqPathExpressions
  std::vector<cel::Program> cel_;
};

}  // namespace kollect::extract
