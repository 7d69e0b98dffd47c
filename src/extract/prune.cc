#include "extract/prune.h"

#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"
#include "extract/jq_path.h"
#include "extract/scrub_writer.h"

namespace kollect::extract {

namespace {

using base::json::View;

constexpr std::size_t kMaxCelRules = 16;
constexpr std::string_view kOutOfRange = "a number is out of the range of doubles";

/// Digits without sign and leading zero (E-31), below `size`.
std::optional<std::size_t> array_index(std::string_view token, std::size_t size) {
  if (token.empty() || (token.size() > 1 && token.front() == '0')) return std::nullopt;
  if (token.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::size_t index = 0;
  if (std::from_chars(token.data(), token.data() + token.size(), index).ec != std::errc{})
    return std::nullopt;
  return index < size ? std::optional(index) : std::nullopt;
}

PrunePreset preset_of(const api::Prune& prune, const Pruner::Report& report) {
  if (prune.preset.empty()) {
    return prune.defaults.value_or(true) ? PrunePreset::kKubernetes : PrunePreset::kNone;
  }
  const auto preset = parse_preset(prune.preset);
  if (!preset) {
    report("preset", ErrorClass::kPath,
           fmt::format("\"{}\" is no preset; use none, kubernetes, gitops or quiet",
                       base::cut_utf8(prune.preset, 40)));
  } else if (prune.defaults) {
    report("preset", ErrorClass::kPath, "takes the place of defaults; keep one of them");
  }
  return preset.value_or(PrunePreset::kNone);
}

/// They come after the other paths and see what those left.
void compile_jq(const api::Prune& prune, const Pruner::Report& report,
                std::vector<JsonPath>& paths) {
  for (std::size_t i = 0; i < prune.jq_path_expressions.size(); ++i) {
    const auto field = fmt::format("jqPathExpressions[{}]", i);
    const auto text = jsonpath_of_jq(prune.jq_path_expressions[i]);
    if (!text) {
      report(field, ErrorClass::kPath, text.error());
      continue;
    }
    auto path = JsonPath::compile(*text, JsonPath::Dialect::kPrune);
    if (!path)
      report(field, ErrorClass::kPath, path.error().message);
    else
      paths.push_back(std::move(*path));
  }
}

void compile_cel(const api::Prune& prune, const Pruner::Report& report,
                 std::vector<cel::Program>& programs) {
  const auto environment = prune_environment();
  for (std::size_t i = 0; i < prune.cel.size(); ++i) {
    const auto field = fmt::format("cel[{}]", i);
    auto text = base::trim(prune.cel[i]);
    if (text.starts_with("cel:")) text = base::trim(text.substr(4));
    if (i >= kMaxCelRules) {
      report(field, ErrorClass::kCel,
             fmt::format("at most {} expressions are possible", kMaxCelRules));
      return;
    }
    if (text.empty()) {
      report(field, ErrorClass::kCel, "the expression is empty");
      continue;
    }
    auto program = cel::Program::compile(text, environment);
    if (!program) {
      report(field, ErrorClass::kCel, program.error().message);
    } else if (const auto& type = program->result_type(); type != "bool" && type != "dyn") {
      report(field, ErrorClass::kCel, fmt::format("the expression must be bool, it is {}", type));
    } else if (!program->uses("path") && !program->uses("value")) {
      report(field, ErrorClass::kCel,
             "the expression uses neither path nor value, so it would remove all or nothing");
    } else {
      programs.push_back(std::move(*program));
    }
  }
}

}  // namespace

std::expected<std::vector<std::string>, std::string> parse_pointer(std::string_view text) {
  text = base::trim(text);
  if (text.empty()) return std::unexpected("the pointer is empty");
  if (text.front() != '/') {
    return std::unexpected(fmt::format("a JSON pointer begins with \"/\"; did you mean /{}?",
                                       base::cut_utf8(text, 60)));
  }
  std::vector<std::string> tokens;
  for (const auto part : base::split(text.substr(1), '/')) {
    std::string token;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '~') {
        token += part[i];
        continue;
      }
      ++i;
      if (i >= part.size() || (part[i] != '0' && part[i] != '1')) {
        return std::unexpected("\"~\" is followed by 0 (for ~) or 1 (for /)");
      }
      token += part[i] == '0' ? '~' : '/';
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Pruner Pruner::compile(const api::ExportSpec& spec, const Report& report) {
  Pruner pruner;
  if (spec.include == "All")
    pruner.include_ = Include::kAll;
  else if (spec.include == "MetadataOnly")
    pruner.include_ = Include::kMetadata;
  else if (spec.include == "SpecOnly")
    pruner.include_ = Include::kSpec;
  else if (spec.include == "StatusOnly")
    pruner.include_ = Include::kStatus;
  pruner.dedupe_identity_ = spec.dedupe_identity.value_or(true);
  if (!spec.prune) return pruner;
  pruner.preset_ = preset_of(*spec.prune, report);
  const auto& pointers = spec.prune->json_pointers;
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    auto tokens = parse_pointer(pointers[i]);
    if (!tokens)
      report(fmt::format("jsonPointers[{}]", i), ErrorClass::kPath, tokens.error());
    else if (tokens->size() > 1 || !tokens->front().empty())
      pruner.pointers_.push_back(std::move(*tokens));
  }
  const auto& paths = spec.prune->json_paths;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto path = JsonPath::compile(paths[i], JsonPath::Dialect::kPrune);
    if (!path)
      report(fmt::format("jsonPaths[{}]", i), ErrorClass::kPath, path.error().message);
    else
      pruner.paths_.push_back(std::move(*path));
  }
  compile_jq(*spec.prune, report, pruner.paths_);
  compile_cel(*spec.prune, report, pruner.cel_);
  return pruner;
}

void Pruner::mark_sections(View object, NodeSet& removed) const {
  if (include_ == Include::kAll) return;
  // A kind without spec and status would leave an empty shell (E-17).
  const bool all_but_metadata =
      include_ == Include::kSpecAndStatus && !object.find("spec") && !object.find("status");
  for (const auto member : object.members()) {
    const auto key = member.key;
    bool keep = key == "apiVersion" || key == "kind";
    keep = keep || (key == "metadata" && include_ == Include::kMetadata);
    keep = keep ||
           (key == "spec" && (include_ == Include::kSpec || include_ == Include::kSpecAndStatus));
    keep = keep || (key == "status" &&
                    (include_ == Include::kStatus || include_ == Include::kSpecAndStatus));
    keep = keep || (all_but_metadata && key != "metadata");
    if (!keep) removed.insert(member.value);
  }
}

void Pruner::mark_fixed(View object, NodeSet& removed) const {
  if (dedupe_identity_) {
    for (const auto* key : {"name", "namespace", "uid"}) {
      mark_member(object, {"metadata", key}, removed);
    }
  }
  mark_preset(preset_, object, removed);
}

void Pruner::mark_pointer(View object, const std::vector<std::string>& tokens, NodeSet& removed) {
  View at = object;
  for (const auto& token : tokens) {
    std::optional<View> next;
    if (at.is_object()) {
      next = at.find(token);
    } else if (at.is_array()) {
      if (const auto index = array_index(token, at.size())) next = at.at(*index);
    }
    if (!next || removed.contains(*next)) return;
    at = *next;
  }
  removed.insert(at);
}

std::expected<void, std::string> Pruner::mark_paths(View object, NodeSet& removed) const {
  std::vector<View> found;
  for (const auto& path : paths_) {
    found.clear();
    if (auto done = path.evaluate_lenient(object, removed, found); !done) {
      return std::unexpected(std::move(done.error().message));
    }
    for (const auto view : found) {
      if (view.node() != object.node()) removed.insert(view);
    }
  }
  return {};
}

std::expected<Pruner::Outcome, std::string> Pruner::write(View object, const ObjectContext& context,
                                                          const Scrubber& scrubber,
                                                          bool redact_secret_data,
                                                          std::string& out) const {
  NodeSet removed(object);
  mark_sections(object, removed);
  mark_fixed(object, removed);
  for (const auto& pointer : pointers_) mark_pointer(object, pointer, removed);
  if (auto done = mark_paths(object, removed); !done)
    return std::unexpected(std::move(done.error()));
  if (cel_.empty()) {
    ScrubWriter writer(out, scrubber);
    writer.set_removed(&removed);
    writer.set_secret_data(redact_secret_data);
    writer.write_root(object);
    if (writer.out_of_range()) return std::unexpected(std::string(kOutOfRange));
    return Outcome{};
  }
  // Expressions see the state after the steps before, so that is made a document of its own.
  std::string text;
  ScrubWriter writer(text, scrubber);
  writer.set_removed(&removed);
  writer.set_scrubbing(false);
  writer.write_root(object);
  if (writer.out_of_range()) return std::unexpected(std::string(kOutOfRange));
  auto pruned = base::json::Document::parse(text);
  if (!pruned) return std::unexpected("the pruned object cannot be read again");
  NodeSet removed_by_cel(pruned->root());
  auto outcome = mark_cel(pruned->root(), object, context, removed_by_cel);
  if (!outcome) return outcome;
  ScrubWriter last(out, scrubber);
  last.set_removed(&removed_by_cel);
  last.set_secret_data(redact_secret_data);
  last.write_root(pruned->root());
  return outcome;
}

}  // namespace kollect::extract
