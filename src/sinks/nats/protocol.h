// What a NATS server says, taken apart.
// Format: https://docs.nats.io/reference/reference-protocols/nats-protocol
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kollect::sinks::nats {

/// One thing that was said. Views point into the input.
struct Said {
  enum class What {
    kMessage,
    kInfo,  ///< `text` is its JSON
    kPing,
    kPong,
    kError,    ///< `text` says which
    kNothing,  ///< to be passed over
    kGarbled,  ///< not this protocol; nothing behind it can be understood
  } what = What::kNothing;
  std::string_view text;
  std::string_view subject;  ///< of a message; so are the next two
  int status = 0;            ///< of the header's first line; 0: none
  std::string_view payload;
};

/// The first thing of `input` from `at` on; moves `at` behind it. None: it is not complete, `at`
/// stays. Input that can never be complete within bounds (1 MiB a line, 64 MiB a message) is
/// garbled.
std::optional<Said> read_said(std::string_view input, std::size_t& at);

}  // namespace kollect::sinks::nats
