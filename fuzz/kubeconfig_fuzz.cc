// Kubeconfig text: read, merged with itself, selected from by its own names, and every context of
// it resolved.
#include "fuzz_input.h"
#include "kube/kubeconfig_data.h"

namespace {

using namespace kollect;

/// Files would make the run depend on the machine (and read its devices).
bool names_files(std::string_view text) {
  return text.find("certificate") != std::string_view::npos ||
         text.find("client-") != std::string_view::npos;
}

void check_globs(std::string_view text) {
  const auto [pattern, subject] = fuzz::cut_line(text);
  const auto matched = kube::glob_match(pattern.substr(0, 200), subject.substr(0, 1000));
  if (!matched) fuzz::require(!matched.error().message.empty(), "an error has a text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_globs(text);
  auto impl = std::make_shared<kube::Kubeconfig::Impl>();
  const auto read = kube::merge_file(*impl, "/nonexistent/config", text);
  if (!read) {
    fuzz::require(!read.error().message.empty(), "an error has a text");
    fuzz::require(read.error().message.starts_with("/nonexistent/config"), "it names the file");
    return 0;
  }
  const std::size_t entries = impl->contexts.size() + impl->clusters.size() + impl->users.size();
  fuzz::require(kube::merge_file(*impl, "/nonexistent/again", text).has_value(), "reads twice");
  fuzz::require(entries == impl->contexts.size() + impl->clusters.size() + impl->users.size(),
                "the first file wins");
  const kube::Kubeconfig config(impl);
  for (const std::string& name : config.context_names()) {
    const auto selected = kube::select_contexts(config, {name});
    fuzz::require(selected && selected->names == std::vector{name}, "a name selects itself");
    if (names_files(text)) continue;
    const auto resolved = config.resolve(name);
    fuzz::require(!resolved || resolved->server.starts_with("http"), "a server is a URL");
  }
  return 0;
}
