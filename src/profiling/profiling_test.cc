#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/time.h>

#include <future>
#include <thread>

#include "base/clock.h"
#include "http/client.h"
#include "profiling/address_space.h"
#include "profiling/cpu_sampler.h"
#include "profiling/heap_sampler.h"
#include "profiling/server.h"
#include "profiling/stack.h"
#include "profiling/test_load.h"
#include "support/certificates.h"
#include "support/socket_stream.h"

namespace kollect::profiling {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const base::SystemClock kClock;

/// The functions of this program on a stack, the innermost first.
std::vector<std::string> names_of(const Stack& stack) {
  static const Module program = loaded_modules().front();
  static const Symbols symbols = Symbols::of_file("/proc/self/exe");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stack.depth; ++i) {
    const std::uintptr_t address = stack.frames[i];
    if (address < program.start || address >= program.limit) continue;
    names.push_back(readable_name(symbols.at(address - program.bias)));
  }
  return names;
}

bool shows(const Stack& stack, const char* function) {
  return ::testing::Value(names_of(stack), Contains(HasSubstr(function)));
}

[[gnu::noinline]] void walk_here(Stack& stack) {
  walk_stack(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)), stack);
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void walk_outer(Stack& stack) {
  walk_here(stack);
  asm volatile("" ::: "memory");
}

TEST(Profiling, AStackBeginsWhereItIsAskedTo) {
  prepare_to_walk();
  Stack stack;
  walk_outer(stack);
  const auto names = names_of(stack);
  ASSERT_THAT(names, Not(IsEmpty()));
  EXPECT_THAT(names.front(), HasSubstr("walk_outer(kollect::profiling::Stack&)"));
  EXPECT_THAT(names, Contains(HasSubstr("AStackBeginsWhereItIsAskedTo")));
  EXPECT_THAT(names, Not(Contains(HasSubstr("walk_here"))));

  walk_stack(42, stack);
  ASSERT_EQ(stack.depth, 1U) << "not on the stack";
  EXPECT_EQ(stack.frames[0], 42U);
}

[[gnu::noinline]] void walk_deep(int depth, Stack& stack) {
  if (depth == 0) {
    walk_outer(stack);
  } else {
    walk_deep(depth - 1, stack);
  }
  asm volatile("" ::: "memory");
}

TEST(Profiling, DeepStacksKeepTheirInnerEnd) {
  Stack stack;
  walk_deep(200, stack);
  EXPECT_EQ(stack.depth, Stack::kMost);
  EXPECT_THAT(names_of(stack).front(), HasSubstr("walk_outer"));
}

TEST(Profiling, ModulesHaveFilesAndBuildIds) {
  const auto modules = loaded_modules();
  ASSERT_THAT(modules, Not(IsEmpty()));
  EXPECT_EQ(modules[0].path, std::filesystem::canonical("/proc/self/exe"));
  const auto of_libc = std::ranges::find_if(
      modules, [](const Module& module) { return module.path.ends_with("/libc.so.6"); });
  if (kHeapSampling) {  // with glibc
    ASSERT_NE(of_libc, modules.end());
    EXPECT_EQ(of_libc->build_id.size(), 40U);
    const auto address = reinterpret_cast<std::uintptr_t>(&std::fclose);
    EXPECT_EQ(Symbols::of_file(of_libc->path).at(address - of_libc->bias).ends_with("fclose"),
              true);
  }
}

TEST(Profiling, FilesWithoutFunctionsHaveNoNames) {
  EXPECT_TRUE(Symbols::of_file("/nowhere").empty());
  EXPECT_TRUE(Symbols::of_file("/dev/null").empty());
  EXPECT_TRUE(Symbols::of_file("/proc/self/maps").empty());
  EXPECT_EQ(Symbols::of_file("/proc/self/exe").at(0), "");
}

