#include "sinks/objects/object_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"
#include "inventory/envelope.h"
#include "sinks/layout/kept_rows.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks::objects {

namespace {

using What = ExportReport::Change::What;

constexpr std::string_view kManifestSuffix = ".manifest.json";
constexpr std::size_t kLargestDocument = std::size_t{1} << 30U;

std::string inventory_word(const Export& exp) {
  return exp.inventory.ns + "/" + exp.inventory.name;
}

std::string cluster_value(const Export& exp) {
  return base::percent_encode(base::trim(exp.cluster));
}

/// The set manifest, written like a document.
class ManifestEncoder final : public Encoder {
 public:
  ManifestEncoder(std::size_t parts, std::vector<std::string> keys)
      : parts_(parts), keys_(std::move(keys)) {
    std::ranges::sort(keys_);
  }
  [[nodiscard]] std::string_view extension() const override { return ".json"; }
  [[nodiscard]] std::string_view content_type() const override { return "application/json"; }
  [[nodiscard]] bool timed() const override { return true; }
  base::Result<> write(const Document& document, const ChunkFn& out) const override {
    return manifest_file(*document.exp, {}, parts_, listing(keys_))
        .chunks(out, document.exported_at);
  }
  base::Result<> read(std::string_view /*bytes*/, inventory::RowSet& /*into*/) const override {
    return base::configuration("a set manifest has no rows");
  }

 private:
  std::size_t parts_;
  std::vector<std::string> keys_;
};

Stored stored_of(const ObjectInfo& info) {
  Stored out;
  const auto checksum = info.metadata.find(kChecksumKey);
  if (checksum != info.metadata.end()) out.checksum = checksum->second;
  const auto time = info.metadata.find(kExportedAtKey);
  if (time == info.metadata.end()) return out;
  const auto parsed = base::parse_rfc3339(time->second);
  if (parsed.has_value()) out.exported_at = *parsed;
  return out;
}

/// Whose object it says it is; empty when it is ours or does not say.
std::string other_owner(const ObjectInfo& info, const Export& exp) {
  const auto inventory = info.metadata.find(kInventoryKey);
  if (inventory == info.metadata.end()) return {};
  const auto cluster = info.metadata.find(kClusterKey);
  const std::string named = cluster == info.metadata.end() ? "" : cluster->second;
  if (inventory->second == inventory_word(exp) && named == cluster_value(exp)) return {};
  return fmt::format("the inventory {} of the cluster \"{}\"", inventory->second, named);
}

bool is_denied(const base::Error& error) {
  return error.kind == base::ErrorKind::kDenied && error.reason == "access-denied";
}

}  // namespace

ObjectRun::ObjectRun(const ObjectSinkOptions& options, const KeyTemplate& keys, Bucket& bucket,
                     const base::Context& context, const Export& exp, const Memory* memory,
                     std::set<std::string>& taken, bool dry_run, ExportReport& report)
    : options_(options),
      keys_(keys),
      bucket_(bucket),
      context_(context),
      exp_(exp),
      memory_(memory),
      taken_(taken),
      dry_run_(dry_run),
      report_(report) {}

base::Result<Memory> ObjectRun::run() {
  KL_ASSIGN(manifest_key_, keys_.manifest_key(exp_));
  next_.generation = exp_.generation;
  KL_TRY(survey());
  KL_TRY(merge_kept_rows());
  KL_TRY(put_documents());
  KL_TRY(put_manifest());
  KL_TRY(remove_stale());
  KL_TRY(remove_old_generations());
  return std::move(next_);
}

std::optional<KeyPattern::Match> ObjectRun::own(const KeyPattern& pattern,
                                                const std::string& key) const {
  if (!key.ends_with(kManifestSuffix)) return pattern.match(key);
  auto document = key.substr(0, key.size() - kManifestSuffix.size());
  document += suffix_of(options_.compression);
  return pattern.match(document);
}

base::Result<> ObjectRun::survey() {
  KL_ASSIGN(const auto pattern, KeyPattern::of(keys_, exp_));
  const auto note = [&](const std::string& key) {
    if (const auto match = own(pattern, key)) found_.keys.emplace(key, match->generation);
  };
  if (memory_ != nullptr) {
    found_.listed = true;
    for (const auto& [key, object] : memory_->objects) note(key);
    const bool looks_back = options_.retain_generations > 0 && keys_.by_generation() &&
                            memory_->generation != exp_.generation;
    if (!looks_back) return {};
  }
  const auto listed = bucket_.list(context_, pattern.common_prefix());
  if (!listed.has_value()) {
    if (!is_denied(listed.error())) return listed.error();
    report_.warnings.push_back(
        fmt::format("{}: no right to list objects: parts of earlier exports are not looked for",
                    options_.shown));
    return {};
  }
  found_.listed = true;
  for (const auto& object : *listed) note(object.key);
  return {};
}

bool ObjectRun::same_generation(const std::optional<std::int64_t>& generation) const {
  return !generation || *generation == exp_.generation;
}

