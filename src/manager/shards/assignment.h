// Who has which part of the work when several replicas share it; pure functions.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kollect::manager {

/// The part that has a namespace's objects of kollect.dev, the same in every version: xxh64 of the
/// name modulo `parts`. Part 0 has those without a namespace ("") as well, and the namespace whose
/// exports have the same place in sinks as theirs ("cluster"). Nought and one part: 0.
std::size_t part_of(std::string_view ns, std::size_t parts);

/// Who should have each part. `holders`: who has it now, by part; "" or somebody who is no member:
/// nobody. Each member gets as many as any other, or one more; whoever has too many gives up some
/// (the highest, but see parts_to_have()), and no part moves besides those and the free ones. All
/// who see the same come to the same. Without members: "" for each.
std::vector<std::string> assign(const std::set<std::string>& members,
                                const std::vector<std::string>& holders);

/// What a replica should hold or stand in line for, when `assigned` is what assign() came to and
/// `held` what it has, in the order in which it came to it: as many as it is assigned. What it must
/// give up is what it has got last, whatever the numbers: that has moved just now anyway.
std::set<std::size_t> parts_to_have(const std::vector<std::string>& assigned,
                                    const std::string& replica,
                                    const std::vector<std::size_t>& held);

}  // namespace kollect::manager
