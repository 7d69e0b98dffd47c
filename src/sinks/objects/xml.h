// The answers of object stores: elements and their text (XML 1.0 without document types; attributes
// are passed over).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kollect::sinks::objects {

struct XmlElement {
  std::string name;  ///< without a name space's prefix
  std::string text;  ///< all text directly inside, entities resolved
  std::vector<XmlElement> children;

  /// First child of that name, null when there is none.
  [[nodiscard]] const XmlElement* find(std::string_view child) const;
  /// Its text, "" when there is none.
  [[nodiscard]] std::string_view text_of(std::string_view child) const;
};

/// The root element. Error (retryable, "bad-answer"): cut, not well-formed, a document type, deeper
/// than 32.
base::Result<XmlElement> parse_xml(std::string_view text);

/// Text for the inside of an element.
std::string xml_escape(std::string_view text);

}  // namespace kollect::sinks::objects
