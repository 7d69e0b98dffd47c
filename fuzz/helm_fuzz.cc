// Helm payloads: the input as data.release, as it is and in the one and two layers of base64 in
// which clusters hold it.
#include "attribute_fuzz.h"
#include "base/json/write.h"

namespace {

std::string base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    held += 8;
    while (held >= 6) {
      held -= 6;
      out += kAlphabet[(bits >> static_cast<unsigned>(held)) & 63U];
    }
  }
  if (held > 0) out += kAlphabet[(bits << static_cast<unsigned>(6 - held)) & 63U];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

void try_payload(std::string_view payload) {
  std::string object =
      R"({"kind":"Secret","apiVersion":"v1","metadata":{"name":"r"},"data":{"release":)";
  kollect::base::json::append_string(object, payload);
  object += "}}";
  for (const char* path :
       {"helm:release.chartName", "helm:release.config", "helm:release.info.notes['a'][0]"}) {
    kollect::fuzz::try_attribute(path, object);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = kollect::fuzz::text_of(data, size);
  try_payload(text);
  try_payload(base64(text));
  try_payload(base64(base64(text)));
  return 0;
}
