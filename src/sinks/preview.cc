#include "sinks/preview.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/strings.h"
#include "sinks/git/commit_text.h"
#include "sinks/gitlab/options.h"
#include "sinks/kafka/options.h"
#include "sinks/layout/run_layout.h"
#include "sinks/layout/words.h"
#include "sinks/objects/keys.h"
#include "sinks/objects/object_sink.h"
#include "sinks/postgres/table.h"

namespace kollect::sinks {

namespace {

using base::json::Array;
using base::json::Object;
using base::json::Value;

constexpr std::size_t kItems = 42;
constexpr std::string_view kChecksum = "sha256:a1b2c3d4e5f6";
/// 2026-01-01T00:00:00Z
constexpr base::WallTime kTime{std::chrono::seconds(1767225600)};
constexpr std::array<std::string_view, 3> kRows = {"api", "web", "cache"};

Export sample(const api::SinkCommon& spec) {
  Export exp;
  exp.inventory = {.ns = "team-a", .name = "api"};
  exp.generation = 1;
  exp.exported_at = kTime;
  exp.cluster = std::string(base::trim(spec.cluster));
  return exp;
}

Value list_of(const std::vector<std::string>& texts) {
  Array list;
  for (const auto& text : texts) list.emplace_back(text);
  return {std::move(list)};
}

/// The members that every type has, and what there is to warn of.
class Draft {
 public:
  Draft(const api::SinkCommon& spec, std::string format) {
    const bool existing = spec.provisioning && spec.provisioning->mode == "existing";
    out_.set("inputSampleSource", "synthetic");
    out_.set("provisioningMode", existing ? "existing" : "ensure");
    out_.set("serializationFormat", std::move(format));
    if (existing) warn("provisioning.mode existing: nothing is created, what is missing fails");
  }
  void set(const char* member, Value value) { out_.set(member, std::move(value)); }
  void warn(std::string text) { warnings_.push_back(std::move(text)); }
  /// The value; where there is none its error becomes a warning.
  template <class T>
  std::optional<T> take(base::Result<T> result) {
    if (result) return std::move(*result);
    warn(result.error().message);
    return std::nullopt;
  }
  Object finish() {
    if (!warnings_.empty()) out_.set("warnings", list_of(warnings_));
    return std::move(out_);
  }

