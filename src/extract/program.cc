#include "extract/program.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json/write.h"
#include "extract/attribute.h"
#include "extract/prune.h"

namespace kollect::extract {

namespace {

using base::json::View;
using Yield = AttributeTrace::Yield;

constexpr std::string_view kDefaultKey = "resource";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::vector<std::string> scrub_words(const Program::CompileInput& input, bool guard_secrets) {
  auto words = input.options.scrub_keys;
  const auto& export_spec = input.spec->export_spec;
  if (export_spec && export_spec->prune) {
    words.insert(words.end(), export_spec->prune->scrub_keys.begin(),
                 export_spec->prune->scrub_keys.end());
  }
  // kubectl keeps a second copy of data and stringData there.
  if (guard_secrets) words.emplace_back(kLastApplied);
  return words;
}

}  // namespace

std::string_view to_string(ErrorClass c) {
  switch (c) {
    case ErrorClass::kPath:
      return "path";
    case ErrorClass::kIndex:
      return "index";
    case ErrorClass::kCel:
      return "cel";
    case ErrorClass::kHelm:
      return "helm";
    case ErrorClass::kLimit:
      return "limit";
  }
  return "path";
}

struct Program::Impl {
  explicit Impl(const CompileInput& input)
      : scrubber(scrub_words(input, false)),
        secret_scrubber(scrub_words(input, true)),
        helm_max_bytes(input.options.helm_release_max_bytes) {}

  /// A slot of the row: an attribute, or the exported object (index == attributes.size()).
  struct Slot {
    std::string key_json;  ///< "\"name\":"
    std::size_t index;
  };

  Scrubber scrubber;
  Scrubber secret_scrubber;
  std::size_t helm_max_bytes;
  GuardState guards;
  std::vector<CompiledAttribute> attributes;  ///< in the profile's order
  std::optional<Pruner> pruner;               ///< set in mode Resource
  std::string resource_key;
  std::vector<Slot> slots;  ///< sorted by name

  void compile_attributes(const CompileInput& input, std::vector<CompileProblem>& problems);
  void compile_export(const CompileInput& input, std::vector<CompileProblem>& problems);
  void make_slots();

  [[nodiscard]] const Scrubber& scrubber_for(const ObjectScope& scope) const {
    return scope.guarded_secret() ? secret_scrubber : scrubber;
  }
  [[nodiscard]] auto write_resource(ObjectScope& scope, const ObjectContext& context,
                                    std::string& out) const {
    return pruner->write(scope.object(), context, scrubber_for(scope), scope.guarded_secret(), out);
  }
};

void Program::Impl::compile_attributes(const CompileInput& input,
                                       std::vector<CompileProblem>& problems) {
  std::vector<CompileProblem> forbidden;
  std::set<std::string_view> names;
  const auto& specs = input.spec->attributes;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto& spec = specs[i];
    if (!spec.name.empty() && !names.insert(spec.name).second) {
      problems.push_back({fmt::format("spec.attributes[{}].name", i),
                          CompileProblem::Kind::kInvalid, ErrorClass::kPath, spec.name,
                          "the name stands twice"});
    }
    const auto field = fmt::format("spec.attributes[{}].path", i);
    std::optional<SourceProblem> objection;
    auto compiled = compile_attribute(spec, scrubber, guards, objection);
    if (!compiled) {
      auto& problem = compiled.error();
      problems.push_back(
          {field, problem.kind, problem.error_class, spec.name, std::move(problem.message)});
      continue;
    }
    attributes.push_back(std::move(*compiled));
    if (objection) {
      forbidden.push_back({field, objection->kind, objection->error_class, spec.name,
                           std::move(objection->message)});
    }
  }
  problems.insert(problems.end(), forbidden.begin(), forbidden.end());
}

void Program::Impl::compile_export(const CompileInput& input,
                                   std::vector<CompileProblem>& problems) {
  const auto& spec = input.spec->export_spec;
  resource_key = spec && !spec->as.empty() ? spec->as : std::string(kDefaultKey);
  if (!spec) return;
  auto compiled = Pruner::compile(
      *spec, [&](const std::string& field, ErrorClass error_class, std::string message) {
        problems.push_back({"spec.export.prune." + field, CompileProblem::Kind::kInvalid,
                            error_class, resource_key, std::move(message)});
      });
  if (spec->mode != "Resource") return;
  pruner = std::move(compiled);
  if ((guards.secret_kind || guards.sensitive_kind) && !guards.allow_full_export) {
    problems.push_back(
        {"spec.export.mode", CompileProblem::Kind::kForbidden, ErrorClass::kPath, resource_key,
         fmt::format(
             "exporting this kind as a whole needs the annotation {}: \"true\" on the profile",
             api::kAllowFullResourceExport)});
  }
}

void Program::Impl::make_slots() {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < attributes.size(); ++i) by_name[attributes[i].name] = i;
  // Admission refuses an attribute of this name; the object wins over one that is stored.
  if (pruner) by_name[resource_key] = attributes.size();
  for (const auto& [name, index] : by_name) {
    Slot slot;
    base::json::append_string(slot.key_json, name);
    slot.key_json += ':';
    slot.index = index;
    slots.push_back(std::move(slot));
  }
}

