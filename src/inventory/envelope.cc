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

base::Result<std::vector<Part>> cut_parts(const RowSet& rows, const EnvelopeMeta& meta,
                                          std::size_t ceiling) {
  std::vector<Part> whole = {{.first = 0, .last = rows.size()}};
  if (ceiling == 0 || rows.empty()) return whole;
  const std::string checksum(kChecksumDigits, '0');
  EnvelopeMeta marked = meta;
  marked.part_index = marked.part_total = static_cast<std::uint32_t>(rows.size());
  std::string head;
  append_head(head, checksum, 0, marked);
  const std::size_t frame = head.size() - 1 + kTail;  // without the digits of itemCount
  head.clear();
  append_head(head, checksum, rows.size(), meta);
  std::size_t unsplit = head.size() + kTail;

  std::vector<Part> parts;
  Part part;
  std::size_t part_bytes = 0;  // rows and commas of the open part
  std::string text;
  KL_TRY(rows.for_each([&](const RowView& row) -> base::Result<> {
    text.clear();
    append_row_json(text, row);
    unsplit += text.size() + (part.last == 0 ? 0 : 1);
    if (frame + 1 + text.size() > ceiling) {
      return base::terminal(fmt::format(
          "row {}/{} of target {}/{} alone is {} bytes and does not fit into a document of {} "
          "bytes",
          row.ns, row.name, row.target_namespace, row.target_name, text.size(), ceiling));
    }
    const std::size_t count = part.last - part.first;
    const std::size_t grown = part_bytes + text.size() + (count == 0 ? 0 : 1);
    if (count > 0 && frame + digits(count + 1) + grown > ceiling) {
      parts.push_back(part);
      part.first = part.last;
      part_bytes = text.size();
    } else {
      part_bytes = grown;
    }
    ++part.last;
    return {};
  }));
  if (unsplit <= ceiling) return whole;
  parts.push_back(part);
  return parts;
}

std::string set_checksum(const std::vector<std::string>& part_checksums) {
  base::Sha256 hash;
  for (const std::string& checksum : part_checksums) hash.update(checksum + "\n");
  return hash.finish_hex();
}

}  // namespace kollect::inventory
