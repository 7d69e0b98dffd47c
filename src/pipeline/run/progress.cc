#include "pipeline/run/progress.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>

#include "base/strings.h"

namespace kollect::pipeline {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(150);
constexpr std::size_t kMaxWidth = 100;

}  // namespace

Progress::Progress(std::FILE* err, bool shown, bool colour, const base::Clock& clock)
    : err_(err), shown_(shown), colour_(colour), clock_(clock), start_(clock.steady_now()) {
  if (shown_) thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
}

Progress::~Progress() {
  if (!shown_) return;
  thread_.request_stop();
  thread_.join();
  hide();
}

void Progress::set_kind(const std::string& context, const std::string& kind) {
  const std::scoped_lock lock(mutex_);
  what_ = fmt::format("{}: {}", context, kind);
}

std::string Progress::line() const {
  const std::scoped_lock lock(mutex_);
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::duration<double>>(clock_.steady_now() - start_);
  const double rate = elapsed.count() > 0 ? static_cast<double>(objects_) / elapsed.count() : 0;
  return fmt::format("context {} of {}  {}  {} objects  {} rows  {:.0f}/s", started_.load(),
                     contexts_.load(), what_, objects_.load(), rows_.load(), rate);
}

void Progress::draw() {
  const std::string text(base::cut_utf8(line(), kMaxWidth));
  const std::scoped_lock lock(mutex_);
  if (hidden_) return;
  fmt::print(err_, "\r\x1b[K{}{}{}", colour_ ? "\x1b[2m" : "", text, colour_ ? "\x1b[0m" : "");
  std::fflush(err_);
  drawn_ = true;
}

void Progress::hide() {
  const std::scoped_lock lock(mutex_);
  hidden_ = true;
  if (!drawn_) return;
  fmt::print(err_, "\r\x1b[K");
  std::fflush(err_);
  drawn_ = false;
}

void Progress::show() {
  const std::scoped_lock lock(mutex_);
  hidden_ = false;
}

void Progress::loop(const std::stop_token& stop) {
  std::mutex wait_mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(wait_mutex);
  while (!stop.stop_requested()) {
    draw();
    wake.wait_for(lock, stop, kInterval, [] { return false; });
  }
}

}  // namespace kollect::pipeline
