// How an object is written to a client.
#pragma once

#include <string>

#include "sandbox/call.h"
#include "sandbox/objects.h"

namespace kollect::sandbox {

/// Chosen by the Accept header.
enum class Form { kPlain, kTable, kMetadata };

class Renderer {
 public:
  explicit Renderer(const Call& call);

  [[nodiscard]] Form form() const { return form_; }
  /// A single object, or a watch event's: complete with its type.
  void append_single(std::string& out, std::uint64_t rv, const Body& body);
  /// Everything of a list in front of its items. `remaining` below 0: not known.
  void append_list_head(std::string& out, std::uint64_t rv, const std::string& continue_token,
                        std::int64_t remaining) const;
  void append_item(std::string& out, std::uint64_t rv, const Body& body);
  void append_list_end(std::string& out) const;

 private:
  void append_row(std::string& out, std::uint64_t rv, const Body& body);

  ServedPtr served_;
  Form form_ = Form::kPlain;
  std::string include_object_;
  bool head_written_ = false;  ///< tables of a watch: columns come once
};

}  // namespace kollect::sandbox
