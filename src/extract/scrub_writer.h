// Canonical JSON out, scrubbed and pruned while it is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "extract/node_set.h"
#include "extract/scrub.h"

namespace kollect::extract {

/// Appends to `out`; one writer serves one object, one thread. Sticky failure: out_of_range() after
/// writing means that what was appended must not be used.
class ScrubWriter {
 public:
  ScrubWriter(std::string& out, const Scrubber& scrubber) : out_(out), scrubber_(scrubber) {}

  /// Places that are left out. A map `annotations` or `labels` under a `metadata` that this empties
  /// goes too (E-18).
  void set_removed(const NodeSet* removed) { removed_ = removed; }
  /// Writes values as they are: for the state between pruning steps.
  void set_scrubbing(bool on) { scrubbing_ = on; }
  /// Replaces each value below the top-level members data and stringData (E-16).
  void set_secret_data(bool redact) { redact_secret_data_ = redact; }

  /// A whole object, with the rules for its top level.
  void write_root(base::json::View root);
  /// One value; `element`: it stands in an array, so the rule for environment lists holds.
  void write(base::json::View value, bool element);
  /// The values of an attribute: one as it is, else an array; always an array when asked.
  void write_attribute(const std::vector<base::json::View>& values, bool as_array, bool elements,
                       const Place& place);

  /// A number beyond the range of doubles was met (E-35).
  [[nodiscard]] bool out_of_range() const { return out_of_range_; }

 private:
  void write_object(base::json::View object, bool element, std::string_view own_key, bool root);
  void write_member(const base::json::View::Member& member, bool redact, bool root);
  void write_value(base::json::View value, bool element, std::string_view own_key);
  void write_placed(base::json::View value, bool element, const Place& place);
  void write_secret_data(base::json::View value);
  void write_string(std::string_view text);
  [[nodiscard]] bool gone(const base::json::View::Member& member, std::string_view own_key) const;

  std::string& out_;
  const Scrubber& scrubber_;
  const NodeSet* removed_ = nullptr;
  bool scrubbing_ = true;
  bool redact_secret_data_ = false;
  bool out_of_range_ = false;
  std::vector<base::json::View::Member>
      members_;  ///< a stack: members of all objects being written
};

}  // namespace kollect::extract
