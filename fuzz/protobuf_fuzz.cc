// Bodies in binary form: whatever comes is read or refused, and what is read is a JSON object.
#include "base/json/document.h"
#include "base/json/write.h"
#include "fuzz_input.h"
#include "sandbox/protobuf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kollect::fuzz::require;
  const auto object = kollect::sandbox::read_protobuf(kollect::fuzz::text_of(data, size));
  if (!object) {
    require(!object.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  require(object->is_object(), "a manifest is an object");
  const std::string text = kollect::base::json::compact(*object);
  require(kollect::base::json::Document::parse(text).has_value(), "a manifest is JSON");
  return 0;
}
