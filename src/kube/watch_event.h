// A line of a watch's answer as an event (Kubernetes API concepts, "Efficient detection of
// changes").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json/document.h"
#include "base/result.h"

namespace kollect::kube {

struct WatchEvent {
  enum class Type : std::uint8_t {
    kPut,      ///< ADDED, MODIFIED
    kDeleted,  ///< `object` is its last state
    kMark,     ///< BOOKMARK: nothing but a resourceVersion
    kError,    ///< `object` is a Status
  };
  Type type = Type::kPut;
  bool added = false;  ///< kPut: ADDED
  base::json::View object;
  std::string_view version = {};  ///< resourceVersion of the object, "" without
  bool end_of_list = false;       ///< kMark: everything that a streamed list has was sent
  std::int64_t code = 0;          ///< kError: HTTP status, 0 without
  std::string_view reason = {};   ///< kError
};

/// Reads the line into `document` and looks at it; views live as long as the document's content,
/// which borrows the line. Errors (retryable, reason "unreadable"): no JSON, a type that is not
/// known, no object.
base::Result<WatchEvent> read_watch_event(base::json::Document& document, std::string_view line);

/// `now` is an older resourceVersion than `before`. False when they are not both plain numbers:
/// other servers may use what they like.
bool went_back(std::string_view now, std::string_view before);

}  // namespace kollect::kube
