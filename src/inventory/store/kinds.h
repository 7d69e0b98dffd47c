// What rows of one kind have in common: its name, the columns of its rows, its packer.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inventory/row.h"
#include "inventory/store/dictionary.h"
#include "inventory/store/members.h"
#include "inventory/store/packer.h"
#include "inventory/store/stable_vector.h"

namespace kollect::inventory {

struct Kind;

/// The columns of a row in their order. Lives as long as its Kinds.
struct Shape {
  struct Column {
    std::string head;  ///< the key in quotes with its colon
    Dictionary* values = nullptr;
  };
  std::uint32_t number = 0;
  Kind* kind = nullptr;
  std::vector<Column> columns;

  [[nodiscard]] bool fits(const std::vector<Member>& members) const;
};

struct Kind {
  std::string group;
  std::string version;
  std::string name;
  Packer packer;
  const Shape* bare = nullptr;  ///< no columns
  // Below: under the mutex of Kinds.
  std::unordered_map<std::string, Dictionary> columns;   ///< by head
  std::unordered_map<std::string, const Shape*> shapes;  ///< by the heads one after another

  [[nodiscard]] bool is(const RowView& row) const {
    return name == row.kind && version == row.version && group == row.group;
  }
};

/// All kinds seen, for good: they are as many as the resources that profiles name. Thread-safe.
class Kinds {
 public:
  Kind& kind(const RowView& row);
  /// Null when the kind has too many shapes already (keys that are data).
  const Shape* shape(Kind& kind, const std::vector<Member>& members);
  /// Needs no lock (stable_vector.h).
  [[nodiscard]] const Shape& shape(std::uint32_t number) const { return *shapes_[number]; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  Shape& add_shape(Kind& kind);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Kind>> kinds_;
  StableVector<std::unique_ptr<Shape>> shapes_;
};

}  // namespace kollect::inventory
