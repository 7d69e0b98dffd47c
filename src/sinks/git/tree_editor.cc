#include "sinks/git/tree_editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "base/strings.h"
#include "sinks/files/place_file.h"

namespace kollect::sinks::git {

namespace {

constexpr unsigned kTypeMask = 0170000;
constexpr unsigned kTypeFile = 0100000;

/// Entries in unpacked folders, some 130 bytes each, before any are packed.
constexpr std::size_t kMostUnpacked = 8192;
/// What errors call the file of packed folders.
constexpr std::string_view kAside = "the folders that were set aside";

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
  bool packed = false;  // not loaded; entries of a changed folder are set aside
  std::uint64_t aside_at = 0;
  std::size_t aside_bytes = 0;
  std::map<std::string, Entry, std::less<>> entries;

  [[nodiscard]] std::string text() const;
  void read_text(std::string_view text);
};

/// Per entry: how much of the name before starts this one (a byte), length of the rest and mode
/// (three bytes each), the rest, the object.
std::string TreeEditor::Node::text() const {
  std::string text;
  std::string_view last;
  for (const auto& [name, entry] : entries) {
    const auto most = std::min<std::size_t>({name.size(), last.size(), 255});
    std::size_t shared = 0;
    while (shared < most && name[shared] == last[shared]) ++shared;
    text += static_cast<char>(shared);
    const auto rest = std::string_view(name).substr(shared);
    for (const std::size_t number : {rest.size(), static_cast<std::size_t>(entry.mode)}) {
      for (unsigned shift = 0; shift < 24; shift += 8) {
        text += static_cast<char>((number >> shift) & 0xffU);
      }
    }
    text += rest;
    text += entry.oid.raw();
    last = name;
  }
  return text;
}

void TreeEditor::Node::read_text(std::string_view text) {
  std::string name;
  for (std::size_t at = 0; at < text.size();) {
    name.resize(static_cast<unsigned char>(text[at++]));
    std::array<std::size_t, 2> numbers{};
    for (auto& number : numbers) {
      for (unsigned shift = 0; shift < 24; shift += 8) {
        number |= static_cast<std::size_t>(static_cast<unsigned char>(text[at++])) << shift;
      }
    }
    name.append(text.substr(at, numbers[0]));
    at += numbers[0];
    auto& entry = entries.emplace_hint(entries.end(), name, Entry{})->second;
    entry.mode = static_cast<unsigned>(numbers[1]);
    std::memcpy(entry.oid.bytes.data(), text.data() + at, entry.oid.bytes.size());
    at += entry.oid.bytes.size();
  }
}

TreeEditor::TreeEditor(const ObjectStore& store, std::optional<Oid> root)
    : store_(store), root_(std::make_unique<Node>()), most_unpacked_(kMostUnpacked) {
  root_->oid = root;
  root_->loaded = !root.has_value();
}

TreeEditor::~TreeEditor() = default;

base::Result<> TreeEditor::load(Node& node) {
  if (node.loaded) return {};
  if (node.packed && node.changed) {
    std::string text(node.aside_bytes, '\0');
    KL_TRY(read_at(aside_, static_cast<off_t>(node.aside_at), text, kAside));
    node.read_text(text);
  } else {
    KL_ASSIGN(auto entries, store_.tree(*node.oid));
    for (auto& entry : entries) {
      node.entries.emplace(std::move(entry.name), Node::Entry{entry.mode, entry.oid, nullptr});
    }
  }
  if (node.packed) again_ += node.entries.size();
  unpacked_ += node.entries.size();
  node.packed = false;
  node.loaded = true;
  return {};
}

base::Result<> TreeEditor::make_room() {
  if (unpacked_ <= most_unpacked_) return {};
  if (again_ > most_unpacked_ / 2) {
    // Folders take turns: packing them each time would cost more than room for all of them.
    most_unpacked_ = 2 * unpacked_;
  } else {
    last_ = nullptr;
    KL_TRY(pack_below(*root_));
    most_unpacked_ = std::max(most_unpacked_, 2 * unpacked_);
  }
  again_ = 0;
  return {};
}

base::Result<> TreeEditor::pack_below(Node& node) {
  bool is_leaf = true;
  for (auto& [name, entry] : node.entries) {
    if (!entry.child) continue;
    is_leaf = false;
    if (entry.child->loaded) KL_TRY(pack_below(*entry.child));
  }
  return is_leaf && &node != root_.get() ? pack(node) : base::Result<>();
}

base::Result<> TreeEditor::pack(Node& node) {
  if (node.changed) KL_TRY(set_aside(node, node.text()));
  let_go(node);
  return {};
}

void TreeEditor::let_go(Node& node) {
  unpacked_ -= node.entries.size();
  node.entries.clear();
  node.packed = true;
  node.loaded = false;
}

base::Result<> TreeEditor::set_aside(Node& node, const std::string& text) {
  if (!aside_.valid()) {
    KL_ASSIGN(aside_, nameless_file(store_.path() / "kollect-folders"));
  }
  // A folder that comes again takes its old place if it has not grown.
  if (text.size() > node.aside_bytes) {
    node.aside_at = aside_end_;
    aside_end_ += text.size();
  }
  node.aside_bytes = text.size();
  return write_at(aside_, static_cast<off_t>(node.aside_at), text, kAside);
}

base::Result<TreeEditor::Node*> TreeEditor::find_folder(std::string_view folder) {
  if (last_ != nullptr && folder == last_folder_) return last_;
  KL_TRY(make_room());
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
  KL_TRY(make_room());
  Node* node = root_.get();
  KL_TRY(load(*node));
  node->changed = true;
  if (folder.empty()) return node;
  for (const auto name : base::split(folder, '/')) {
    auto at = node->entries.find(name);
    if (at == node->entries.end()) {
      at = node->entries.emplace(std::string(name), Node::Entry{kModeTree, {}, nullptr}).first;
      ++unpacked_;
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
    ++unpacked_;
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
  --unpacked_;
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
  const bool was_packed = node.packed;
  KL_TRY(load(node));
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
  // What was set aside is still there.
  if (was_packed) let_go(node);
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
