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
    {"google.protobuf.BoolValue", TypeKind::kDyn},
    {"google.protobuf.BytesValue", TypeKind::kDyn},
    {"google.protobuf.DoubleValue", TypeKind::kDyn},
    {"google.protobuf.FloatValue", TypeKind::kDyn},
    {"google.protobuf.Int32Value", TypeKind::kDyn},
    {"google.protobuf.Int64Value", TypeKind::kDyn},
    {"google.protobuf.UInt32Value", TypeKind::kDyn},
    {"google.protobuf.UInt64Value", TypeKind::kDyn},
    {"google.protobuf.StringValue", TypeKind::kDyn},
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

constexpr std::size_t kMaxParams = 8;
constexpr int kMaxTypeDepth = 16;

constexpr const Type* kDynParam[] = {kSimple.data()};
constexpr Type kAnyType{
    .kind = TypeKind::kType, .name = {}, .params = kDynParam, .parameter = 0, .size = 2};

std::span<const Type* const> keep(Arena& arena, std::span<const Type* const> params) {
  if (params.empty()) return {};
  auto* copy = arena.make_array<const Type*>(params.size());
  std::copy(params.begin(), params.end(), copy);
  return {copy, params.size()};
}

const Type* make(Arena& arena, TypeKind kind, std::span<const Type* const> params,
                 std::string_view name = {}) {
  std::uint32_t size = 1;
  for (const Type* param : params) size += param->size;
  if (size > kMaxTypeSize) return simple_type(TypeKind::kDyn);
  return arena.make<Type>(Type{
      .kind = kind, .name = name, .params = keep(arena, params), .parameter = 0, .size = size});
}

/// Reads the small grammar name [ "(" type { "," type } ")" ].
class Reader {
 public:
  Reader(std::string_view text, Arena& arena, TypeNames names)
      : text_(text), arena_(arena), names_(names) {}

  const Type* whole() {
    const Type* type = one(0);
    skip();
    return type != nullptr && at_ == text_.size() ? type : nullptr;
  }

 private:
  const Type* one(int depth) {
    if (depth > kMaxTypeDepth) return nullptr;
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() &&
           std::string_view("(), ").find(text_[at_]) == std::string_view::npos)
      ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    const Type* params[kMaxParams] = {};
    std::size_t count = 0;
    skip();
    if (take('(')) {
      do {
        if (count == kMaxParams) return nullptr;
        params[count] = one(depth + 1);
        if (params[count++] == nullptr) return nullptr;
        skip();
      } while (take(','));
      if (!take(')')) return nullptr;
    }
    return build(name, {params, count});
  }

  const Type* build(std::string_view name, std::span<const Type* const> params) {
    const Type* dyn = simple_type(TypeKind::kDyn);
    const std::size_t count = params.size();
    if (name == "list" && count <= 1) return make_list(arena_, count == 1 ? params[0] : dyn);
    if (name == "map" && count == 2) return make_map(arena_, params[0], params[1]);
    if (name == "map" && count == 0) return make_map(arena_, dyn, dyn);
    if ((name == "optional_type" || name == "optional") && count <= 1) {
      return make_optional(arena_, count == 1 ? params[0] : dyn);
    }
    if (name == "type" && count <= 1) return count == 1 ? make_type(arena_, params[0]) : any_type();
    // A value or null: nothing that the checker could say about it.
    if (name == "wrapper" && count == 1) return dyn;
    if (count == 0) {
      if (const Type* known = build_name(name)) return known;
    }
    return names_ == TypeNames::kAny && !name.empty()
               ? make(arena_, TypeKind::kOpaque, params, arena_.copy(name))
               : nullptr;
  }

  const Type* build_name(std::string_view name) {
    if (names_ != TypeNames::kKnown && name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
      return arena_.make<Type>(Type{.kind = TypeKind::kParameter,
                                    .name = {},
                                    .params = {},
                                    .parameter = static_cast<std::uint32_t>(name[0] - 'A'),
                                    .size = 1});
    }
    for (const Named& named : kNames) {
      if (named.name == name) return simple_type(named.kind);
    }
    for (const auto opaque : kOpaqueNames) {
      if (opaque == name) return make(arena_, TypeKind::kOpaque, {}, opaque);
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
  TypeNames names_;
  std::size_t at_ = 0;
};

std::string with_texts(std::string_view name, std::span<const Type* const> params) {
  std::string text(name);
  for (std::size_t n = 0; n < params.size(); ++n) {
    text += n == 0 ? "(" : ", ";
    text += to_string(params[n]);
  }
  return params.empty() ? text : text + ")";
}

}  // namespace

const Type* simple_type(TypeKind kind) {
  return &kSimple[static_cast<std::size_t>(kind)];
}

const Type* any_type() {
  return &kAnyType;
}

const Type* make_list(Arena& arena, const Type* element) {
  return make(arena, TypeKind::kList, {&element, 1});
}
const Type* make_map(Arena& arena, const Type* key, const Type* value) {
  const Type* params[] = {key, value};
  return make(arena, TypeKind::kMap, params);
}
const Type* make_optional(Arena& arena, const Type* held) {
  return make(arena, TypeKind::kOptional, {&held, 1});
}
const Type* make_type(Arena& arena, const Type* of) {
  return make(arena, TypeKind::kType, {&of, 1});
}
const Type* with_params(Arena& arena, const Type& like, std::span<const Type* const> params) {
  return make(arena, like.kind, params, like.name);
}

const Type* parse_type(std::string_view text, Arena& arena, TypeNames names) {
  return Reader(text, arena, names).whole();
}

const Type* type_of_identifier(std::string_view name, Arena& arena) {
  const Type* type = parse_type(name, arena);
  return type == nullptr ? any_type() : make_type(arena, type);
}

std::string to_string(const Type* type) {
  switch (type->kind) {
    case TypeKind::kList:
      return with_texts("list", type->params);
    case TypeKind::kMap:
      return with_texts("map", type->params);
    case TypeKind::kOptional:
      return with_texts("optional_type", type->params);
    case TypeKind::kType:
      return with_texts("type", type->params);
    case TypeKind::kOpaque:
      return with_texts(type->name, type->params);
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
