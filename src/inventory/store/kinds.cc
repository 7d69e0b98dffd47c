#include "inventory/store/kinds.h"

namespace kollect::inventory {
namespace {

constexpr std::size_t kMostShapes = 256;
constexpr std::size_t kMostMembers = 128;
constexpr std::size_t kMapNode = 64;

}  // namespace

bool Shape::fits(const std::vector<Member>& members) const {
  if (members.size() != columns.size()) return false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].head != columns[i].head) return false;
  }
  return true;
}

Shape& Kinds::add_shape(Kind& kind) {
  auto made = std::make_unique<Shape>();
  Shape& shape = *made;
  shape.kind = &kind;
  shape.number = shapes_.append(std::move(made));
  return shape;
}

Kind& Kinds::kind(const RowView& row) {
  std::string key;
  for (const std::string_view part : {row.group, row.version, row.kind}) {
    key += std::to_string(part.size());
    key += ':';
    key += part;
  }
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Kind>& kind = kinds_[key];
  if (!kind) {
    kind = std::make_unique<Kind>();
    kind->group = row.group;
    kind->version = row.version;
    kind->name = row.kind;
    kind->bare = &add_shape(*kind);
  }
  return *kind;
}

const Shape* Kinds::shape(Kind& kind, const std::vector<Member>& members) {
  if (members.empty()) return kind.bare;
  if (members.size() > kMostMembers) return nullptr;
  std::string key;
  for (const Member& member : members) key += member.head;
  const std::lock_guard lock(mutex_);
  if (const auto it = kind.shapes.find(key); it != kind.shapes.end()) return it->second;
  if (kind.shapes.size() >= kMostShapes) return nullptr;
  Shape& shape = add_shape(kind);
  for (const Member& member : members) {
    std::string head(member.head);
    Dictionary& values = kind.columns.try_emplace(head).first->second;
    shape.columns.push_back({.head = std::move(head), .values = &values});
  }
  kind.shapes.emplace(std::move(key), &shape);
  return &shape;
}

std::size_t Kinds::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = shapes_.memory_bytes();
  for (const auto& [key, kind] : kinds_) {
    bytes += sizeof(Kind) + sizeof(Shape) + kMapNode + key.size() + kind->packer.memory_bytes();
    for (const auto& [head, values] : kind->columns) {
      bytes += sizeof(Dictionary) + kMapNode + head.size() + values.memory_bytes();
    }
    for (const auto& [heads, shape] : kind->shapes) {
      bytes += sizeof(Shape) + kMapNode + 2 * heads.size() +
               shape->columns.capacity() * sizeof(Shape::Column);
    }
  }
  return bytes;
}

}  // namespace kollect::inventory
