// The body of a watch: the size of the chunks must not matter, and an event that was read is what
// its line says.
#include <string>
#include <vector>

#include "base/json/document.h"
#include "fuzz_input.h"
#include "kube/line_buffer.h"
#include "kube/watch_event.h"

namespace {

using namespace kollect;

std::vector<std::string> lines_of(std::string_view text, std::size_t chunk) {
  kube::LineBuffer buffer;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    std::string piece(text.substr(at, chunk));
    buffer.add(piece);
    while (const auto line = buffer.next()) lines.emplace_back(*line);
    if (at % 3 == 0) buffer.shrink();
  }
  lines.emplace_back(buffer.take_rest());
  return lines;
}

void try_line(base::json::Document& document, const std::string& line) {
  using Type = kube::WatchEvent::Type;
  const auto event = kube::read_watch_event(document, line);
  const auto parsed = base::json::Document::parse(line);
  if (!event) {
    fuzz::require(event.error().reason == "unreadable", "an error has its reason");
    return;
  }
  fuzz::require(parsed.has_value(), "an event is a JSON document");
  const auto object = parsed->root().find("object");
  fuzz::require(object && base::json::equal(*object, event->object), "its object is the line's");
  if (event->type == Type::kError) return;
  const auto metadata = object->find("metadata");
  fuzz::require(metadata && metadata->is_object(), "an object has metadata");
  fuzz::require(metadata->text("resourceVersion") == event->version, "its version is the line's");
  fuzz::require(!event->end_of_list || event->type == Type::kMark, "only bookmarks end lists");
  fuzz::require(!kube::went_back(event->version, event->version), "nothing is before itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  const auto whole = lines_of(text, text.size() + 1);
  fuzz::require(whole == lines_of(text, 1 + data[0] % 32U), "chunks do not change the lines");
  base::json::Document document;
  for (const std::string& line : whole) try_line(document, line);
  return 0;
}
