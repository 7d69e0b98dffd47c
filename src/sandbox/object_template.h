// Objects that are made when they are asked for: a template, and what is different in each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kollect::sandbox {

/// Text of a metadata and everything behind it, with holes. Immutable, shared by threads.
///
/// Holes: {{name}} {{namespace}} {{uid}} {{index}} {{revision}} {{created}} and
/// {{pick:red|green|blue}} (one of them, by the object), {{pick-now:1|2|3}} (by object and
/// revision).
class ObjectTemplate {
 public:
  /// `json` is an object without apiVersion and kind whose metadata is its first member; the
  /// metadata of the result begins with name, namespace, uid, creationTimestamp whatever it holds.
  /// Error (configuration): unknown hole.
  static base::Result<ObjectTemplate> compile(std::string_view json);
  /// The one for a kind: Deployment, Pod, Service, ConfigMap and others; for unknown kinds a plain
  /// one.
  static ObjectTemplate for_kind(std::string_view kind);

  struct Subject {
    std::string_view name;
    std::string_view ns;  ///< empty: cluster-scoped
    std::uint32_t index = 0;
    std::uint32_t revision = 0;
    std::uint64_t seed = 0;
  };
  /// Appends the text behind `"metadata":{"resourceVersion":"1",`, as Body holds it.
  void append(std::string& out, const Subject& subject) const;

 private:
  enum class Hole { kNone, kName, kNamespace, kUid, kIndex, kRevision, kCreated, kPick, kPickNow };
  struct Piece {
    Hole hole = Hole::kNone;
    std::string text;                  ///< in front of the hole
    std::vector<std::string> choices;  ///< of kPick
  };
  std::vector<Piece> pieces_;
};

}  // namespace kollect::sandbox