TEST(Profiling, NamesAreReadable) {
  EXPECT_EQ(readable_name("_ZN3foo3barEi"), "foo::bar(int)");
  EXPECT_EQ(readable_name("_ZN3foo3barEi.cold"), "foo::bar(int)");
  EXPECT_EQ(readable_name("read"), "read");
  EXPECT_EQ(readable_name(""), "");
}

TEST(Profiling, ProcessorTimeIsWhereItIsSpent) {
  auto sampler = CpuSampler::start(kClock);
  ASSERT_TRUE(sampler) << sampler.error().message;
  const auto second = CpuSampler::start(kClock);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, base::ErrorKind::kConflict);

  std::thread([] {
    const std::clock_t begin = std::clock();  // processor time
    testing::burn_time([&] { return std::clock() - begin > CLOCKS_PER_SEC / 4; });
  }).join();
  (*sampler)->collect();
  const Profile profile = (*sampler)->finish();
  std::int64_t burnt = 0;
  for (const Sample& sample : profile.samples) {
    ASSERT_EQ(sample.values.size(), 2U);
    EXPECT_EQ(sample.values[1], sample.values[0] * 10'000'000);
    if (shows(sample.stack, "burn_time")) burnt += sample.values[0];
  }
  EXPECT_GE(burnt, 5) << "of 25";
  EXPECT_EQ(profile.period, 10'000'000);
  itimerval timer{};
  ASSERT_EQ(getitimer(ITIMER_PROF, &timer), 0);
  EXPECT_EQ(timer.it_interval.tv_usec, 0) << "nothing goes on behind the end";

  sampler->reset();
  EXPECT_TRUE(CpuSampler::start(kClock)) << "the next one";
}

struct Memory {
  std::int64_t made = 0;
  std::int64_t made_bytes = 0;
  std::int64_t there = 0;
  std::int64_t there_bytes = 0;
};

Memory memory_of(const char* function) {
  const auto profile = heap_profile(kClock);
  EXPECT_TRUE(profile) << profile.error().message;
  Memory sum;
  for (const Sample& sample : profile->samples) {
    if (!shows(sample.stack, function)) continue;
    sum.made += sample.values[0];
    sum.made_bytes += sample.values[1];
    sum.there += sample.values[2];
    sum.there_bytes += sample.values[3];
  }
  return sum;
}

using FromMalloc = std::unique_ptr<void, decltype(&std::free)>;

/// In a vector that is never moved.
[[gnu::noinline]] void add_many_small(std::vector<FromMalloc>& all) {
  while (all.size() != all.capacity()) all.emplace_back(std::malloc(4096), std::free);
}

TEST(Profiling, MemoryIsWhoseItIs) {
  const auto started = start_heap_sampling();
  EXPECT_EQ(started.has_value(), kHeapSampling);
  if (!kHeapSampling) {
    EXPECT_FALSE(heap_profile(kClock));
    return;
  }
  auto hoard = testing::hoard_memory();
  Memory seen = memory_of("hoard_memory");
  // One of 4 MiB is missed once in 2981 times.
  EXPECT_GE(seen.made, 60);
  EXPECT_LE(seen.made, 66) << "and the vector of them";
  EXPECT_EQ(seen.there, seen.made);
  EXPECT_GE(seen.there_bytes, 60 * std::int64_t{testing::kHoardedBytes});
  hoard.clear();
  seen = memory_of("hoard_memory");
  EXPECT_GE(seen.made, 60) << "what was once";
  EXPECT_EQ(seen.there, 0);
  EXPECT_EQ(seen.there_bytes, 0);

  // 256 MiB: about 512 samples stand for all of them.
  std::vector<FromMalloc> small;
  small.reserve(65536);
  add_many_small(small);
  seen = memory_of("add_many_small");
  EXPECT_GE(seen.there, 45'000);
  EXPECT_LE(seen.there, 86'000);
  std::thread([&] { small.clear(); }).join();
  EXPECT_EQ(memory_of("add_many_small").there, 0) << "freed by another thread";
}

TEST(Profiling, AllocatorsOfAllKindsKeepTheirPromises) {
  (void)start_heap_sampling();
  for (const std::size_t size : {std::size_t{1}, std::size_t{3} << 20U}) {
    char* grown = static_cast<char*>(std::malloc(size));
    grown[size - 1] = 'x';
    grown = static_cast<char*>(std::realloc(grown, size * 2));
    EXPECT_EQ(grown[size - 1], 'x');
    std::free(grown);
    char* zeros = static_cast<char*>(std::calloc(size, 2));
    EXPECT_EQ(std::count(zeros, zeros + size * 2, '\0'), static_cast<std::ptrdiff_t>(size * 2));
    std::free(zeros);
    const std::unique_ptr<void, decltype(&std::free)> aligned(std::aligned_alloc(512, 512 * size),
                                                              std::free);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned.get()) % 512, 0U);
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, 256, size), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0U);
    std::free(memory);
  }
}

