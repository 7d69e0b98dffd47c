#include "sinks/layout/words.h"

#include <array>
#include <utility>

namespace kollect::sinks {

namespace {

template <class Value, std::size_t n>
using Words = std::array<std::pair<std::string_view, Value>, n>;

constexpr Words<LayoutMode, 3> kModes = {{{"document", LayoutMode::kDocument},
                                          {"perResource", LayoutMode::kPerResource},
                                          {"split", LayoutMode::kSplit}}};
constexpr Words<LayoutContent, 3> kContents = {{{"item", LayoutContent::kItem},
                                                {"attributes", LayoutContent::kAttributes},
                                                {"manifest", LayoutContent::kManifest}}};

template <class Value, std::size_t n>
std::optional<Value> value_of(const Words<Value, n>& words, std::string_view word) {
  for (const auto& [known, value] : words) {
    if (known == word) return value;
  }
  return std::nullopt;
}

template <class Value, std::size_t n>
std::string_view name_of(const Words<Value, n>& words, Value value) {
  for (const auto& [known, one] : words) {
    if (one == value) return known;
  }
  return {};
}

}  // namespace

std::optional<LayoutMode> layout_mode(std::string_view word) {
  return value_of(kModes, word);
}

std::string_view word_of(LayoutMode mode) {
  return name_of(kModes, mode);
}

std::optional<LayoutContent> layout_content(std::string_view word) {
  return value_of(kContents, word);
}

std::string_view word_of(LayoutContent content) {
  return name_of(kContents, content);
}

}  // namespace kollect::sinks
