// A changed copy of a commit's tree; only the folders that are touched are read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sinks/files/folder.h"
#include "sinks/git/object_store.h"
#include "sinks/git/pack_writer.h"

namespace kollect::sinks::git {

/// A place in the file of packed folders.
struct Aside {
  std::uint64_t at = 0;
  std::uint32_t bytes = 0;  ///< room there
  std::uint32_t used = 0;
};

/// Folders that were not touched lately are kept in a nameless file beside the store's, until they
/// are looked into again. Visitors must not use the editor. Borrows the store. Errors: reason
/// "damaged", or terminal ("path-taken") when a file stands where a folder must be or the other way
/// round.
class TreeEditor {
 public:
  /// `root`: the tip's tree; none: an empty one.
  TreeEditor(const ObjectStore& store, std::optional<Oid> root);
  ~TreeEditor();

  /// The file at the path; none when there is none. Links and submodules count as none.
  base::Result<std::optional<Oid>> file(std::string_view path);
  base::Result<> set_file(std::string_view path, const Oid& oid);
  /// Removes a file (not a folder) and folders that become empty; false when there was none.
  base::Result<bool> remove_file(std::string_view path);
  /// Files of one folder, by name.
  base::Result<> for_files_in(
      std::string_view folder,
      const std::function<base::Result<>(std::string_view name, const Oid&)>& visit);
  /// Files anywhere below a folder, by path; `enter` tells which sub-folders to look into.
  base::Result<> for_files_below(std::string_view folder,
                                 const std::function<bool(std::string_view folder)>& enter,
                                 const std::function<base::Result<>(std::string_view path)>& visit);
  /// Writes changed trees into the pack and returns the new root; of nothing at all the empty tree.
  base::Result<Oid> write(PackWriter& pack);

 private:
  struct Node;
  struct Entry;
  base::Result<> read(Node& node, const Oid& oid);
  base::Result<Node*> root();
  base::Result<Node*> open(Entry& entry);
  /// Packs folders when too much is unpacked.
  base::Result<> make_room();
  base::Result<> pack_below(Node& node, std::string_view way);
  base::Result<> pack(Entry& entry);
  void let_go(Entry& entry);
  base::Result<bool> is_bare(Entry& entry);
  void drop(Entry& entry);
  base::Result<> set_aside(Aside& place, const std::string& text);
  base::Result<Node*> find_folder(std::string_view folder);
  base::Result<Node*> change_folder(std::string_view path, std::string_view folder);
  static base::Error taken(std::string_view path, std::string_view what);
  base::Result<Oid> write_node(Node& node, PackWriter& pack, bool& empty);

  const ObjectStore& store_;
  const std::optional<Oid> root_oid_;
  std::unique_ptr<Node> root_;
  bool root_is_read_;
  std::size_t unpacked_ = 0;  ///< entries of all unpacked folders
  std::size_t most_unpacked_;
  Fd aside_;                     ///< the file of packed folders, made with the first
  std::uint64_t aside_end_ = 0;  ///< its bytes
  std::size_t again_ = 0;        ///< entries that were unpacked again since folders were packed
  /// The folder that was looked for last, which is not packed: files follow each other by folder.
  std::string last_folder_;
  Node* last_ = nullptr;
};

}  // namespace kollect::sinks::git