 private:
  Object out_;
  std::vector<std::string> warnings_;
};

std::string format_of(const api::SinkCommon& spec, const std::string& otherwise) {
  const std::string_view told = spec.serialization ? base::trim(spec.serialization->format) : "";
  return told.empty() ? otherwise : base::to_lower(told);
}

base::Result<std::vector<std::string>> row_paths(const Export& exp, const LayoutSpec& spec) {
  const RowPaths paths(exp, spec);
  std::vector<std::string> found;
  for (const auto name : kRows) {
    const inventory::RowView row{.target_namespace = "team-a",
                                 .target_name = "api",
                                 .ns = "team-a",
                                 .name = name,
                                 .group = "apps",
                                 .version = "v1",
                                 .kind = "Deployment",
                                 .uid = name,
                                 .attributes = "{}"};
    KL_ASSIGN(auto checked, paths.path(row));
    found.push_back(std::move(checked.path));
  }
  return found;
}

/// The mode and paths of a sink that lays files out.
void add_layout(Draft& draft, const Export& exp, const LayoutSpec& spec,
                const std::string& document) {
  const LayoutMode mode = spec.mode.value_or(LayoutMode::kDocument);
  Object layout;
  layout.set("mode", std::string(word_of(mode)));
  layout.set("content", std::string(word_of(spec.content.value_or(LayoutContent::kItem))));
  if (mode != LayoutMode::kDocument || spec.prune) layout.set("prune", true);
  std::vector<std::string> paths;
  if (mode == LayoutMode::kDocument) {
    paths.push_back(document);
  } else {
    if (mode == LayoutMode::kSplit && spec.index_enabled.value_or(true)) {
      if (auto index =
              draft.take(document_path(exp, spec, spec.index_template, exp.inventory.name))) {
        paths.push_back(std::move(*index));
      }
    }
    for (auto& path : draft.take(row_paths(exp, spec)).value_or(std::vector<std::string>())) {
      if (paths.size() < kRows.size()) paths.push_back(std::move(path));
    }
  }
  layout.set("samplePaths", list_of(paths));
  draft.set("layout", std::move(layout));
}

void add_commit(Draft& draft, const api::SnapshotSink& sink, const Export& exp,
                const std::string& document) {
  git::CommitTemplates templates;
  if (sink.spec.git) {
    const auto& settings = *sink.spec.git;
    templates = {settings.commit_message, settings.commit_body, settings.commit_trailers};
  }
  const auto message =
      draft.take(git::commit_message(templates, {.cluster = cluster_word(exp),
                                                 .ns = exp.inventory.ns,
                                                 .name = exp.inventory.name,
                                                 .generation = exp.generation,
                                                 .item_count = kItems,
                                                 .checksum = std::string(kChecksum),
                                                 .exported_at = kTime,
                                                 .sink = sink.metadata.name,
                                                 .path = document}));
  if (!message) return;
  const auto end = message->find("\n\n");
  Object texts;
  texts.set("sampleCommitSubject", message->substr(0, end));
  if (end != std::string::npos) texts.set("sampleCommitBody", message->substr(end + 2));
  draft.set("git", std::move(texts));
}

Object preview_of_files(api::SnapshotSink sink) {
  if (sink.spec.type == "gitlab") sink.spec.git.reset();  // it does not read that block
  const Export exp = sample(sink.spec);
  Draft draft(sink.spec, format_of(sink.spec, "yaml"));
  const auto spec = draft.take(layout_spec(sink.spec));
  if (!spec) return draft.finish();
  const auto document =
      draft.take(document_path(exp, *spec, spec->document_template, exp.inventory.name));
  if (!document) return draft.finish();
  draft.set("objectPath", *document);
  add_layout(draft, exp, *spec, *document);
  if (sink.spec.type != "local") add_commit(draft, sink, exp, *document);
  if (sink.spec.type == "gitlab" && gitlab::wants_merge_requests(sink.spec)) {
    const auto& settings = *sink.spec.gitlab->merge_request;
    draft.warn(fmt::format("a merge request \"{}\" from branch {} into {}",
                           gitlab::request_title(settings.title_template, exp.inventory),
                           gitlab::branch_name(settings.branch_prefix, exp.inventory),
                           base::trim(settings.target_branch)));
  }
  return draft.finish();
}

Object preview_of_objects(const api::SnapshotSink& sink) {
  const Export exp = sample(sink.spec);
  const auto& store = sink.spec.object_store;
  const std::string format = format_of(
      sink.spec, store && !store->format.empty() ? base::to_lower(store->format) : "json");
  Draft draft(sink.spec, format);
  if (format == "parquet") {
    draft.warn("parquet: rows become columns; hotAttributes get columns of their own");
  }
  const auto options = draft.take(objects::object_sink_options(sink));
  if (!options) return draft.finish();
  const objects::KeyTemplate keys(
      {.prefix = {}, .path_template = options->path_template, .compression = options->compression},
      *options->encoder);
  if (auto key = draft.take(keys.key(exp))) draft.set("objectPath", std::move(*key));
  return draft.finish();
}

std::string create_statement(const api::DatabaseSinkSpec& spec) {
  const api::PostgresSettings& postgres = *spec.postgres;
  const Export exp = sample(spec);
  const auto schema = base::trim(postgres.schema);
  std::string table(base::trim(postgres.table));
  if (spec.provisioning && spec.provisioning->naming) {
    const auto naming = base::trim(spec.provisioning->naming->name_template);
    if (!naming.empty()) {
      table = postgres::named_table(naming, exp.cluster, exp.inventory.ns, exp.inventory.name);
    }
  }
  return postgres::create_table_sql(schema.empty() ? "public" : schema, table);
}

/// What the sample inventory goes to.
std::string kafka_topic(const api::EventSink& sink) {
  const Export exp = sample(sink.spec);
  kafka::KafkaOptions options;
  options.topic = std::string(base::trim(sink.spec.kafka->topic));
  if (sink.spec.provisioning && sink.spec.provisioning->naming) {
    options.naming_template =
        std::string(base::trim(sink.spec.provisioning->naming->name_template));
  }
  return kafka::topic_of(options, exp.inventory, exp.cluster);
}

}  // namespace

Object preview(const api::SnapshotSink& sink) {
  const std::string& type = sink.spec.type;
  const bool objects = type == "s3" || type == "gcs" || type == "azureblob";
  return objects ? preview_of_objects(sink) : preview_of_files(sink);
}

Object preview(const api::DatabaseSink& sink) {
  Draft draft(sink.spec, format_of(sink.spec, "json"));
  if (sink.spec.type == "postgres" && sink.spec.postgres) {
    Object postgres;
    postgres.set("expectedDDL", create_statement(sink.spec));
    draft.set("postgres", std::move(postgres));
  } else if (sink.spec.type == "mongodb") {
    Object mongodb;
    mongodb.set("expectedIndexKeys", list_of({"cluster", "inventory_namespace", "inventory_name",
                                              "target_name", "source_uid"}));
    draft.set("mongodb", std::move(mongodb));
    if (sink.spec.mongodb) {
      draft.warn(fmt::format("rows go to the collection {} of the database {}",
                             sink.spec.mongodb->collection, sink.spec.mongodb->database));
    }
  }
  return draft.finish();
}

Object preview(const api::EventSink& sink) {
  Draft draft(sink.spec, format_of(sink.spec, "json"));
  if (sink.spec.type == "kafka" && sink.spec.kafka) {
    Object kafka;
    kafka.set("topic", kafka_topic(sink));
    draft.set("kafka", std::move(kafka));
  }
  return draft.finish();
}

}  // namespace kollect::sinks
