#include "pipeline/extract_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/codec.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "pipeline/extract_input.h"
#include "pipeline/namespace_labels.h"

namespace kollect::pipeline {
namespace {

using base::json::Document;
using base::json::Value;
using base::json::View;
using extract::AttributeTrace;

constexpr const char* kProfileKind = "KollectProfile";
constexpr std::size_t kMaxProfileBytes = 16U << 20U;
constexpr std::size_t kCellWidth = 60;

struct LoadedProfile {
  api::Profile profile;
  std::vector<std::string> warnings;
};

base::Result<LoadedProfile> decode_profile(Value manifest, const std::string& file,
                                           const std::string& prefix,
                                           const base::yaml::Places& places) {
  const auto where = [&](std::string_view path) {
    const base::yaml::Place* place = base::yaml::find_place(
        places, path.starts_with(prefix) ? path.substr(prefix.size()) : path);
    return place == nullptr ? file : fmt::format("{}:{}:{}", file, place->line, place->column);
  };
  LoadedProfile loaded;
  for (const auto& path : api::prune_and_default(kProfileKind, manifest)) {
    loaded.warnings.push_back(fmt::format("{}: unknown field {}", where(path), path));
  }
  if (const auto errors = api::validate_schema(kProfileKind, manifest); !errors.empty()) {
    const auto& first = errors.front();
    return base::configuration(
        fmt::format("{}: {}: {}", where(first.path), first.path, first.message));
  }
  auto profile = api::decode<api::Profile>(manifest);
  if (!profile) return base::configuration(fmt::format("{}: {}", file, profile.error().message));
  loaded.profile = std::move(*profile);
  return loaded;
}

base::Result<LoadedProfile> load_profile(const ExtractOptions& options) {
  const bool spec_only = !options.profile_spec.empty();
  if (spec_only == !options.profile.empty()) {
    return base::configuration("one of --profile FILE and --profile-spec FILE is needed");
  }
  const auto& file = spec_only ? options.profile_spec : options.profile;
  KL_ASSIGN(const auto text, base::read_file(file, kMaxProfileBytes));
  base::yaml::Limits limits;
  limits.keep_places = true;
  auto documents = base::yaml::read_all(text, limits);
  if (!documents) return documents.error().with_prefix(file);
  if (!spec_only) {
    std::erase_if(*documents,
                  [](const auto& document) { return document.value.text("kind") != kProfileKind; });
  }
  if (documents->size() != 1) {
    return base::configuration(fmt::format("{}: holds {} {}, one is needed", file,
                                           documents->size(),
                                           spec_only ? "documents" : "KollectProfiles"));
  }
  auto& document = documents->front();
  if (!spec_only) return decode_profile(std::move(document.value), file, "", document.places);
  if (!document.value.is_object()) return base::configuration(file + ": not the spec of a profile");
  // The kind matters to the guards alone, which this form takes as answered.
  auto& spec = document.value.as_object();
  if (!spec.contains("targetGVK")) {
    base::json::Object any;
    any.set("version", "v1");
    any.set("kind", "Any");
    spec.set("targetGVK", std::move(any));
  }
  base::json::Object metadata;
  metadata.set("name", "profile");
  metadata.set("namespace", "default");
  base::json::Object manifest;
  manifest.set("apiVersion", api::kApiVersion);
  manifest.set("kind", kProfileKind);
  manifest.set("metadata", std::move(metadata));
  manifest.set("spec", std::move(document.value));
  KL_ASSIGN(auto loaded, decode_profile(std::move(manifest), file, "spec.", document.places));
  loaded.profile.metadata.annotations[api::kAllowSecretExtraction] = "true";
  loaded.profile.metadata.annotations[api::kAllowFullResourceExport] = "true";
  return loaded;
}

std::string_view yield_word(AttributeTrace::Yield yield) {
  switch (yield) {
    case AttributeTrace::Yield::kValue:
      return "value";
    case AttributeTrace::Yield::kAbsent:
      return "absent";
    case AttributeTrace::Yield::kNull:
      return "null";
    case AttributeTrace::Yield::kError:
      return "error";
  }
  return "error";
}

void append_error(std::string& out, const extract::ExtractError& error) {
  out += R"({"attribute":)";
  base::json::append_string(out, error.attribute);
  out += R"(,"class":)";
  base::json::append_string(out, extract::to_string(error.error_class));
  out += R"(,"message":)";
  base::json::append_string(out, error.message);
  out += '}';
}

void append_trace(std::string& out, const AttributeTrace& trace) {
  out += R"({"attribute":)";
  base::json::append_string(out, trace.name);
  out += fmt::format(R"(,"yield":"{}")", yield_word(trace.yield));
  if (trace.yield == AttributeTrace::Yield::kValue) out += ",\"value\":" + trace.value_json;
  if (trace.error) {
    out += ",\"error\":";
    append_error(out, *trace.error);
  }
  if (trace.type_mismatch) out += R"(,"typeMismatch":true)";
  if (trace.hint) {
    out += ",\"hint\":";
    base::json::append_string(out, *trace.hint);
  }
  if (trace.cost) out += fmt::format(",\"cost\":{}", *trace.cost);
  out += ",\"microseconds\":";
  base::json::append_double(out, static_cast<double>(trace.nanoseconds) / 1000.0);
  out += '}';
}

/// "shop/web", or the name alone.
std::string object_name(View object) {
  const auto metadata = object.find("metadata");
  if (!metadata) return "";
  const auto ns = metadata->text("namespace");
  return fmt::format("{}{}{}", ns, ns.empty() ? "" : "/", metadata->text("name"));
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Strings bare, everything else as JSON; control characters and long texts cut.
std::string cell(std::string_view json) {
  std::string text(json);
  if (json.starts_with('"')) {
    if (const auto document = Document::parse(json)) text = document->root().as_string();
  }
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  if (text.size() > kCellWidth) text = std::string(base::cut_utf8(text, kCellWidth)) + "…";
  return text;
}

/// Rows of text in columns, two blanks apart.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string out;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        out += row[i];
        if (i + 1 < row.size()) out.append(widths[i] + 2 - width_of(row[i]), ' ');
      }
      out += '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

struct ExtractSession::Impl {
  ExtractOptions options;
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  api::Profile profile;
  std::optional<extract::Program> program;
  extract::ExtractError compile_error;  ///< why there is no program
  std::vector<std::string> columns;     ///< names of attributes, for the table
  Table table;
  std::set<std::string> notes;  ///< said on stderr, once each
  std::uint64_t objects = 0;
  std::uint64_t failed = 0;

