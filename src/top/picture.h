// What `kollect top` shows, whatever it was read from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json/value.h"

namespace kollect::top {

struct Cluster {
  std::string name;
  std::uint64_t inventories = 0;
  std::uint64_t rows = 0;
  std::string exported_at;  ///< the newest export, RFC 3339; "": never
  std::string oldest;       ///< the oldest of its inventories
};

/// States are the words of `kubectl kollect status` (install/state.h); "" where the source has no
/// objects.
struct Inventory {
  std::string cluster;
  std::string ns;  ///< "" for a cluster inventory
  std::string name;
  std::uint64_t rows = 0;
  std::string exported_at;
  std::string state;
  std::string reason;
  std::string message;
};

/// A sink and one inventory that writes to it.
struct Sink {
  std::string name;  ///< "family/namespace/name"
  std::string type;
  std::string inventory;  ///< "(none)": nobody writes to it
  std::string state;
  std::string reason;
  std::string exported_at;
  std::string message;
};

struct Problem {
  std::string kind;
  std::string ns;
  std::string name;
  std::string reason;
  std::string message;
  std::string since;  ///< RFC 3339, or ""
};

struct Picture {
  std::string source;  ///< "https://...", "cluster NAME", "sqlite:FILE"
  base::WallTime at{};
  std::vector<Cluster> clusters;
  std::vector<Inventory> inventories;
  std::vector<Sink> sinks;
  std::vector<Problem> problems;  ///< worst first
  std::uint64_t problem_count = 0;
  std::optional<std::uint64_t> targets;

  [[nodiscard]] std::uint64_t rows() const;
};

/// One cluster per name among the inventories, in their order.
std::vector<Cluster> clusters_of(const std::vector<Inventory>& inventories);
/// For scripts: {"source","at","rows","targets","clusters":[..],"inventories":[..],"sinks":[..],
/// "problems":[..],"problemCount"}.
base::json::Value to_json(const Picture& picture);

/// "12s", "5m", "3h", "9d" from an RFC 3339 text to now; "never" for "".
std::string age_text(const std::string& rfc3339, base::WallTime now);
/// "1,234,567"
std::string grouped(std::uint64_t number);

}  // namespace kollect::top
