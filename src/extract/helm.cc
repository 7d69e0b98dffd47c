#include "extract/helm.h"

#include <zlib.h>

#include <charconv>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::extract {

namespace {

using base::json::View;

struct Alias {
  std::string_view name;
  std::string_view path;
};
constexpr Alias kAliases[] = {
    {"releaseName", "name"},
    {"chartName", "chart.metadata.name"},
    {"chartVersion", "chart.metadata.version"},
    {"appVersion", "chart.metadata.appVersion"},
    {"revision", "version"},
    {"status", "info.status"},
    {"lastDeployed", "info.last_deployed"},
};

/// Source text of the chart and rendered manifests: large, and full of secrets. `chart` alone
/// contains them.
bool refused(const std::vector<std::string>& keys) {
  if (keys[0] == "manifest" || keys[0] == "hooks") return true;
  if (keys[0] != "chart") return false;
  return keys.size() == 1 || keys[1] == "templates" || keys[1] == "files" || keys[1] == "values" ||
         keys[1] == "raw";
}

HelmError broken(std::string message) {
  return {false, std::move(message)};
}

HelmError too_large(std::size_t max_bytes) {
  return {true, fmt::format("the Helm release is larger than {} bytes when unpacked", max_bytes)};
}

bool is_gzip(std::string_view bytes) {
  return bytes.size() > 3 && bytes.starts_with("\x1f\x8b\x08");
}

/// Holder of zlib's state.
class Inflater {
 public:
  Inflater() { ready_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK; }
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  [[nodiscard]] bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

/// Unpacks all members of a gzip stream; trailing bytes that are no member are an error.
std::expected<std::string, HelmError> gunzip(std::string_view packed, std::size_t max_bytes) {
  Inflater inflater;
  if (!inflater.ready()) return std::unexpected(broken("gzip cannot be read: out of memory"));
  auto& stream = inflater.stream();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  std::vector<char> chunk(std::size_t{64} << 10U);
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END)
      return std::unexpected(broken("the Helm release is no valid gzip"));
    const auto got = chunk.size() - stream.avail_out;
    if (got > max_bytes - out.size()) return std::unexpected(too_large(max_bytes));
    out.append(chunk.data(), got);
    if (result != Z_STREAM_END) {
      if (got == 0 && stream.avail_in == 0)
        return std::unexpected(broken("the Helm release's gzip is cut off"));
      continue;
    }
    if (stream.avail_in == 0) return out;
    if (inflateReset(&stream) != Z_OK)
      return std::unexpected(broken("the Helm release is no valid gzip"));
  }
}

std::expected<std::string, HelmError> unpack(std::string_view text, std::size_t max_bytes) {
  // Base64 shrinks, so bounding the packed form bounds both decoded layers.
  if (text.size() / 4 > max_bytes) return std::unexpected(too_large(max_bytes));
  auto bytes = base::base64_decode(text);
  if (!bytes) return std::unexpected(broken("the Helm release is no base64"));
  // "null" would pass for base64 of three bytes.
  if (!is_gzip(*bytes) && base::trim(*bytes) != "null") {
    if (auto again = base::base64_decode(*bytes); again && !bytes->empty())
      *bytes = std::move(*again);
  }
  if (is_gzip(*bytes)) return gunzip(*bytes, max_bytes);
  if (bytes->size() > max_bytes) return std::unexpected(too_large(max_bytes));
  return std::move(*bytes);
}

}  // namespace

/// Reads steps as JSONPath spells them, but for those that can yield several values.
class HelmFieldParser {
 public:
  explicit HelmFieldParser(std::string_view text) : text_(text) {}

  std::expected<HelmField, std::string> parse() {
    HelmField field;
    if (auto done = name(field); !done) return std::unexpected(done.error());
    while (at_ < text_.size()) {
      const auto done = text_[at_] == '[' ? bracket(field) : dotted(field);
      if (!done) return std::unexpected(done.error());
    }
    return field;
  }

 private:
  using Done = std::expected<void, std::string>;

  Done fail(std::string_view what) const {
    return std::unexpected(fmt::format("{} (position {} of the field)", what, at_ + 1));
  }

