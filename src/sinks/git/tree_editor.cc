#include "sinks/git/tree_editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/strings.h"

namespace kollect::sinks::git {

namespace {

constexpr unsigned kTypeMask = 0170000;
constexpr unsigned kTypeFile = 0100000;

bool is_file(unsigned mode) {
  return (mode & kTypeMask) == kTypeFile;
}

/// Folder ("" for the root) and name.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {{}, path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string joined(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

}  // namespace

struct TreeEditor::Node {
  struct Entry {
    unsigned mode = kModeFile;
    Oid oid;
    std::unique_ptr<Node> child;  // of a folder that was looked into
  };
  std::optional<Oid> oid;  // as it was read
  bool loaded = false;
  bool changed = false;
  std::map<std::string, Entry, std::less<>> entries;
};

TreeEditor::TreeEditor(const ObjectStore& store, std::optional<Oid> root)
    : store_(store), root_(std::make_unique<Node>()) {
  root_->oid = root;
  root_->loaded = !root.has_value();
}

TreeEditor::~TreeEditor() = default;

base::Result<> TreeEditor::load(Node& node) {
  if (node.loaded) return {};
  KL_ASSIGN(auto entries, store_.tree(*node.oid));
  for (auto& entry : entries) {
    node.entries.emplace(std::move(entry.name), Node::Entry{entry.mode, entry.oid, nullptr});
  }
  node.loaded = true;
  return {};
}

base::Result<TreeEditor::Node*> TreeEditor::find_folder(std::string_view folder) {
  if (last_ != nullptr && folder == last_folder_) return last_;
  Node* node = root_.get();
  KL_TRY(load(*node));
  if (folder.empty()) return node;
  for (const auto name : base::split(folder, '/')) {
    const auto at = node->entries.find(name);
    if (at == node->entries.end() || at->second.mode != kModeTree) {
      return static_cast<Node*>(nullptr);
    }
    auto& entry = at->second;
    if (!entry.child) {
      entry.child = std::make_unique<Node>();
      entry.child->oid = entry.oid;
    }
    node = entry.child.get();
    KL_TRY(load(*node));
  }
  last_folder_ = folder;
  last_ = node;
  return node;
}

base::Result<std::optional<Oid>> TreeEditor::file(std::string_view path) {
  const auto [folder, name] = split_path(path);
  KL_ASSIGN(const Node* node, find_folder(folder));
  if (node == nullptr) return std::optional<Oid>();
  const auto at = node->entries.find(name);
  if (at == node->entries.end() || !is_file(at->second.mode)) return std::optional<Oid>();
  return std::optional(at->second.oid);
}

base::Error TreeEditor::taken(std::string_view path, std::string_view what) {
  return base::terminal(
      fmt::format("cannot write {} into the repository: {} is in its place", path, what),
      "path-taken");
}

/// The folder of a file that is about to change, made where there is none.
base::Result<TreeEditor::Node*> TreeEditor::change_folder(std::string_view path,
                                                          std::string_view folder) {
  // Where a folder has changed all above it have.
  if (last_ != nullptr && last_->changed && folder == last_folder_) return last_;
  Node* node = root_.get();
  KL_TRY(load(*node));
  node->changed = true;
  if (folder.empty()) return node;
  for (const auto name : base::split(folder, '/')) {
    auto at = node->entries.find(name);
    if (at == node->entries.end()) {
      at = node->entries.emplace(std::string(name), Node::Entry{kModeTree, {}, nullptr}).first;
      at->second.child = std::make_unique<Node>();
      at->second.child->loaded = true;
    }
    auto& entry = at->second;
    if (entry.mode != kModeTree) {
      return taken(path, fmt::format("the file, link or submodule {}", name));
    }
    if (!entry.child) {
      entry.child = std::make_unique<Node>();
      entry.child->oid = entry.oid;
    }
    node = entry.child.get();
    KL_TRY(load(*node));
    node->changed = true;
  }
  last_folder_ = folder;
  last_ = node;
  return node;
}

base::Result<> TreeEditor::set_file(std::string_view path, const Oid& oid) {
  const auto [folder, name] = split_path(path);
  KL_ASSIGN(Node* const node, change_folder(path, folder));
  auto at = node->entries.lower_bound(name);
  if (at == node->entries.end() || at->first != name) {
    at = node->entries.emplace_hint(at, std::string(name), Node::Entry{});
  }
  auto& entry = at->second;
  if (entry.mode == kModeTree) return taken(path, "a folder");
  entry.mode = kModeFile;
  entry.oid = oid;
  return {};
}

base::Result<bool> TreeEditor::remove_file(std::string_view path) {
  KL_ASSIGN(const auto there, file(path));
  if (!there) return false;
  Node* node = root_.get();
  const auto segments = base::split(path, '/');
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    node->changed = true;
    node = node->entries.find(segments[i])->second.child.get();
  }
  node->changed = true;
  node->entries.erase(node->entries.find(segments.back()));
  return true;
}

base::Result<> TreeEditor::for_files_in(
    std::string_view folder,
    const std::function<base::Result<>(std::string_view, const Oid&)>& visit) {
  KL_ASSIGN(const Node* node, find_folder(folder));
  if (node == nullptr) return {};
  for (const auto& [name, entry] : node->entries) {
    if (is_file(entry.mode)) KL_TRY(visit(name, entry.oid));
  }
  return {};
}

base::Result<> TreeEditor::for_files_below(
    std::string_view folder, const std::function<bool(std::string_view)>& enter,
    const std::function<base::Result<>(std::string_view)>& visit) {
  KL_ASSIGN(const Node* node, find_folder(folder));
  if (node == nullptr) return {};
  std::vector<std::string> folders;
  for (const auto& [name, entry] : node->entries) {
    if (is_file(entry.mode)) {
      KL_TRY(visit(joined(folder, name)));
    } else if (entry.mode == kModeTree && enter(joined(folder, name))) {
      folders.push_back(joined(folder, name));
    }
  }
  for (const auto& below : folders) KL_TRY(for_files_below(below, enter, visit));
  return {};
}

base::Result<Oid> TreeEditor::write_node(Node& node, PackWriter& pack, bool& empty) {
  if (!node.changed && node.oid) {
    empty = false;
    return *node.oid;
  }
  // Git sorts folders as if their names ended in a slash.
  std::vector<std::pair<std::string, std::string>> lines;
  for (auto& [name, entry] : node.entries) {
    if (entry.child && entry.child->changed) {
      bool child_empty = false;
      KL_ASSIGN(entry.oid, write_node(*entry.child, pack, child_empty));
      if (child_empty) continue;
    }
    auto line = fmt::format("{:o} {}", entry.mode, name);
    line += '\0';
    line += entry.oid.raw();
    lines.emplace_back(entry.mode == kModeTree ? name + "/" : name, std::move(line));
  }
  empty = lines.empty();
  if (empty && &node != root_.get()) return Oid{};
  std::sort(lines.begin(), lines.end());
  Pieces content;
  for (const auto& [key, line] : lines) content.add(line);
  const auto oid = hash_object(ObjectType::kTree, content);
  KL_TRY(pack.add(ObjectType::kTree, oid, content));
  return oid;
}

base::Result<Oid> TreeEditor::write(PackWriter& pack) {
  bool empty = false;
  return write_node(*root_, pack, empty);
}

}  // namespace kollect::sinks::git
