// Collecting from a scripted API server: what a real one cannot be made to do on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "pipeline/testing.h"
#include "support/http_server.h"

namespace kollect::pipeline {
namespace {

using base::json::Document;
using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::HasSubstr;
using testing::Program;
using testing::RunResult;

/// Discovery and namespaces of a small cluster; lists are the test's.
class ScriptedCluster : public ::testing::Test {
 protected:
  using Lists = std::function<Reply(const Received&)>;

  void SetUp() override {
    testing::write_folder_f(program_);
    program_.real_time = true;
  }

  void serve(Lists lists) {
    lists_ = std::move(lists);
    server_ = std::make_unique<HttpServer>([this](const Received& r) { return answer(r); });
    program_.write("kubeconfig",
                   fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: fake\nclusters: "
                               "[{{name: c, cluster: {{server: \"{}\"}}}}]\nusers: [{{name: u, "
                               "user: {{token: t}}}}]\ncontexts: [{{name: fake, context: "
                               "{{cluster: c, user: u}}}}]\n",
                               server_->url()));
  }

  Reply answer(const Received& request) {
    const std::string path = request.path();
    if (path == "/api") return Reply::json(R"({"kind":"APIVersions","versions":["v1"]})");
    if (path == "/apis") return Reply::json(R"({"kind":"APIGroupList","groups":[]})");
    if (path == "/api/v1") {
      return Reply::json(R"({"kind":"APIResourceList","groupVersion":"v1","resources":[
        {"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["list","get"]},
        {"name":"namespaces","namespaced":false,"kind":"Namespace","verbs":["list","get"]}]})");
    }
    if (path == "/api/v1/namespaces") {
      return Reply::json(R"({"kind":"NamespaceList","metadata":{"resourceVersion":"1"},"items":[
        {"metadata":{"name":"shop"}},{"metadata":{"name":"lab"}}]})");
    }
    return lists_(request);
  }

  static std::string page(int first, int last, const std::string& token) {
    std::string items;
    for (int i = first; i < last; ++i) {
      items += fmt::format(
          R"({}{{"metadata":{{"name":"cm-{:04}","namespace":"shop","uid":"u-{}","labels":{{"app":"x"}}}},"data":{{"k":"v"}}}})",
          i == first ? "" : ",", i, i);
    }
    return fmt::format(
        R"({{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"9","continue":"{}"}},"items":[{}]}})",
        token, items);
  }

  static Reply expired() {
    return Reply::json(
        R"({"kind":"Status","status":"Failure","reason":"Expired","code":410,"metadata":{"continue":"inconsistent"}})",
        410);
  }

  RunResult collect(std::vector<std::string> more) {
    std::vector<std::string> args = {"collect", "--config", program_.path("f"), "--kubeconfig",
                                     program_.path("kubeconfig")};
    args.insert(args.end(), more.begin(), more.end());
    return program_.run(args);
  }

  Program program_;
  Lists lists_;
  std::unique_ptr<HttpServer> server_;
};

// field-continue-token-expires: complete, collect-exit (second try).
TEST_F(ScriptedCluster, TokenExpiresOnce) {
  std::atomic<bool> failed = false;
  serve([&](const Received& request) {
    const std::string token = request.query("continue");
    if (token == "t1" && !failed.exchange(true)) return expired();
    if (token.empty()) return Reply::json(page(0, 500, failed ? "u1" : "t1"));
    return Reply::json(page(500, 620, ""));
  });
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"itemCount\":620,"));
}

// field-continue-token-expires: collect-exit (three failed tries write nothing).
TEST_F(ScriptedCluster, TokenExpiresAlways) {
  serve([&](const Received& request) {
    return request.query("continue").empty() ? Reply::json(page(0, 500, "t1")) : expired();
  });
  program_.write("out/inventory/x/t.yaml", "- good: true\n");
  const RunResult run = collect({"--output", program_.path("out")});
  EXPECT_EQ(run.code, 2) << "nothing at all was exported";
  EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), "- good: true\n");
  // Beside a target that can be read it is a part that is missing.
  program_.write("f/other.yaml", R"(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: namespaces, namespace: x}
spec:
  targetGVK: {version: v1, kind: Namespace}
  attributes: [{name: n, path: $.metadata.name}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: namespaces, namespace: x}
spec: {profileRef: namespaces}
)");
  EXPECT_EQ(collect({"--output", program_.path("out")}).code, 1);
  EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), "- good: true\n");
  EXPECT_THAT(program_.read("out/inventory/x/namespaces.yaml"), HasSubstr("shop"));
}

