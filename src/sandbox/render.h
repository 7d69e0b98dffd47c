// How an object is written to a client.
#pragma once

#include <memory>
#include <string>

#include "sandbox/call.h"
#include "sandbox/objects.h"
#include "sandbox/table.h"

namespace kollect::sandbox {

/// Chosen by the Accept header.
enum class Form { kPlain, kTable, kMetadata };
Form form_of(const Call& call);

/// Writes the objects of one answer; copied with it. One thread at a time.
class Renderer {
 public:
  explicit Renderer(const Call& call);

  /// A single object, or a watch event's: complete with its type.
  void append_single(std::string& out, std::uint64_t rv, const Body& body);
  /// The object of a bookmark.
  void append_mark(std::string& out, std::uint64_t rv, std::string_view annotations) const;
  /// Everything of a list in front of its items. `remaining` below 0: not known.
  void append_list_head(std::string& out, std::uint64_t rv, const std::string& continue_token,
                        std::int64_t remaining) const;
  void append_item(std::string& out, std::uint64_t rv, const Body& body);
  void append_list_end(std::string& out) const;

 private:
  void append_metadata(std::string& out, std::uint64_t rv, const Body& body) const;
  void append_row(std::string& out, std::uint64_t rv, const Body& body) const;

  ServedPtr served_;
  Form form_ = Form::kPlain;
  std::shared_ptr<const TableColumns> columns_;  ///< of a table
  const base::Clock* clock_ = nullptr;
  std::string include_object_;
  bool head_written_ = false;  ///< tables of a watch: columns come once
};

}  // namespace kollect::sandbox
