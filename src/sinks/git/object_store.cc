#include "sinks/git/object_store.h"

#include <fmt/format.h>
#include <git2.h>

#include <algorithm>

#include "base/strings.h"

namespace kollect::sinks::git {

namespace {

/// The library counts its users; each store is one.
class Library {
 public:
  Library() { git_libgit2_init(); }
  ~Library() { git_libgit2_shutdown(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

template <class T, void (*kFree)(T*)>
struct Deleter {
  void operator()(T* pointer) const { kFree(pointer); }
};
template <class T, void (*kFree)(T*)>
using Handle = std::unique_ptr<T, Deleter<T, kFree>>;

using Repository = Handle<git_repository, git_repository_free>;
using Odb = Handle<git_odb, git_odb_free>;
using OdbObject = Handle<git_odb_object, git_odb_object_free>;
using Reference = Handle<git_reference, git_reference_free>;
using Commit = Handle<git_commit, git_commit_free>;
using Tree = Handle<git_tree, git_tree_free>;

git_oid to_git(const Oid& oid) {
  git_oid out{};
  git_oid_fromraw(&out, oid.bytes.data());
  return out;
}

Oid from_git(const git_oid& oid) {
  Oid out;
  std::copy(std::begin(oid.id), std::end(oid.id), out.bytes.begin());
  return out;
}

base::Error damaged(std::string_view doing) {
  const auto* error = git_error_last();
  return base::retryable(
      fmt::format("git mirror: {}: {}", doing, error != nullptr ? error->message : "unknown error"),
      "damaged");
}

}  // namespace

struct ObjectStore::Impl {
  Library library;  // first: the handles need it until they are gone
  std::filesystem::path path;
  Repository repository;
  Odb odb;
};

ObjectStore::ObjectStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ObjectStore::ObjectStore(ObjectStore&&) noexcept = default;
ObjectStore& ObjectStore::operator=(ObjectStore&&) noexcept = default;
ObjectStore::~ObjectStore() = default;

base::Result<ObjectStore> ObjectStore::open(const std::filesystem::path& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  git_repository* repository = nullptr;
  std::error_code error;
  const bool is_new = !std::filesystem::exists(path, error);
  const int code = is_new ? git_repository_init(&repository, path.c_str(), 1)
                          : git_repository_open_bare(&repository, path.c_str());
  if (code != 0) return damaged("open");
  impl->repository.reset(repository);
  git_odb* odb = nullptr;
  if (git_repository_odb(&odb, repository) != 0) return damaged("open objects");
  impl->odb.reset(odb);
  return ObjectStore(std::move(impl));
}

base::Result<std::optional<Oid>> ObjectStore::ref(const std::string& name) const {
  git_oid oid{};
  const int code = git_reference_name_to_id(&oid, impl_->repository.get(), name.c_str());
  if (code == GIT_ENOTFOUND) return std::optional<Oid>();
  if (code != 0) return damaged("read " + name);
  return std::optional(from_git(oid));
}

base::Result<> ObjectStore::set_ref(const std::string& name, const Oid& oid) {
  const auto id = to_git(oid);
  git_reference* reference = nullptr;
  if (git_reference_create(&reference, impl_->repository.get(), name.c_str(), &id, 1, nullptr) !=
      0) {
    return damaged("write " + name);
  }
  const Reference owner(reference);
  return {};
}

base::Result<> ObjectStore::drop_ref(const std::string& name) {
  const int code = git_reference_remove(impl_->repository.get(), name.c_str());
  if (code != 0 && code != GIT_ENOTFOUND) return damaged("remove " + name);
  return {};
}

base::Result<Oid> ObjectStore::tree_of_commit(const Oid& commit) const {
  const auto id = to_git(commit);
  git_commit* found = nullptr;
  if (git_commit_lookup(&found, impl_->repository.get(), &id) != 0) return damaged("read commit");
  const Commit owner(found);
  return from_git(*git_commit_tree_id(found));
}

base::Result<std::vector<Oid>> ObjectStore::parents_of_commit(const Oid& commit) const {
  // The text itself: where history is cut the library knows no parents.
  KL_ASSIGN(const auto text, blob(commit));
  std::vector<Oid> out;
  for (const auto line : base::split(text, '\n')) {
    if (line.empty()) break;
    if (!line.starts_with("parent ")) continue;
    git_oid id{};
    if (git_oid_fromstrn(&id, line.data() + 7, line.size() - 7) != 0) return damaged("read commit");
    out.push_back(from_git(id));
  }
  return out;
}

base::Result<std::vector<TreeEntry>> ObjectStore::tree(const Oid& oid) const {
  const auto id = to_git(oid);
  git_tree* found = nullptr;
  if (git_tree_lookup(&found, impl_->repository.get(), &id) != 0) return damaged("read tree");
  const Tree owner(found);
  std::vector<TreeEntry> out;
  const auto count = git_tree_entrycount(found);
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* entry = git_tree_entry_byindex(found, i);
    out.push_back({git_tree_entry_name(entry),
                   static_cast<unsigned>(git_tree_entry_filemode_raw(entry)),
                   from_git(*git_tree_entry_id(entry))});
  }
  return out;
}

base::Result<std::string> ObjectStore::blob(const Oid& oid, std::size_t most) const {
  const auto id = to_git(oid);
  git_odb_object* found = nullptr;
  if (git_odb_read(&found, impl_->odb.get(), &id) != 0) return damaged("read file");
  const OdbObject owner(found);
  return std::string(static_cast<const char*>(git_odb_object_data(found)),
                     std::min(most, git_odb_object_size(found)));
}

bool ObjectStore::exists(const Oid& oid) const {
  const auto id = to_git(oid);
  // Without a refresh: every new object would make the library look for new packs.
  return git_odb_exists_ext(impl_->odb.get(), &id, GIT_ODB_LOOKUP_NO_REFRESH) == 1;
}

base::Result<> ObjectStore::take_pack(PackWriter& pack) {
  KL_TRY(pack.install(impl_->path / "objects" / "pack"));
  if (git_odb_refresh(impl_->odb.get()) != 0) return damaged("reload");
  return {};
}

const std::filesystem::path& ObjectStore::path() const {
  return impl_->path;
}

}  // namespace kollect::sinks::git
