// For tests: the program run in this process, with folders, streams and environment of its own.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json/document.h"
#include "base/memory_stream.h"
#include "base/strings.h"
#include "pipeline/commands.h"

namespace kollect::pipeline::testing {

struct RunResult {
  int code = 0;
  std::string out;
  std::string err;
  [[nodiscard]] std::size_t err_lines() const {
    return static_cast<std::size_t>(std::ranges::count(err, '\n'));
  }
};

/// Runs commands with a temporary folder as their world. Paths in arguments are made with path().
class Program {
 public:
  Program() : folder_(*base::TempDir::create()) {
    env["HOME"] = folder_.path().string();
    clock.emplace(*base::parse_rfc3339("2026-02-03T04:05:06Z"));
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  void write(const std::string& name, std::string_view text) const {
    ASSERT_TRUE(base::write_file_atomic(folder_.path() / name, text).has_value()) << name;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return base::read_file(folder_.path() / name).value_or("<missing>");
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(folder_.path() / name);
  }
  [[nodiscard]] std::filesystem::file_time_type mtime(const std::string& name) const {
    return std::filesystem::last_write_time(folder_.path() / name);
  }

  RunResult run(const std::vector<std::string>& args, const std::string& stdin_text = "") {
    base::MemoryStream out;
    base::MemoryStream err;
    std::string input = stdin_text;
    std::FILE* in =
        input.empty() ? std::fopen("/dev/null", "r") : fmemopen(input.data(), input.size(), "r");
    Invocation invocation;
    invocation.args = args;
    invocation.env = env;
    invocation.in = in;
    invocation.out = out.file();
    invocation.err = err.file();
    invocation.in_is_terminal = in_is_terminal;
    invocation.clock = real_time ? static_cast<const base::Clock*>(&system_clock) : &*clock;
    invocation.stop = stop.get_token();
    invocation.signal = &signal;
    const int code = run_program(invocation);
    std::fclose(in);
    return {.code = code, .out = out.text(), .err = err.text()};
  }

  std::map<std::string, std::string> env;
  std::optional<base::ManualClock> clock;
  base::SystemClock system_clock;
  bool real_time = false;  ///< for runs that wait for something
  bool in_is_terminal = false;
  std::stop_source stop;
  std::atomic<int> signal = 0;

 private:
  base::TempDir folder_;
};

inline constexpr const char* kConfigMapProfile = R"(apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: cm, namespace: x}
spec:
  targetGVK: {version: v1, kind: ConfigMap}
  attributes:
  - {name: k, path: $.data.k}
)";
inline constexpr const char* kConfigMapTarget = R"(apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: t, namespace: x}
spec:
  profileRef: cm
  includedNamespaces: [shop, lab]
)";
inline constexpr const char* kConfigMapDump = R"(apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b, namespace: shop, uid: 11111111-0000-4000-8000-000000000002}
  data: {k: two}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, namespace: shop, uid: 11111111-0000-4000-8000-000000000001}
  data: {k: one}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, namespace: lab, uid: 11111111-0000-4000-8000-000000000003}
  data: {k: three}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c, namespace: other, uid: 11111111-0000-4000-8000-000000000004}
  data: {k: four}
)";

/// The folder `f` of spec pipeline 17.
inline void write_folder_f(const Program& program) {
  program.write("f/profile.yaml", kConfigMapProfile);
  program.write("f/target.yaml", kConfigMapTarget);
}

/// "ns/name ns/name" of an envelope's items.
inline std::string rows_of(base::json::View envelope) {
  std::vector<std::string> rows;
  for (const base::json::View item : envelope.find("items")->items()) {
    const std::string ns(item.text("namespace"));
    rows.push_back(ns.empty() ? std::string(item.text("name"))
                              : ns + "/" + std::string(item.text("name")));
  }
  return base::join(rows, " ");
}

}  // namespace kollect::pipeline::testing
