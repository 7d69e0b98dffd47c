#include "sinks/objects/keys.h"

#include <fmt/format.h>

#include <charconv>

#include "base/strings.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks::objects {

namespace {

constexpr std::size_t kLongestKey = 1024;
constexpr std::string_view kManifestSuffix = ".manifest.json";
// Stand for name and generation while the pieces around them are found.
constexpr std::string_view kNameMark = "kollect0inventory0name0mark";
constexpr std::string_view kGenerationMark = "kollect0generation0mark";

bool is_partition_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// Value of a partition: runs of other characters become "_".
std::string partition_value(std::string_view text) {
  std::string out;
  bool in_run = false;
  for (const char c : base::trim(text)) {
    const bool fine = is_partition_char(c);
    if (fine) {
      out += c;
    } else if (!in_run) {
      out += '_';
    }
    in_run = !fine;
  }
  return out.empty() ? "default" : out;
}

std::string folder_value(std::string_view cluster) {
  auto out = sanitise_segment(cluster);
  return out.empty() ? "default" : out;
}

}  // namespace

KeyTemplate::KeyTemplate(Settings settings, const Encoder& encoder)
    : settings_(std::move(settings)), extension_(encoder.extension()) {
  template_ = std::string(base::trim(settings_.path_template));
  if (!template_.empty()) return;
  template_ = std::string(encoder.default_template());
  partitions_ = !template_.empty();
  if (!partitions_) template_ = std::string(kDefaultDocument);
}

base::Result<std::string> KeyTemplate::expand(const Export& exp, std::string_view name,
                                              std::string_view generation) const {
  const PathTemplate parsed(template_, document_placeholders());
  const auto word = cluster_word(exp);
  const auto cluster = partitions_ ? partition_value(word) : folder_value(word);
  const auto ns = partitions_ ? partition_value(exp.inventory.ns) : exp.inventory.ns;
  const auto shown = partitions_ ? partition_value(name) : std::string(name);
  const auto raw = parsed.expand([&](std::string_view place) -> std::string_view {
    if (place == "cluster") return cluster;
    if (place == "namespace") return ns;
    if (place == "name") return shown;
    if (place == "generation") return generation;
    return extension_;
  });
  if (base::trim(raw).starts_with('/')) {
    return base::configuration(fmt::format("path \"{}\" is absolute; use a relative one", raw),
                               "bad-path");
  }
  KL_ASSIGN(const auto checked, check_path(raw, extension_));
  return settings_.prefix.empty() ? checked.path : settings_.prefix + "/" + checked.path;
}

base::Result<std::string> KeyTemplate::key(const Export& exp, std::size_t index,
                                           std::size_t total) const {
  const auto name = total < 2 ? exp.inventory.name : part_name(exp.inventory.name, index, total);
  KL_ASSIGN(auto out, expand(exp, name, fmt::to_string(exp.generation)));
  out += suffix_of(settings_.compression);
  if (out.size() > kLongestKey) {
    return base::configuration(
        fmt::format("the key of {}/{} has {} bytes, object stores take {}; use a shorter "
                    "pathTemplate",
                    exp.inventory.ns, exp.inventory.name, out.size(), kLongestKey),
        "bad-path");
  }
  return out;
}

base::Result<std::string> KeyTemplate::manifest_key(const Export& exp) const {
  KL_ASSIGN(auto out, expand(exp, exp.inventory.name, fmt::to_string(exp.generation)));
  return out + std::string(kManifestSuffix);
}

bool KeyTemplate::by_generation() const {
  return PathTemplate(template_, document_placeholders()).uses("generation");
}

base::Result<KeyPattern> KeyPattern::of(const KeyTemplate& keys, const Export& exp) {
  KeyPattern out;
  out.name_ = keys.partitions_ ? partition_value(exp.inventory.name) : exp.inventory.name;
  KL_ASSIGN(auto whole, keys.expand(exp, kNameMark, kGenerationMark));
  whole += suffix_of(keys.settings_.compression);
  std::string_view rest = whole;
  while (true) {
    const auto name = rest.find(kNameMark);
    const auto generation = rest.find(kGenerationMark);
    const auto at = std::min(name, generation);
    out.pieces_.push_back({What::kText, std::string(rest.substr(0, at))});
    if (at == std::string_view::npos) return out;
    const bool is_name = name < generation;
    out.pieces_.push_back({is_name ? What::kName : What::kGeneration, {}});
    rest.remove_prefix(at + (is_name ? kNameMark : kGenerationMark).size());
  }
}

bool KeyPattern::walk(std::string_view rest, std::size_t piece, Walk& found) const {
  if (piece == pieces_.size()) return rest.empty();
  const auto go_on = [&](std::string_view text) {
    return rest.starts_with(text) && walk(rest.substr(text.size()), piece + 1, found);
  };
  switch (pieces_[piece].what) {
    case What::kText:
      return go_on(pieces_[piece].text);
    case What::kName: {
      if (found.name) return go_on(*found.name);
      if (!rest.starts_with(name_)) return false;
      const auto suffix = part_suffix_length(rest.substr(name_.size()));
      for (const std::size_t length : {suffix, std::size_t{0}}) {
        found.name = std::string(rest.substr(0, name_.size() + length));
        if (go_on(*found.name)) return true;
        found.name.reset();
      }
      return false;
    }
    case What::kGeneration: {
      if (found.generation) return go_on(*found.generation);
      const auto end = std::min(rest.find_first_not_of("0123456789"), rest.size());
      if (end == 0) return false;
      found.generation = std::string(rest.substr(0, end));
      if (go_on(*found.generation)) return true;
      found.generation.reset();
      return false;
    }
  }
  return false;
}

std::optional<KeyPattern::Match> KeyPattern::match(std::string_view key) const {
  Walk found;
  if (!walk(key, 0, found)) return {};
  Match out;
  if (!found.generation) return out;
  std::int64_t number = 0;
  const auto& digits = *found.generation;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc()) return {};
  out.generation = number;
  return out;
}

std::string KeyPattern::common_prefix() const {
  std::string out;
  for (const auto& piece : pieces_) {
    if (piece.what == What::kGeneration) break;
    out += piece.what == What::kName ? name_ : piece.text;
    if (piece.what == What::kName) break;
  }
  return out;
}

}  // namespace kollect::sinks::objects
