// Structural schemas of CustomResourceDefinitions (apiextensions.k8s.io/v1): pruning, defaults,
// validation, rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/value.h"
#include "sandbox/patch.h"
#include "sandbox/status.h"

namespace re2 {
class RE2;
}
namespace kollect::cel {
class Program;
}

namespace kollect::sandbox {

/// One place of a schema, with everything below it.
struct SchemaNode {
  struct Rule {
    std::string text;
    std::string message;
    std::string reason;
    std::string field_path;  ///< ".spec.x", below the place of the rule
    std::shared_ptr<const cel::Program> program;
    bool needs_old = false;  ///< names oldSelf: checked on updates only
  };
  using Ptr = std::shared_ptr<const SchemaNode>;

  std::string type;  ///< empty: any
  bool nullable = false;
  bool int_or_string = false;
  bool preserve_unknown = false;
  bool embedded_resource = false;
  std::vector<std::pair<std::string, Ptr>> properties;
  Ptr additional;  ///< of additionalProperties
  bool no_additional = false;
  Ptr items;
  std::vector<std::string> required;
  std::optional<base::json::Value> default_value;
  std::vector<base::json::Value> enums;
  std::string pattern_text;
  std::shared_ptr<const re2::RE2> pattern;
  std::string format;
  std::optional<double> minimum;
  std::optional<double> maximum;
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;
  std::optional<double> multiple_of;
  std::optional<std::int64_t> min_length;
  std::optional<std::int64_t> max_length;
  std::optional<std::int64_t> min_items;
  std::optional<std::int64_t> max_items;
  std::optional<std::int64_t> min_properties;
  std::optional<std::int64_t> max_properties;
  bool unique_items = false;
  std::string list_type;
  std::vector<std::string> map_keys;
  std::vector<Ptr> all_of;
  std::vector<Ptr> any_of;
  std::vector<Ptr> one_of;
  Ptr none_of;  ///< "not"
  std::vector<Rule> rules;

  [[nodiscard]] Ptr find(std::string_view property) const;
};

class SchemaCompiler;

/// Immutable, shared by threads.
class StructuralSchema {
 public:
  /// From openAPIV3Schema. The causes name what cannot be used ("pattern", a rule that does not
  /// compile), with paths below `place`.
  static std::expected<StructuralSchema, std::vector<Cause>> compile(
      const base::json::Value& open_api, const std::string& place);

  /// Takes away what the schema does not know; returns its paths. Type and metadata of the object
  /// stay. Nulls that are not allowed go as well, so that defaults can come.
  std::vector<std::string> prune(base::json::Value& object) const;
  /// Fills in defaults of present parents.
  void apply_defaults(base::json::Value& object) const;
  /// `old`: the object before, for rules of transitions; may be null.
  [[nodiscard]] std::vector<Cause> validate(const base::json::Value& object,
                                            const base::json::Value* old) const;
  /// For apply: how lists are merged.
  [[nodiscard]] ListRule list_rule(const std::vector<std::string>& path) const;

 private:
  friend class SchemaCompiler;
  SchemaNode::Ptr root_;
};

/// Internal: rules of one place and below (schema_rules.cc).
void check_rules(const SchemaNode& node, const base::json::Value& value,
                 const base::json::Value* old, const std::string& path, std::vector<Cause>& causes);
/// Compiles a rule's program; a text says why it cannot be.
std::expected<std::shared_ptr<const cel::Program>, std::string> compile_rule(
    const std::string& rule);
/// Internal: "a.b", "b" for an empty parent.
std::string member_place(const std::string& parent, std::string_view name);

}  // namespace kollect::sandbox
