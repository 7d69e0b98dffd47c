// Kubeconfig text: read, and every context of it resolved.
#include "fuzz_input.h"
#include "kube/kubeconfig_data.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kollect;
  kube::Kubeconfig::Impl config;
  const auto read = kube::merge_file(config, "/nonexistent/config", fuzz::text_of(data, size));
  if (!read) fuzz::require(!read.error().message.empty(), "an error has a text");
  return 0;
}
