#include "inventory/envelope.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/json/write.h"

namespace kollect::inventory {
namespace {

constexpr std::string_view kSchemaVersion = "kollect.dev/v1alpha1";

/// The envelope up to and including "items":[ . The checksum has a fixed length, so measuring works
/// with any text.
void append_head(std::string& out, std::string_view checksum, std::size_t item_count,
                 const EnvelopeMeta& meta) {
  out += fmt::format("{{\"schemaVersion\":\"{}\",\"checksum\":\"{}\"", kSchemaVersion, checksum);
  if (meta.generation != 0) out += fmt::format(",\"generation\":{}", meta.generation);
  if (meta.part_index) out += fmt::format(",\"partIndex\":{}", *meta.part_index);
  if (meta.part_total) out += fmt::format(",\"partTotal\":{}", *meta.part_total);
  out += fmt::format(",\"itemCount\":{},\"exportedAt\":\"{}\"", item_count,
                     base::format_rfc3339(meta.exported_at));
  if (!meta.cluster.empty()) {
    out += ",\"cluster\":";
    base::json::append_string(out, meta.cluster);
  }
  out += ",\"items\":[";
}

constexpr std::size_t kChecksumDigits = 64;
constexpr std::size_t kTail = 2;  // "]}"

std::size_t digits(std::size_t n) {
  return fmt::formatted_size("{}", n);
}

}  // namespace

std::string envelope_json(const RowSet& rows, std::size_t first, std::size_t last,
                          const EnvelopeMeta& meta) {
  // The checksum stands before the rows, so it is filled in afterwards: the rows are rendered once.
  std::string out;
  append_head(out, std::string(kChecksumDigits, '0'), last - first, meta);
  const std::size_t items = out.size() - 1;
  bool comma = false;
  (void)rows.for_range(first, last, [&](const RowView& row) -> base::Result<> {
    if (comma) out += ',';
    comma = true;
    append_row_json(out, row);
    return {};
  });
  out += ']';
  const std::string checksum = base::sha256_hex(std::string_view(out).substr(items));
  const std::size_t place = std::string_view(R"({"schemaVersion":"","checksum":")").size();
  out.replace(place + kSchemaVersion.size(), kChecksumDigits, checksum);
  out += '}';
  return out;
}

std::string envelope_json(const RowSet& rows, const EnvelopeMeta& meta) {
  return envelope_json(rows, 0, rows.size(), meta);
}

base::Result<> stream_envelope(const RowSet& rows, const EnvelopeMeta& meta,
                               const std::function<base::Result<>(std::string_view)>& write) {
  constexpr std::size_t kPiece = 64U << 10U;
  std::string out;
  append_head(out, rows.checksum(), rows.size(), meta);
  bool comma = false;
  KL_TRY(rows.for_each([&](const RowView& row) -> base::Result<> {
    if (comma) out += ',';
    comma = true;
    append_row_json(out, row);
    if (out.size() < kPiece) return {};
    auto written = write(out);
    out.clear();
    return written;
  }));
  out += "]}";
  return write(out);
}

PartCutter::PartCutter(const EnvelopeMeta& meta, std::size_t ceiling, std::size_t rows)
    : ceiling_(ceiling) {
  const std::string checksum(kChecksumDigits, '0');
  // Zeros at the end of a fraction are not written. The cut must not depend on whether this instant
  // has some: equal rows would make other parts at another time.
  EnvelopeMeta marked = meta;
  const auto second = std::chrono::floor<std::chrono::seconds>(meta.exported_at);
  if (meta.exported_at != second)
    marked.exported_at = second + std::chrono::nanoseconds(999'999'999);
  std::string head;
  append_head(head, checksum, rows, marked);
  unsplit_ = head.size() + kTail;
  marked.part_index = marked.part_total = static_cast<std::uint32_t>(rows);
  head.clear();
  append_head(head, checksum, 0, marked);
  frame_ = head.size() - 1 + kTail;
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
