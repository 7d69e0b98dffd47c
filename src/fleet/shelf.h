// The answers to one kind of poll, by the cluster's name.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "fleet/ready.h"

namespace kollect::fleet {

/// A table that is laid out for very many answers, of which few are in a cache of the processor:
/// the way from a name to the bytes of its packed answer touches little memory. One thread writes
/// or many read.
class Shelf {
 public:
  Shelf();
  ~Shelf();
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;

  struct Place {
    http::PreparedAnswer packed;  ///< the whole answer in gzip; none: ask `ready`
    ReadyPtr ready;
  };
  /// Null when there is none; good until the next change.
  [[nodiscard]] const Place* find(std::string_view name) const;
  /// Adds or replaces; what is packed of it by now is packed here.
  void put(std::string_view name, ReadyPtr ready);
  void erase(std::string_view name);
  void clear();
  void for_each(const std::function<void(const Ready&)>& visit) const;

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace kollect::fleet
