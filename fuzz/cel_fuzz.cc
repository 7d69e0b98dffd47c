// CEL: the first line is the expression, the rest an object (a default one when it is empty).
#include "attribute_fuzz.h"

namespace {

constexpr std::string_view kObject =
    R"({"metadata":{"name":"a","labels":{"a.b/c":"d"}},"spec":{"n":3,"f":1.5,"q":"100Mi","t":"2026-01-01T00:00:00Z",)"
    R"("list":[1,2,3],"containers":[{"name":"c","image":"r.example/i:1"}]}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [expression, object] = kollect::fuzz::cut_line(kollect::fuzz::text_of(data, size));
  kollect::fuzz::try_attribute("cel:" + std::string(expression), object.empty() ? kObject : object);
  return 0;
}
