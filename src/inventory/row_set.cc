#include "inventory/row_set.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <unordered_map>

#include "inventory/attribute_blocks.h"
#include "inventory/envelope_items.h"
#include "inventory/store/sorted_rows.h"
#include "inventory/string_pool.h"
#include "inventory/uuid.h"

namespace kollect::inventory {
namespace {

/// What rows of one target and kind have in common.
struct Origin {
  std::uint32_t target_namespace, target_name, group, version, kind;
  bool operator==(const Origin&) const = default;
};

struct OriginHash {
  std::size_t operator()(const Origin& o) const {
    std::size_t hash = 0;
    for (const std::uint32_t part :
         {o.target_namespace, o.target_name, o.group, o.version, o.kind}) {
      hash = hash * 1099511628211ULL + part;
    }
    return hash;
  }
};

struct Row {
  std::string_view name;
  std::uint32_t origin = 0;
  std::uint32_t ns = 0;
  Uuid uuid{};  ///< the uid, or with `uid_is_text` the id of its text in the first four bytes
  BlockRef attributes;
  bool uid_is_text = false;
};

constexpr std::uint32_t kEmptyAttributes = UINT32_MAX;

}  // namespace

struct RowSet::Impl {
  std::optional<SortedRows> pinned;  ///< the rows are a snapshot's; nothing else is used then
  Arena names;
  StringTable strings;
  StringTable odd_uids;
  std::vector<Origin> origins;
  std::unordered_map<Origin, std::uint32_t, OriginHash> origin_ids;
  std::vector<Row> rows;
  AttributeBlocks blocks;
  bool sealed = false;

  std::uint32_t origin_of(const RowView& row);
  [[nodiscard]] std::uint32_t odd_uid(const Row& row) const;
  [[nodiscard]] std::string_view uid_text(const Row& row, UuidText& buffer) const;
  [[nodiscard]] int compare_uid(const Row& a, const Row& b) const;
  [[nodiscard]] RowView key_of(const Row& row, UuidText& uid) const;
  void sort_rows();
  void drop_duplicates();
  void regroup_blocks();
};

std::uint32_t RowSet::Impl::origin_of(const RowView& row) {
  const Origin origin{strings.intern(row.target_namespace), strings.intern(row.target_name),
                      strings.intern(row.group), strings.intern(row.version),
                      strings.intern(row.kind)};
  const auto [it, added] = origin_ids.emplace(origin, static_cast<std::uint32_t>(origins.size()));
  if (added) origins.push_back(origin);
  return it->second;
}

std::uint32_t RowSet::Impl::odd_uid(const Row& row) const {
  return row.uuid[0] | row.uuid[1] << 8U | row.uuid[2] << 16U |
         static_cast<std::uint32_t>(row.uuid[3]) << 24U;
}

std::string_view RowSet::Impl::uid_text(const Row& row, UuidText& buffer) const {
  if (row.uid_is_text) return odd_uids.text(odd_uid(row));
  return unpack_uuid(row.uuid, buffer);
}

int RowSet::Impl::compare_uid(const Row& a, const Row& b) const {
  if (!a.uid_is_text && !b.uid_is_text) {
    // Dashes stand at equal places and hex digits sort like the values they mean.
    return a.uuid < b.uuid ? -1 : (b.uuid < a.uuid ? 1 : 0);
  }
  UuidText left{};
  UuidText right{};
  return uid_text(a, left).compare(uid_text(b, right));
}

void RowSet::Impl::sort_rows() {
  const std::vector<std::uint32_t> rank = strings.ranks();
  // Stable: among rows of one identity the one added last stays last (drop_duplicates keeps it).
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
    const Origin& left = origins[a.origin];
    const Origin& right = origins[b.origin];
    if (left.target_namespace != right.target_namespace) {
      return rank[left.target_namespace] < rank[right.target_namespace];
    }
    if (left.target_name != right.target_name) {
      return rank[left.target_name] < rank[right.target_name];
    }
    if (a.ns != b.ns) return rank[a.ns] < rank[b.ns];
    if (const int by_name = a.name.compare(b.name); by_name != 0) return by_name < 0;
    return compare_uid(a, b) < 0;
  });
}

void RowSet::Impl::drop_duplicates() {
  const auto same = [&](const Row& a, const Row& b) {
    const Origin& left = origins[a.origin];
    const Origin& right = origins[b.origin];
    return left.target_namespace == right.target_namespace &&
           left.target_name == right.target_name && a.ns == b.ns && a.name == b.name &&
           compare_uid(a, b) == 0;
  };
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + 1 < rows.size() && same(rows[i], rows[i + 1])) continue;
    rows[kept++] = rows[i];
  }
  rows.resize(kept);
}