std::expected<Program, std::vector<CompileProblem>> Program::compile(const CompileInput& input) {
  auto impl = std::make_shared<Impl>(input);
  auto kinds = input.rule_kinds;
  kinds.push_back(input.spec->target_gvk);
  impl->guards = guard_state(kinds, input.annotations, input.options.sensitive_kinds);
  std::vector<CompileProblem> problems;
  impl->compile_attributes(input, problems);
  impl->compile_export(input, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  impl->make_slots();
  return Program(std::move(impl));
}

std::expected<Extracted, ExtractError> Program::extract(View object,
                                                        const ObjectContext& context) const {
  const auto& impl = *impl_;
  ObjectScope scope(object, context, impl.guards, impl.helm_max_bytes);
  const auto& scrubber = impl.scrubber_for(scope);
  Extracted extracted;
  // Values come in the profile's order and leave in that of their names.
  std::string values;
  constexpr std::size_t kLeftOut = SIZE_MAX;
  std::vector<std::pair<std::size_t, std::size_t>> spans(impl.attributes.size() + 1, {kLeftOut, 0});
  for (std::size_t i = 0; i < impl.attributes.size(); ++i) {
    const auto& attribute = impl.attributes[i];
    const auto begin = values.size();
    auto yielded = evaluate_attribute(attribute, scope, scrubber, values);
    if (yielded.yield == Yield::kError && !attribute.optional) {
      return std::unexpected(
          ExtractError{attribute.name, yielded.error_class,
                       error_text(attribute.name, attribute.path, object, yielded.cause)});
    }
    if (yielded.yield != Yield::kValue && attribute.optional) {
      values.resize(begin);
      continue;
    }
    if (yielded.yield == Yield::kAbsent) values += "null";
    if (yielded.type_mismatch) {
      ++extracted.type_mismatches;
      extracted.mistyped.push_back(attribute.name);
    }
    spans[i] = {begin, values.size()};
  }
  if (impl.pruner) {
    const auto begin = values.size();
    auto done = impl.write_resource(scope, context, values);
    if (!done) {
      return std::unexpected(ExtractError{impl.resource_key, ErrorClass::kLimit,
                                          error_text(impl.resource_key, {}, object, done.error())});
    }
    extracted.prune_errors = done->errors;
    spans.back() = {begin, values.size()};
  }
  auto& out = extracted.attributes_json;
  out.reserve(values.size() + 32 * impl.slots.size());
  out += '{';
  for (const auto& slot : impl.slots) {
    const auto [begin, end] = spans[slot.index];
    if (begin == kLeftOut) continue;
    if (out.size() > 1) out += ',';
    out += slot.key_json;
    out.append(values, begin, end - begin);
  }
  out += '}';
  return extracted;
}

std::vector<AttributeTrace> Program::explain(View object, const ObjectContext& context) const {
  const auto& impl = *impl_;
  ObjectScope scope(object, context, impl.guards, impl.helm_max_bytes);
  const auto& scrubber = impl.scrubber_for(scope);
  std::vector<AttributeTrace> traces;
  for (const auto& attribute : impl.attributes) {
    AttributeTrace trace;
    trace.name = attribute.name;
    const auto start = std::chrono::steady_clock::now();
    auto yielded = evaluate_attribute(attribute, scope, scrubber, trace.value_json);
    trace.nanoseconds =
        static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start).count());
    trace.yield = yielded.yield;
    trace.cost = yielded.cost;
    trace.type_mismatch = yielded.type_mismatch;
    if (yielded.yield == Yield::kError) {
      trace.error = ExtractError{attribute.name, yielded.error_class,
                                 error_text(attribute.name, attribute.path, object, yielded.cause)};
    }
    if (const auto* path = std::get_if<JsonPath>(&attribute.source);
        path && yielded.yield == Yield::kAbsent) {
      if (auto spelling = path->quoted_spelling(scope.visible_object())) {
        trace.hint = fmt::format("a key with dots is there: {}", *spelling);
      }
    }
    traces.push_back(std::move(trace));
  }
  if (impl.pruner) {
    AttributeTrace trace;
    trace.name = impl.resource_key;
    const auto start = std::chrono::steady_clock::now();
    if (auto done = impl.write_resource(scope, context, trace.value_json); !done) {
      trace.yield = Yield::kError;
      trace.value_json.clear();
      trace.error = ExtractError{trace.name, ErrorClass::kLimit,
                                 error_text(trace.name, {}, object, done.error())};
    }
    trace.nanoseconds =
        static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start).count());
    traces.push_back(std::move(trace));
  }
  return traces;
}

bool Program::exports_resource() const {
  return impl_->pruner.has_value();
}
const std::string& Program::resource_key() const {
  return impl_->resource_key;
}

}  // namespace kollect::extract
