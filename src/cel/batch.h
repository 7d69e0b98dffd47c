// Batches of expressions as JSON lines (`kollect cel --batch`).
//
// In:  {"id", "expr", "container"?, "bindings"?: {name: Value}, "types"?: {name: type}, "check"?:
// bool} Out: {"id", "value": Value} or {"id", "error": "…", "phase": "parse" | "check" | "eval"}
// Value is the protobuf-JSON form of cel.expr.Value. Well-known messages of protobuf (wrappers,
// Struct, Timestamp, …), in bindings and as literals of an expression, stand for the values that
// they hold. For tests of the checker besides: "functions"?: {name: overloads} declares functions
// that have no implementation, "type"?: true adds the static type to the answer, "evaluate"?: false
// stops behind the checker, so that {"id", "type"} is left.
#pragma once

#include <string>
#include <string_view>

#include "base/json/document.h"
#include "cel/evaluation.h"
#include "cel/value.h"

namespace kollect::cel {

/// Answers one line with one line (without its end). Never fails: what is wrong with the input
/// itself comes out as an error of phase "parse". "check" is true when it is missing. Thread-safe.
std::string run_batch_line(std::string_view line);

/// The answer to a line that cannot be read.
std::string refuse_batch_line(std::string_view message);

/// Reads a cel.expr.Value in protobuf JSON; an error value when it is none. Texts stay borrowed
/// from the document.
Value read_proto_value(Evaluation& evaluation, base::json::View view);
/// Appends the value in protobuf JSON; false, and nothing is appended, when that has more than 64
/// MiB. An optional counts as its value, an empty one as null;
/// values of libraries as their text.
bool append_proto_value(std::string& out, const Value& value);

}  // namespace kollect::cel
