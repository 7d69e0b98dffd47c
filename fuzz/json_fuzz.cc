// JSON: canonical text is a fixed point, and a list is walked without a crash.
#include "base/json/document.h"
#include "base/json/write.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kollect;
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto document = base::json::Document::parse(text)) {
    const std::string canonical = base::json::canonical(document->root());
    const auto again = base::json::Document::parse(canonical);
    fuzz::require(again.has_value(), "canonical text is JSON");
    fuzz::require(base::json::canonical(again->root()) == canonical,
                  "canonical text is a fixed point");
    fuzz::require(base::json::canonical(base::json::to_value(document->root())) == canonical,
                  "owned and borrowed values are written alike");
  }
  base::json::ListHandler handler;
  handler.on_item = [](base::json::View item) -> base::Result<> {
    static_cast<void>(base::json::canonical(item));
    return {};
  };
  handler.on_bad_item = [](const base::Error& error) {
    fuzz::require(!error.message.empty(), "an error has a text");
  };
  static_cast<void>(base::json::walk_list(text, handler));
  return 0;
}
