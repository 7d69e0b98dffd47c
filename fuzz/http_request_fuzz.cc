// Requests from anywhere: whatever the bytes and however they are cut, the reader comes to the same
// requests.
#include "base/strings.h"
#include "fuzz_input.h"
#include "http/quick_request.h"
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

/// What the short way takes, the reader takes as well, and as the same.
void compare_quick(std::string_view bytes) {
  kollect::http::QuickRequest quick;
  kollect::http::RequestView view;
  const std::size_t size = quick.read(bytes, view);
  if (size == 0 || size > kMaxHead) return;
  RequestReader reader(kMaxHead, kMaxBody);
  kollect::fuzz::require(reader.feed(bytes) == size, "the same size");
  kollect::fuzz::require(reader.state() == RequestReader::State::kDone && reader.keep_alive(),
                         "a request");
  const auto request = reader.take();
  bool same = request.method == view.method && request.path == view.path &&
              request.query == view.query && request.body.empty() &&
              request.headers.size() == view.headers.size();
  for (std::size_t i = 0; same && i < view.headers.size(); ++i) {
    same = request.headers[i].first == kollect::base::to_lower(view.headers[i].first) &&
           request.headers[i].second == view.headers[i].second;
  }
  kollect::fuzz::require(same, "the same request");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = kollect::fuzz::text_of(data, size);
  const std::string whole = read_all(bytes, bytes.size() + 1);
  const std::string cut = read_all(bytes, 1);
  kollect::fuzz::require(whole == cut, "the same requests however the bytes are cut");
  compare_quick(bytes);
  return 0;
}
