// Reading a stream, standard input above all, in a program that can be stopped meanwhile.
#pragma once

#include <cstdio>
#include <string>

#include "base/context.h"
#include "base/result.h"

namespace kollect::base {

/// Waits until a read of `file` would not wait: there is something to read, or its end. Streams
/// without a descriptor (memory) never wait, and neither does a stream that holds read-ahead text
/// of a file; one of a pipe or terminal must hold none. Error: cancelled. The context's deadline
/// does not count: people may think as long as they like.
Result<> wait_for_input(std::FILE* file, const Context& context);

/// All of `file`, to its end. Nothing may have been read from it before. Error: cancelled, or
/// retryable when it cannot be read.
Result<std::string> read_input(std::FILE* file, const Context& context);

}  // namespace kollect::base
