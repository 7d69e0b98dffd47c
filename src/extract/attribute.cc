#include "extract/attribute.h"

#include <fmt/format.h>

#include "base/json/write.h"
#include "base/strings.h"
#include "extract/scrub_writer.h"

namespace kollect::extract {

namespace {

using base::json::Document;
using base::json::View;
using Yield = AttributeTrace::Yield;

constexpr std::string_view kCel = "cel:";
constexpr std::string_view kHelm = "helm:release.";
constexpr std::string_view kOutOfRange = "a number is out of the range of doubles";
constexpr std::size_t kMaxErrorBytes = 256;

SourceProblem forbidden_problem(ErrorClass error_class, std::string_view what) {
  return {CompileProblem::Kind::kForbidden, error_class,
          fmt::format("{} of a Secret needs the annotation {}: \"true\" on the profile", what,
                      api::kAllowSecretExtraction)};
}

/// A copy without the members that hold secrets.
Document strip_secret_data(View object) {
  base::json::Object copy;
  for (const auto member : object.members()) {
    if (member.key != "data" && member.key != "stringData") {
      copy.set(std::string(member.key), base::json::to_value(member.value));
    }
  }
  return Document::from_value(base::json::Value(std::move(copy)));
}

using Compiled = std::expected<CompiledAttribute, SourceProblem>;

Compiled compile_cel(CompiledAttribute attribute, const Scrubber& scrubber,
                     const GuardState& guards, std::optional<SourceProblem>& forbidden) {
  const auto expression = base::trim(std::string_view(attribute.path).substr(kCel.size()));
  if (expression.empty()) {
    return std::unexpected(SourceProblem{CompileProblem::Kind::kInvalid, ErrorClass::kCel,
                                         "an expression must follow \"cel:\""});
  }
  auto program = cel::Program::compile(expression, attribute_environment());
  if (!program) {
    return std::unexpected(SourceProblem{CompileProblem::Kind::kInvalid, ErrorClass::kCel,
                                         std::move(program.error().message)});
  }
  CelSource source{std::move(*program), true};
  if (!guards.allow_extraction) {
    const auto access = secret_access(source.program, expression);
    if (guards.secret_kind && access == SecretAccess::kReads) {
      forbidden = forbidden_problem(ErrorClass::kCel, "reading data or stringData");
    }
    source.sees_secret_data = access == SecretAccess::kNone;
  }
  attribute.source = std::move(source);
  attribute.place = Place(scrubber, attribute.name, {}, {});
  return attribute;
}

Compiled compile_helm(CompiledAttribute attribute, const Scrubber& scrubber,
                      const GuardState& guards, std::optional<SourceProblem>& forbidden) {
  auto field =
      HelmField::compile(base::trim(std::string_view(attribute.path).substr(kHelm.size())));
  if (!field) {
    return std::unexpected(
        SourceProblem{CompileProblem::Kind::kInvalid, ErrorClass::kHelm, std::move(field.error())});
  }
  if (field->in_config() && !guards.allow_extraction &&
      (guards.secret_kind || guards.config_map_kind)) {
    forbidden = SourceProblem{
        CompileProblem::Kind::kForbidden, ErrorClass::kHelm,
        fmt::format("the user's values of a Helm release need the annotation {}: \"true\" on "
                    "the profile",
                    api::kAllowSecretExtraction)};
  }
  attribute.place = Place(scrubber, attribute.name, {field->last_key()}, field->parent_key());
  attribute.source = std::move(*field);
  return attribute;
}

Compiled compile_path(CompiledAttribute attribute, const Scrubber& scrubber,
                      const GuardState& guards, std::optional<SourceProblem>& forbidden) {
  auto path = JsonPath::compile(attribute.path);
  if (!path) {
    return std::unexpected(SourceProblem{CompileProblem::Kind::kInvalid, ErrorClass::kPath,
                                         std::move(path.error().message)});
  }
  if (guards.secret_kind && !guards.allow_extraction &&
      (path->reaches("data") || path->reaches("stringData"))) {
    forbidden = forbidden_problem(ErrorClass::kPath, "reading data or stringData");
  }
  attribute.place = Place(scrubber, attribute.name, path->last_keys(), path->parent_key());
  attribute.source = std::move(*path);
  return attribute;
}

Yielded failed(ErrorClass error_class, std::string cause) {
  Yielded yielded;
  yielded.yield = Yield::kError;
  yielded.error_class = error_class;
  yielded.cause = std::move(cause);
  return yielded;
}

Yielded absent() {
  Yielded yielded;
  yielded.yield = Yield::kAbsent;
  return yielded;
}

Yielded write_values(const CompiledAttribute& attribute, const std::vector<View>& values,
                     bool as_array, bool elements, const Scrubber& scrubber, std::string& out) {
  Yielded yielded;
  const bool single = values.size() == 1 && !as_array;
  if (single && values.front().is_null()) {
    yielded.yield = Yield::kNull;
    out += "null";
    return yielded;
  }
  const auto before = out.size();
  ScrubWriter writer(out, scrubber);
  writer.write_attribute(values, as_array, elements, attribute.place);
  if (writer.out_of_range()) {
    out.resize(before);
    return failed(ErrorClass::kLimit, std::string(kOutOfRange));
  }
  yielded.type_mismatch =
      single ? !fits(attribute.type, values.front())
             : attribute.type != TypeHint::kAny && attribute.type != TypeHint::kList;
  return yielded;
}

Yielded evaluate_path(const CompiledAttribute& attribute, const JsonPath& path, ObjectScope& scope,
                      const Scrubber& scrubber, std::string& out) {
  auto& values = scope.values();
  values.clear();
  if (auto done = path.evaluate(scope.visible_object(), values); !done) {
    return failed(done.error().limit ? ErrorClass::kLimit : ErrorClass::kIndex,
                  std::move(done.error().message));
  }
  if (values.empty() && !path.always_array()) return absent();
  return write_values(attribute, values, path.always_array(), path.yields_elements(), scrubber,
                      out);
}

Yielded evaluate_cel(const CompiledAttribute& attribute, const CelSource& source,
                     ObjectScope& scope, const Scrubber& scrubber, std::string& out) {
  const bool with_data = source.sees_secret_data || !scope.guarded_secret();
  auto outcome = source.program.evaluate(scope.bindings(with_data).of(source.program));
  if (!outcome) {
    return failed(outcome.error().limit ? ErrorClass::kLimit : ErrorClass::kCel,
                  std::move(outcome.error().message));
  }
  Yielded yielded = absent();
  if (outcome->value) {
    const auto document = Document::from_value(*outcome->value);
    yielded = write_values(attribute, {document.root()}, false, true, scrubber, out);
  }
  yielded.cost = outcome->cost;
  return yielded;
}

Yielded evaluate_helm(const CompiledAttribute& attribute, const HelmField& field,
                      ObjectScope& scope, const Scrubber& scrubber, std::string& out) {
  if (field.in_config() && scope.guarded_secret()) {
    return failed(ErrorClass::kHelm,
                  "the user's values of a release in a Secret are not allowed to this profile");
  }
  const auto& release = scope.helm_release();
  if (!release)
    return failed(release.error().limit ? ErrorClass::kLimit : ErrorClass::kHelm,
                  release.error().message);
  const auto value = field.find(release->root());
  if (!value) return absent();
  return write_values(attribute, {*value}, false, field.yields_element(), scrubber, out);
}

}  // namespace

Compiled compile_attribute(const api::Attribute& attribute, const Scrubber& scrubber,
                           const GuardState& guards, std::optional<SourceProblem>& forbidden) {
  const auto path = base::trim(attribute.path);
  CompiledAttribute compiled{attribute.name,
                             std::string(path),
                             attribute.optional.value_or(false),
                             parse_type_hint(attribute.type),
                             {},
                             Place()};
  if (path.starts_with(kCel)) return compile_cel(std::move(compiled), scrubber, guards, forbidden);
  if (path.starts_with(kHelm))
    return compile_helm(std::move(compiled), scrubber, guards, forbidden);
  return compile_path(std::move(compiled), scrubber, guards, forbidden);
}

ObjectScope::ObjectScope(View object, const ObjectContext& context, const GuardState& guards,
                         std::size_t helm_max_bytes)
    : object_(object),
      context_(context),
      guards_(guards),
      helm_max_bytes_(helm_max_bytes),
      is_secret_(is_secret_object(object) || (guards.secret_kind && !object.find("kind"))) {}

View ObjectScope::visible_object() {
  return guarded_secret() && !guards_.secret_kind ? without_secret_data() : object_;
}

View ObjectScope::without_secret_data() {
  if (!stripped_) stripped_ = strip_secret_data(object_);
  return stripped_->root();
}

CelBindings& ObjectScope::bindings(bool with_secret_data) {
  auto& slot = with_secret_data ? bindings_ : stripped_bindings_;
  if (!slot) slot.emplace(with_secret_data ? object_ : without_secret_data(), context_);
  return *slot;
}

const std::expected<HelmRelease, HelmError>& ObjectScope::helm_release() {
  if (!helm_) helm_ = HelmRelease::decode(object_, helm_max_bytes_);
  return *helm_;
}

Yielded evaluate_attribute(const CompiledAttribute& attribute, ObjectScope& scope,
                           const Scrubber& scrubber, std::string& out) {
  if (const auto* path = std::get_if<JsonPath>(&attribute.source)) {
    return evaluate_path(attribute, *path, scope, scrubber, out);
  }
  if (const auto* source = std::get_if<CelSource>(&attribute.source)) {
    return evaluate_cel(attribute, *source, scope, scrubber, out);
  }
  return evaluate_helm(attribute, std::get<HelmField>(attribute.source), scope, scrubber, out);
}

std::string error_text(std::string_view attribute, std::string_view path, View object,
                       std::string_view cause) {
  const auto cut = [](std::string_view text, std::size_t most) {
    return text.size() <= most ? std::string(text) : std::string(base::cut_utf8(text, most)) + "…";
  };
  const auto metadata = object.find("metadata");
  const auto ns = metadata ? metadata->text("namespace") : std::string_view();
  const auto name = metadata ? metadata->text("name") : std::string_view();
  const auto where = fmt::format("{} {}{}{}", cut(object.text("kind"), 32), cut(ns, 63),
                                 ns.empty() ? "" : "/", cut(name, 63));
  // The cause comes before the path: it must survive the cut.
  const auto text =
      fmt::format("attribute {} of {}: {}{}", cut(attribute, 32), where, cut(cause, 140),
                  path.empty() ? std::string() : fmt::format("; path {}", cut(path, 64)));
  return std::string(base::cut_utf8(text, kMaxErrorBytes));
}

}  // namespace kollect::extract
