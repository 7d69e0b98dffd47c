#include "sinks/objects/object_sink.h"

#include <fmt/format.h>

#include <charconv>

#include "base/strings.h"
#include "sinks/objects/object_run.h"

namespace kollect::sinks::objects {

namespace {

using MemoryKey = std::pair<std::string, InventoryId>;

class ObjectSink final : public Sink {
 public:
  ObjectSink(ObjectSinkOptions options, std::unique_ptr<Bucket> bucket)
      : options_(std::move(options)),
        keys_({options_.prefix, options_.path_template, options_.compression}, *options_.encoder),
        bucket_(std::move(bucket)) {}

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    for (const auto& exp : exports) memory_.erase(key_of(exp));
    KL_ASSIGN(const bool is_there, prepare(context, dry_run));
    const Memory nothing;
    ExportReport report;
    std::set<std::string> taken;
    for (const auto& exp : exports) {
      ObjectRun run(options_, keys_, *bucket_, context, exp, is_there ? nullptr : &nothing, taken,
                    dry_run, report);
      KL_TRY(noted(run.run()));
    }
    return report;
  }

  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    auto known = memory_.extract(key_of(pass.head));
    const bool sure = !known.empty() && pass.changes != nullptr && !pass.head.keeps();
    ExportReport report;
    if (sure && known.mapped().same(pass)) {
      report.unchanged = known.mapped().memory.objects.size();
      memory_.insert(std::move(known));
      return report;
    }
    KL_TRY(prepare(context, false));
    const auto rows = pass.rows->to_row_set();
    auto whole = pass.head;
    whole.rows = &rows;
    std::set<std::string> taken;
    ObjectRun run(options_, keys_, *bucket_, context, whole,
                  sure ? &known.mapped().memory : nullptr, taken, false, report);
    if (sure && known.mapped().set_hash != pass.set_hash) run.set_changed();
    KL_ASSIGN(auto memory, noted(run.run()));
    memory_.insert_or_assign(key_of(pass.head), Known{std::move(memory), pass.set_hash, pass.head});
    return report;
  }

  base::Result<> probe(const base::Context& context) override {
    const auto there = bucket_->check(context);
    const bool will_be = options_.create_bucket && !options_.existing;
    if (!there.has_value() && will_be && there.error().reason == kNoBucket) return {};
    return there;
  }

 private:
  struct Known {
    Memory memory;
    std::string set_hash;
    Export head;

    [[nodiscard]] bool same(const Pass& pass) const {
      return set_hash == pass.set_hash && head.generation == pass.head.generation &&
             head.max_bytes == pass.head.max_bytes && !head.keeps();
    }
  };

  static MemoryKey key_of(const Export& exp) { return {exp.cluster, exp.inventory}; }

  /// After a failure the bucket is looked at anew.
  base::Result<Memory> noted(base::Result<Memory> done) {
    if (!done.has_value()) prepared_ = false;
    return done;
  }

  /// False when the bucket is not there and would only be created.
  base::Result<bool> prepare(const base::Context& context, bool dry_run) {
    const bool may_create = options_.create_bucket && !options_.existing;
    if (prepared_ || (!options_.existing && !may_create)) return true;
    const auto there = bucket_->check(context);
    if (!there.has_value()) {
      if (!may_create || there.error().reason != kNoBucket) return there.error();
      if (dry_run) return false;
      KL_TRY(bucket_->create(context));
    }
    prepared_ = true;
    return true;
  }

  ObjectSinkOptions options_;
  KeyTemplate keys_;
  std::unique_ptr<Bucket> bucket_;
  bool prepared_ = false;
  std::map<MemoryKey, Known> memory_;
};

std::string format_of(const api::SnapshotSinkSpec& spec) {
  if (spec.serialization) {
    const auto told = base::trim(spec.serialization->format);
    if (!told.empty()) return std::string(told);
  }
  return spec.object_store ? spec.object_store->format : std::string();
}

}  // namespace

base::Result<bool> switch_option(const std::map<std::string, std::string>& options,
                                 const std::string& key, bool otherwise) {
  const auto found = options.find(key);
  if (found == options.end()) return otherwise;
  const auto word = base::to_lower(base::trim(found->second));
  if (word.empty()) return otherwise;
  if (word == "true") return true;
  if (word == "false") return false;
  return base::configuration(fmt::format("spec.options[{}]: must be \"true\" or \"false\"", key),
                             "bad-option");
}

base::Result<std::uint32_t> number_option(const std::map<std::string, std::string>& options,
                                          const std::string& key, std::uint32_t least,
                                          std::uint32_t most, std::uint32_t otherwise) {
  const auto found = options.find(key);
  if (found == options.end()) return otherwise;
  const auto text = base::trim(found->second);
  if (text.empty()) return otherwise;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    return base::configuration(
        fmt::format("spec.options[{}]: must be a number from {} to {}", key, least, most),
        "bad-option");
  }
  return number;
}

base::Result<ObjectSinkOptions> object_sink_options(const api::SnapshotSink& sink) {
  const auto& spec = sink.spec;
  const auto in_sink = [&](const base::Error& error) {
    return error.with_prefix(fmt::format("sink {}", sink.metadata.name));
  };
  ObjectSinkOptions out;
  EncoderSettings settings;
  if (spec.object_store) settings.hot_attributes = spec.object_store->hot_attributes;
  const auto typed = switch_option(spec.options, "typedColumns", false);
  if (!typed.has_value()) return in_sink(typed.error());
  settings.typed = *typed;
  if (spec.serialization) {
    settings.compression = base::to_lower(base::trim(spec.serialization->compression));
  }
  auto encoder = make_encoder(format_of(spec), settings);
  if (!encoder.has_value()) return in_sink(encoder.error());
  out.encoder = std::move(*encoder);
  if (!out.encoder->compresses()) {
    if (settings.compression == "gzip") out.compression = Compression::kGzip;
    if (settings.compression == "zstd") out.compression = Compression::kZstd;
    if (settings.compression == "snappy") {
      return in_sink(base::configuration(
          "spec.serialization.compression: snappy is for parquet alone; use gzip or zstd",
          "bad-compression"));
    }
  }
  out.path_template = std::string(base::trim(spec.path_template));
  out.existing = spec.provisioning && spec.provisioning->mode == "existing";
  const auto create = switch_option(spec.options, "createBucket", false);
  if (!create.has_value()) return in_sink(create.error());
  out.create_bucket = *create;
  const auto retain = number_option(spec.options, "retainGenerations", 1, 1'000'000, 0);
  if (!retain.has_value()) return in_sink(retain.error());
  out.retain_generations = *retain;
  return out;
}

std::unique_ptr<Sink> make_object_sink(ObjectSinkOptions options, std::unique_ptr<Bucket> bucket) {
  return std::make_unique<ObjectSink>(std::move(options), std::move(bucket));
}

}  // namespace kollect::sinks::objects
