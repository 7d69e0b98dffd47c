#include "pipeline/validate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <tuple>

#include "admission/validate.h"
#include "api/codec.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "pipeline/extract_input.h"
#include "pipeline/manifest_set.h"
#include "pipeline/validate_sample.h"

namespace kollect::pipeline {
namespace {

using admission::Verdict;
using base::json::Value;

constexpr std::size_t kMaxSampleBytes = 256U << 20U;

/// One document and what was found in it. `manifest` is nullptr for documents that could not be
/// read.
struct Row {
  std::string file;
  std::uint32_t document = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string kind;
  std::string ns;
  std::string name;
  const Manifest* manifest = nullptr;
  Verdict verdict;
};

/// A line of the text output.
struct Line {
  std::string file;
  std::uint32_t line = 0;
  bool is_error = false;
  std::string text;
};

ManifestProblem problem_of(const Row& row, const std::string& path, std::string message) {
  if (row.manifest != nullptr) {
    return problem_at(*row.manifest, path, std::move(message));
  }
  return {.file = row.file,
          .document = row.document,
          .line = row.line,
          .column = row.column,
          .kind = row.kind,
          .ns = row.ns,
          .name = row.name,
          .path = path,
          .message = std::move(message)};
}

std::string verdict_json(const Row& row) {
  base::json::Object out;
  out.set("file", row.file);
  out.set("document", std::int64_t{row.document});
  out.set("kind", row.kind);
  out.set("namespace", row.ns);
  out.set("name", row.name);
  out.set("verdict", admission::to_string(row.verdict.stage));
  base::json::Array errors;
  for (const admission::FieldError& error : row.verdict.errors) {
    const ManifestProblem place = problem_of(row, error.path, "");
    base::json::Object entry;
    entry.set("path", error.path);
    entry.set("kind", error.kind);
    entry.set("message", error.message);
    entry.set("line", std::int64_t{place.line});
    if (place.column != 0) {
      entry.set("column", std::int64_t{place.column});
    }
    errors.emplace_back(std::move(entry));
  }
  out.set("errors", std::move(errors));
  out.set("warnings", base::json::Array(row.verdict.warnings.begin(), row.verdict.warnings.end()));
  if (!row.verdict.pruned.empty()) {
    out.set("pruned", base::json::Array(row.verdict.pruned.begin(), row.verdict.pruned.end()));
  }
  return base::json::compact(Value(std::move(out)));
}

/// File and line of a message that begins "file:line: ".
Line placed_line(const std::string& text) {
  Line line;
  line.text = text;
  const std::size_t colon = text.find(": ");
  const std::size_t digits = text.rfind(':', colon == 0 ? 0 : colon - 1);
  if (colon != std::string::npos && digits != std::string::npos && digits < colon) {
    line.file = text.substr(0, digits);
    std::from_chars(text.data() + digits + 1, text.data() + colon, line.line);
  }
  return line;
}

class Command {
 public:
  explicit Command(const ValidateOptions& options) : options_(options) {}

  ValidateReport run() {
    if (options_.config.empty() && options_.files.empty()) {
      return failed("nothing to validate: give --config DIR, or files");
    }
    if (auto loaded = load(); !loaded.has_value()) {
      return failed(loaded.error().message);
    }
    judge();
    add_problems();
    if (options_.check_env) {
      check_environment();
    }
    if (auto sampled = try_samples(); !sampled.has_value()) {
      return failed(sampled.error().message);
    }
    demand_profile_and_target();
    return finish();
  }

 private:
  [[nodiscard]] bool together() const { return !options_.config.empty(); }

  static ValidateReport failed(const std::string& message) {
    return {"", fmt::format("error: {}\n", message), 2};
  }

  base::Result<> load() {
    KL_ASSIGN(ManifestSet existing, load_manifests(options_.existing, options_.stdin_text));
    if (!existing.problems.empty()) {
      return base::configuration(existing.problems.front().text());
    }
    for (Manifest& manifest : existing.ours) {
      existing_.push_back(std::move(manifest.value));
    }
    std::vector<std::string> paths = options_.config;
    paths.insert(paths.end(), options_.files.begin(), options_.files.end());
    KL_ASSIGN(set_, load_manifests(paths, options_.stdin_text));
    return {};
  }

  void judge() {
    std::vector<admission::SetMember> members;
    for (const auto* list : {&set_.ours, &set_.secrets, &set_.config_maps}) {
      for (const Manifest& manifest : *list) {
        members.push_back({&manifest.value, manifest.kind, manifest.ns, manifest.name});
        rows_.push_back({manifest.file, manifest.document, manifest.line, 0, manifest.kind,
                         manifest.ns, manifest.name, &manifest, Verdict{}});
      }
    }
    admission::SetOptions options;
    options.settings.tenant_mode = options_.tenant_mode;
    options.settings.allow_private_sinks = options_.allow_private_sinks;
    options.settings.allow_loopback_sinks = options_.allow_loopback_sinks;
    // A folder is what `collect` runs; single manifests are judged as an operator's admission
    // would.
    options.settings.allow_local_sinks = together();
    options.together = together();
    std::vector<Verdict> verdicts = admission::review_set(members, existing_, options);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].verdict = std::move(verdicts[i]);
    }
  }

