#include "profiling/stack.h"

#include <unwind.h>

namespace kollect::profiling {
namespace {

struct Walk {
  std::uintptr_t from;
  Stack& stack;
  bool found = false;
};

_Unwind_Reason_Code take(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  int before_instruction = 0;
  const std::uintptr_t counter = _Unwind_GetIPInfo(context, &before_instruction);
  if (counter == 0) return _URC_END_OF_STACK;
  if (!walk.found && counter != walk.from) return _URC_NO_REASON;
  walk.found = true;
  // A return address may already belong to the next line, or to the next function.
  walk.stack.frames[walk.stack.depth++] = before_instruction != 0 ? counter : counter - 1;
  return walk.stack.depth == Stack::kMost ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

void walk_stack(std::uintptr_t from, Stack& stack) {
  stack.depth = 0;
  Walk walk{.from = from, .stack = stack};
  _Unwind_Backtrace(take, &walk);
  if (stack.depth == 0) stack.frames[stack.depth++] = from;
}

void prepare_to_walk() {
  Stack stack;
  walk_stack(0, stack);
}

}  // namespace kollect::profiling
