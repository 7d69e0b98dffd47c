// Questions and answers on a terminal.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "base/result.h"

namespace kollect::pipeline::init {

/// Asks on `out` (stderr, so that stdout stays empty) and reads answers line by line from `in`. End
/// of input, cancelling the context, and a "no" where the caller says so, is a cancel: error kind
/// kCancelled. Neither stream is owned.
class Dialogue {
 public:
  Dialogue(const base::Context& context, std::FILE* in, std::FILE* out, bool colour)
      : context_(context), in_(in), out_(out), colour_(colour) {}

  void say(std::string_view text);
  void heading(std::string_view text);
  /// Yes or no; an empty answer takes the default.
  base::Result<bool> confirm(std::string_view question, bool by_default);
  /// A line; an empty answer takes the default. Asked again until `valid` has no complaint.
  base::Result<std::string> ask(
      std::string_view question, std::string_view by_default,
      const std::function<std::optional<std::string>(std::string_view)>& valid = {});
  /// One of the choices, by number or by name; other text filters the list and asks again.
  base::Result<std::size_t> choose(std::string_view question,
                                   const std::vector<std::string>& choices,
                                   std::optional<std::size_t> by_default = std::nullopt);
  /// Several of the choices: numbers or names separated by commas, "all"; an empty answer takes the
  /// preset. Asked again when nothing is chosen.
  base::Result<std::vector<std::size_t>> choose_several(std::string_view question,
                                                        const std::vector<std::string>& choices,
                                                        const std::vector<std::size_t>& preset);

 private:
  base::Result<std::string> read_line();
  void list(const std::vector<std::string>& choices, const std::vector<std::size_t>& shown);

  base::Context context_;
  std::FILE* in_;
  std::FILE* out_;
  bool colour_;
};

/// The error of a cancelled dialogue.
base::Error cancelled_by_user();

}  // namespace kollect::pipeline::init
