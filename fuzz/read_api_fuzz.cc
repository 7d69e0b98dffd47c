// Requests to the read API: whatever is asked, the answer is one of those that are described.
// Input: a line with the path, one with the query, then headers as "name: value".
#include "base/log.h"
#include "fuzz_input.h"
#include "readapi/memory_source.h"
#include "readapi/request_check.h"

namespace {

using namespace kollect;

/// A few rows, odd ones among them, and changes for streams.
struct Ground {
  Ground() {
    for (const char* name : {"a", "b", "zoë", "c.d"}) {
      source.table.push_back({.ns = "shop",
                              .name = name,
                              .uid = name,
                              .attributes = R"({"n":1,"t":"x\"\u2028","o":{"a":[1]},"z":null})"});
      feed.put(source.table.back());
    }
    service.turn();
  }
  base::ManualClock clock;
  readapi::testing::MemorySource source;
  readapi::testing::MemoryFeed feed;
  readapi::testing::MemoryAccess access;
  readapi::Service service{{.source = source, .access = access, .clock = clock, .feed = &feed},
                           {.version = "1", .own_thread = false}};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Ground ground;
  static const auto described = readapi::testing::described_statuses();
  auto [path, rest] = fuzz::cut_line(fuzz::text_of(data, size));
  auto request = std::make_shared<http::ServerRequest>();
  request->method = "GET";
  request->path = path;
  std::tie(path, rest) = fuzz::cut_line(rest);
  request->query = path;
  while (!rest.empty()) {
    std::tie(path, rest) = fuzz::cut_line(rest);
    const std::size_t colon = path.find(": ");
    if (colon == std::string_view::npos) continue;
    request->headers.emplace_back(base::to_lower(path.substr(0, colon)), path.substr(colon + 2));
  }
  const std::string fault =
      readapi::testing::fault_of(ground.service.answer(request), request->path, described);
  fuzz::require(fault.empty(), fault.c_str());
  return 0;
}
