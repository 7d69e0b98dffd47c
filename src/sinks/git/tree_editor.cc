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

/// Entries in unpacked folders, some 160 bytes each, before any are packed.
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

struct TreeEditor::Entry {
  unsigned mode = kModeFile;
  Oid oid;
  std::unique_ptr<Node> child;  ///< of a folder that is unpacked
  Aside aside;                  ///< of a folder
  bool was_packed = false;
  /// The folder is packed and has changed: what it holds is set aside.
  bool is_aside = false;
};

struct TreeEditor::Node {
  bool changed = false;
  std::map<std::string, Entry, std::less<>> entries;

  [[nodiscard]] std::string text() const;
  void read_text(std::string_view text);
};

namespace {

constexpr unsigned kIsAside = 1U << 16U;  // above all modes

void append_number(std::string& text, std::uint64_t number, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i, number >>= 8U) text += static_cast<char>(number & 0xffU);
}

std::uint64_t take_number(std::string_view& text, unsigned bytes) {
  std::uint64_t out = 0;
  for (unsigned i = bytes; i-- > 0;) out = out << 8U | static_cast<unsigned char>(text[i]);
  text.remove_prefix(bytes);
  return out;
}

}  // namespace

/// Per entry: how much of the name before starts this one (a byte), length of the rest, mode and
/// mark (three bytes each), the rest, the object; of a folder that is set aside its place, too.
std::string TreeEditor::Node::text() const {
  std::string text;
  std::string_view last;
  for (const auto& [name, entry] : entries) {
    const auto most = std::min<std::size_t>({name.size(), last.size(), 255});
    std::size_t shared = 0;
    while (shared < most && name[shared] == last[shared]) ++shared;
    const auto rest = std::string_view(name).substr(shared);
    append_number(text, shared, 1);
    append_number(text, rest.size(), 3);
    append_number(text, entry.mode | (entry.is_aside ? kIsAside : 0), 3);
    text += rest;
    text += entry.oid.raw();
    if (entry.is_aside) {
      append_number(text, entry.aside.at, 8);
      append_number(text, entry.aside.bytes, 4);
      append_number(text, entry.aside.used, 4);
    }
    last = name;
  }
  return text;
}

void TreeEditor::Node::read_text(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    name.resize(take_number(text, 1));
    const auto rest = take_number(text, 3);
    const auto mode = static_cast<unsigned>(take_number(text, 3));
    name.append(text.substr(0, rest));
    text.remove_prefix(rest);
    auto& entry = entries.emplace_hint(entries.end(), name, Entry{})->second;
    entry.mode = mode & 0xffffU;
    entry.is_aside = (mode & kIsAside) != 0;
    std::memcpy(entry.oid.bytes.data(), text.data(), entry.oid.bytes.size());
    text.remove_prefix(entry.oid.bytes.size());
    if (!entry.is_aside) continue;
    entry.was_packed = true;
    entry.aside.at = take_number(text, 8);
    entry.aside.bytes = static_cast<std::uint32_t>(take_number(text, 4));
    entry.aside.used = static_cast<std::uint32_t>(take_number(text, 4));
  }
}

TreeEditor::TreeEditor(const ObjectStore& store, std::optional<Oid> root)
    : store_(store),
      root_oid_(root),
      root_(std::make_unique<Node>()),
      root_is_read_(!root.has_value()),
      most_unpacked_(kMostUnpacked) {}

TreeEditor::~TreeEditor() = default;

base::Result<> TreeEditor::read(Node& node, const Oid& oid) {
  KL_ASSIGN(auto entries, store_.tree(oid));
  for (auto& entry : entries) {
    auto& made = node.entries.emplace(std::move(entry.name), Entry{}).first->second;
    made.mode = entry.mode;
    made.oid = entry.oid;
  }
  unpacked_ += node.entries.size();
  return {};
}

base::Result<TreeEditor::Node*> TreeEditor::root() {
  if (!root_is_read_) KL_TRY(read(*root_, *root_oid_));
  root_is_read_ = true;
  return root_.get();
}

/// The folder of an entry, unpacked.
base::Result<TreeEditor::Node*> TreeEditor::open(Entry& entry) {
  if (entry.child) return entry.child.get();
  auto child = std::make_unique<Node>();
  if (!entry.is_aside) {
    KL_TRY(read(*child, entry.oid));
  } else {
    std::string text(entry.aside.used, '\0');
    KL_TRY(read_at(aside_, static_cast<off_t>(entry.aside.at), text, kAside));
    child->read_text(text);
    child->changed = true;
    unpacked_ += child->entries.size();
    entry.is_aside = false;
  }
  if (entry.was_packed) again_ += child->entries.size();
  entry.child = std::move(child);
  return entry.child.get();
}

base::Result<> TreeEditor::make_room() {
  if (unpacked_ <= most_unpacked_) return {};
  if (again_ > most_unpacked_ / 2) {
    // Folders take turns: packing them each time would cost more than room for all of them.
    most_unpacked_ = 2 * unpacked_;
  } else {
    KL_TRY(pack_below(*root_, last_ != nullptr ? std::string_view(last_folder_) : ""));
    // What stays is looked through each time.
    const auto more = std::max(kMostUnpacked, unpacked_ / 4);
    most_unpacked_ = std::max(most_unpacked_, unpacked_ + more);
  }
  again_ = 0;
  return {};
}

