// How the process's heap behaves.
#pragma once

namespace kollect::base {

/// Large pieces of memory come and go by the megabyte: from now on they are given back to the
/// system instead of widening the heap, and few arenas hold what threads free for each other. For
/// the start of a program, before it has threads; nothing where the C library is not glibc.
void keep_heap_small();

}  // namespace kollect::base
