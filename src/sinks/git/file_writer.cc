#include "sinks/git/file_writer.h"

namespace kollect::sinks::git {

namespace {

using What = ExportReport::Change::What;

constexpr std::size_t kMostOfHead = 4096;  // the export time stands before that

base::Result<Pieces> pieces(const File& file, std::optional<base::WallTime> at) {
  if (file.light) {
    return Pieces([&file, at](const Pieces::Visit& visit) {
      (void)file.chunks(
          [&](std::string_view piece) -> base::Result<> {
            visit(piece);
            return {};
          },
          at);
    });
  }
  Pieces content;
  KL_TRY(file.chunks(
      [&](std::string_view piece) -> base::Result<> {
        content.add(piece);
        return {};
      },
      at));
  return content;
}

}  // namespace

base::Result<std::optional<Pieces>> FileWriter::same_but_for_time(const File& file,
                                                                  const Oid& older) const {
  KL_ASSIGN(const auto head, store_.blob(older, kMostOfHead));
  const auto time = exported_at_of(head);
  if (!time) return std::optional<Pieces>();
  KL_ASSIGN(auto content, pieces(file, time));
  if (hash_object(ObjectType::kBlob, content) != older) return std::optional<Pieces>();
  return std::optional(std::move(content));
}

base::Result<> FileWriter::put(const File& file) {
  KL_TRY(context_.check());
  KL_ASSIGN(const auto old, tree_.file(file.path));
  const auto what = old ? What::kUpdate : What::kCreate;
  if (old && file.timed) {
    KL_ASSIGN(const auto same, same_but_for_time(file, *old));
    if (same) return note(What::kUnchanged, file, same->size());
  }
  if (other_ && file.timed) {
    KL_ASSIGN(const auto there, other_->file(file.path));
    if (there) {
      KL_ASSIGN(const auto same, same_but_for_time(file, *there));
      if (same) {
        KL_TRY(tree_.set_file(file.path, *there));
        return note(what, file, same->size());
      }
    }
  }
  KL_ASSIGN(const auto content, pieces(file, {}));
  const auto oid = hash_object(ObjectType::kBlob, content);
  if (old && *old == oid) return note(What::kUnchanged, file, content.size());
  KL_TRY(pack_.add(ObjectType::kBlob, oid, content));
  KL_TRY(tree_.set_file(file.path, oid));
  return note(what, file, content.size());
}

base::Result<> FileWriter::remove(const std::string& path) {
  KL_ASSIGN(const bool removed, tree_.remove_file(path));
  if (!removed) return {};
  ++report_.removed;
  if (list_) report_.changes.push_back({What::kRemove, path, 0, 0});
  return {};
}

base::Result<> FileWriter::note(What what, const File& file, std::size_t bytes) {
  ++(what == What::kUnchanged ? report_.unchanged : report_.written);
  if (what != What::kUnchanged) report_.bytes += bytes;
  if (list_) report_.changes.push_back({what, file.path, file.rows, bytes});
  return {};
}

}  // namespace kollect::sinks::git
