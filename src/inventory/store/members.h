// Members of canonical JSON objects, taken apart without parsing the values.
#pragma once

#include <string_view>
#include <vector>

namespace kollect::inventory {

struct Member {
  std::string_view head;   ///< the key in quotes with its colon
  std::string_view value;  ///< JSON text
};

/// True when `object` is exactly '{', members with ',' between them, '}': putting them together
/// again gives the same bytes. False for anything else (white space, other JSON, broken text).
bool split_members(std::string_view object, std::vector<Member>& members);

}  // namespace kollect::inventory
