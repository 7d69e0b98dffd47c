#include "inventory/envelope.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/hash_beside.h"
#include "base/json/write.h"
#include "inventory/envelope_items.h"

namespace kollect::inventory {
namespace {

constexpr std::string_view kSchemaVersion = "kollect.dev/v1alpha1";

constexpr std::size_t kFrame = 3;  // "[" and "]}"
constexpr std::size_t kPiece = 64U << 10U;

std::size_t digits(std::size_t n) {
  return fmt::formatted_size("{}", n);
}

/// The items array in pieces: `room` gives the next empty text, `take` gets it filled.
template <class Take, class Room>
base::Result<> render_items(const RowSet& rows, std::size_t first, std::size_t last,
                            const Take& take, const Room& room) {
  std::string* piece = &room();
  *piece += '[';
  bool comma = false;
  KL_TRY(rows.for_range(first, last, [&](const RowView& row) -> base::Result<> {
    if (comma) *piece += ',';
    comma = true;
    append_row_json(*piece, row);
    if (piece->size() < kPiece) return {};
    KL_TRY(take(*piece));
    piece = &room();
    return {};
  }));
  *piece += ']';
  return take(*piece);
}

}  // namespace

std::string envelope_json(const RowSet& rows, std::size_t first, std::size_t last,
                          const EnvelopeMeta& meta) {
  // The checksum stands before the rows, so it is filled in afterwards: the rows are rendered once.
  std::string out = envelope_head(kNoChecksum, last - first, meta);
  const std::size_t place = std::string_view(R"({"schemaVersion":"","checksum":")").size();
  const auto checksum =
      write_items(rows, first, last, [&](std::string_view piece) -> base::Result<> {
        out += piece;
        return {};
      });
  out.replace(place + kSchemaVersion.size(), kNoChecksum.size(), checksum.value_or(""));
  out += kEnvelopeEnd;
  return out;
}

std::string envelope_json(const RowSet& rows, const EnvelopeMeta& meta) {
  return envelope_json(rows, 0, rows.size(), meta);
}

std::string envelope_head(std::string_view items_checksum, std::size_t item_count,
                          const EnvelopeMeta& meta) {
  auto out =
      fmt::format("{{\"schemaVersion\":\"{}\",\"checksum\":\"{}\"", kSchemaVersion, items_checksum);
  if (meta.generation != 0) out += fmt::format(",\"generation\":{}", meta.generation);
  if (meta.part_index) out += fmt::format(",\"partIndex\":{}", *meta.part_index);
  if (meta.part_total) out += fmt::format(",\"partTotal\":{}", *meta.part_total);
  out += fmt::format(",\"itemCount\":{},\"exportedAt\":\"{}\"", item_count,
                     base::format_rfc3339(meta.exported_at));
  if (!meta.cluster.empty()) {
    out += ",\"cluster\":";
    base::json::append_string(out, meta.cluster);
  }
  return out + ",\"items\":";
}

base::Result<std::string> write_items(const RowSet& rows, std::size_t first, std::size_t last,
                                      const WriteFn& write) {
  base::Sha256Beside hash;
  const auto take = [&](const std::string& piece) {
    hash.hand_over();
    return write(piece);
  };
  KL_TRY(render_items(rows, first, last, take, [&]() -> std::string& { return hash.room(); }));
  return hash.finish_hex();
}

std::string items_checksum(const RowSet& rows, std::size_t first, std::size_t last) {
  return write_items(rows, first, last, [](std::string_view) { return base::Result<>(); })
      .value_or("");
}

base::Result<> repeat_items(const RowSet& rows, std::size_t first, std::size_t last,
                            const WriteFn& write) {
  std::string piece;
  return render_items(rows, first, last, write, [&]() -> std::string& {
    piece.clear();
    return piece;
  });
}

base::Result<> stream_envelope(const RowSet& rows, const EnvelopeMeta& meta, const WriteFn& write) {
  KL_TRY(write(envelope_head(rows.checksum(), rows.size(), meta)));
  KL_TRY(repeat_items(rows, 0, rows.size(), write));
  return write(kEnvelopeEnd);
}

PartCutter::PartCutter(const EnvelopeMeta& meta, std::size_t ceiling, std::size_t rows)
    : ceiling_(ceiling) {
  // Zeros at the end of a fraction are not written. The cut must not depend on whether this instant
  // has some: equal rows would make other parts at another time.
  EnvelopeMeta marked = meta;
  const auto second = std::chrono::floor<std::chrono::seconds>(meta.exported_at);
  if (meta.exported_at != second)
    marked.exported_at = second + std::chrono::nanoseconds(999'999'999);
  unsplit_ = envelope_head(kNoChecksum, rows, marked).size() + kFrame;
  marked.part_index = marked.part_total = static_cast<std::uint32_t>(rows);
  frame_ = envelope_head(kNoChecksum, 0, marked).size() - 1 + kFrame;
}

bool PartCutter::add(std::size_t row_bytes) {
  if (ceiling_ == 0) {
    ++part_.last;
    return true;
  }
  unsplit_ += row_bytes + (part_.last == 0 ? 0 : 1);
  if (frame_ + 1 + row_bytes > ceiling_) return false;
  const std::size_t count = part_.last - part_.first;
  const std::size_t grown = part_bytes_ + row_bytes + (count == 0 ? 0 : 1);
  if (count > 0 && frame_ + digits(count + 1) + grown > ceiling_) {
    parts_.push_back(part_);
    part_.first = part_.last;
    part_bytes_ = row_bytes;
  } else {
    part_bytes_ = grown;
  }
  ++part_.last;
  return true;
}

std::vector<Part> PartCutter::finish() {
  if (ceiling_ == 0 || unsplit_ <= ceiling_) return {{.first = 0, .last = part_.last}};
  parts_.push_back(part_);
  return std::move(parts_);
}

base::Result<std::vector<Part>> cut_parts(const RowSet& rows, const EnvelopeMeta& meta,
                                          std::size_t ceiling) {
  if (ceiling == 0 || rows.empty()) return std::vector<Part>{{.first = 0, .last = rows.size()}};
  PartCutter cutter(meta, ceiling, rows.size());
  std::string text;
  KL_TRY(rows.for_each([&](const RowView& row) -> base::Result<> {
    text.clear();
    append_row_json(text, row);
    if (cutter.add(text.size())) return {};
    return base::terminal(
        fmt::format("row {}/{} of target {}/{} alone is {} bytes and does not fit into a document "
                    "of {} bytes",
                    row.ns, row.name, row.target_namespace, row.target_name, text.size(), ceiling),
        "too-large");
  }));
  return cutter.finish();
}

std::string set_checksum(const std::vector<std::string>& part_checksums) {
  base::Sha256 hash;
  for (const std::string& checksum : part_checksums) hash.update(checksum + "\n");
  return hash.finish_hex();
}

}  // namespace kollect::inventory
