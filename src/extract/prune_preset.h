// Named sets of pruning rules: what a kind of reader never compares (spec: extraction 7).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/json/document.h"
#include "extract/node_set.h"

namespace kollect::extract {

/// Each one cuts what those before it cut, and more.
enum class PrunePreset : std::uint8_t {
  kNone,
  kKubernetes,  ///< bookkeeping of the API server, kubectl and Argo CD
  kGitops,      ///< and the labels and annotations by which delivery tools know their objects
  kQuiet,       ///< and what changes while an object stays the same
};
std::optional<PrunePreset> parse_preset(std::string_view word);

/// Adds what the preset cuts. Places that are gone already are passed over. Of labels and
/// annotations those of the object itself are meant, not those of templates.
void mark_preset(PrunePreset preset, base::json::View object, NodeSet& removed);

/// A member by its keys; none when one is missing or gone.
std::optional<base::json::View> find_visible(base::json::View object,
                                             std::initializer_list<std::string_view> keys,
                                             const NodeSet& removed);
/// Adds that member, if it is there.
void mark_member(base::json::View object, std::initializer_list<std::string_view> keys,
                 NodeSet& removed);

}  // namespace kollect::extract
