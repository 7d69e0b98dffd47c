#include "pipeline/extract_command.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/memory_stream.h"

namespace kollect::pipeline {
namespace {

class ExtractCommand : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = base::TempDir::create();
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  std::string write(const std::string& name, std::string_view content) {
    const auto path = folder_->path() / name;
    EXPECT_TRUE(base::write_file_atomic(path, content));
    return path.string();
  }
  int run(const ExtractOptions& options, std::string_view in = {}) {
    const base::MemoryStream output;
    const base::MemoryStream errors;
    std::string input(in);
    Invocation invocation;
    invocation.in =
        in.empty() ? std::fopen("/dev/null", "r") : ::fmemopen(input.data(), input.size(), "r");
    invocation.out = output.file();
    invocation.err = errors.file();
    invocation.clock = &clock_;
    const auto code = run_extract(invocation, options);
    std::fclose(invocation.in);
    out_ = output.text();
    err_ = errors.text();
    return code;
  }

  base::SystemClock clock_;
  std::optional<base::TempDir> folder_;
  std::string out_;
  std::string err_;
};

constexpr std::string_view kSpec = R"(targetGVK: {group: apps, version: v1, kind: Deployment}
attributes:
  - {name: replicas, path: $.spec.replicas, type: int}
  - {name: app, path: "$.metadata.labels['app']", optional: true}
)";

TEST_F(ExtractCommand, ALinePerObject) {
  ExtractOptions options;
  options.profile_spec = write("spec.yaml", kSpec);
  options.inputs = {write("a.yaml",
                          "kind: Deployment\nmetadata: {name: a, labels: {app: x}}\nspec: "
                          "{replicas: 9007199254740993}\n"
                          "---\n# nothing\n---\nkind: Deployment\nmetadata: {name: b}\nspec: {}\n"),
                    "-"};
  EXPECT_EQ(
      run(options,
          R"({"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"c"},"spec":{"replicas":"2"}}]})"),
      0);
  EXPECT_EQ(
      out_,
      "{\"row\":{\"app\":\"x\",\"replicas\":9007199254740993}}\n{\"row\":{\"replicas\":null}}\n"
      "{\"row\":{\"replicas\":\"2\"}}\n");
  EXPECT_EQ(err_, "kollect: attribute replicas: a value does not fit its type\n");
}

TEST_F(ExtractCommand, FailingObjectsExitWith1) {
  ExtractOptions options;
  options.profile_spec = write("spec.json", R"({"attributes":[{"name":"v","path":"$.spec[0]"}]})");
  options.inputs = {"-"};
  EXPECT_EQ(run(options,
                "{\"kind\":\"X\",\"metadata\":{\"name\":\"n\"},\"spec\":{}}\n{\"kind\":\"X\","
                "\"spec\":[1]}\n"),
            1);
  EXPECT_TRUE(out_.starts_with(
      R"({"error":{"attribute":"v","class":"index","message":"attribute v of X n: )"))
      << out_;
  EXPECT_TRUE(out_.ends_with("{\"row\":{\"v\":1}}\n")) << out_;
}

TEST_F(ExtractCommand, CompileErrorsComePerObject) {
  ExtractOptions options;
  options.profile_spec = write("spec.yaml", "attributes: [{name: v, path: metadata.name}]\n");
  options.inputs = {"-"};
  EXPECT_EQ(run(options, "{kind: X, metadata: {name: n}}"), 1);
  EXPECT_TRUE(out_.starts_with(
      R"({"error":{"attribute":"v","class":"path","message":"spec.attributes[0].path: )"))
      << out_;
  EXPECT_NE(out_.find("did you mean $.metadata.name?"), std::string::npos) << out_;
}

TEST_F(ExtractCommand, ErrorsOfExpressionsNameLineAndColumn) {
  ExtractOptions options;
  options.explain = true;
  options.inputs = {"-"};
  const auto* object = "{kind: X, metadata: {name: n}, spec: {replicas: 2}}";
  options.profile_spec = write("spec.yaml", R"(attributes:
  - {name: fine, path: "cel:object.spec.replicas + 1"}
  - {name: may, path: "cel:object.status.x", optional: true}
  - {name: bad, path: "cel:object.spec.replicas +\n  object.spec.replikas"}
)");
  EXPECT_EQ(run(options, object), 1);
  EXPECT_NE(out_.find("no such key: 'replikas' (line 2, column 15)"), std::string::npos) << out_;
  EXPECT_NE(out_.find(R"("attribute":"may","yield":"error")"), std::string::npos) << out_;
  EXPECT_NE(out_.find("no such key: 'status' (line 1, column 8)"), std::string::npos) << out_;
  options.profile_spec = write("spec.yaml", "attributes: [{name: v, path: 'cel:objekt.spec'}]\n");
  EXPECT_EQ(run(options, object), 1);
  EXPECT_NE(out_.find("there is no variable 'objekt', did you mean 'object'? (line 1, column 1)"
                      "\\n | objekt.spec\\n | ^"),
            std::string::npos)
      << out_;
}

// field-label-keys-with-dots: the hint
TEST_F(ExtractCommand, HintsAtQuotedKeys) {
  ExtractOptions options;
  options.profile_spec = write(
      "spec.yaml", "attributes: [{name: v, path: $.metadata.labels.app.kubernetes.io/name}]\n");
  options.inputs = {"-"};
  const auto* object =
      R"({"kind":"X","metadata":{"labels":{"app.kubernetes.io/name":"shop","app":{"kubernetes":"x"}}}})";
  EXPECT_EQ(run(options, object), 0);
  EXPECT_EQ(out_, "{\"row\":{\"v\":null}}\n");
  EXPECT_NE(err_.find("$.metadata.labels['app.kubernetes.io/name']"), std::string::npos) << err_;
  options.explain = true;
  EXPECT_EQ(run(options, object), 0);
  EXPECT_NE(
      out_.find(
          R"("yield":"absent","hint":"a key with dots is there: $.metadata.labels['app.kubernetes.io/name']")"),
      std::string::npos)
      << out_;
}

TEST_F(ExtractCommand, GuardsHoldByTheProfilesAnnotations) {
  const auto profile = [](std::string_view annotations) {
    return fmt::format(
        "apiVersion: kollect.dev/v1alpha1\nkind: KollectProfile\nmetadata: {{name: p, namespace: "
        "n{}}}\nspec:\n"
        "  targetGVK: {{version: v1, kind: Secret}}\n  attributes: [{{name: v, path: "
        "$.data.user}}]\n",
        annotations);
  };
  const auto* secret =
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"user":"QQ=="}})";
  ExtractOptions options;
  options.inputs = {"-"};
  options.profile = write("p.yaml", profile(""));
  EXPECT_EQ(run(options, secret), 1);
  EXPECT_EQ(out_.find("QQ"), std::string::npos);
  options.profile =
      write("p.yaml", profile(", annotations: {kollect.dev/allow-secret-extraction: 'true'}"));
  EXPECT_EQ(run(options, secret), 0);
  EXPECT_EQ(out_, "{\"row\":{\"v\":\"QQ==\"}}\n");
  options.profile.clear();
  options.profile_spec =
      write("spec.yaml",
            "targetGVK: {version: v1, kind: Secret}\nattributes: [{name: v, path: $.data.user}]\n");
  EXPECT_EQ(run(options, secret), 0);
}

