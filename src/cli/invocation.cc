#include "cli/invocation.h"

#include "base/input.h"

namespace kollect::cli {

base::Result<std::string> Invocation::read_in() const {
  return base::read_input(in, context());
}

}  // namespace kollect::cli
