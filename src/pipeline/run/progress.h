// The status line of a run on a terminal (spec: pipeline 12).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"

namespace kollect::pipeline {

/// Counts, and draws one line several times a second when shown. Without a terminal it only counts.
/// Thread-safe; the destructor clears the line and waits for the drawing thread.
class Progress {
 public:
  Progress(std::FILE* err, bool shown, bool colour, const base::Clock& clock);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void set_contexts(std::size_t count) { contexts_ = count; }
  void start_context() { ++started_; }
  void set_kind(const std::string& context, const std::string& kind);
  void add(std::uint64_t objects, std::uint64_t rows) {
    objects_ += objects;
    rows_ += rows;
  }
  /// Around other output on the terminal.
  void hide();
  void show();
  [[nodiscard]] bool shown() const { return shown_; }
  /// Text of the line now.
  [[nodiscard]] std::string line() const;

 private:
  void draw();
  void loop(const std::stop_token& stop);

  std::FILE* err_;
  bool shown_;
  bool colour_;
  const base::Clock& clock_;
  base::SteadyTime start_;
  std::atomic<std::size_t> contexts_ = 0;
  std::atomic<std::size_t> started_ = 0;
  std::atomic<std::uint64_t> objects_ = 0;
  std::atomic<std::uint64_t> rows_ = 0;
  mutable std::mutex mutex_;
  std::string what_;
  bool drawn_ = false;
  bool hidden_ = false;
  std::jthread thread_;
};

}  // namespace kollect::pipeline
