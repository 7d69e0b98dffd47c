// YAML in and out: whatever is read and written is read as the same value again.
#include "base/yaml/read.h"
#include "base/yaml/write.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kollect;
  base::yaml::Limits limits;
  limits.max_nodes = 5000;
  limits.keep_places = size % 2 == 0;
  const auto each = [](base::yaml::Document&& document) -> base::Result<> {
    const std::string text = base::yaml::write(document.value);
    const auto again = base::yaml::read_one(text);
    fuzz::require(again.has_value(), "written YAML can be read");
    fuzz::require(*again == document.value, "written YAML is the same value");
    return {};
  };
  const auto read = base::yaml::read_stream(
      fuzz::text_of(data, size), limits, each, [](const base::yaml::Problem& problem) {
        fuzz::require(!problem.message.empty(), "a problem has a text");
      });
  static_cast<void>(read);
  return 0;
}
