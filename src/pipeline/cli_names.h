// Names of the cli room that every command here uses.
#pragma once

#include "cli/invocation.h"

namespace kollect::pipeline {

using cli::Command;
using cli::Invocation;
using cli::kExitFailed;
using cli::kExitOk;
using cli::kExitPartial;

}  // namespace kollect::pipeline