TEST_F(ExtractCommand, TableAndLimit) {
  ExtractOptions options;
  options.profile_spec = write("spec.yaml", kSpec);
  options.inputs = {"-"};
  options.table = true;
  options.limit = 2;
  const auto* in =
      "{kind: X, metadata: {name: größe, namespace: n}, spec: {replicas: 1}}\n---\n"
      "{kind: X, metadata: {name: b, labels: {app: 'two\tlines'}}, spec: {}}\n---\n{kind: X}\n";
  EXPECT_EQ(run(options, in), 0);
  EXPECT_EQ(out_, "OBJECT   replicas  app\nn/größe  1         \nb        null      two lines\n");
}

TEST_F(ExtractCommand, BadCallsExitWith2) {
  ExtractOptions options;
  options.inputs = {"-"};
  EXPECT_EQ(run(options, "{}"), 2);
  EXPECT_NE(err_.find("--profile"), std::string::npos);
  options.profile = folder_->path() / "missing.yaml";
  EXPECT_EQ(run(options, "{}"), 2);
  EXPECT_NE(err_.find("missing.yaml"), std::string::npos);
  options.profile = write(
      "bad.yaml",
      "apiVersion: kollect.dev/v1alpha1\nkind: KollectProfile\nmetadata: {name: p, namespace: n}\n"
      "spec:\n  targetGVK: {version: v1, kind: X}\n  attributes:\n    - {name: v, path: 7}\n");
  EXPECT_EQ(run(options, "{}"), 2);
  EXPECT_NE(err_.find("bad.yaml:7:"), std::string::npos) << err_;
  EXPECT_EQ(out_, "");
  options.profile.clear();
  options.profile_spec = write("spec.yaml", kSpec);
  options.inputs = {"/does/not/exist"};
  EXPECT_EQ(run(options), 2);
  options.inputs.clear();
  EXPECT_EQ(run(options), 2);
}

TEST_F(ExtractCommand, UnreadableDocumentsAreToldAndExitWith1) {
  ExtractOptions options;
  options.profile_spec = write("spec.yaml", kSpec);
  options.inputs = {
      write("objects/a.yaml",
            "kind: X\nspec: {replicas: 1}\n---\nkind: [\n---\nkind: X\nspec: {replicas: 2}\n"),
      write("objects/b.txt", "not read")};
  options.inputs = {(folder_->path() / "objects").string()};
  EXPECT_EQ(run(options), 1);
  EXPECT_EQ(out_, "{\"row\":{\"replicas\":1}}\n{\"row\":{\"replicas\":2}}\n");
  EXPECT_NE(err_.find("a.yaml: document 2, line "), std::string::npos) << err_;
}

}  // namespace
}  // namespace kollect::pipeline
