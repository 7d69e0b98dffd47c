// Paths of the files of an export in little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kollect::sinks {

/// A list that grows at its end and is read from its start. Of each path it keeps what differs from
/// the one before and three bytes: of "c/shop/pod/a.yaml" after "c/shop/pod/b.yaml" one letter.
/// Value type; a list that does not change may be read by many threads.
class PathList {
 public:
  /// Reads in the order of adding; the text lives until the next step.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string*;
    using reference = const std::string&;

    Iterator() = default;
    reference operator*() const { return text_; }
    pointer operator->() const { return &text_; }
    Iterator& operator++();
    Iterator operator++(int);
    /// Of one list, or a list's end.
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    friend class PathList;
    explicit Iterator(const PathList& list);
    void read();

    const std::vector<std::string>* blocks_ = nullptr;
    std::size_t block_ = 0;
    std::size_t at_ = 0;    ///< in the block, behind this path
    std::size_t left_ = 0;  ///< paths from this one on
    std::string text_;
  };
  using value_type = std::string;
  using const_iterator = Iterator;
  using iterator = Iterator;
  using Visit = std::function<base::Result<>(std::string_view path)>;

  void add(std::string_view path);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Iterator begin() const { return Iterator(*this); }
  [[nodiscard]] static Iterator end() { return {}; }
  bool operator==(const PathList& other) const;

  /// All paths and those of `more` by their bytes, without repetitions being left out. Where the
  /// list is not in that order already it takes as much again meanwhile. Stops at the first error.
  base::Result<> visit_sorted(std::vector<std::string> more, const Visit& visit) const;

 private:
  std::vector<std::string> blocks_;  ///< a path stands in one of them
  std::string last_;
  std::size_t size_ = 0;
  bool ascends_ = true;
};

/// Those of `candidates` that are in none of the lists, sorted.
std::vector<std::string> not_in(std::vector<std::string> candidates,
                                const std::vector<const PathList*>& lists);

}  // namespace kollect::sinks