base::Result<std::vector<std::string>> ObjectRun::documents_of_last_export() {
  // A document of the present generation, else of the last one before.
  std::optional<std::int64_t> wanted;
  for (const auto& [key, generation] : found_.keys) {
    if (!generation) continue;
    if (*generation == exp_.generation) {
      wanted = generation;
      break;
    }
    if (*generation < exp_.generation && (!wanted || *generation > *wanted)) wanted = generation;
  }
  Export earlier = exp_;
  if (wanted) earlier.generation = *wanted;
  KL_ASSIGN(const auto manifest_key, keys_.manifest_key(earlier));
  KL_ASSIGN(const auto whole_key, keys_.key(earlier));
  std::vector<std::string> keys;
  if (!found_.listed || found_.keys.contains(manifest_key)) {
    KL_ASSIGN(const auto text, bucket_.get(context_, manifest_key));
    if (text) keys = read_manifest(*text, exp_).value_or(std::vector<std::string>());
  }
  if (keys.empty() && (!found_.listed || found_.keys.contains(whole_key))) keys = {whole_key};
  if (keys.empty()) {
    for (const auto& [key, generation] : found_.keys) {
      if (generation == wanted && !key.ends_with(kManifestSuffix)) keys.push_back(key);
    }
  }
  std::vector<std::string> texts;
  for (const auto& key : keys) {
    KL_ASSIGN(auto bytes, bucket_.get(context_, key));
    if (!bytes) continue;
    auto text = decompress(std::move(*bytes), kLargestDocument);
    if (!text.has_value()) return text.error().with_prefix(key);
    texts.push_back(std::move(*text));
  }
  return texts;
}

base::Result<> ObjectRun::merge_kept_rows() {
  if (!exp_.keeps()) return {};
  const auto texts = documents_of_last_export();
  if (!texts.has_value()) {
    return texts.error().with_prefix(
        "rows of objects that cannot be read now must stay, but the last export cannot be read");
  }
  KL_ASSIGN(merged_, with_kept_rows(
                         exp_,
                         [&](std::string_view text, inventory::RowSet& into) {
                           return options_.encoder->read(text, into);
                         },
                         *texts));
  if (merged_) exp_.rows = &*merged_;
  return {};
}

base::Result<> ObjectRun::put_documents() {
  KL_ASSIGN(const auto parts,
            inventory::cut_parts(*exp_.rows, envelope_meta(exp_), exp_.max_bytes));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    KL_ASSIGN(auto key, keys_.key(exp_, i + 1, parts.size()));
    if (!taken_.insert(key).second) {
      return base::terminal(
          fmt::format("{}: two documents of this run have the key {}; use {{namespace}} and "
                      "{{name}} in pathTemplate",
                      options_.shown, key),
          "path-collision");
    }
    written_.push_back(std::move(key));
  }
  if (parts.size() > 1) taken_.insert(manifest_key_);
  changed_ = changed_ && parts.size() == 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Document document{.exp = &exp_,
                      .first = parts[i].first,
                      .last = parts[i].last,
                      .part_index = {},
                      .part_total = {},
                      .exported_at = exp_.exported_at};
    if (parts.size() > 1) {
      document.part_index = static_cast<std::uint32_t>(i + 1);
      document.part_total = static_cast<std::uint32_t>(parts.size());
    }
    KL_TRY(put(written_[i], *options_.encoder, options_.compression, document,
               document.last - document.first));
  }
  return {};
}

base::Result<> ObjectRun::put_manifest() {
  if (written_.size() < 2) return {};
  const ManifestEncoder encoder(written_.size(), written_);
  Document document;
  document.exp = &exp_;
  document.exported_at = exp_.exported_at;
  // Whoever waits for the set looks at this object: it is new whenever a part is.
  changed_ = wrote_;
  return put(manifest_key_, encoder, Compression::kNone, document, 0);
}

base::Result<std::optional<Stored>> ObjectRun::stored(const std::string& key) {
  if (memory_ != nullptr) {
    const auto found = memory_->objects.find(key);
    return found == memory_->objects.end() ? std::optional<Stored>() : found->second;
  }
  if (found_.listed && !found_.keys.contains(key)) return std::optional<Stored>();
  const auto info = bucket_.head(context_, key);
  if (!info.has_value()) {
    // Who may write may lack the right to read: the object is written again then.
    if (is_denied(info.error())) return std::optional<Stored>(Stored{});
    return info.error();
  }
  if (!*info) return std::optional<Stored>();
  if (const auto owner = other_owner(**info, exp_); !owner.empty()) {
    report_.warnings.push_back(
        fmt::format("{}: {} was written for {}; put {{cluster}}, {{namespace}} and {{name}} into "
                    "pathTemplate when both write here",
                    options_.shown, key, owner));
  }
  return std::optional<Stored>(stored_of(**info));
}

