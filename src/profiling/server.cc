#include "profiling/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "http/listen_address.h"
#include "profiling/cpu_sampler.h"
#include "profiling/heap_sampler.h"

namespace kollect::profiling {
namespace {

constexpr int kUsualSeconds = 30;
constexpr int kMostSeconds = 300;
/// Samples are taken over so often: 64 processors that all run fill half of the room.
constexpr base::Duration kCollect = std::chrono::milliseconds(150);

constexpr std::string_view kIndex =
    "Profiles of this process, for `go tool pprof URL`:\n"
    "\n"
    "profile?seconds=30  where processor time goes in the next seconds (1 to 300)\n"
    "heap                memory that is there, by who allocated it\n"
    "allocs              memory that was ever allocated since the start\n";

http::Answer refused(int status, const std::string& why) {
  http::Answer answer = http::Answer::text(status, why + "\n");
  answer.headers.emplace_back("X-Go-Pprof", "1");  // its client shows the text then
  return answer;
}

http::Answer refused(const base::Error& error) {
  return refused(error.kind == base::ErrorKind::kConflict ? 409 : 500, error.message);
}

http::Answer file(std::string name) {
  http::Answer answer;
  answer.headers = {
      {"Content-Type", "application/octet-stream"},
      {"Content-Disposition", fmt::format("attachment; filename=\"{}.pb.gz\"", std::move(name))},
      {"X-Content-Type-Options", "nosniff"}};
  return answer;
}

/// Samples as long as somebody waits for it.
class CpuBody final : public http::BodySource {
 public:
  CpuBody(std::unique_ptr<CpuSampler> sampler, const base::Clock& clock, base::Duration how_long)
      : sampler_(std::move(sampler)), clock_(clock), end_(clock.steady_now() + how_long) {}

  Pull pull(std::string& out) override {
    const base::Duration left = end_ - clock_.steady_now();
    if (left > base::Duration::zero()) {
      sampler_->collect();
      return {.next = Next::kWait, .at_most = std::min(kCollect, clock_.real_time(left))};
    }
    out += encode(sampler_->finish());
    return {.next = Next::kEnd};
  }

 private:
  std::unique_ptr<CpuSampler> sampler_;
  const base::Clock& clock_;
  const base::SteadyTime end_;
};

std::optional<int> seconds_of(const std::multimap<std::string, std::string>& parameters) {
  const auto given = parameters.find("seconds");
  if (given == parameters.end()) return kUsualSeconds;
  int seconds = 0;
  const std::string& text = given->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (seconds < 1 || seconds > kMostSeconds) return std::nullopt;
  return seconds;
}

http::Answer cpu(const http::ServerRequest& request, const base::Clock& clock) {
  const auto seconds = seconds_of(request.parameters());
  if (!seconds) return refused(400, fmt::format("seconds must be 1 to {}", kMostSeconds));
  http::Answer answer = file("profile");
  if (request.method == "HEAD") return answer;
  auto sampler = CpuSampler::start(clock);
  if (!sampler) return refused(sampler.error());
  answer.source =
      std::make_shared<CpuBody>(std::move(*sampler), clock, std::chrono::seconds(*seconds));
  return answer;
}

http::Answer heap(const http::ServerRequest& request, const base::Clock& clock,
                  const std::string& name, const char* first) {
  if (request.parameters().contains("seconds")) {
    return refused(400, "memory is told as it is now, without seconds");
  }
  auto profile = heap_profile(clock);
  if (!profile) return refused(profile.error());
  profile->default_type = first;
  http::Answer answer = file(name);
  answer.body = encode(*profile);
  return answer;
}

http::Answer answer(const http::ServerRequest& request, const base::Clock& clock) {
  if (request.method != "GET" && request.method != "HEAD") return refused(405, "GET only");
  const std::string& path = request.path;
  if (path == "/debug/pprof" || path == "/debug/pprof/") {
    return http::Answer::text(200, std::string(kIndex));
  }
  if (path == "/debug/pprof/profile") return cpu(request, clock);
  if (path == "/debug/pprof/heap") return heap(request, clock, "heap", "inuse_space");
  if (path == "/debug/pprof/allocs") return heap(request, clock, "allocs", "alloc_space");
  return refused(404, "not found; /debug/pprof/ tells what there is");
}

}  // namespace

base::Result<std::unique_ptr<http::Server>> serve_profiles(const std::string& address,
                                                           const base::Clock& clock,
                                                           const base::Logger* log) {
  http::ServerOptions options;
  KL_TRY(http::read_listen_address(address, options));
  options.max_body_bytes = 0;
  if (const auto sampled = start_heap_sampling(); !sampled && log != nullptr) {
    log->info("no profile of the heap", {{"error", sampled.error().message}});
  }
  return http::Server::start(
      options,
      [&clock](const std::shared_ptr<const http::ServerRequest>& request, http::Reply reply) {
        reply.send(answer(*request, clock));
      },
      log);
}

}  // namespace kollect::profiling
