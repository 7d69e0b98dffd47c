// The words of layouts in specs, flags and previews (spec: sinks 4.2).
#pragma once

#include <optional>
#include <string_view>

#include "sinks/layout.h"

namespace kollect::sinks {

/// "document", "perResource", "split"; none: another word.
std::optional<LayoutMode> layout_mode(std::string_view word);
std::string_view word_of(LayoutMode mode);

/// "item", "attributes", "manifest"; none: another word.
std::optional<LayoutContent> layout_content(std::string_view word);
std::string_view word_of(LayoutContent content);

}  // namespace kollect::sinks
