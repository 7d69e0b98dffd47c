// The walk up a stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kollect::profiling {

/// Program counters, the innermost first. Those of callers point into the call, not behind it.
struct Stack {
  static constexpr std::size_t kMost = 64;  ///< frames further out are left off
  std::array<std::uintptr_t, kMost> frames;
  std::size_t depth;
};

/// Walks from the caller outwards and keeps what begins with `from`: the program counter that a
/// signal has interrupted, or the return address of a function that is on the stack. What is not
/// found there leaves `from` alone. Safe in a signal handler and within malloc once
/// prepare_to_walk() has returned.
void walk_stack(std::uintptr_t from, Stack& stack);

/// Makes the unwinder do what it does at its first use only.
void prepare_to_walk();

}  // namespace kollect::profiling
