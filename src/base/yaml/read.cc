#include "base/yaml/read.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json/document.h"
#include "base/strings.h"
#include "base/yaml/build.h"
#include "base/yaml/split.h"

namespace kollect::base::yaml {

namespace {

/// Counts values and finds repeated keys; both make a JSON document one that libyaml shall report
/// on.
bool is_plain_json(json::View view, const Limits& limits, std::size_t& nodes, std::size_t depth) {
  if (++nodes > limits.max_nodes || depth > limits.max_depth) {
    return false;
  }
  if (view.is_array()) {
    for (const json::View element : view.items()) {
      if (!is_plain_json(element, limits, nodes, depth + 1)) {
        return false;
      }
    }
  } else if (view.is_object()) {
    if (view.sorted_members().size() != view.size()) {
      return false;
    }
    for (const auto& member : view.members()) {
      if (++nodes > limits.max_nodes || !is_plain_json(member.value, limits, nodes, depth + 1)) {
        return false;
      }
    }
  } else if (view.is_number()) {
    return view.number().kind != json::Number::Kind::kOutOfRange;
  }
  return true;
}

/// A document that is JSON throughout, read by the JSON reader: faster, and exact about escapes
/// that libyaml refuses (surrogate pairs).
std::optional<json::Value> read_json(std::string_view text, const Limits& limits) {
  if (text.starts_with("---")) {
    text.remove_prefix(3);
  }
  text = trim(text);
  if (!text.starts_with('{') && !text.starts_with('[')) {
    return std::nullopt;
  }
  const auto document = json::Document::parse_borrowed(text);
  std::size_t nodes = 0;
  if (!document || !is_plain_json(document->root(), limits, nodes, 0)) {
    return std::nullopt;
  }
  return json::to_value(document->root());
}

BuildResult read_piece(const Piece& piece, const Limits& limits, std::uint32_t index) {
  const auto from_json = [&]() -> std::optional<Document> {
    if (auto value = read_json(piece.text, limits)) {
      Document document;
      document.value = std::move(*value);
      document.index = index;
      const std::string_view before = piece.text.substr(0, piece.text.find_first_of("{["));
      document.start.line =
          piece.line + static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
      document.start.column =
          static_cast<std::uint32_t>(before.size() - (before.rfind('\n') + 1)) + 1;
      return document;
    }
    return std::nullopt;
  };
  BuildResult result;
  if (!limits.keep_places) {
    if (auto document = from_json()) {
      result.document = std::move(document);
      return result;
    }
  }
  result = build_document(piece, limits, index);
  if (result.problem && limits.keep_places) {
    if (auto document = from_json()) {
      return {std::move(document), std::nullopt};
    }
  }
  return result;
}

/// JSON values one after another ("kubectl get -o json" several times, JSON lines) are documents of
/// their own.
std::vector<Piece> split_json(const Piece& piece) {
  std::vector<Piece> pieces;
  std::string_view rest = piece.text;
  std::uint32_t line = piece.line;
  const auto skip = [&](std::size_t size) {
    line += static_cast<std::uint32_t>(
        std::count(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
    rest.remove_prefix(size);
  };
  while (true) {
    skip(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
    if (rest.empty()) {
      return pieces;
    }
    const std::size_t end =
        rest.front() == '{' || rest.front() == '[' ? json_end(rest) : std::string_view::npos;
    if (end == std::string_view::npos) {
      return {piece};  // no sequence of JSON values: YAML shall judge it as a whole
    }
    pieces.push_back({rest.substr(0, end), line, piece.marked});
    skip(end);
  }
}

std::vector<Piece> split_documents(std::string_view text) {
  std::vector<Piece> documents;
  for (const Piece& piece : split_stream(text)) {
    const auto content = piece.text.find_first_not_of(" \t\r\n");
    if (content != std::string_view::npos &&
        (piece.text[content] == '{' || piece.text[content] == '[')) {
      const auto values = split_json(piece);
      documents.insert(documents.end(), values.begin(), values.end());
    } else {
      documents.push_back(piece);
    }
  }
  return documents;
}

std::string describe(const Problem& problem) {
  return fmt::format("document {}, line {}, column {}: {}", problem.document, problem.place.line,
                     problem.place.column, problem.message);
}

}  // namespace

Limits limits_of_dump(std::string_view text) {
  constexpr std::size_t kByAliases = 1'000'000;
  Limits limits;
  limits.max_nodes = text.size() + kByAliases;
  limits.max_documents = SIZE_MAX;
  return limits;
}

const Place* find_place(const Places& places, std::string_view path) {
  while (!path.empty()) {
    if (const auto found = places.find(path); found != places.end()) {
      return &found->second;
    }
    const std::size_t cut = path.find_last_of(".[");
    path = path.substr(0, cut == std::string_view::npos ? 0 : cut);
  }
  return nullptr;
}

Result<> read_stream(std::string_view text, const Limits& limits,
                     const std::function<Result<>(Document&&)>& on_document,
                     const std::function<void(const Problem&)>& on_problem) {
  std::string buffer;
  std::uint32_t index = 0;
  for (const Piece& piece : split_documents(as_utf8(text, buffer))) {
    ++index;
    if (index > limits.max_documents) {
      on_problem(
          {index, {piece.line, 1}, fmt::format("more than {} documents", limits.max_documents)});
      return {};
    }
    BuildResult result = read_piece(piece, limits, index);
    if (result.problem) {
      on_problem(*result.problem);
    } else if (result.document) {
      KL_TRY(on_document(std::move(*result.document)));
    }
  }
  return {};
}

Result<std::vector<Document>> read_all(std::string_view text, const Limits& limits) {
  std::vector<Document> documents;
  std::optional<Problem> first;
  KL_TRY(read_stream(
      text, limits,
      [&](Document&& document) -> Result<> {
        documents.push_back(std::move(document));
        return {};
      },
      [&](const Problem& problem) {
        if (!first) {
          first = problem;
        }
      }));
  if (first) {
    return configuration(describe(*first));
  }
  return documents;
}

Result<json::Value> read_one(std::string_view text, const Limits& limits) {
  KL_ASSIGN(std::vector<Document> documents, read_all(text, limits));
  if (documents.size() != 1) {
    return configuration(
        documents.empty()
            ? std::string("there is no document")
            : fmt::format("there are {} documents where one is wanted", documents.size()));
  }
  return std::move(documents.front().value);
}

}  // namespace kollect::base::yaml
