#include "pipeline/extract_input.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/strings.h"
#include "base/yaml/read.h"
#include "pipeline/object_files.h"

namespace kollect::pipeline {
namespace {

using base::json::Document;
using base::json::Value;
using base::json::View;

class Reader {
 public:
  explicit Reader(const ObjectReceiver& receiver) : receiver_(receiver) {}

  [[nodiscard]] bool stopped() const { return stopped_; }

  base::Result<> read(const std::string& file, std::string_view text) {
    const auto trimmed = base::trim(text);
    // JSON goes past the YAML reader, which knows no numbers beyond doubles.
    if (trimmed.starts_with('{') && read_json(file, trimmed)) return {};
    auto done = base::yaml::read_stream(
        text, base::yaml::limits_of_dump(text),
        [&](base::yaml::Document&& document) -> base::Result<> {
          if (stopped_) return {};
          const auto json = Document::from_value(document.value);
          take(json.root(),
               fmt::format("{}: document {}, line {}", file, document.index, document.start.line));
          return {};
        },
        [&](const base::yaml::Problem& problem) {
          receiver_.on_problem(fmt::format("{}: document {}, line {}, column {}: {}", file,
                                           problem.document, problem.place.line,
                                           problem.place.column, problem.message));
        });
    return done;
  }

 private:
  /// False: left to the YAML reader, which tells what is wrong.
  bool read_json(const std::string& file, std::string_view text) {
    if (const auto whole = Document::parse(text)) {
      take(whole->root(), file);
      return true;
    }
    std::vector<Document> lines;
    for (const auto line : base::split(text, '\n')) {
      if (base::trim(line).empty()) continue;
      auto document = Document::parse(line);
      if (!document) return false;
      lines.push_back(std::move(*document));
    }
    std::size_t number = 0;
    for (const auto& line : lines) take(line.root(), fmt::format("{}: line {}", file, ++number));
    return true;
  }

  void take(View object, const std::string& where) {
    if (stopped_) return;
    if (!object.is_object()) {
      receiver_.on_problem(where + ": not an object");
      return;
    }
    const auto items = object.find("items");
    const auto kind = object.text("kind");
    if (kind.ends_with("List") && items && items->is_array()) {
      take_items(*items, kind.substr(0, kind.size() - 4), object.text("apiVersion"), where);
    } else if (!receiver_.on_object(object)) {
      stopped_ = true;
    }
  }

  void take_items(View items, std::string_view kind, std::string_view api_version,
                  const std::string& where) {
    std::size_t index = 0;
    for (const auto item : items.items()) {
      const auto at = fmt::format("{}: item {}", where, ++index);
      if (kind.empty() || !item.is_object() || item.find("kind")) {
        take(item, at);
        continue;
      }
      auto value = base::json::to_value(item);
      value.as_object().set("apiVersion", Value(api_version));
      value.as_object().set("kind", Value(kind));
      take(Document::from_value(value).root(), at);
    }
  }

  const ObjectReceiver& receiver_;
  bool stopped_ = false;
};

}  // namespace

base::Result<> read_objects(const std::vector<std::string>& paths, std::string_view stdin_text,
                            const ObjectReceiver& receiver) {
  Reader reader(receiver);
  for (const auto& path : paths) {
    if (path == "-") {
      KL_TRY(reader.read("<stdin>", stdin_text));
      continue;
    }
    KL_ASSIGN(const auto files, object_files(path));
    for (const auto& file : files) {
      if (reader.stopped()) return {};
      KL_ASSIGN(const auto text, base::read_file(file));
      KL_TRY(reader.read(file.string(), text));
    }
  }
  return {};
}

}  // namespace kollect::pipeline
