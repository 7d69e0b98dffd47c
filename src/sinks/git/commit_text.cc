#include "sinks/git/commit_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "inventory/envelope.h"
#include "sinks/layout/path_template.h"
#include "sinks/layout/run_layout.h"

namespace kollect::sinks::git {

namespace {

constexpr std::string_view kDefaultSubject =
    "chore({cluster}/{namespace}/{name}): export {itemCount} items @ {checksumShort}";
constexpr std::size_t kMostNames = 4;

const std::vector<std::string_view>& placeholders() {
  static const std::vector<std::string_view> kNames = {
      "cluster",          "namespace", "name",     "generation",
      "exportGeneration", "itemCount", "checksum", "checksumShort",
      "exportedAt",       "sink",      "path"};
  return kNames;
}

std::string expand(std::string_view text, const CommitContext& context) {
  std::string_view checksum = context.checksum;
  if (checksum.starts_with("sha256:")) checksum.remove_prefix(7);
  const auto generation = fmt::to_string(context.generation);
  const auto count = fmt::to_string(context.item_count);
  const auto time = base::format_rfc3339_seconds(context.exported_at);
  return PathTemplate(base::trim(text), placeholders())
      .expand([&](std::string_view word) -> std::string_view {
        if (word == "cluster") return context.cluster;
        if (word == "namespace") return context.ns;
        if (word == "name") return context.name;
        if (word == "generation" || word == "exportGeneration") return generation;
        if (word == "itemCount") return count;
        if (word == "checksum") return checksum;
        if (word == "checksumShort") return checksum.substr(0, 12);
        if (word == "exportedAt") return time;
        if (word == "sink") return context.sink;
        return context.path;
      });
}

/// Different texts in order of appearance, joined by commas; of many the first ones and how many
/// more.
std::string joined(const std::vector<std::string>& texts) {
  std::vector<std::string> different;
  for (const auto& text : texts) {
    if (std::find(different.begin(), different.end(), text) == different.end()) {
      different.push_back(text);
    }
  }
  const auto more = different.size() > kMostNames ? different.size() - kMostNames : 0;
  different.resize(different.size() - more);
  auto out = base::join(different, ",");
  if (more > 0) out += fmt::format(",+{}", more);
  return out;
}

}  // namespace

CommitContext commit_context(const std::vector<Export>& exports,
                             const std::vector<LaidOut>& laid_out, std::string_view sink) {
  CommitContext out;
  out.sink = sink;
  std::vector<std::string> clusters;
  std::vector<std::string> namespaces;
  std::vector<std::string> names;
  std::vector<std::string> checksums;
  for (std::size_t i = 0; i < exports.size(); ++i) {
    const auto& exp = exports[i];
    clusters.push_back(cluster_word(exp));
    namespaces.push_back(exp.inventory.ns);
    names.push_back(exp.inventory.name);
    checksums.push_back(exp.rows->checksum());
    out.generation = std::max(out.generation, exp.generation);
    out.item_count += exp.rows->size();
    out.exported_at = std::max(out.exported_at, exp.exported_at);
    if (i == 0) out.path = laid_out[i].document_path;
  }
  out.cluster = joined(clusters);
  out.ns = joined(namespaces);
  out.name = joined(names);
  if (!checksums.empty()) {
    out.checksum = checksums.size() == 1 ? checksums.front() : inventory::set_checksum(checksums);
  }
  return out;
}

base::Result<std::string> commit_message(const CommitTemplates& templates,
                                         const CommitContext& context) {
  std::vector<std::string> paragraphs;
  auto subject = std::string(base::trim(expand(
      base::trim(templates.subject).empty() ? kDefaultSubject : std::string_view(templates.subject),
      context)));
  if (subject.empty()) return base::configuration("git.commitMessage gives an empty subject");
  paragraphs.push_back(std::move(subject));
  auto body = std::string(base::trim(expand(templates.body, context)));
  if (!body.empty()) paragraphs.push_back(std::move(body));
  std::vector<std::string> trailers;
  for (const auto& trailer : templates.trailers) {
    auto line = std::string(base::trim(expand(trailer, context)));
    if (!line.empty()) trailers.push_back(std::move(line));
  }
  if (!trailers.empty()) paragraphs.push_back(base::join(trailers, "\n"));
  auto message = base::join(paragraphs, "\n\n");
  if (message.find('\0') != std::string::npos) {
    return base::configuration("a commit text holds a NUL character");
  }
  return message;
}

}  // namespace kollect::sinks::git
