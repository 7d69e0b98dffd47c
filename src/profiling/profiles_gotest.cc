// The profiles as `go tool pprof` reads them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/files.h"
#include "base/process.h"
#include "profiling/heap_sampler.h"
#include "profiling/server.h"
#include "profiling/test_load.h"

namespace kollect::profiling {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const base::SystemClock kClock;

/// What `go tool pprof -top` prints of a path below /debug/pprof/.
std::string top_of(const http::Server& server, const std::string& path) {
  auto folder = base::TempDir::create();
  EXPECT_TRUE(folder);
  base::Command command;
  command.program = "go";
  command.args = {"tool", "pprof", "-top",
                  fmt::format("http://127.0.0.1:{}/debug/pprof/{}", server.port(), path)};
  command.search_path.insert(command.search_path.begin(), "/usr/local/go/bin");
  for (const char* name : {"PATH", "HOME", "GOCACHE", "GOPATH", "GOFLAGS"}) {
    if (const char* value = std::getenv(name)) command.env[name] = value;
  }
  command.env["PPROF_TMPDIR"] = folder->path().string();
  command.env["NO_PROXY"] = "127.0.0.1";
  const auto done = base::run(base::Context::background(), command);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->exit_code, 0) << done->err;
  return done->out;
}

TEST(Profiles, PprofReadsBoth) {
  ASSERT_TRUE(kHeapSampling);
  auto server = serve_profiles("127.0.0.1:0", kClock, nullptr);
  ASSERT_TRUE(server) << server.error().message;
  const auto hoard = testing::hoard_memory();
  std::atomic<bool> enough = false;
  std::thread burner([&] { testing::burn_time([&] { return enough.load(); }); });

  const std::string cpu = top_of(**server, "profile?seconds=1");
  enough = true;
  burner.join();
  EXPECT_THAT(cpu, HasSubstr("\nType: cpu\n"));
  EXPECT_THAT(cpu, ContainsRegex("cum%\n +[0-9.]+m?s [^\n]*::testing::burn_time")) << "comes first";
  EXPECT_THAT(cpu, HasSubstr("File: profiling_servertest\n"));

  const std::string heap = top_of(**server, "heap");
  EXPECT_THAT(heap, HasSubstr("\nType: inuse_space\n"));
  EXPECT_THAT(heap, ContainsRegex("cum%\n +2[45][0-9.]+MB [^\n]*::testing::hoard_memory"))
      << "who allocated it, and not the allocator";
  EXPECT_THAT(top_of(**server, "allocs"), HasSubstr("\nType: alloc_space\n"));
}

}  // namespace
}  // namespace kollect::profiling
