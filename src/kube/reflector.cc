#include "kube/reflector.h"

#include <thread>

#include "kube/reflector_loop.h"
#include "kube/status_board.h"

namespace kollect::kube {

struct Reflector::Impl {
  Impl(Client& client, WatchQuery query, ObjectReceiver& receiver, ListGate& gate,
       const base::Clock& clock, const base::Logger* log, ReflectorOptions options)
      : loop(client, std::move(query), receiver, gate, clock, log, options, board) {}

  StatusBoard board;
  ReflectorLoop loop;
  /// Not the thread's own: a callback may ask for the end before start() is through.
  std::stop_source stop;
  std::thread thread;
};

Reflector::Reflector(Client& client, WatchQuery query, ObjectReceiver& receiver, ListGate& gate,
                     const base::Clock& clock, const base::Logger* log, ReflectorOptions options)
    : impl_(std::make_unique<Impl>(client, std::move(query), receiver, gate, clock, log, options)) {
}

Reflector::~Reflector() {
  stop();
}

void Reflector::start(std::function<void(const ReflectorStatus&)> changed) {
  impl_->board.listen(std::move(changed));
  impl_->thread = std::thread([impl = impl_.get()] { impl->loop.run(impl->stop.get_token()); });
}

void Reflector::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->stop.request_stop();
  impl_->thread.join();
}

void Reflector::request_stop() {
  impl_->stop.request_stop();
}

void Reflector::retry_now() {
  impl_->loop.retry_now();
}

void Reflector::relist_now() {
  impl_->loop.relist_now();
}

ReflectorStatus Reflector::status() const {
  ReflectorStatus status = impl_->board.copy();
  status.waiting = impl_->loop.load().waiting;
  status.held_up = impl_->loop.load().held_up;
  return status;
}

}  // namespace kollect::kube
