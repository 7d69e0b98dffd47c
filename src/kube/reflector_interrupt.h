// What may be cut short in a reflector's loop. Part of reflector_loop.
#pragma once

#include "kube/reflector_loop.h"

namespace kollect::kube {

/// While it lives, relist_now() calls `interrupt`, retry_now() too where this is a pause; at once
/// if one of them came before.
class ReflectorLoop::Interruptible {
 public:
  Interruptible(ReflectorLoop& loop, std::function<void()> interrupt, bool pausing) : loop_(loop) {
    const std::scoped_lock lock(loop_.mutex_);
    loop_.interrupt_ = std::move(interrupt);
    loop_.pausing_ = pausing;
    if (loop_.asked_ || (pausing && loop_.hurry_)) loop_.interrupt_();
  }
  ~Interruptible() {
    const std::scoped_lock lock(loop_.mutex_);
    loop_.interrupt_ = nullptr;
    loop_.pausing_ = false;
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  ReflectorLoop& loop_;
};

}  // namespace kollect::kube