  void compile();
  void print(std::string line) const {
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), out);
  }
  void note(const AttributeTrace& trace);
  void json_line(const std::expected<extract::Extracted, extract::ExtractError>& result,
                 const std::vector<AttributeTrace>& traces) const;
  void table_row(View object,
                 const std::expected<extract::Extracted, extract::ExtractError>& result,
                 const std::vector<AttributeTrace>& traces);
  void table_head();
};

void ExtractSession::Impl::compile() {
  for (const auto& attribute : profile.spec.attributes) columns.push_back(attribute.name);
  extract::Program::CompileInput input;
  input.spec = &profile.spec;
  input.annotations = profile.metadata.annotations;
  input.options = options.extract;
  auto compiled = extract::Program::compile(input);
  if (compiled) {
    program = std::move(*compiled);
    if (program->exports_resource()) columns.push_back(program->resource_key());
    return;
  }
  const auto& first = compiled.error().front();
  const auto cut = base::cut_utf8(first.message, 200);
  compile_error = extract::ExtractError{
      first.attribute, first.error_class,
      std::string(base::cut_utf8(fmt::format("{}: {}", first.field, cut), 256))};
  for (const auto& problem : compiled.error()) {
    fmt::print(err, "kollect: {}: {}\n", problem.field, problem.message);
  }
}

void ExtractSession::Impl::note(const AttributeTrace& trace) {
  std::string text;
  if (trace.hint)
    text = fmt::format("attribute {} found nothing; {}", trace.name, *trace.hint);
  else if (trace.type_mismatch)
    text = fmt::format("attribute {}: a value does not fit its type", trace.name);
  if (!text.empty() && notes.insert(text).second) fmt::print(err, "kollect: {}\n", text);
}

void ExtractSession::Impl::json_line(
    const std::expected<extract::Extracted, extract::ExtractError>& result,
    const std::vector<AttributeTrace>& traces) const {
  std::string line;
  if (result) {
    line = "{\"row\":" + result->attributes_json;
  } else {
    line = "{\"error\":";
    append_error(line, result.error());
  }
  if (options.explain) {
    line += ",\"explain\":[";
    for (const auto& trace : traces) {
      if (!line.ends_with('[')) line += ',';
      append_trace(line, trace);
    }
    line += ']';
  }
  print(line + '}');
}

void ExtractSession::Impl::table_head() {
  if (options.explain) {
    table.add({"OBJECT", "ATTRIBUTE", "YIELD", "COST", "TIME", "VALUE"});
    return;
  }
  std::vector<std::string> head{"OBJECT"};
  for (const auto& column : columns) head.push_back(column);
  table.add(std::move(head));
}

void ExtractSession::Impl::table_row(
    View object, const std::expected<extract::Extracted, extract::ExtractError>& result,
    const std::vector<AttributeTrace>& traces) {
  if (objects == 1) table_head();
  const auto name = object_name(object);
  if (options.explain) {
    for (const auto& trace : traces) {
      auto value = trace.error ? trace.error->message : cell(trace.value_json);
      if (trace.type_mismatch) value += "  (does not fit its type)";
      if (trace.hint) value = *trace.hint;
      table.add({name, trace.name, std::string(yield_word(trace.yield)),
                 trace.cost ? std::to_string(*trace.cost) : "-",
                 fmt::format("{:.1f}us", static_cast<double>(trace.nanoseconds) / 1000.0),
                 std::move(value)});
    }
    return;
  }
  std::vector<std::string> row{name};
  if (!result) {
    row.push_back(fmt::format("error ({}): {}", extract::to_string(result.error().error_class),
                              result.error().message));
    table.add(std::move(row));
    return;
  }
  const auto document = Document::parse(result->attributes_json);
  for (const auto& column : columns) {
    const auto value = document ? document->root().find(column) : std::nullopt;
    row.push_back(value ? cell(base::json::canonical(*value)) : "");
  }
  table.add(std::move(row));
}

