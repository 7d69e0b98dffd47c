// Regular expressions of matches() and the regex library: RE2, with a way round a fault of old
// versions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace kollect::cel {

class Evaluation;

/// A compiled pattern; immutable, shared by threads.
class Regex {
 public:
  /// nullptr with the reason in `error` when the pattern is wrong or too large.
  static std::unique_ptr<Regex> compile(std::string_view pattern, std::string& error);
  ~Regex();

  /// Unanchored search.
  [[nodiscard]] bool search(std::string_view text) const;
  [[nodiscard]] const re2::RE2& re2() const { return *re2_; }
  /// Cost factor per piece of text.
  [[nodiscard]] std::uint64_t weight() const { return weight_; }

 private:
  Regex(std::unique_ptr<re2::RE2> re2, std::uint64_t weight);

  std::unique_ptr<re2::RE2> re2_;
  std::uint64_t weight_;
};

/// What RE2 is given: the pattern with named groups in its spelling, and with an empty group before
/// each alternative that RE2 could merge wrongly ("a|[aA]" loses "A" in versions before December
/// 2023). The meaning and the numbers of groups stay.
std::string shield_alternatives(std::string_view pattern);

/// The pattern from the evaluation's cache, compiled when it is new; nullptr with the reason in
/// `error`.
const Regex* cached_regex(Evaluation& evaluation, std::string_view pattern, std::string& error);

}  // namespace kollect::cel