struct Served {
  std::unique_ptr<http::Server> server;
  http::Client client;

  Served() {
    auto started = serve_profiles("127.0.0.1:0", kClock, nullptr);
    EXPECT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  http::Response ask(const std::string& path, const std::string& method = "GET") {
    http::Request request;
    request.method = method;
    request.url = fmt::format("http://127.0.0.1:{}/debug/pprof{}", server->port(), path);
    auto answer = client.fetch(base::Context::background(), request);
    EXPECT_TRUE(answer) << answer.error().message;
    return *std::move(answer);
  }
};

TEST(Profiling, AnswersOverHttp) {
  Served served;
  EXPECT_THAT(served.ask("/").body, HasSubstr("\nheap "));
  EXPECT_EQ(served.ask("").status, 200);
  EXPECT_EQ(served.ask("/goroutine").status, 404);
  EXPECT_EQ(served.ask("/heap", "POST").status, 405);
  for (const char* seconds : {"0", "301", "-1", "x", "1x", ""}) {
    const auto answer = served.ask(fmt::format("/profile?seconds={}", seconds));
    EXPECT_EQ(answer.status, 400) << seconds;
    EXPECT_EQ(answer.body, "seconds must be 1 to 300\n");
  }
  EXPECT_EQ(served.ask("/heap?seconds=3").status, 400);
  EXPECT_EQ(served.ask("/profile?seconds=300", "HEAD").status, 200) << "nothing begins";
  for (const char* path : {"/heap", "/allocs"}) {
    const auto answer = served.ask(path);
    EXPECT_EQ(answer.status, kHeapSampling ? 200 : 500);
    EXPECT_EQ(answer.body.starts_with("\x1f\x8b"), kHeapSampling);
  }
}

TEST(Profiling, OneProfileAtATimeAndItsClientMayGo) {
  Served served;
  {
    kollect::testing::SocketStream stream(
        kollect::testing::connect_to(fmt::format("127.0.0.1:{}", served.server->port())));
    ASSERT_TRUE(
        stream.write_all("GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_THAT(stream.read_some(), HasSubstr("200 OK")) << "it has begun";
    const auto second = served.ask("/profile?seconds=1");
    EXPECT_EQ(second.status, 409);
    EXPECT_EQ(second.body, "a CPU profile is being taken; there is one at a time\n");
    EXPECT_EQ(second.header("x-go-pprof"), "1");
  }
  // The server notices that by itself.
  while (true) {
    auto mine = CpuSampler::start(kClock);
    if (mine) break;
    EXPECT_EQ(mine.error().kind, base::ErrorKind::kConflict);
    std::this_thread::yield();
  }
  // A server that ends does not wait for a profile.
  kollect::testing::SocketStream stream(
      kollect::testing::connect_to(fmt::format("127.0.0.1:{}", served.server->port())));
  ASSERT_TRUE(stream.write_all("GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_THAT(stream.read_some(), HasSubstr("200 OK"));
  served.server.reset();
  EXPECT_TRUE(CpuSampler::start(kClock));
}

}  // namespace
}  // namespace kollect::profiling
