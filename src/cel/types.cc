#include "cel/types.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace kollect::cel {

namespace {

constexpr std::array<Type, 16> kSimple = [] {
  std::array<Type, 16> types{};
  for (std::size_t n = 0; n < types.size(); ++n) types[n].kind = static_cast<TypeKind>(n);
  return types;
}();

struct Named {
  std::string_view name;
  TypeKind kind;
};

constexpr Named kNames[] = {
    {"dyn", TypeKind::kDyn},
    {"any", TypeKind::kDyn},
    {"google.protobuf.Any", TypeKind::kDyn},
    {"google.protobuf.Value", TypeKind::kDyn},
    {"google.protobuf.Struct", TypeKind::kDyn},
    {"google.protobuf.ListValue", TypeKind::kDyn},
    {"null", TypeKind::kNull},
    {"null_type", TypeKind::kNull},
    {"bool", TypeKind::kBool},
    {"int", TypeKind::kInt},
    {"uint", TypeKind::kUint},
    {"double", TypeKind::kDouble},
    {"string", TypeKind::kString},
    {"bytes", TypeKind::kBytes},
    {"timestamp", TypeKind::kTimestamp},
    {"google.protobuf.Timestamp", TypeKind::kTimestamp},
    {"duration", TypeKind::kDuration},
    {"google.protobuf.Duration", TypeKind::kDuration},
    {"type", TypeKind::kType},
};

constexpr std::string_view kOpaqueNames[] = {
    "kubernetes.Quantity", "kubernetes.URL",        "net.IP", "net.CIDR",
    "kubernetes.Semver",   "kubernetes.NamedFormat"};

constexpr std::string_view kIdentifiers[] = {"bool",
                                             "int",
                                             "uint",
                                             "double",
                                             "string",
                                             "bytes",
                                             "list",
                                             "map",
                                             "null_type",
                                             "type",
                                             "optional_type",
                                             "google.protobuf.Timestamp",
                                             "google.protobuf.Duration"};

/// Reads the small grammar name [ "(" type { "," type } ")" ].
class Reader {
 public:
  Reader(std::string_view text, Arena& arena, bool parameters)
      : text_(text), arena_(arena), parameters_(parameters) {}

  const Type* whole() {
    const Type* type = one(0);
    skip();
    return type != nullptr && at_ == text_.size() ? type : nullptr;
  }

 private:
  const Type* one(int depth) {
    if (depth > 16) return nullptr;
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() &&
           std::string_view("(), ").find(text_[at_]) == std::string_view::npos)
      ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    const Type* params[2] = {};
    std::size_t count = 0;
    skip();
    if (take('(')) {
      do {
        if (count == 2) return nullptr;
        params[count] = one(depth + 1);
        if (params[count++] == nullptr) return nullptr;
        skip();
      } while (take(','));
      if (!take(')')) return nullptr;
    }
    return build(name, params, count);
  }

  const Type* build(std::string_view name, const Type* const* params, std::size_t count) {
    const Type* dyn = simple_type(TypeKind::kDyn);
    if (name == "list" && count <= 1) return make_list(arena_, count == 1 ? params[0] : dyn);
    if (name == "map" && count == 2) return make_map(arena_, params[0], params[1]);
    if (name == "map" && count == 0) return make_map(arena_, dyn, dyn);
    if ((name == "optional_type" || name == "optional") && count <= 1) {
      return make_optional(arena_, count == 1 ? params[0] : dyn);
    }
    if (name == "type" && count == 1) return simple_type(TypeKind::kType);
    // A value or null: nothing that the checker could say about it.
    if (name == "wrapper" && count == 1) return simple_type(TypeKind::kDyn);
    if (count != 0) return nullptr;
    if (parameters_ && name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
      return arena_.make<Type>(Type{.kind = TypeKind::kParameter,
                                    .name = {},
                                    .first = nullptr,
                                    .second = nullptr,
                                    .parameter = static_cast<std::uint32_t>(name[0] - 'A')});
    }
    for (const Named& named : kNames) {
      if (named.name == name) return simple_type(named.kind);
    }
    for (const auto opaque : kOpaqueNames) {
      if (opaque == name) {
        return arena_.make<Type>(Type{.kind = TypeKind::kOpaque,
                                      .name = opaque,
                                      .first = nullptr,
                                      .second = nullptr,
                                      .parameter = 0});
      }
    }
    return nullptr;
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  Arena& arena_;
  bool parameters_;
  std::size_t at_ = 0;
};

const Type* make_with(Arena& arena, TypeKind kind, const Type* first, const Type* second) {
  return arena.make<Type>(
      Type{.kind = kind, .name = {}, .first = first, .second = second, .parameter = 0});
}

}  // namespace

const Type* simple_type(TypeKind kind) {
  return &kSimple[static_cast<std::size_t>(kind)];
}

const Type* make_list(Arena& arena, const Type* element) {
  return make_with(arena, TypeKind::kList, element, nullptr);
}
const Type* make_map(Arena& arena, const Type* key, const Type* value) {
  return make_with(arena, TypeKind::kMap, key, value);
}
const Type* make_optional(Arena& arena, const Type* held) {
  return make_with(arena, TypeKind::kOptional, held, nullptr);
}

const Type* parse_type(std::string_view text, Arena& arena, bool parameters) {
  return Reader(text, arena, parameters).whole();
}

std::string to_string(const Type* type) {
  switch (type->kind) {
    case TypeKind::kList:
      return "list(" + to_string(type->first) + ")";
    case TypeKind::kMap:
      return "map(" + to_string(type->first) + ", " + to_string(type->second) + ")";
    case TypeKind::kOptional:
      return "optional_type(" + to_string(type->first) + ")";
    case TypeKind::kOpaque:
      return std::string(type->name);
    case TypeKind::kParameter:
      return "dyn";
    case TypeKind::kNull:
      return "null";
    default:
      break;
  }
  for (const Named& named : kNames) {
    if (named.kind == type->kind) return std::string(named.name);
  }
  return "dyn";
}

std::string_view type_identifier(std::string_view name) {
  const auto* found = std::find(std::begin(kIdentifiers), std::end(kIdentifiers), name);
  if (found != std::end(kIdentifiers)) return *found;
  const auto* opaque = std::find(std::begin(kOpaqueNames), std::end(kOpaqueNames), name);
  return opaque != std::end(kOpaqueNames) ? *opaque : std::string_view{};
}

}  // namespace kollect::cel