/// But for the folders on the way to the one that was looked for last.
base::Result<> TreeEditor::pack_below(Node& node, std::string_view way) {
  const auto slash = way.find('/');
  const auto first = way.substr(0, slash);
  const auto rest = slash == std::string_view::npos ? std::string_view() : way.substr(slash + 1);
  for (auto& [name, entry] : node.entries) {
    if (!entry.child) continue;
    const bool is_on_way = !way.empty() && name == first;
    KL_TRY(pack_below(*entry.child, is_on_way ? rest : std::string_view()));
    if (!is_on_way) KL_TRY(pack(entry));
  }
  return {};
}

/// A folder without unpacked ones below it.
base::Result<> TreeEditor::pack(Entry& entry) {
  if (entry.child->changed) KL_TRY(set_aside(entry.aside, entry.child->text()));
  entry.was_packed = true;
  let_go(entry);
  return {};
}

base::Result<> TreeEditor::set_aside(Aside& place, const std::string& text) {
  if (!aside_.valid()) {
    KL_ASSIGN(aside_, nameless_file(store_.path() / "kollect-folders"));
  }
  // A folder that comes again takes its old place if it has not grown.
  if (text.size() > place.bytes) {
    place.at = aside_end_;
    place.bytes = static_cast<std::uint32_t>(text.size());
    aside_end_ += text.size();
  }
  place.used = static_cast<std::uint32_t>(text.size());
  return write_at(aside_, static_cast<off_t>(place.at), text, kAside);
}

base::Result<TreeEditor::Node*> TreeEditor::find_folder(std::string_view folder) {
  if (last_ != nullptr && folder == last_folder_) return last_;
  KL_TRY(make_room());
  KL_ASSIGN(Node * node, root());
  if (folder.empty()) return node;
  for (const auto name : base::split(folder, '/')) {
    const auto at = node->entries.find(name);
    if (at == node->entries.end() || at->second.mode != kModeTree) {
      return static_cast<Node*>(nullptr);
    }
    KL_ASSIGN(node, open(at->second));
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
  KL_ASSIGN(Node * node, root());
  node->changed = true;
  if (folder.empty()) return node;
  for (const auto name : base::split(folder, '/')) {
    auto at = node->entries.find(name);
    if (at == node->entries.end()) {
      at = node->entries.emplace(std::string(name), Entry{}).first;
      at->second.mode = kModeTree;
      ++unpacked_;
      at->second.child = std::make_unique<Node>();
    }
    auto& entry = at->second;
    if (entry.mode != kModeTree) {
      return taken(path, fmt::format("the file, link or submodule {}", name));
    }
    KL_ASSIGN(node, open(entry));
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
    at = node->entries.emplace_hint(at, std::string(name), Entry{});
    ++unpacked_;
  }
  auto& entry = at->second;
  if (entry.mode == kModeTree) {
    KL_ASSIGN(const bool bare, is_bare(entry));
    if (!bare) return taken(path, "a folder");
    if (folder.empty()) last_ = nullptr;  // it may be below
    drop(entry);
    entry = Entry{};
  }
  entry.mode = kModeFile;
  entry.oid = oid;
  return {};
}

/// True when no file is left anywhere below: Git knows no such folder.
base::Result<bool> TreeEditor::is_bare(Entry& entry) {
  KL_ASSIGN(Node* const node, open(entry));
  for (auto& [name, below] : node->entries) {
    if (below.mode != kModeTree) return false;
    KL_ASSIGN(const bool bare, is_bare(below));
    if (!bare) return false;
  }
  return true;
}

/// The unpacked folders from this one on.
void TreeEditor::drop(Entry& entry) {
  if (!entry.child) return;
  for (auto& [name, below] : entry.child->entries) drop(below);
  unpacked_ -= entry.child->entries.size();
  entry.child.reset();
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

/// A folder that has changed.
base::Result<Oid> TreeEditor::write_node(Node& node, PackWriter& pack, bool& empty) {
  // Git sorts folders as if their names ended in a slash.
  std::vector<std::pair<std::string, std::string>> lines;
  for (auto& [name, entry] : node.entries) {
    const bool is_aside = entry.is_aside;
    if (is_aside) KL_TRY(open(entry));
    if (entry.child && entry.child->changed) {
      bool child_empty = false;
      KL_ASSIGN(entry.oid, write_node(*entry.child, pack, child_empty));
      // What was set aside is still there.
      if (is_aside) let_go(entry);
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

/// Packs a folder that has not changed since it was unpacked.
void TreeEditor::let_go(Entry& entry) {
  unpacked_ -= entry.child->entries.size();
  entry.is_aside = entry.child->changed;
  entry.child.reset();
}

base::Result<Oid> TreeEditor::write(PackWriter& pack) {
  if (!root_->changed && root_oid_) return *root_oid_;
  bool empty = false;
  return write_node(*root_, pack, empty);
}

}  // namespace kollect::sinks::git