  static void add_key(HelmField& field, std::string key) {
    field.keys_.push_back(key);
    field.steps_.push_back({true, std::move(key), 0});
  }

  Done dotted(HelmField& field) {
    if (text_[at_] != '.') return fail("\".\" or \"[\" expected");
    ++at_;
    return name(field);
  }

  Done name(HelmField& field) {
    std::string key;
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n\v\f.,[]$@{}").find(text_[at_]) == std::string_view::npos) {
      if (text_[at_] == '\\' && at_ + 1 == text_.size())
        return fail("a backslash at the end takes no character");
      if (text_[at_] == '\\') ++at_;
      key += text_[at_++];
    }
    if (key.empty()) return fail("a name expected, such as chart.metadata.name");
    if (key == "*") return fail("a Helm field names one value; wildcards are not possible");
    add_key(field, std::move(key));
    return {};
  }

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  Done bracket(HelmField& field) {
    ++at_;
    space();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    auto done = c == '\'' || c == '"' ? quoted(field) : index(field);
    if (!done) return done;
    space();
    if (at_ >= text_.size() || text_[at_] != ']') return fail("\"]\" expected");
    ++at_;
    return {};
  }

  Done quoted(HelmField& field) {
    const char quote = text_[at_++];
    std::string key;
    while (at_ < text_.size()) {
      char c = text_[at_++];
      if (c == quote) {
        add_key(field, std::move(key));
        return {};
      }
      if (c == '\\') {
        if (at_ == text_.size()) break;
        c = text_[at_++];
      }
      key += c;
    }
    return fail("the quoted key is not closed");
  }

  Done index(HelmField& field) {
    std::int64_t value = 0;
    const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (result.ec != std::errc{}) return fail("a quoted key or an index expected in brackets");
    at_ = static_cast<std::size_t>(result.ptr - text_.data());
    field.steps_.push_back({false, {}, value});
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::expected<HelmField, std::string> HelmField::compile(std::string_view field) {
  if (field.empty())
    return std::unexpected(
        "a field must follow \"helm:release.\", such as helm:release.chartVersion");
  for (const auto& alias : kAliases) {
    if (field == alias.name) field = alias.path;
  }
  auto parsed = HelmFieldParser(field).parse();
  if (!parsed) return parsed;
  if (refused(parsed->keys_)) {
    return std::unexpected(parsed->keys_.size() == 1 && parsed->keys_[0] == "chart"
                               ? "\"chart\" holds the chart's templates, files and values, which "
                                 "are refused; name what is wanted, such as "
                                 "helm:release.chart.metadata"
                               : "manifest, hooks, chart.templates, chart.files, chart.values and "
                                 "chart.raw are refused: they hold rendered "
                                 "manifests and sources");
  }
  return parsed;
}

std::optional<View> HelmField::find(View release) const {
  View at = release;
  for (const auto& step : steps_) {
    if (step.is_key) {
      const auto next = at.find(step.key);
      if (!next) return std::nullopt;
      at = *next;
      continue;
    }
    const auto size = static_cast<std::int64_t>(at.size());
    const auto index = step.index < 0 ? step.index + size : step.index;
    if (!at.is_array() || index < 0 || index >= size) return std::nullopt;
    at = at.at(static_cast<std::size_t>(index));
  }
  return at;
}

std::expected<HelmRelease, HelmError> HelmRelease::decode(View object, std::size_t max_bytes) {
  const auto data = object.find("data");
  const auto payload = data ? data->find("release") : std::nullopt;
  if (!payload)
    return std::unexpected(broken("the object has no data.release, so it is no Helm release"));
  if (!payload->is_string())
    return std::unexpected(broken("data.release is no text, so it is no Helm release"));
  auto text = unpack(payload->as_string(), max_bytes);
  if (!text) return std::unexpected(std::move(text.error()));
  HelmRelease release;
  auto document = base::json::Document::parse(*text);
  if (!document) return std::unexpected(broken("the Helm release is no valid JSON"));
  release.document_ = std::move(*document);
  const auto root = release.root();
  if (!root.is_object() && !root.is_null())
    return std::unexpected(broken("the Helm release is no JSON object"));
  return release;
}

}  // namespace kollect::extract