  /// What loading found: unreadable documents and missing names become rows, duplicates an error of
  /// the later one.
  void add_problems() {
    for (const ManifestProblem& problem : set_.problems) {
      const bool duplicate = !problem.kind.empty() && problem.path.empty();
      if (duplicate) {
        mark_duplicate(problem);
        continue;
      }
      Row row{problem.file,   problem.document, problem.line,
              problem.column, problem.kind,     problem.ns,
              problem.name,   nullptr,          {}};
      const bool nameless = problem.path == "metadata.name";
      row.verdict.stage = nameless ? Verdict::Stage::kSchema : Verdict::Stage::kDecode;
      row.verdict.errors.push_back(
          {problem.path, nameless ? "Required" : "Invalid", problem.message});
      rows_.push_back(std::move(row));
    }
  }

  /// Manifests that are judged each for itself may share a name.
  void mark_duplicate(const ManifestProblem& problem) {
    if (!together()) {
      return;
    }
    for (Row& row : rows_) {
      if (row.file == problem.file && row.line == problem.line && row.name == problem.name &&
          row.kind == problem.kind) {
        add_error(row, {"metadata.name", "Duplicate", problem.message});
        return;
      }
    }
  }

  static void add_error(Row& row, admission::FieldError error) {
    row.verdict.errors.push_back(std::move(error));
    if (row.verdict.stage == Verdict::Stage::kAccept) {
      row.verdict.stage = Verdict::Stage::kWebhook;
    }
  }

  Row* secret_row(const admission::SinkSecret& secret) {
    Row* by_name = nullptr;
    for (Row& row : rows_) {
      if (row.kind == "Secret" && row.name == secret.name) {
        by_name = &row;
        if (row.ns == secret.ns) {
          return by_name;
        }
      }
    }
    return by_name;
  }

