#include "http/engine.h"

#include <csignal>

namespace kollect::http {

namespace {

// curl wants one initialisation per process before its first use.
void init_curl_once() {
  [[maybe_unused]] static const CURLcode done = curl_global_init(CURL_GLOBAL_ALL);
}

/// curl is told not to touch signals (CURLOPT_NOSIGNAL), so a peer that closes a TLS connection
/// must not raise SIGPIPE on this thread; whatever the process does with it.
void block_broken_pipe_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

constexpr base::Duration kLongestWait = std::chrono::seconds(1);

}  // namespace

Engine::Engine() {
  init_curl_once();
  multi_.reset(curl_multi_init());
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, 64L);
  thread_ = std::thread([this] { run(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  curl_multi_wakeup(multi_.get());
  thread_.join();
}

void Engine::submit(std::unique_ptr<Transfer> transfer) {
  transfer->hold_hook(
      transfer->context().on_cancel([multi = multi_.get()] { curl_multi_wakeup(multi); }));
  transfer->bind_flow([multi = multi_.get()] { curl_multi_wakeup(multi); });
  ++open_;
  {
    const std::lock_guard lock(mutex_);
    submitted_.push_back(std::move(transfer));
  }
  curl_multi_wakeup(multi_.get());
}

void Engine::run() {
  block_broken_pipe_signal();
  while (take_submissions()) {
    for (const auto& [handle, transfer] : active_) transfer->resume_if_wanted();
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    reap();
    const base::Duration wait = enforce_limits();
    const auto millis = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(millis), nullptr);
  }
  end_all();
}

bool Engine::take_submissions() {
  std::vector<std::unique_ptr<Transfer>> fresh;
  bool stopping = false;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(submitted_);
    stopping = stopping_;
  }
  for (auto& transfer : fresh) begin(std::move(transfer));
  return !stopping;
}

void Engine::begin(std::unique_ptr<Transfer> transfer) {
  if (auto ready = transfer->prepare(); !ready) {
    finish(*transfer, ready.error());
    return;
  }
  CURL* handle = transfer->handle();
  if (curl_multi_add_handle(multi_.get(), handle) != CURLM_OK) {
    finish(*transfer, base::terminal("the request could not be started"));
    return;
  }
  active_.emplace(handle, std::move(transfer));
}

void Engine::reap() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // The message dies with the handle's removal.
    const CURLcode code = message->data.result;
    const auto it = active_.find(message->easy_handle);
    if (it == active_.end()) continue;
    Transfer& transfer = *it->second;
    end(transfer, transfer.conclude(code));
  }
}

base::Duration Engine::enforce_limits() {
  base::Duration wait = kLongestWait;
  std::vector<std::pair<Transfer*, base::Error>> late;
  for (const auto& [handle, transfer] : active_) {
    if (auto error = transfer->overdue()) {
      late.emplace_back(transfer.get(), std::move(*error));
    } else {
      wait = std::min(wait, transfer->time_left());
    }
  }
  for (auto& [transfer, error] : late) end(*transfer, std::move(error));
  return wait;
}

void Engine::end(Transfer& transfer, base::Result<Response> result) {
  auto node = active_.extract(transfer.handle());
  curl_multi_remove_handle(multi_.get(), transfer.handle());
  // Out of the table before its owner is told: he may start the next request or go away.
  const std::unique_ptr<Transfer> owned = std::move(node.mapped());
  finish(*owned, std::move(result));
}

void Engine::finish(Transfer& transfer, base::Result<Response> result) {
  // Counted out first: who has been told the end may look.
  --open_;
  transfer.finish(std::move(result));
}

void Engine::end_all() {
  while (!active_.empty()) {
    end(*active_.begin()->second, base::cancelled("the client was closed", "cancelled"));
  }
  std::vector<std::unique_ptr<Transfer>> never_begun;
  {
    const std::lock_guard lock(mutex_);
    never_begun.swap(submitted_);
  }
  for (auto& transfer : never_begun) {
    finish(*transfer, base::cancelled("the client was closed", "cancelled"));
  }
}

}  // namespace kollect::http
