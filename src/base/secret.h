// Text that must never be printed.
#pragma once

#include <string>
#include <string_view>

namespace kollect::base {

/// Holds a credential. It has no formatter and no stream operator on purpose; whoever needs the
/// text says so with reveal(), which is what reviews search for. The memory is wiped on
/// destruction.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret(Secret&&) noexcept = default;
  Secret& operator=(const Secret&) = default;
  Secret& operator=(Secret&&) noexcept = default;
  ~Secret();

  [[nodiscard]] const std::string& reveal() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  bool operator==(const Secret&) const = default;

 private:
  std::string text_;
};

}  // namespace kollect::base