ObjectMeta ObjectRun::meta_of(const Encoder& encoder, Compression compression,
                              const Document& document, const std::string& checksum) const {
  ObjectMeta meta;
  meta.content_type = encoder.content_type();
  meta.content_encoding = encoding_of(compression);
  meta.metadata[kChecksumKey] = checksum;
  meta.metadata[kExportedAtKey] = base::format_rfc3339(document.exported_at);
  meta.metadata[kInventoryKey] = inventory_word(exp_);
  if (const auto cluster = cluster_value(exp_); !cluster.empty()) {
    meta.metadata[kClusterKey] = cluster;
  }
  return meta;
}

base::Result<> ObjectRun::put(const std::string& key, const Encoder& encoder,
                              Compression compression, const Document& document,
                              std::uint64_t rows) {
  KL_TRY(context_.check());
  KL_ASSIGN(const auto old, stored(key));
  const auto now = document.exported_at;
  Rendering rendering(encoder, document, compression, options_.whole_up_to);
  // Without the time in its bytes, and for the same time, one rendering tells and writes.
  const bool same_time = old && (!encoder.timed() || old->exported_at == std::optional(now));
  bool same = false;
  if (old && !same_time && !changed_ && !old->checksum.empty() && old->exported_at) {
    KL_ASSIGN(const auto checksum, rendering.checksum(*old->exported_at));
    same = checksum == old->checksum;
  }
  Rendering::Body body;
  if (!same) {
    KL_ASSIGN(body, rendering.body());
    same = same_time && !changed_ && body.checksum == old->checksum;
  }
  if (same) {
    ++report_.unchanged;
    if (dry_run_) report_.changes.push_back({What::kUnchanged, key, rows, 0});
    next_.objects[key] = *old;
    return {};
  }
  wrote_ = true;
  if (dry_run_) {
    const auto bytes = body.bytes ? body.bytes->size() : 0;
    report_.changes.push_back({old ? What::kUpdate : What::kCreate, key, rows, bytes});
    ++report_.written;
    report_.bytes += bytes;
    return {};
  }
  KL_ASSIGN(const auto bytes,
            upload(key, rendering, body, meta_of(encoder, compression, document, body.checksum)));
  ++report_.written;
  report_.bytes += bytes;
  next_.objects[key] = {body.checksum, now};
  return {};
}

base::Result<std::uint64_t> ObjectRun::upload(const std::string& key, Rendering& rendering,
                                              const Rendering::Body& body, ObjectMeta meta) {
  if (body.bytes) {
    if (meta.content_encoding.empty()) meta.body_sha256 = body.checksum;
    KL_TRY(bucket_.put(context_, key, *body.bytes, meta));
    return body.bytes->size();
  }
  KL_ASSIGN(const auto upload, bucket_.start_upload(context_, key, meta));
  KL_ASSIGN(const auto bytes, rendering.write_into(context_, *upload));
  KL_TRY(upload->finish(context_));
  return bytes;
}

base::Result<> ObjectRun::remove_stale() {
  std::vector<std::string> stale;
  for (const auto& [key, generation] : found_.keys) {
    if (same_generation(generation) && !taken_.contains(key)) stale.push_back(key);
  }
  // Without its manifest nobody takes what is left for a set.
  std::ranges::stable_partition(stale, [&](const auto& key) { return key == manifest_key_; });
  for (const auto& key : stale) KL_TRY(remove(key));
  return {};
}

base::Result<> ObjectRun::remove_old_generations() {
  const auto keep = options_.retain_generations;
  if (keep == 0 || !keys_.by_generation()) return {};
  std::vector<std::int64_t> others;
  for (const auto& [key, generation] : found_.keys) {
    if (generation && *generation != exp_.generation) others.push_back(*generation);
  }
  // Higher numbers are those of an earlier inventory of that name.
  const auto rank = [&](std::int64_t n) { return std::pair(n > exp_.generation ? 0 : 1, n); };
  std::ranges::sort(others, [&](auto a, auto b) { return rank(a) > rank(b); });
  const auto twice = std::ranges::unique(others);
  others.erase(twice.begin(), twice.end());
  if (others.size() < keep) return {};
  const std::set<std::int64_t> old(others.begin() + (keep - 1), others.end());
  std::vector<std::string> stale;
  for (const auto& [key, generation] : found_.keys) {
    if (generation && old.contains(*generation)) stale.push_back(key);
  }
  std::ranges::stable_partition(stale, [](const auto& k) { return k.ends_with(kManifestSuffix); });
  for (const auto& key : stale) KL_TRY(remove(key));
  return {};
}

base::Result<> ObjectRun::remove(const std::string& key) {
  KL_TRY(context_.check());
  if (memory_ == nullptr || !memory_->objects.contains(key)) {
    const auto info = bucket_.head(context_, key);
    if (!info.has_value() && !is_denied(info.error())) return info.error();
    if (info.has_value() && (!*info || !other_owner(**info, exp_).empty())) return {};
  }
  ++report_.removed;
  if (dry_run_) {
    report_.changes.push_back({What::kRemove, key, 0, 0});
    return {};
  }
  return bucket_.remove(context_, key);
}

}  // namespace kollect::sinks::objects
