// Answers of object stores: nothing but a reader of them, and text that is escaped comes back.
#include "fuzz_input.h"
#include "sinks/objects/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kollect;
  const auto text = fuzz::text_of(data, size);
  const auto read = sinks::objects::parse_xml(text);
  if (read.has_value()) fuzz::require(!read->name.empty(), "an element has a name");
  const auto again = sinks::objects::parse_xml("<a>" + sinks::objects::xml_escape(text) + "</a>");
  fuzz::require(again.has_value() && again->text == text, "escaped text comes back");
  return 0;
}
