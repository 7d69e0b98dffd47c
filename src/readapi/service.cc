#include "readapi/service.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json/write.h"
#include "readapi/answers.h"
#include "readapi/service_impl.h"

namespace kollect::readapi {
namespace {

constexpr const char* kMethods = "GET, HEAD";

Feed& feed_of(const ServiceParts& parts, std::unique_ptr<PolledFeed>& polled) {
  if (parts.feed != nullptr) return *parts.feed;
  polled = std::make_unique<PolledFeed>(parts.source);
  return *polled;
}

void add_metrics(metrics::Registry& registry, const std::shared_ptr<ServiceCounts>& counts) {
  registry.on_page([counts](metrics::Page& page) {
    const std::scoped_lock lock(counts->mutex);
    for (const auto& [code, answers] : counts->answers) {
      page.counter("kollect_inventory_http_requests_total", "Answers of the read API.",
                   {{"code", std::to_string(code)}}, static_cast<double>(answers));
    }
    page.gauge("kollect_inventory_http_streams", "Open event streams of the read API.", {},
               static_cast<double>(counts->seats->taken()));
    page.counter("kollect_inventory_http_streams_dropped_total",
                 "Event streams ended because their client did not keep up.", {},
                 static_cast<double>(counts->dropped));
  });
}

/// The origin of the request when it is one that may read.
std::string allowed_origin(const http::ServerRequest& request,
                           const std::vector<std::string>& origins) {
  const auto origin = request.header("origin");
  if (!origin) return {};
  const bool allowed = std::ranges::any_of(
      origins, [&](const std::string& one) { return one == "*" || one == *origin; });
  return allowed ? std::string(*origin) : std::string();
}

http::Answer preflight() {
  http::Answer answer;
  answer.status = 204;
  answer.headers = {{"Access-Control-Allow-Methods", kMethods},
                    {"Access-Control-Allow-Headers",
                     "Authorization, If-None-Match, Last-Event-ID, Cache-Control"},
                    {"Access-Control-Max-Age", "600"}};
  return answer;
}

}  // namespace

std::string document(const base::json::Object& object) {
  return base::json::compact(base::json::Value(object)) + "\n";
}

Service::Impl::Impl(ServiceParts the_parts, ServiceOptions the_options)
    : parts(the_parts),
      options(std::move(the_options)),
      seats(std::make_shared<StreamSeats>(options.max_streams)),
      counts(std::make_shared<ServiceCounts>()),
      hub(std::make_unique<Hub>(feed_of(parts, polled), parts.clock, parts.log,
                                HubOptions{.buffer_bytes = options.stream_buffer_bytes})) {
  counts->seats = seats;
  if (parts.metrics != nullptr) add_metrics(*parts.metrics, counts);
  if (options.own_thread) hub->start();
}

std::optional<http::Answer> Service::Impl::admit(Call& call) {
  const auto settled = settle(call);
  if (!settled) call.wish = {};
  call.verdict = parts.access.decide(context(options.request_limit), call.caller(), call.wish);
  if (call.verdict.kind != Verdict::Kind::kAllowed) return refusal(call.verdict);
  if (!settled) return error_answer(settled.error(), parts.log);
  return std::nullopt;
}

http::Answer Service::Impl::dispatch(Call& call) {
  switch (call.routed.route) {
    case Route::kMeta:
      return meta(call);
    case Route::kInventory:
    case Route::kInventoryOf:
    case Route::kClusterInventory:
      return inventory(call);
    case Route::kInventoryWatch:
      return watch(call);
    case Route::kChanges:
      return changes(call);
    case Route::kChangesWatch:
      return watch_changes(call);
    case Route::kHistory:
      return history(call);
    case Route::kGroups:
      return groups(call);
    case Route::kExport:
      return exported(call);
    case Route::kClusters:
      return clusters(call);
    case Route::kInventories:
      return inventories(call);
    case Route::kStatus:
      return status(call);
    case Route::kOverview:
      return overview(call);
    default:
      return error_answer(404, "NotFound", "there is nothing at this path");
  }
}

http::Answer Service::Impl::answer(const http::ServerRequest& request) {
  if (request.method == "OPTIONS" && !allowed_origin(request, options.cors_origins).empty()) {
    return preflight();
  }
  auto routed = route_of(request.path);
  if (!routed ||
      ((routed->route == Route::kHealth || routed->route == Route::kReady) && !options.probes)) {
    return error_answer(404, "NotFound", "there is nothing at this path");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    http::Answer refused = error_answer(405, "MethodNotAllowed", "this API is read-only: GET");
    refused.headers.emplace_back("Allow", kMethods);
    return refused;
  }
  Call call{.request = request, .routed = std::move(*routed), .parameters = request.parameters()};
  switch (call.routed.route) {
    case Route::kHealth:
      return http::Answer::text(200, "ok");
    case Route::kReady:
      return ready();
    case Route::kDescription:
      return description(call);
    case Route::kConsole:
    case Route::kRoot:
      return console(call);
    default:
      break;
  }
  if (options.closed) {
    if (const std::string why = options.closed(); !why.empty()) {
      return error_answer(503, "NotServing", why);
    }
  }
  if (auto refused = admit(call)) return std::move(*refused);
  http::Answer answer = dispatch(call);
  if (const std::string unknown = unknown_parameter(call.parameters); !unknown.empty()) {
    answer.headers.emplace_back("Warning", fmt::format("299 - \"{}\"", unknown));
  }
  return answer;
}

void Service::Impl::finish(const http::ServerRequest& request, http::Answer& answer) {
  if (const std::string origin = allowed_origin(request, options.cors_origins); !origin.empty()) {
    answer.headers.emplace_back("Access-Control-Allow-Origin", origin);
    answer.headers.emplace_back("Access-Control-Expose-Headers",
                                "ETag, Content-Disposition, Warning");
  }
  if (!options.cors_origins.empty()) answer.headers.emplace_back("Vary", "Origin");
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  {
    const std::scoped_lock lock(counts->mutex);
    ++counts->answers[answer.status];
  }
  if (parts.log != nullptr && parts.log->enabled(base::LogLevel::kDebug)) {
    // Neither query nor headers: tokens and values of rows are nobody's but the caller's.
    parts.log->debug("read API", {{"method", request.method},
                                  {"path", request.path},
                                  {"status", std::to_string(answer.status)},
                                  {"peer", request.peer}});
  }
}

Service::Service(ServiceParts parts, ServiceOptions options)
    : impl_(std::make_unique<Impl>(parts, std::move(options))) {}
Service::~Service() = default;

http::Answer Service::answer(const std::shared_ptr<const http::ServerRequest>& request) {
  http::Answer answer = impl_->answer(*request);
  impl_->finish(*request, answer);
  return answer;
}

void Service::handle(const std::shared_ptr<const http::ServerRequest>& request, http::Reply reply) {
  Impl& impl = *impl_;
  auto routed = route_of(request->path);
  if (!routed || routed->route != Route::kFleet ||
      (request->method != "GET" && request->method != "HEAD")) {
    reply.send(answer(request));
    return;
  }
  Call call{.request = *request, .routed = std::move(*routed), .parameters = request->parameters()};
  const auto end = [&](http::Answer answer) {
    impl.finish(*request, answer);
    reply.send(std::move(answer));
  };
  if (!impl.options.fleet) {
    end(error_answer(404, "NoFleet", "no fleet API is behind this one: --fleet-url"));
    return;
  }
  if (auto refused = impl.admit(call)) {
    end(std::move(*refused));
    return;
  }
  if (!(call.verdict.sight == Sight{})) {
    end(error_answer(403, "Forbidden", "the fleet is for those who may see everything"));
    return;
  }
  auto rest = std::make_shared<http::ServerRequest>(*request);
  rest->path = call.routed.name;
  impl.options.fleet(rest, std::move(reply));
}

std::size_t Service::streams() const {
  return impl_->seats->taken();
}

void Service::turn() {
  impl_->hub->turn();
}

}  // namespace kollect::readapi
