// A reflector of boats against a scripted server.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "kube/reflector.h"
#include "support/object_recorder.h"
#include "support/watch_server.h"

namespace kollect::testing {

/// Waits of the reflector move the clock and take no time, unless `patient` is set: then they last
/// until they are cut short.
class ReflectorFixture : public ::testing::Test {
 protected:
  class Clock final : public base::Clock {
   public:
    [[nodiscard]] base::WallTime now() const override { return manual_.now(); }
    [[nodiscard]] base::SteadyTime steady_now() const override { return manual_.steady_now(); }
    bool sleep(base::Duration how_long, const std::stop_token& stop) const override {
      if (!patient) return manual_.sleep(how_long, stop);
      return base::Clock::sleep(std::chrono::hours(1), stop);
    }
    void advance(base::Duration by) const { manual_.advance(by); }
    std::atomic<bool> patient = false;

   private:
    base::ManualClock manual_;
  };

  // First: what a server's threads and callbacks of tests use must outlive them.
  std::atomic<int> requests_ = 0;
  std::atomic<bool> over_ = false;
  Clock clock_;
  WatchServer server_;
  ObjectRecorder seen_;
  kube::ListGate gate_{2};
  kube::WatchQuery query_;
  kube::ReflectorOptions options_;
  kube::ClusterConfig config_;
  const base::Logger* log_ = nullptr;
  std::shared_ptr<http::Client> http_ = std::make_shared<http::Client>();
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<kube::Reflector> reflector_;

  void SetUp() override {
    query_.resource.group = "harbour.example";
    query_.resource.version = "v1";
    query_.resource.kind = "Boat";
    query_.resource.plural = "boats";
    config_.server = server_.url();
    options_.seed = 1;
  }
  void TearDown() override { reflector_.reset(); }

  void start() {
    if (!client_)
      client_ = std::make_unique<kube::Client>(http_, config_, kube::ClientOptions{}, nullptr);
    reflector_ =
        std::make_unique<kube::Reflector>(*client_, query_, seen_, gate_, clock_, log_, options_);
    reflector_->start([this](const kube::ReflectorStatus& status) {
      const std::scoped_lock lock(states_mutex_);
      const std::string name(to_string(status.state));
      if (states_.empty() || states_.back() != name) states_.push_back(name);
    });
  }
  kube::ReflectorStatus status() const { return reflector_->status(); }
  bool wait_for_state(kube::ReflectorState state) {
    return seen_.wait([&] { return status().state == state; });
  }
  /// Reason of the error that is shown, "" without.
  std::string reason() const { return status().error ? status().error->reason : ""; }
  bool wait_for_reason(const std::string& wanted) {
    return seen_.wait([&] { return reason() == wanted; });
  }
  bool wait_for_requests(std::size_t count) { return server_.wait_for_requests(count); }
  /// States in order, as the listener was told.
  std::vector<std::string> states() const {
    const std::scoped_lock lock(states_mutex_);
    return states_;
  }
  base::Duration elapsed() const { return clock_.steady_now() - base::SteadyTime(); }

 private:
  mutable std::mutex states_mutex_;
  std::vector<std::string> states_;
};

}  // namespace kollect::testing
