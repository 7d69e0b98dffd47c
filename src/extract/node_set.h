// A set of places in one document, as a bit per tape node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json/document.h"

namespace kollect::extract {

/// Places below one root. Pruning collects here what goes, so that nothing is copied and every rule
/// names elements by their place before pruning. Views handed in must belong to the root's document
/// and lie below the root.
class NodeSet {
 public:
  explicit NodeSet(base::json::View root)
      : base_(root.node()), words_((root.node()->span + 63) / 64) {}

  void insert(base::json::View view) {
    const auto at = index(view);
    words_[at / 64] |= std::uint64_t{1} << (at % 64);
    empty_ = false;
  }
  [[nodiscard]] bool contains(base::json::View view) const {
    const auto at = index(view);
    return ((words_[at / 64] >> (at % 64)) & 1U) != 0;
  }
  [[nodiscard]] bool empty() const { return empty_; }

 private:
  [[nodiscard]] std::size_t index(base::json::View view) const {
    return static_cast<std::size_t>(view.node() - base_);
  }

  const base::json::detail::Node* base_;
  std::vector<std::uint64_t> words_;
  bool empty_ = true;
};

}  // namespace kollect::extract
