// The file format of pprof (github.com/google/pprof/blob/main/proto/profile.proto), gzipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "profiling/stack.h"

namespace kollect::profiling {

/// What one number of a sample means: {"inuse_space", "bytes"}.
struct ValueType {
  std::string type;
  std::string unit;
};

struct Sample {
  Stack stack;
  std::vector<std::int64_t> values;  ///< as many as Profile::types
};

struct Profile {
  std::vector<ValueType> types;
  std::string default_type;  ///< of `types`; what a viewer shows first
  std::vector<Sample> samples;
  base::WallTime time{};      ///< when it was begun
  base::Duration duration{};  ///< how long it took; zero: a state, not a time
  ValueType period_type;      ///< what is between two samples
  std::int64_t period = 0;
  /// Regular expression: functions that are left off together with all they call.
  std::string drop_frames = {};
  std::string comment = {};
};

/// The bytes of the file. Functions have names where their files still tell them; the rest has
/// addresses and build ids, for viewers that have the files. Reads files of the process.
std::string encode(const Profile& profile);

}  // namespace kollect::profiling
