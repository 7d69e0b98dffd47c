// What must not leave the cluster: sensitive keys, shapes and contents (spec: extraction 6).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "extract/node_set.h"

namespace kollect::extract {

/// What stands in place of a redacted value, as canonical JSON.
inline constexpr std::string_view kRedactedJson = R"({"reason":"sensitive-key","redacted":true})";

/// The words by which keys are judged. Immutable, shared by threads.
class Scrubber {
 public:
  /// `added`: words beside the built-in ones; trimmed and lower-cased here, empty ones dropped.
  explicit Scrubber(const std::vector<std::string>& added);

  /// Trimmed and lower-cased, the key equals a word or ends with one longer than two bytes.
  [[nodiscard]] bool sensitive_key(std::string_view key) const;
  /// valueFrom with secretKeyRef, secretKeyRef, secretRef, tls with key; objects only. Removed
  /// members do not count.
  [[nodiscard]] static bool sensitive_shape(std::string_view key, base::json::View value,
                                            const NodeSet* removed);

 private:
  [[nodiscard]] bool matches(std::string_view folded) const;
  std::vector<std::string> words_;
  std::array<std::vector<std::uint16_t>, 256> by_last_byte_;
};

/// Lower case beyond ASCII for the scripts in which people name their fields (Latin-1, Greek,
/// Cyrillic), and the signs that fold into ASCII letters.
std::string fold_key(std::string_view key);

/// Judges a text by its content (E-14): nothing when it may stay, else what stands in its place:
/// the URL without its user info, or no text at all (`whole`) for private keys and JWTs.
struct ContentVerdict {
  bool whole = false;
  std::string text;
};
std::optional<ContentVerdict> judge_content(std::string_view text);

/// Names that count as the key of an attribute's value: the attribute's own and those its path ends
/// with.
class Place {
 public:
  Place() = default;
  Place(const Scrubber& scrubber, std::string_view attribute,
        const std::vector<std::string>& last_keys, std::string_view parent_key);
  /// The value is replaced whole, whatever it is (bool and null stay).
  [[nodiscard]] bool by_name() const { return by_name_; }
  [[nodiscard]] bool by_shape(base::json::View value) const;

 private:
  bool by_name_ = false;
  std::vector<std::string> shape_keys_;
};

}  // namespace kollect::extract
