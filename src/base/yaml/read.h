// YAML in: streams of documents to JSON values, with places for error messages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/value.h"
#include "base/result.h"

namespace kollect::base::yaml {

struct Place {
  std::uint32_t line = 1;    ///< from 1
  std::uint32_t column = 1;  ///< in characters, from 1
};

/// Places of the values of a document by their paths ("spec.attributes[2].path"); of the key for
/// members.
using Places = std::map<std::string, Place, std::less<>>;
/// Place of a path, or of its nearest parent that was written; nullptr when there is none.
const Place* find_place(const Places& places, std::string_view path);

/// One document of a stream.
struct Document {
  json::Value value;
  std::uint32_t index = 1;  ///< position in the stream, from 1; empty documents count
  Place start;
  Places places;  ///< filled when asked
};

struct Limits {
  std::size_t max_depth = 128;
  std::size_t max_nodes = 100'000;           ///< per document, aliases expanded
  std::size_t max_alias_bytes = 64U << 20U;  ///< text that aliases repeat, per document
  std::size_t max_documents = 10'000;
  bool keep_places = false;
};

/// For inputs whose size is their own business (dumps of clusters): as many documents and values as
/// the text spells out itself, and a million values by aliases.
Limits limits_of_dump(std::string_view text);

/// A document that could not be read.
struct Problem {
  std::uint32_t document = 1;
  Place place;
  std::string message;
};

/// Reads a stream. Scalars by the YAML 1.2 core rules (plain yes, no, on, off, y, n are text;
/// L-43); quoted ones are text; integers of 64 bits exact; timestamps are text. "<<" merges are
/// followed. A repeated key, an unknown alias, a non-scalar key, or a limit that is passed makes
/// the document a problem. JSON is YAML. A byte order mark and CRLF are accepted. Empty and
/// comment-only documents are skipped. `on_document` may return an error to stop, which is
/// returned. Problems are handed to `on_problem`, and reading goes on behind the next "---" line
/// where that is possible.
Result<> read_stream(std::string_view text, const Limits& limits,
                     const std::function<Result<>(Document&&)>& on_document,
                     const std::function<void(const Problem&)>& on_problem);

/// All documents of a stream; the first problem is the error (configuration, "document 2, line 14,
/// column 3: …").
Result<std::vector<Document>> read_all(std::string_view text, const Limits& limits = {});
/// Exactly one document.
Result<json::Value> read_one(std::string_view text, const Limits& limits = {});

}  // namespace kollect::base::yaml
