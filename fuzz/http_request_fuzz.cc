// Requests from anywhere: whatever the bytes and however they are cut, the reader comes to the same
// requests.
#include "fuzz_input.h"
#include "http/request_reader.h"

namespace {

using kollect::http::RequestReader;

constexpr std::uint32_t kMaxHead = 4096;
constexpr std::uint64_t kMaxBody = 4096;

/// All requests as text, up to the first refusal. The bytes come `piece` at a time.
std::string read_all(std::string_view bytes, std::size_t piece) {
  RequestReader reader(kMaxHead, kMaxBody);
  std::string log;
  std::string in;
  std::size_t at = 0;
  while (true) {
    in.erase(0, reader.feed(in));
    if (reader.state() == RequestReader::State::kDone) {
      const auto request = reader.take();
      kollect::fuzz::require(!request.path.empty() && request.body.size() <= kMaxBody,
                             "a path, and a body within its limit");
      log += request.method + " " + request.path + "?" + request.query + "\n";
      for (const auto& [name, value] : request.headers) log += name + ":" + value + "\n";
      log += request.body + "\n";
      (void)request.parameters();
      continue;
    }
    // A refusal may come with an earlier or a later byte.
    if (reader.state() == RequestReader::State::kFailed || at >= bytes.size()) return log;
    in += bytes.substr(at, piece);
    at += piece;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = kollect::fuzz::text_of(data, size);
  const std::string whole = read_all(bytes, bytes.size() + 1);
  const std::string cut = read_all(bytes, 1);
  kollect::fuzz::require(whole == cut, "the same requests however the bytes are cut");
  return 0;
}