  /// --check-env: placeholders of Secrets that sinks refer to.
  void check_environment() {
    std::vector<Row*> checked;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].manifest == nullptr || rows_[i].kind.find("Sink") == std::string::npos) {
        continue;
      }
      for (const auto& secret : admission::secrets_of_sink(rows_[i].manifest->value, rows_[i].ns)) {
        Row* row = secret_row(secret);
        if (row != nullptr && std::find(checked.begin(), checked.end(), row) == checked.end()) {
          checked.push_back(row);
          check_secret(*row);
        }
      }
    }
  }

  void check_secret(Row& row) {
    for (const char* section : {"data", "stringData"}) {
      const Value* values = row.manifest->value.find(section);
      if (values == nullptr || !values->is_object()) {
        continue;
      }
      for (const auto& [name, value] : values->as_object()) {
        if (!value.is_string()) {
          continue;
        }
        std::string text = value.as_string();
        if (section == std::string_view("data")) {
          text = base::base64_decode(text).value_or("");
        }
        if (auto missing = missing_placeholder(base::trim(text))) {
          add_error(row, {fmt::format("{}.{}", section, name), "NotFound", *missing});
        }
      }
    }
  }

  [[nodiscard]] std::optional<std::string> missing_placeholder(std::string_view text) const {
    if (!text.ends_with('}')) {
      return std::nullopt;
    }
    if (text.starts_with("${env:")) {
      const std::string name(text.substr(6, text.size() - 7));
      const auto found = options_.env.find(name);
      if (found == options_.env.end() || found->second.empty()) {
        return fmt::format("environment variable {} is not set or empty", name);
      }
    } else if (text.starts_with("${file:")) {
      const std::string path(text.substr(7, text.size() - 8));
      if (!base::read_file(path, kMaxSampleBytes)) {
        return fmt::format("file {} cannot be read", path);
      }
    }
    return std::nullopt;
  }

  base::Result<> try_samples() {
    if (options_.samples.empty() && !options_.live) {
      return {};
    }
    KL_ASSIGN(const std::deque<base::json::Document> files, read_samples());
    std::vector<base::json::View> objects;
    for (const base::json::Document& document : files) objects.push_back(document.root());
    NamespaceLabels namespaces;
    for (const base::json::View object : objects) {
      namespaces.note(object);
    }
    bool reachable = true;
    for (Row& row : rows_) {
      if (row.kind != "KollectProfile" || row.verdict.stage != Verdict::Stage::kAccept) {
        continue;
      }
      KL_ASSIGN(const api::Profile profile, api::decode<api::Profile>(row.verdict.defaulted));
      Sample live;
      if (options_.live && reachable) {
        auto read = options_.live(profile.spec);
        if (read.has_value()) {
          live = std::move(*read);
        } else if (read.error().reason == "gvk-not-found" || read.error().reason == "forbidden") {
          row.verdict.warnings.push_back("spec.targetGVK: " + read.error().message);
          continue;
        } else {
          reachable = false;
          general_.push_back("the live sample could not be read: " + read.error().message);
        }
      }
      if (reachable) {
        try_sample(row, profile, {objects, namespaces}, live);
      }
    }
    return {};
  }

  /// Lists are taken apart. Documents that cannot be read are told and left out, unless all are.
  base::Result<std::deque<base::json::Document>> read_samples() {
    std::deque<base::json::Document> documents;
    std::vector<std::string> problems;
    const ObjectReceiver receiver{
        .on_object =
            [&](base::json::View object) {
              std::string text;
              base::json::append_compact(text, object);
              // The text is our own writer's, so it parses.
              if (auto copy = base::json::Document::parse(text)) {
                documents.push_back(std::move(*copy));
              }
              return true;
            },
        .on_problem = [&](const std::string& message) { problems.push_back(message); }};
    KL_TRY(read_objects(options_.samples, {}, receiver));
    if (documents.empty() && !problems.empty()) return base::configuration(problems.front());
    set_.warnings.insert(set_.warnings.end(), problems.begin(), problems.end());
    return documents;
  }

  /// What the sample files hold.
  struct FileSample {
    std::vector<base::json::View> objects;
    NamespaceLabels namespaces;
  };

  static void try_sample(Row& row, const api::Profile& profile, FileSample sample,
                         const Sample& live) {
    for (const base::json::Document& document : live.objects) {
      sample.objects.push_back(document.root());
    }
    sample.namespaces.add(live.namespaces);
    for (const SampleFinding& finding : try_profile(profile, sample.objects, sample.namespaces)) {
      row.verdict.warnings.push_back(finding.field.empty()
                                         ? finding.message
                                         : fmt::format("{}: {}", finding.field, finding.message));
    }
  }

  [[nodiscard]] std::size_t count(std::initializer_list<std::string_view> kinds) const {
    return static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), [&](const Row& row) {
      return std::find(kinds.begin(), kinds.end(), row.kind) != kinds.end();
    }));
  }

  /// A configuration without a profile or a target does nothing (L-46).
  void demand_profile_and_target() {
    if (!together()) {
      return;
    }
    const std::string where = base::join(options_.config, ", ");
    if (count({"KollectProfile"}) == 0) {
      general_.push_back(fmt::format("{}: there is no KollectProfile", where));
    }
    if (count({"KollectTarget", "KollectClusterTarget"}) == 0) {
      general_.push_back(fmt::format("{}: there is no KollectTarget", where));
    }
  }

  void add_lines(const Row& row, std::vector<Line>& lines) const {
    const auto add = [&](const ManifestProblem& problem, bool is_error) {
      lines.push_back({problem.file, problem.line, is_error, problem.text()});
    };
    for (const admission::FieldError& error : row.verdict.errors) {
      add(problem_of(row, error.path, error.message), true);
    }
    for (const std::string& path : row.verdict.pruned) {
      add(problem_of(row, path, admission::unknown_field_message(row.kind, path)), true);
    }
    for (const std::string& warning : row.verdict.warnings) {
      ManifestProblem problem = warning_at(*row.manifest, warning);
      problem.path = problem.path.empty() ? "warning" : "warning: " + problem.path;
      add(problem, false);
    }
  }

  ValidateReport finish() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::tie(a.file, a.line) < std::tie(b.file, b.line);
    });
    std::vector<Line> lines;
    for (const std::string& warning : set_.warnings) {
      lines.push_back(placed_line(warning));
    }
    for (const Row& row : rows_) {
      add_lines(row, lines);
    }
    std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
      return std::tie(a.file, a.line) < std::tie(b.file, b.line);
    });
    ValidateReport report;
    std::size_t errors = general_.size();
    for (const Line& line : lines) {
      errors += line.is_error ? 1 : 0;
      report.err += line.text + "\n";
    }
    for (const std::string& problem : general_) {
      report.err += problem + "\n";
    }
    write_result(report, errors);
    return report;
  }

  void write_result(ValidateReport& report, std::size_t errors) const {
    if (options_.json) {
      for (const Row& row : rows_) {
        report.out += verdict_json(row) + "\n";
      }
    }
    if (errors > 0) {
      report.err += fmt::format("error: {} problem{}\n", errors, errors == 1 ? "" : "s");
      report.exit_code = 2;
    } else if (!options_.json) {
      std::vector<std::string> paths = options_.config;
      paths.insert(paths.end(), options_.files.begin(), options_.files.end());
      report.out += fmt::format(
          "{}: valid ({} profile(s), {} target(s), {} sink(s))\n", base::join(paths, ", "),
          count({"KollectProfile"}), count({"KollectTarget", "KollectClusterTarget"}),
          count({"KollectSnapshotSink", "KollectDatabaseSink", "KollectEventSink"}));
    }
  }

  const ValidateOptions& options_;
  ManifestSet set_;
  std::vector<Value> existing_;
  std::vector<Row> rows_;
  std::vector<std::string> general_;  ///< problems of no single document
};

}  // namespace

ValidateReport run_validate(const ValidateOptions& options) {
  return Command(options).run();
}

}  // namespace kollect::pipeline
