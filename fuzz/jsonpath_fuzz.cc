// JSONPath: the first line is the path, the rest an object (a default one when it is empty).
#include "attribute_fuzz.h"

namespace {

constexpr std::string_view kObject =
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{"a.b/c":"d","x":null}},)"
    R"("spec":{"n":-1,"f":1e400,"i":18446744073709551615,"list":[{"name":"x","ports":[]},{"name":"y","ports":[80,443]},)"
    R"(null,"text",[1,2,[3]]],"containers":[{"name":"c","image":"i:1","args":["-v"]}]}})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [path, object] = kollect::fuzz::cut_line(kollect::fuzz::text_of(data, size));
  kollect::fuzz::try_attribute("$" + std::string(path), object.empty() ? kObject : object);
  return 0;
}