// field-pages-without-remaining-count: all, same-query, one-page
TEST_F(ScriptedCluster, PagesWithoutRemainingCount) {
  program_.write("f/target.yaml",
                 "apiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\nmetadata: {name: t, "
                 "namespace: x}\nspec: {profileRef: cm, labelSelector: {matchLabels: {app: x}}}\n");
  std::mutex mutex;
  std::vector<std::string> asked;
  bool at_once = false;
  serve([&](const Received& request) {
    const std::lock_guard lock(mutex);
    const std::string token = request.query("continue");
    asked.push_back(
        fmt::format("{} {} {}", request.query("limit"), request.query("labelSelector"), token));
    if (at_once) return Reply::json(page(0, 541, ""));
    if (token.empty()) return Reply::json(page(0, 500, "c1"));
    return Reply::json(token == "c1" ? page(0, 0, "c2") : page(500, 541, ""));
  });
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\"itemCount\":541,"));
  EXPECT_EQ(asked, (std::vector<std::string>{"500 app=x ", "500 app=x c1", "500 app=x c2"}));
  at_once = true;
  EXPECT_THAT(collect({"--output", "-"}).out, HasSubstr("\"itemCount\":541,"));
  EXPECT_EQ(asked.size(), 4U);
}

TEST_F(ScriptedCluster, OrderOfTheListDoesNotMatter) {
  std::string order = "forward";
  serve([&](const Received&) {
    std::string text = page(0, 2, "");
    if (order == "backward") {
      text =
          R"({"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[)"
          R"({"metadata":{"name":"cm-0001","namespace":"shop","uid":"u-1"},"data":{"k":"v"}},)"
          R"({"metadata":{"name":"cm-0000","namespace":"shop","uid":"u-0"},"data":{"k":"v"}}]})";
    }
    return Reply::json(text);
  });
  ASSERT_EQ(collect({"--output", program_.path("out")}).code, 0);
  const std::string first = program_.read("out/inventory/x/t.yaml");
  order = "backward";
  ASSERT_EQ(collect({"--output", program_.path("out2")}).code, 0);
  EXPECT_EQ(program_.read("out2/inventory/x/t.yaml"), first);
}

// A failing list of one namespace among several leaves the target alone (pipeline 11).
TEST_F(ScriptedCluster, ServerErrorIsNoEmptyDocument) {
  serve([&](const Received&) {
    return Reply::json(R"({"kind":"Status","status":"Failure","code":400,"message":"broken"})",
                       400);
  });
  program_.write("out/inventory/x/t.yaml", "- good: true\n");
  const RunResult run = collect({"--output", program_.path("out")});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), "- good: true\n");
}

TEST_F(ScriptedCluster, Case28) {
  program_.write("out/inventory/x/t.yaml", "- good: true\n");
  serve([&](const Received&) {
    program_.signal = 2;
    program_.stop.request_stop();
    Reply silent;
    silent.no_answer = true;
    return silent;
  });
  const RunResult run = collect({"--output", program_.path("out")});
  EXPECT_EQ(run.code, 130);
  EXPECT_EQ(program_.read("out/inventory/x/t.yaml"), "- good: true\n");
}

TEST_F(ScriptedCluster, TimeLimit) {
  serve([&](const Received&) {
    Reply silent;
    silent.no_answer = true;
    return silent;
  });
  const RunResult run = collect({"--output", "-", "--timeout", "300ms"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("timeout"));
}

// One kind is listed once for all targets (L-56).
TEST_F(ScriptedCluster, OneListForSeveralTargets) {
  std::atomic<int> lists = 0;
  serve([&](const Received&) {
    ++lists;
    return Reply::json(page(0, 3, ""));
  });
  program_.write("f/second.yaml",
                 "apiVersion: kollect.dev/v1alpha1\nkind: KollectTarget\nmetadata: {name: t2, "
                 "namespace: x}\nspec: {profileRef: cm}\n");
  const RunResult run = collect({"--output", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(lists, 1);
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 2);
}

}  // namespace
}  // namespace kollect::pipeline
