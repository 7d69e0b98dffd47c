#include "kube/kubeconfig_data.h"

#include <fmt/format.h>

#include "base/json/write.h"

namespace kollect::kube {

using base::json::Value;

namespace {

std::string joined(const std::string& path, std::string_view key) {
  if (path.empty()) return std::string(key);
  return key.empty() ? path : fmt::format("{}.{}", path, key);
}

// "name: 007" and "token: 12345" are scalars that people mean as text.
std::optional<std::string> scalar_text(const Value& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.as_string();
  if (value.is_number() || value.is_bool()) return base::json::compact(value);
  return std::nullopt;
}

}  // namespace

bool ConfigEntry::has(std::string_view key) const {
  const Value* member = value_.find(key);
  return member != nullptr && !member->is_null() &&
         !(member->is_string() && member->as_string().empty());
}

base::Result<std::string> ConfigEntry::text(std::string_view key) const {
  const Value* member = value_.find(key);
  if (member == nullptr) return std::string();
  if (auto text = scalar_text(*member)) return std::move(*text);
  return error(key, fmt::format("{} must be text, not {}", key, member->type_name()));
}

base::Result<bool> ConfigEntry::flag(std::string_view key) const {
  const Value* member = value_.find(key);
  if (member == nullptr || member->is_null()) return false;
  if (member->is_bool()) return member->as_bool();
  return error(key, fmt::format("{} must be true or false", key));
}

base::Result<std::vector<std::string>> ConfigEntry::texts(std::string_view key) const {
  std::vector<std::string> out;
  const Value* member = value_.find(key);
  if (member == nullptr || member->is_null()) return out;
  if (!member->is_array()) return error(key, fmt::format("{} must be a list", key));
  for (const Value& item : member->as_array()) {
    auto text = scalar_text(item);
    if (!text) return error(key, fmt::format("{} must be a list of texts", key));
    out.push_back(std::move(*text));
  }
  return out;
}

base::Result<std::optional<ConfigEntry>> ConfigEntry::child(std::string_view key) const {
  const Value* member = value_.find(key);
  if (member == nullptr || member->is_null()) return std::optional<ConfigEntry>();
  if (!member->is_object()) return error(key, fmt::format("{} must be an object", key));
  return std::optional(ConfigEntry(*member, source_, joined(path_, key)));
}

base::Result<std::vector<ConfigEntry>> ConfigEntry::children(std::string_view key) const {
  std::vector<ConfigEntry> out;
  const Value* member = value_.find(key);
  if (member == nullptr || member->is_null()) return out;
  if (!member->is_array()) return error(key, fmt::format("{} must be a list", key));
  for (std::size_t i = 0; i < member->as_array().size(); ++i) {
    const Value& item = member->as_array()[i];
    const std::string at = fmt::format("{}[{}]", key, i);
    if (!item.is_object()) return error(at, fmt::format("{} must be an object", at));
    out.emplace_back(item, source_, joined(path_, at));
  }
  return out;
}

std::filesystem::path ConfigEntry::path_of(const std::string& text) const {
  return folder() / text;  // an absolute text stays as it is
}

std::filesystem::path ConfigEntry::folder() const {
  return source_ ? std::filesystem::absolute(source_->file).parent_path() : std::filesystem::path();
}

base::Error ConfigEntry::error(std::string_view key, std::string_view message) const {
  if (!source_) return base::configuration(std::string(message));
  auto place = source_->places.find(joined(path_, key));
  if (place == source_->places.end()) place = source_->places.find(path_);
  const std::string file = source_->file.string();
  if (place == source_->places.end()) {
    return base::configuration(fmt::format("{}: {}", file, message));
  }
  return base::configuration(
      fmt::format("{}:{}:{}: {}", file, place->second.line, place->second.column, message));
}

namespace {

base::Result<std::optional<base::yaml::Document>> read_document(const std::filesystem::path& file,
                                                                std::string_view text) {
  std::optional<base::yaml::Document> document;
  std::optional<base::Error> failure;
  const auto complain = [&](const base::yaml::Place& at, std::string_view message) {
    if (failure) return;
    failure = base::configuration(
        fmt::format("{}:{}:{}: {}", file.string(), at.line, at.column, message));
  };
  base::yaml::Limits limits;
  limits.keep_places = true;
  auto done = base::yaml::read_stream(
      text, limits,
      [&](base::yaml::Document&& next) -> base::Result<> {
        if (document) {
          complain(next.start, "a kubeconfig has one document only");
        } else {
          document = std::move(next);
        }
        return {};
      },
      [&](const base::yaml::Problem& problem) { complain(problem.place, problem.message); });
  if (!done) return done.error().with_prefix(file.string());
  if (failure) return std::move(*failure);
  return document;
}

base::Result<> merge_named(std::map<std::string, ConfigEntry>& into, const ConfigEntry& root,
                           std::string_view list, std::string_view body) {
  std::map<std::string, ConfigEntry> own;
  KL_ASSIGN(const auto entries, root.children(list));
  for (const ConfigEntry& entry : entries) {
    KL_ASSIGN(std::string name, entry.text("name"));
    if (name.empty()) return entry.error("", fmt::format("an entry of {} has no name", list));
    KL_ASSIGN(auto content, entry.child(body));
    // An entry without a body is an empty one.
    ConfigEntry value = content ? std::move(*content) : entry;
    if (!content) {
      value = ConfigEntry(base::json::Object(), nullptr, "");
    }
    if (!own.emplace(name, std::move(value)).second) {
      return entry.error("name", fmt::format("\"{}\" stands twice in {}", name, list));
    }
  }
  // The first file that sets an entry wins as a whole (spec: pipeline 5, L-52).
  into.merge(own);
  return {};
}

}  // namespace

base::Result<> merge_file(Kubeconfig::Impl& into, const std::filesystem::path& file,
                          std::string_view text) {
  KL_ASSIGN(auto document, read_document(file, text));
  if (!document || document->value.is_null()) return {};
  auto source = std::make_shared<ConfigSource>();
  source->file = file;
  source->places = std::move(document->places);
  const ConfigEntry root(std::move(document->value), source, "");
  if (!root.value().is_object()) {
    return base::configuration(fmt::format("{}: not a kubeconfig", file.string()));
  }
  KL_ASSIGN(const std::string kind, root.text("kind"));
  if (!kind.empty() && kind != "Config") {
    return root.error("kind", fmt::format("not a kubeconfig but a {}", kind));
  }
  KL_TRY(merge_named(into.clusters, root, "clusters", "cluster"));
  KL_TRY(merge_named(into.users, root, "users", "user"));
  KL_TRY(merge_named(into.contexts, root, "contexts", "context"));
  KL_ASSIGN(std::string current, root.text("current-context"));
  if (into.current_context.empty()) into.current_context = std::move(current);
  return {};
}

}  // namespace kollect::kube
