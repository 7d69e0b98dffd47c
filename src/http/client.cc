#include "http/client.h"

#include <future>

#include "http/engine.h"

namespace kollect::http {

void Flow::resume() {
  if (!paused_) return;
  // In this order: at no moment the time that it was held up looks like silence.
  resumed_ = true;
  paused_ = false;
  wake();
}

void Flow::set_stall_timeout(base::Duration limit) {
  stall_timeout_ = limit.count();
  wake();
}

void Flow::wake() {
  const std::scoped_lock lock(mutex_);
  if (wake_) wake_();
}

void Flow::bind(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  wake_ = std::move(wake);
}

struct Client::Impl {
  Engine engine;
};

Client::Client() : impl_(std::make_unique<Impl>()) {}
Client::~Client() = default;

base::Result<Response> Client::fetch(const base::Context& context, const Request& request) {
  return stream(context, request, nullptr);
}

base::Result<Response> Client::stream(
    const base::Context& context, const Request& request,
    const std::function<bool(const Response& head, std::string_view data)>& on_data) {
  // Shared: the I/O thread may still be inside set_value() when the waiting thread goes on.
  auto promise = std::make_shared<std::promise<base::Result<Response>>>();
  auto answer = promise->get_future();
  start_stream(context, request, on_data,
               [promise](base::Result<Response> result) { promise->set_value(std::move(result)); });
  return answer.get();
}

void Client::start(const base::Context& context, Request request,
                   std::function<void(base::Result<Response>)> done) {
  start_stream(context, std::move(request), nullptr, std::move(done));
}

void Client::start_stream(const base::Context& context, Request request,
                          std::function<bool(const Response& head, std::string_view data)> on_data,
                          std::function<void(base::Result<Response>)> done) {
  start_stream(
      context, std::move(request),
      StreamHandler{.on_head = nullptr, .on_data = std::move(on_data), .done = std::move(done)});
}

void Client::start_stream(const base::Context& context, Request request, StreamHandler handler) {
  impl_->engine.submit(std::make_unique<Transfer>(context, std::move(request), std::move(handler)));
}

std::size_t Client::open_requests() const {
  return impl_->engine.open();
}

}  // namespace kollect::http
