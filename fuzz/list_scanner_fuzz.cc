// A streamed list document: the size of the chunks must not matter, and what parses as JSON is
// complete.
#include "base/json/document.h"
#include "fuzz_input.h"
#include "kube/list_scanner.h"

namespace {

using namespace kollect;

bool same(const kube::ListScanner& a, const kube::ListScanner& b) {
  const auto span = [](const kube::ListScanner& s) {
    return s.metadata() ? std::pair(s.metadata()->begin, s.metadata()->size)
                        : std::pair<std::size_t, std::size_t>();
  };
  return a.complete() == b.complete() && a.has_items() == b.has_items() && a.items() == b.items() &&
         span(a) == span(b);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t chunk = 1 + data[0] % 32U;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  // The document reader passes over a byte order mark; an API server never sends one.
  if (text.starts_with("\xEF\xBB\xBF")) return 0;
  kube::ListScanner whole;
  const bool sound = whole.feed(text);
  kube::ListScanner pieces;
  bool pieces_sound = true;
  for (std::size_t end = chunk; pieces_sound && end < text.size() + chunk; end += chunk) {
    pieces_sound = pieces.feed(text.substr(0, std::min(end, text.size())));
  }
  fuzz::require(sound == pieces_sound, "chunks do not change the verdict");
  if (sound) fuzz::require(same(whole, pieces), "chunks do not change what is found");
  if (text.starts_with("\xef\xbb\xbf")) return 0;  // no server sends one; the parser passes over it
  const auto document = base::json::Document::parse_borrowed(text);
  if (!document || !document->root().is_object()) return 0;
  fuzz::require(sound && whole.complete(), "a JSON object is a complete document");
  const auto metadata = document->root().find("metadata");
  if (metadata && metadata->is_object() && whole.metadata()) {
    const auto span = *whole.metadata();
    fuzz::require(
        base::json::Document::parse_borrowed(text.substr(span.begin, span.size)).has_value(),
        "the metadata are an object of their own");
  }
  return 0;
}