void RowSet::Impl::regroup_blocks() {
  std::size_t switches = 0;
  std::uint32_t last = kEmptyAttributes;
  for (const Row& row : rows) {
    if (row.attributes.block == kEmptyAttributes || row.attributes.block == last) continue;
    last = row.attributes.block;
    ++switches;
  }
  // Rows that came in nearly sorted read each block a few times at most; only a shuffled set is
  // worth rewriting.
  if (switches <= 4 * blocks.block_count() + 16) return;
  AttributeBlocks regrouped;
  AttributeBlocks::Reader reader(blocks, 64);
  for (Row& row : rows) {
    if (row.attributes.block == kEmptyAttributes) continue;
    row.attributes = regrouped.add(reader.read(row.attributes));
  }
  regrouped.finish();
  blocks = std::move(regrouped);
}

RowSet::RowSet() : impl_(std::make_unique<Impl>()) {}
RowSet::~RowSet() = default;
RowSet::RowSet(RowSet&&) noexcept = default;
RowSet& RowSet::operator=(RowSet&&) noexcept = default;

RowSet RowSet::over(SortedRows rows) {
  RowSet out;
  out.impl_->pinned.emplace(std::move(rows));
  out.impl_->sealed = true;
  return out;
}

void RowSet::add(const RowView& view) {
  assert(!impl_->sealed);
  Row row;
  row.origin = impl_->origin_of(view);
  row.ns = impl_->strings.intern(view.ns);
  row.name = impl_->names.copy(view.name);
  if (const auto packed = pack_uuid(view.uid)) {
    row.uuid = *packed;
  } else {
    const std::uint32_t id = impl_->odd_uids.intern(view.uid);
    row.uid_is_text = true;
    for (unsigned i = 0; i < 4; ++i) row.uuid[i] = static_cast<std::uint8_t>(id >> (8 * i));
  }
  if (view.attributes.empty() || view.attributes == "{}") {
    row.attributes.block = kEmptyAttributes;
  } else {
    row.attributes = impl_->blocks.add(view.attributes);
  }
  impl_->rows.push_back(row);
}

void RowSet::add_all(const RowSet& other) {
  (void)other.for_each([&](const RowView& row) -> base::Result<> {
    add(row);
    return {};
  });
}

void RowSet::seal() {
  if (impl_->sealed) return;
  impl_->blocks.finish();
  impl_->sort_rows();
  impl_->drop_duplicates();
  impl_->regroup_blocks();
  impl_->sealed = true;
}

std::size_t RowSet::size() const {
  return impl_->pinned ? impl_->pinned->size() : impl_->rows.size();
}

base::Result<> RowSet::for_each(const std::function<base::Result<>(const RowView&)>& visit) const {
  return for_range(0, size(), visit);
}

RowView RowSet::Impl::key_of(const Row& row, UuidText& uid) const {
  const Origin& origin = origins[row.origin];
  return {.target_namespace = strings.text(origin.target_namespace),
          .target_name = strings.text(origin.target_name),
          .ns = strings.text(row.ns),
          .name = row.name,
          .group = strings.text(origin.group),
          .version = strings.text(origin.version),
          .kind = strings.text(origin.kind),
          .uid = uid_text(row, uid),
          .attributes = {}};
}

base::Result<> RowSet::for_range(std::size_t first, std::size_t last,
                                 const std::function<base::Result<>(const RowView&)>& visit) const {
  assert(impl_->sealed || empty());
  if (impl_->pinned) return impl_->pinned->visit(first, last, SortedRows::What::kRows, visit);
  AttributeBlocks::Reader reader(impl_->blocks);
  UuidText uid{};
  for (std::size_t i = first; i < std::min(last, size()); ++i) {
    const Row& row = impl_->rows[i];
    RowView view = impl_->key_of(row, uid);
    view.attributes = row.attributes.block == kEmptyAttributes ? std::string_view("{}")
                                                               : reader.read(row.attributes);
    KL_TRY(visit(view));
  }
  return {};
}

base::Result<> RowSet::for_each_key(const Visit& visit) const {
  return for_key_range(0, size(), visit);
}

base::Result<> RowSet::for_key_range(std::size_t first, std::size_t last,
                                     const Visit& visit) const {
  assert(impl_->sealed || empty());
  if (impl_->pinned) return impl_->pinned->visit(first, last, SortedRows::What::kKeys, visit);
  UuidText uid{};
  for (std::size_t i = first; i < std::min(last, size()); ++i) {
    KL_TRY(visit(impl_->key_of(impl_->rows[i], uid)));
  }
  return {};
}

std::string RowSet::checksum() const {
  return items_checksum(*this, 0, size());
}

std::size_t RowSet::memory_bytes() const {
  const Impl& impl = *impl_;
  if (impl.pinned) return impl.pinned->memory_bytes();
  return impl.names.memory_bytes() + impl.strings.memory_bytes() + impl.odd_uids.memory_bytes() +
         impl.rows.capacity() * sizeof(Row) + impl.origins.capacity() * sizeof(Origin) +
         impl.blocks.memory_bytes();
}

}  // namespace kollect::inventory
