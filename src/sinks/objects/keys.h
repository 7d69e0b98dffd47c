// Names of the objects of an inventory (spec: sinks 5.2, 9.3, 10).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinks/objects/compression.h"
#include "sinks/objects/encoder.h"
#include "sinks/sink.h"

namespace kollect::sinks::objects {

/// Where a sink puts documents. Immutable.
class KeyTemplate {
 public:
  struct Settings {
    std::string prefix;         ///< before every key, without slashes at its ends; may be empty
    std::string path_template;  ///< "": that of the encoder, or inventory/{namespace}/{name}...
    Compression compression = Compression::kNone;
  };
  KeyTemplate(Settings settings, const Encoder& encoder);

  /// Of part `index` (from 1) of `total`; of the whole document when total is 1. Errors: terminal
  /// or configuration, for templates that leave the folder or give no path; configuration for more
  /// than 1024 bytes.
  [[nodiscard]] base::Result<std::string> key(const Export& exp, std::size_t index = 1,
                                              std::size_t total = 1) const;
  /// Of the set manifest: the key of the unsplit and uncompressed document and ".manifest.json".
  [[nodiscard]] base::Result<std::string> manifest_key(const Export& exp) const;
  /// True when documents of each generation have keys of their own.
  [[nodiscard]] bool by_generation() const;

 private:
  friend class KeyPattern;
  [[nodiscard]] base::Result<std::string> expand(const Export& exp, std::string_view name,
                                                 std::string_view generation) const;

  Settings settings_;
  std::string template_;
  bool partitions_ = false;
  std::string extension_;
};

/// Tells the documents of one inventory from other objects by their keys: all parts, all
/// generations.
class KeyPattern {
 public:
  /// Error: as KeyTemplate::key.
  static base::Result<KeyPattern> of(const KeyTemplate& keys, const Export& exp);

  struct Match {
    std::optional<std::int64_t> generation;  ///< none when keys do not have it
  };
  [[nodiscard]] std::optional<Match> match(std::string_view key) const;
  /// Every matching key begins with this.
  [[nodiscard]] std::string common_prefix() const;

 private:
  enum class What { kText, kName, kGeneration };
  struct Piece {
    What what = What::kText;
    std::string text;
  };
  struct Walk {
    std::optional<std::string> name;
    std::optional<std::string> generation;
  };
  [[nodiscard]] bool walk(std::string_view rest, std::size_t piece, Walk& found) const;

  std::string name_;
  std::vector<Piece> pieces_;
};

}  // namespace kollect::sinks::objects