ExtractSession::ExtractSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExtractSession::ExtractSession(ExtractSession&&) noexcept = default;
ExtractSession& ExtractSession::operator=(ExtractSession&&) noexcept = default;
ExtractSession::~ExtractSession() = default;

base::Result<ExtractSession> ExtractSession::create(const ExtractOptions& options, std::FILE* out,
                                                    std::FILE* err) {
  KL_ASSIGN(auto loaded, load_profile(options));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->out = out;
  impl->err = err;
  impl->profile = std::move(loaded.profile);
  for (const auto& warning : loaded.warnings) fmt::print(err, "kollect: {}\n", warning);
  impl->compile();
  return ExtractSession(std::move(impl));
}

const api::GroupVersionKind& ExtractSession::kind() const {
  return impl_->profile.spec.target_gvk;
}

bool ExtractSession::wants_namespaces() const {
  return wants_namespace_labels(impl_->profile.spec);
}

bool ExtractSession::object(View object,
                            const std::map<std::string, std::string>* namespace_labels) {
  auto& impl = *impl_;
  if (impl.options.limit && impl.objects >= *impl.options.limit) return false;
  ++impl.objects;
  extract::ObjectContext context;
  context.cluster = impl.options.cluster;
  context.namespace_labels = namespace_labels;
  std::expected<extract::Extracted, extract::ExtractError> result;
  std::vector<AttributeTrace> traces;
  if (impl.program) {
    result = impl.program->extract(object, context);
    // Hints come from here too, so it is asked whether or not it is shown.
    traces = impl.program->explain(object, context);
    for (const auto& trace : traces) impl.note(trace);
  } else {
    result = std::unexpected(impl.compile_error);
  }
  if (!result) ++impl.failed;
  if (impl.options.table)
    impl.table_row(object, result, traces);
  else
    impl.json_line(result, traces);
  return !impl.options.limit || impl.objects < *impl.options.limit;
}

int ExtractSession::finish() {
  if (impl_->options.table) {
    const auto text = impl_->table.text();
    std::fwrite(text.data(), 1, text.size(), impl_->out);
  }
  std::fflush(impl_->out);
  return impl_->failed > 0 ? kExitPartial : kExitOk;
}

namespace {

/// Namespaces among the objects, for expressions that ask for their labels.
base::Result<NamespaceLabels> read_namespaces(const ExtractOptions& options,
                                              std::string_view stdin_text) {
  NamespaceLabels namespaces;
  ObjectReceiver receiver;
  receiver.on_object = [&](View object) {
    namespaces.note(object);
    return true;
  };
  receiver.on_problem = [](const std::string&) {};  // reported when the objects are read
  KL_TRY(read_objects(options.inputs, stdin_text, receiver));
  return namespaces;
}

base::Result<int> extract_files(const Invocation& invocation, const ExtractOptions& options) {
  if (options.inputs.empty())
    return base::configuration("no objects: name files or folders, or - for stdin");
  KL_ASSIGN(auto session, ExtractSession::create(options, invocation.out, invocation.err));
  const bool from_stdin = std::ranges::find(options.inputs, "-") != options.inputs.end();
  std::string stdin_text;
  if (from_stdin) {
    KL_ASSIGN(stdin_text, invocation.read_in());
  }
  NamespaceLabels namespaces;
  if (session.wants_namespaces()) {
    KL_ASSIGN(namespaces, read_namespaces(options, stdin_text));
  }
  std::uint64_t problems = 0;
  std::uint64_t objects = 0;
  ObjectReceiver receiver;
  receiver.on_object = [&](View object) {
    ++objects;
    return !invocation.stop.stop_requested() && session.object(object, namespaces.of(object));
  };
  receiver.on_problem = [&](const std::string& message) {
    ++problems;
    fmt::print(invocation.err, "kollect: {}\n", message);
  };
  KL_TRY(read_objects(options.inputs, stdin_text, receiver));
  const auto code = session.finish();
  if (objects == 0) return base::configuration("no object could be read");
  return problems > 0 ? kExitPartial : code;
}

}  // namespace

int run_extract(const Invocation& invocation, const ExtractOptions& options) {
  auto code = extract_files(invocation, options);
  if (code) return *code;
  fmt::print(invocation.err, "{}: {}\n", invocation.program, code.error().message);
  return kExitFailed;
}

}  // namespace kollect::pipeline
