#include "base/yaml/build.h"

#include <yaml.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/yaml/scalar.h"

namespace kollect::base::yaml {

namespace {

/// Owns one event of the parser.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { reset(); }
  void reset() {
    if (filled_) {
      yaml_event_delete(&event_);
      filled_ = false;
    }
  }
  bool read(yaml_parser_t* parser) {
    reset();
    filled_ = yaml_parser_parse(parser, &event_) == 1;
    return filled_;
  }
  [[nodiscard]] yaml_event_type_t type() const { return event_.type; }
  [[nodiscard]] const yaml_event_t& get() const { return event_; }

 private:
  yaml_event_t event_{};
  bool filled_ = false;
};

std::string_view text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view()
                         : std::string_view(reinterpret_cast<const char*>(text));
}

std::string_view text_of(const yaml_event_t& event) {
  return {reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length};
}

struct Anchor {
  json::Value value;
  std::size_t nodes = 0;
  std::size_t depth = 0;
  std::size_t bytes = 0;  ///< text of its scalars and keys
};

class Builder {
 public:
  Builder(const Piece& piece, const Limits& limits, std::uint32_t index)
      : piece_(piece), limits_(limits) {
    problem_.document = index;
    document_.index = index;
    ready_ = yaml_parser_initialize(&parser_) == 1;
    if (ready_) {
      yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
      yaml_parser_set_input_string(
          &parser_, reinterpret_cast<const unsigned char*>(piece.text.data()), piece.text.size());
    }
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() {
    if (ready_) {
      yaml_parser_delete(&parser_);
    }
  }

  BuildResult run();

 private:
  [[nodiscard]] Place place_of(const yaml_mark_t& mark) const {
    return {static_cast<std::uint32_t>(piece_.line + mark.line),
            static_cast<std::uint32_t>(mark.column + 1)};
  }
  bool fail(const yaml_mark_t& mark, std::string message) {
    problem_.place = place_of(mark);
    problem_.message = std::move(message);
    return false;
  }
  bool next(Event& event);
  void report_parser_error();
  void report_reader_error();

  bool count_node(const yaml_mark_t& mark, std::size_t nodes, std::size_t depth);
  bool node(Event& event, json::Value& value, std::size_t depth);
  bool scalar(const yaml_event_t& event, json::Value& value);
  bool alias(const yaml_event_t& event, json::Value& value, std::size_t depth);
  bool sequence(Event& event, json::Value& value, std::size_t depth);
  bool mapping(Event& event, json::Value& value, std::size_t depth);
  bool member(Event& event, json::Object& object, std::vector<json::Value>& merges,
              std::size_t depth);
  bool merge(const yaml_mark_t& mark, json::Object& object, const std::vector<json::Value>& merges);
  void note_place(const yaml_mark_t& mark);
  static std::string anchor_of(const yaml_event_t& event);

  const Piece& piece_;
  const Limits& limits_;
  yaml_parser_t parser_{};
  bool ready_ = false;
  Problem problem_;  ///< what fail() said
  Document document_;
  std::unordered_map<std::string, Anchor> anchors_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;          ///< text of scalars and keys, aliases expanded
  std::size_t aliased_bytes_ = 0;  ///< those of them that aliases repeated
  std::size_t deepest_ = 0;
  std::string path_;
};

BuildResult Builder::run() {
  Event event;
  json::Value value;
  bool found = false;
  const auto walk = [&]() -> bool {
    while (next(event)) {
      switch (event.type()) {
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
          break;
        case YAML_STREAM_END_EVENT:
          return true;
        case YAML_DOCUMENT_START_EVENT: {
          if (found) {
            return fail(event.get().start_mark,
                        "a second document begins here without a \"---\" line");
          }
          if (!next(event)) {
            return false;
          }
          document_.start = place_of(event.get().start_mark);
          const yaml_event_t& first = event.get();
          // No text at all is no document, "~" is one.
          found = first.type != YAML_SCALAR_EVENT || first.data.scalar.length > 0 ||
                  first.data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
                  first.data.scalar.tag != nullptr;
          if (!node(event, value, 0)) {
            return false;
          }
          break;
        }
        default:
          return fail(event.get().start_mark, "unexpected content");
      }
    }
    return false;
  };
  if (!ready_ || !walk()) {
    return {std::nullopt, std::move(problem_)};
  }
  if (!found) {
    return {};
  }
  document_.value = std::move(value);
  return {std::move(document_), std::nullopt};
}

bool Builder::next(Event& event) {
  if (event.read(&parser_)) {
    return true;
  }
  if (parser_.error == YAML_READER_ERROR) {
    report_reader_error();
  } else {
    report_parser_error();
  }
  return false;
}

void Builder::report_parser_error() {
  const std::string_view problem = parser_.problem == nullptr ? "cannot be read" : parser_.problem;
  std::string message(problem);
  if (parser_.context != nullptr) {
    message = fmt::format("{} {}", parser_.context, problem);
    if (parser_.context_mark.line != parser_.problem_mark.line) {
      message += fmt::format(" (begun in line {})", place_of(parser_.context_mark).line);
    }
  }
  if (problem.find("cannot start any token") != std::string_view::npos) {
    const std::string_view line =
        piece_.text.substr(std::min(parser_.mark.index, piece_.text.size()));
    if (line.starts_with('\t')) {
      message = "a tab cannot be used for indentation";
    }
  }
  fail(parser_.problem_mark, std::move(message));
}

/// Encoding and control characters: libyaml gives a byte offset.
void Builder::report_reader_error() {
  const std::string_view before =
      piece_.text.substr(0, std::min(parser_.problem_offset, piece_.text.size()));
  const auto feed = before.rfind('\n');
  const std::string_view line = feed == std::string_view::npos ? before : before.substr(feed + 1);
  yaml_mark_t mark{};
  mark.line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  mark.column = static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
  fail(mark, parser_.problem == nullptr ? "cannot be read" : parser_.problem);
}

bool Builder::count_node(const yaml_mark_t& mark, std::size_t nodes, std::size_t depth) {
  nodes_ += nodes;
  deepest_ = std::max(deepest_, depth);
  if (depth > limits_.max_depth) {
    return fail(mark, fmt::format("nested deeper than {} levels", limits_.max_depth));
  }
  if (nodes_ > limits_.max_nodes) {
    return fail(mark, fmt::format("more than {} values in one document, aliases counted",
                                  limits_.max_nodes));
  }
  return true;
}

std::string Builder::anchor_of(const yaml_event_t& event) {
  switch (event.type) {
    case YAML_SCALAR_EVENT:
      return std::string(text_of(event.data.scalar.anchor));
    case YAML_SEQUENCE_START_EVENT:
      return std::string(text_of(event.data.sequence_start.anchor));
    case YAML_MAPPING_START_EVENT:
      return std::string(text_of(event.data.mapping_start.anchor));
    default:
      return {};
  }
}

void Builder::note_place(const yaml_mark_t& mark) {
  if (limits_.keep_places) {
    document_.places.emplace(path_, place_of(mark));
  }
}

bool Builder::node(Event& event, json::Value& value, std::size_t depth) {
  if (!count_node(event.get().start_mark, 1, depth)) {
    return false;
  }
  const std::string anchor = anchor_of(event.get());
  const std::size_t nodes_before = nodes_;
  const std::size_t bytes_before = bytes_;
  const std::size_t deepest_before = std::exchange(deepest_, depth);
  bool good = false;
  switch (event.type()) {
    case YAML_SCALAR_EVENT:
      good = scalar(event.get(), value);
      break;
    case YAML_ALIAS_EVENT:
      good = alias(event.get(), value, depth);
      break;
    case YAML_SEQUENCE_START_EVENT:
      good = sequence(event, value, depth);
      break;
    case YAML_MAPPING_START_EVENT:
      good = mapping(event, value, depth);
      break;
    default:
      good = fail(event.get().start_mark, "unexpected end of the document");
  }
  if (good && !anchor.empty()) {
    anchors_[anchor] =
        Anchor{value, nodes_ - nodes_before, deepest_ - depth, bytes_ - bytes_before};
  }
  deepest_ = std::max(deepest_, deepest_before);
  return good;
}

bool Builder::scalar(const yaml_event_t& event, json::Value& value) {
  const std::string_view text = text_of(event);
  bytes_ += text.size();
  const std::string_view tag = text_of(event.data.scalar.tag);
  const bool plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (!plain && tag.empty()) {
    value = json::Value(text);
    return true;
  }
  auto resolved = tag.empty() ? resolve_plain(text) : resolve_tagged(tag, text, plain);
  if (!resolved) {
    return fail(event.start_mark, resolved.error().message);
  }
  value = std::move(*resolved);
  return true;
}

bool Builder::alias(const yaml_event_t& event, json::Value& value, std::size_t depth) {
  const auto found = anchors_.find(std::string(text_of(event.data.alias.anchor)));
  if (found == anchors_.end()) {
    return fail(event.start_mark,
                fmt::format("unknown alias *{}", text_of(event.data.alias.anchor)));
  }
  // Counted before it is copied: a few lines can stand for billions of values.
  if (!count_node(event.start_mark, found->second.nodes, depth + found->second.depth)) {
    return false;
  }
  bytes_ += found->second.bytes;
  aliased_bytes_ += found->second.bytes;
  if (aliased_bytes_ > limits_.max_alias_bytes) {
    return fail(event.start_mark,
                fmt::format("aliases repeat more than {} bytes of text", limits_.max_alias_bytes));
  }
  value = found->second.value;
  return true;
}

bool Builder::sequence(Event& event, json::Value& value, std::size_t depth) {
  json::Array array;
  const std::size_t path_size = path_.size();
  while (next(event)) {
    if (event.type() == YAML_SEQUENCE_END_EVENT) {
      value = std::move(array);
      return true;
    }
    if (limits_.keep_places) {
      path_ += fmt::format("[{}]", array.size());
      note_place(event.get().start_mark);
    }
    if (!node(event, array.emplace_back(), depth + 1)) {
      return false;
    }
    path_.resize(path_size);
  }
  return false;
}

bool Builder::mapping(Event& event, json::Value& value, std::size_t depth) {
  json::Object object;
  std::vector<json::Value> merges;
  const yaml_mark_t mark = event.get().start_mark;
  while (next(event)) {
    if (event.type() == YAML_MAPPING_END_EVENT) {
      if (!merge(mark, object, merges)) {
        return false;
      }
      value = std::move(object);
      return true;
    }
    if (!member(event, object, merges, depth)) {
      return false;
    }
  }
  return false;
}

bool Builder::member(Event& event, json::Object& object, std::vector<json::Value>& merges,
                     std::size_t depth) {
  const yaml_mark_t mark = event.get().start_mark;
  std::string key;
  bool is_merge = false;
  if (event.type() == YAML_SCALAR_EVENT) {
    // Keys of JSON objects are text; "1:" and "true:" are taken as written.
    key = text_of(event.get());
    is_merge = key == "<<" && event.get().data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
               event.get().data.scalar.tag == nullptr;
    if (const std::string anchor = anchor_of(event.get()); !anchor.empty()) {
      anchors_[anchor] = Anchor{json::Value(key), 1, 0, key.size()};
    }
  } else {
    json::Value value;
    if (event.type() != YAML_ALIAS_EVENT || !alias(event.get(), value, depth) ||
        !value.is_string()) {
      return problem_.message.empty() ? fail(mark, "a key must be text") : false;
    }
    key = value.as_string();
  }
  bytes_ += key.size();
  if (!count_node(mark, 1, depth)) {
    return false;
  }
  if (!is_merge && object.contains(key)) {
    return fail(mark, fmt::format("key \"{}\" stands twice", key));
  }
  const std::size_t path_size = path_.size();
  if (limits_.keep_places) {
    path_ += (path_.empty() ? "" : ".") + key;
    note_place(mark);
  }
  if (!next(event)) {
    return false;
  }
  json::Value& slot = is_merge ? merges.emplace_back() : object.set(key, json::Value());
  if (!node(event, slot, depth + 1)) {
    return false;
  }
  path_.resize(path_size);
  return true;
}

bool Builder::merge(const yaml_mark_t& mark, json::Object& object,
                    const std::vector<json::Value>& merges) {
  const auto add = [&](const json::Value& source) {
    if (!source.is_object()) {
      return fail(mark, "\"<<\" must be given a mapping or a list of mappings");
    }
    for (const auto& [key, value] : source.as_object()) {
      if (!object.contains(key)) {
        object.set(key, value);
      }
    }
    return true;
  };
  for (const json::Value& source : merges) {
    if (!source.is_array()) {
      if (!add(source)) {
        return false;
      }
      continue;
    }
    for (const json::Value& element : source.as_array()) {
      if (!add(element)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

BuildResult build_document(const Piece& piece, const Limits& limits, std::uint32_t index) {
  return Builder(piece, limits, index).run();
}

}  // namespace kollect::base::yaml
