// Objects per second through a compiled program, parsing included.
#include <benchmark/benchmark.h>

#include "base/json/document.h"
#include "extract/program.h"

namespace kollect::extract {
namespace {

/// A Deployment as clusters hold them, about 5 KiB.
std::string deployment() {
  std::string env;
  for (int i = 0; i < 12; ++i) {
    env += (i > 0 ? "," : "") + std::string(R"({"name":"SETTING_)") + std::to_string(i) +
           R"(","value":"https://service.example.test/path"})";
  }
  std::string containers;
  for (const auto* name : {"app", "proxy", "agent"}) {
    containers +=
        (containers.empty() ? "" : ",") + std::string(R"({"name":")") + name +
        R"(","image":"registry.example.test/team/app:1.4.2","args":["-v","--log=info"],"env":[)" +
        env +
        R"(],"ports":[{"containerPort":8080,"name":"http","protocol":"TCP"}],"resources":{"limits":{"cpu":"500m",)"
        R"("memory":"256Mi"},"requests":{"cpu":"0.25","memory":"128Mi"}},"terminationMessagePath":"/dev/log"})";
  }
  return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"6b2e0c61",)"
         R"("generation":3,"resourceVersion":"5512","labels":{"app.kubernetes.io/name":"web","tier":"front"},"annotations":)"
         R"({"kubectl.kubernetes.io/last-applied-configuration":"{}"},"managedFields":[{"manager":"m","fieldsV1":{"f:spec":)"
         R"({"f:replicas":{},"f:template":{}}}}]},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":)"
         R"({"metadata":{"labels":{"app":"web"}},"spec":{"containers":[)" +
         containers +
         R"(]}}},"status":{"availableReplicas":3,"conditions":[{"type":"Available","status":"True"}]}})";
}

api::ProfileSpec six_attributes() {
  api::ProfileSpec spec;
  spec.target_gvk = {"apps", "v1", "Deployment"};
  const char* paths[] = {
      "$.spec.replicas",
      "$.spec.template.spec.containers[*].image",
      "$.metadata.labels['app.kubernetes.io/name']",
      "$.status.availableReplicas",
      "$.spec.template.spec.containers[?(@.name=='app')].resources.limits.memory",
      "$.metadata.labels.tier"};
  for (const auto* path : paths) {
    api::Attribute attribute;
    attribute.name = "a" + std::to_string(spec.attributes.size());
    attribute.path = path;
    spec.attributes.push_back(std::move(attribute));
  }
  return spec;
}

void run(benchmark::State& state, const api::ProfileSpec& spec) {
  Program::CompileInput input;
  input.spec = &spec;
  const auto program = Program::compile(input);
  const auto text = deployment();
  base::json::Document document;
  for (auto _ : state) {
    if (!document.reparse_borrowed(text)) state.SkipWithError("not JSON");
    auto row = program->extract(document.root(), {});
    benchmark::DoNotOptimize(row);
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void BM_SixAttributes(benchmark::State& state) {
  run(state, six_attributes());
}
BENCHMARK(BM_SixAttributes);

void BM_Resource(benchmark::State& state) {
  api::ProfileSpec spec;
  spec.target_gvk = {"apps", "v1", "Deployment"};
  spec.export_spec.emplace();
  spec.export_spec->mode = "Resource";
  spec.export_spec->prune.emplace();
  spec.export_spec->prune->json_paths = {
      "$.spec.template.spec.containers[*].terminationMessagePath"};
  run(state, spec);
}
BENCHMARK(BM_Resource);

void BM_ParseAlone(benchmark::State& state) {
  const auto text = deployment();
  base::json::Document document;
  for (auto _ : state) {
    if (!document.reparse_borrowed(text)) state.SkipWithError("not JSON");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_ParseAlone);

}  // namespace
}  // namespace kollect::extract
