// Path templates: first line the template, then a line per value. What comes out stays inside its
// folder.
#include "fuzz_input.h"
#include "sinks/layout.h"
#include "sinks/layout/path_template.h"

namespace {

using kollect::fuzz::require;

void check_inside(std::string_view path) {
  require(!path.empty() && path.front() != '/', "a path is relative and not empty");
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    require(!segment.empty(), "no empty segment");
    require(segment != "." && segment != "..", "no segment leads elsewhere");
    require(segment.size() <= 255, "a segment fits a file name");
    require(segment.find('\0') == std::string_view::npos &&
                segment.find('\\') == std::string_view::npos,
            "no NUL and no backslash");
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kollect;
  const auto [text, rest] = fuzz::cut_line(fuzz::text_of(data, size));
  const auto [first, second] = fuzz::cut_line(rest);
  for (const std::string_view value : {first, second}) {
    const std::string segment = sinks::sanitise_segment(value);
    require(segment.find('/') == std::string::npos && segment.size() <= 63,
            "a value is one segment");
  }
  for (const auto* names : {&sinks::document_placeholders(), &sinks::row_placeholders()}) {
    const sinks::PathTemplate path_template(text, *names);
    // Raw values: the last check alone must keep a path inside.
    bool even = false;
    const std::string raw = path_template.expand([&, a = first, b = second](std::string_view) {
      even = !even;
      return even ? a : b;
    });
    const auto checked = sinks::check_path(raw, ".yaml");
    if (checked) {
      check_inside(checked->path);
      // Lists of owned files are trusted only where this holds.
      const auto again = sinks::check_path(checked->path, {});
      require(again && again->path == checked->path && !again->altered, "a checked path is final");
      check_inside(sinks::part_path(checked->path, 1, 12));
    }
  }
  return 0;
}
