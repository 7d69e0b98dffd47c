// Rows whose paths meet (spec: sinks 4.4, K-8; field-same-kind-in-two-groups).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sinks/layout/run_layout.h"
#include "sinks/layout/set_ledger.h"

namespace kollect::sinks {

namespace {

constexpr std::size_t kMostWarnings = 10;
constexpr std::uint32_t kNoRow = UINT32_MAX;

struct Ref {
  std::uint32_t exp = 0;
  std::uint32_t row = kNoRow;  ///< kNoRow: document, index or manifest of the export
  auto operator<=>(const Ref&) const = default;
};

/// What texts and suffixes need of a row.
struct Detail {
  std::string target;
  std::string group;
  std::string kind;
  std::string object;  ///< namespace/name or name
  std::string uid;
  std::string suffix;

  [[nodiscard]] std::string text() const {
    return fmt::format("{}{}{} {} (target {})", kind, group.empty() ? "" : ".", group, object,
                       target);
  }
};

/// What stands before the last slash; "" where there is none, or nothing before it.
std::string_view folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

/// The hashes of a share of many paths: eight bytes a path where a table of the texts would take a
/// hundred. What they tell of the few paths that may meet is looked up in the texts.
class PathNumbers {
 public:
  /// Calls `look` with each share of so many paths, one after the other.
  template <class Look>
  static void for_each_share(std::size_t paths, const Look& look) {
    constexpr std::size_t kMost = std::size_t{1} << 18U;
    const std::size_t shares = 1 + paths / kMost;
    for (std::size_t share = 0; share < shares; ++share)
      look(PathNumbers(share, shares, paths / shares));
  }
  void add(std::string_view path) {
    const auto number = path_hash(path);
    if (is_mine(number)) numbers_.push_back(number);
  }
  void add_all(const PathList& paths) {
    for (const auto& path : paths) add(path);
  }
  /// Sorts what was added: those that are there more than once.
  std::vector<std::uint64_t> that_meet() {
    std::ranges::sort(numbers_);
    std::vector<std::uint64_t> out;
    for (std::size_t i = 1; i < numbers_.size(); ++i) {
      if (numbers_[i] == numbers_[i - 1] && (out.empty() || out.back() != numbers_[i])) {
        out.push_back(numbers_[i]);
      }
    }
    return out;
  }
  /// Adds those of the folders of these paths that are among the numbers, as that_meet() left them.
  template <class Paths>
  void find_folders(const Paths& paths, std::vector<std::uint64_t>& found) const {
    std::string last;
    for (const std::string& path : paths) {
      auto folder = folder_of(path);
      if (folder == last) continue;  // rows of one folder follow each other
      last = folder;
      for (; !folder.empty(); folder = folder_of(folder)) {
        const auto number = path_hash(folder);
        if (is_mine(number) && std::ranges::binary_search(numbers_, number)) {
          found.push_back(number);
        }
      }
    }
  }

 private:
  PathNumbers(std::size_t share, std::size_t shares, std::size_t expected)
      : share_(share), shares_(shares) {
    numbers_.reserve(expected + expected / 16);
  }
  [[nodiscard]] bool is_mine(std::uint64_t number) const { return number % shares_ == share_; }

  std::size_t share_;
  std::size_t shares_;
  std::vector<std::uint64_t> numbers_;
};

class Settler {
 public:
  Settler(const std::vector<Export>& exports, const LayoutSpec& spec,
          std::vector<DraftPaths>& drafts, std::vector<LaidOut>& laid_out)
      : exports_(exports), extension_(extension_of(spec.format)), drafts_(drafts), out_(laid_out) {}

  base::Result<> run() {
    KL_TRY(place_fixed());
    group_rows();
    KL_TRY(resolve_groups());
    take_sticky();
    for (std::uint32_t e = 0; e < out_.size(); ++e) out_[e].row_paths = settled(e);
    return check_all();
  }

 private:
  /// The final paths of an export's rows.
  PathList settled(std::uint32_t e) {
    auto& base = drafts_[e].base;
    auto next = changed_.lower_bound(Ref{e, 0});
    if (next == changed_.end() || next->first.exp != e) return std::move(base);
    PathList out;
    Ref at{e, 0};
    for (const auto& text : base) {
      const bool is_next = next != changed_.end() && next->first == at;
      out.add(is_next ? next->second : text);
      if (is_next) ++next;
      ++at.row;
    }
    return out;
  }

  std::string inventory_text(std::uint32_t exp) const {
    return fmt::format("inventory {}/{}", exports_[exp].inventory.ns, exports_[exp].inventory.name);
  }

  base::Error refused(std::string_view at, std::string_view a, std::string_view b,
                      std::string_view hint) const {
    return base::terminal(
        fmt::format("{} and {} would both be written to {}; nothing was written. {}", a, b, at,
                    hint),
        "path-collision");
  }

  base::Result<> place_fixed() {
    for (std::uint32_t e = 0; e < out_.size(); ++e) {
      auto fixed = out_[e].fixed_paths;
      if (out_[e].writes_manifest) fixed.push_back(out_[e].manifest_path);
      for (auto& text : fixed) {
        const auto [at, fresh] = fixed_.emplace(text, e);
        if (fresh) continue;
        return refused(text, fmt::format("a file of {}", inventory_text(at->second)),
                       fmt::format("a file of {}", inventory_text(e)),
                       "Put {cluster}, {namespace} and {name} into the path template.");
      }
    }
    return {};
  }

  void group_rows() {
    std::size_t count = 0;
    for (const auto& draft : drafts_) count += draft.base.size();
    std::vector<std::uint64_t> meet;
    PathNumbers::for_each_share(count, [&](PathNumbers numbers) {
      for (const auto& draft : drafts_) numbers.add_all(draft.base);
      const auto found = numbers.that_meet();
      meet.insert(meet.end(), found.begin(), found.end());
    });
    if (meet.empty()) return;
    std::ranges::sort(meet);
    for (std::uint32_t e = 0; e < drafts_.size(); ++e) {
      std::uint32_t r = 0;
      for (const auto& text : drafts_[e].base) {
        if (std::ranges::binary_search(meet, path_hash(text))) groups_[text].push_back({e, r});
        ++r;
      }
    }
    std::erase_if(groups_, [](const auto& group) { return group.second.size() < 2; });
  }

  /// Reads the rows that `wanted` names; in one walk per export.
  base::Result<std::map<Ref, Detail>> details(const std::vector<Ref>& wanted) const {
    std::vector<Ref> sorted = wanted;
    std::sort(sorted.begin(), sorted.end());
    std::map<Ref, Detail> out;
    auto next = sorted.begin();
    for (std::uint32_t e = 0; e < exports_.size() && next != sorted.end(); ++e) {
      if (next->exp != e) continue;
      std::uint32_t r = 0;
      KL_TRY(exports_[e].rows->for_each([&](const inventory::RowView& row) -> base::Result<> {
        if (next != sorted.end() && next->exp == e && next->row == r) {
          out[*next] = {
              fmt::format("{}/{}", row.target_namespace, row.target_name),
              std::string(row.group),
              std::string(row.kind),
              row.ns.empty() ? std::string(row.name) : fmt::format("{}/{}", row.ns, row.name),
              std::string(row.uid),
              collision_suffix(row)};
          ++next;
        }
        ++r;
        return {};
      }));
    }
    return out;
  }

  base::Result<> resolve_groups() {
    if (groups_.empty()) return {};
    std::vector<Ref> wanted;
    for (const auto& [text, group] : groups_) {
      wanted.insert(wanted.end(), group.begin(), group.end());
    }
    KL_ASSIGN(const auto found, details(wanted));
    std::size_t warned = 0;
    for (const auto& [text, group] : groups_) {
      KL_TRY(refuse_same_object(text, group, found));
      separate(text, group, found);
      if (++warned <= kMostWarnings) warn(text, group, found);
    }
    if (warned > kMostWarnings) {
      out_.front().warnings.push_back(
          fmt::format("{} more paths met in the same way", warned - kMostWarnings));
    }
    return {};
  }

  base::Result<> refuse_same_object(const std::string& text, const std::vector<Ref>& group,
                                    const std::map<Ref, Detail>& found) const {
    std::unordered_map<std::string, const Detail*> seen;
    for (const auto& ref : group) {
      const auto& detail = found.at(ref);
      const auto identity = detail.uid.empty()
                                ? fmt::format("{}/{}/{}", detail.group, detail.kind, detail.object)
                                : detail.uid;
      const auto [at, fresh] = seen.emplace(identity, &detail);
      if (fresh) continue;
      return refused(text, at->second->text(), detail.text(),
                     "Two targets select the same object: put {targetName} or {uid} into "
                     "layout.pathTemplate.");
    }
    return {};
  }

  /// A single row whose path is as the template says keeps it; all others get their suffix.
  void separate(const std::string& text, const std::vector<Ref>& group,
                const std::map<Ref, Detail>& found) {
    const auto unaltered = std::count_if(group.begin(), group.end(), [&](const Ref& ref) {
      return !drafts_[ref.exp].altered[ref.row];
    });
    for (const auto& ref : group) {
      if (unaltered == 1 && !drafts_[ref.exp].altered[ref.row]) {
        settled_.push_back(ref);
        continue;
      }
      changed_[ref] = with_suffix(text, found.at(ref).suffix, extension_);
      settled_.push_back(ref);
    }
  }

  void warn(const std::string& text, const std::vector<Ref>& group,
            const std::map<Ref, Detail>& found) {
    out_[group.front().exp].warnings.push_back(fmt::format(
        "{} and {}{} meet at path {}: told apart by a suffix; put {{group}} or {{uid}} into "
        "layout.pathTemplate",
        found.at(group[0]).text(), found.at(group[1]).text(),
        group.size() > 2 ? fmt::format(" and {} more", group.size() - 2) : "", text));
  }

  void take_sticky() {
    std::sort(settled_.begin(), settled_.end());
    for (std::uint32_t e = 0; e < drafts_.size(); ++e) {
      for (auto& [r, kept] : drafts_[e].sticky) {
        if (std::binary_search(settled_.begin(), settled_.end(), Ref{e, r})) continue;
        changed_[Ref{e, r}] = std::move(kept);
      }
    }
  }

  /// Last look at all paths together: none twice, none on a document, none the folder of another.
  base::Result<> check_all() {
    std::size_t count = fixed_.size();
    for (const auto& laid_out : out_) count += laid_out.row_paths.size();
    std::vector<std::uint64_t> meet;
    PathNumbers::for_each_share(count, [&](PathNumbers numbers) {
      for (const auto& [text, e] : fixed_) numbers.add(text);
      for (const auto& laid_out : out_) numbers.add_all(laid_out.row_paths);
      const auto twice = numbers.that_meet();
      meet.insert(meet.end(), twice.begin(), twice.end());
      for (const auto& laid_out : out_) {
        numbers.find_folders(laid_out.fixed_paths, meet);
        if (laid_out.writes_manifest) {
          numbers.find_folders(std::vector<std::string>{laid_out.manifest_path}, meet);
        }
        numbers.find_folders(laid_out.row_paths, meet);
      }
    });
    if (meet.empty()) return {};
    std::ranges::sort(meet);
    return check_texts(meet);
  }

  /// The same with the paths themselves, of those that are one of these numbers or below one.
  base::Result<> check_texts(const std::vector<std::uint64_t>& meet) const {
    const auto is_one = [&](std::string_view text) {
      return std::ranges::binary_search(meet, path_hash(text));
    };
    std::map<std::string, Ref, std::less<>> all;
    for (const auto& [text, e] : fixed_) all.emplace(text, Ref{e, kNoRow});
    for (std::uint32_t e = 0; e < out_.size(); ++e) {
      std::uint32_t r = 0;
      for (const auto& text : out_[e].row_paths) {
        const Ref ref{e, r++};
        if (!is_one(text)) continue;
        const auto [at, fresh] = all.try_emplace(text, ref);
        if (!fresh) return both(text, at->second, ref);
      }
    }
    const auto below = [&](std::string_view text, Ref ref) -> base::Result<> {
      for (auto folder = folder_of(text); !folder.empty(); folder = folder_of(folder)) {
        const auto at = all.find(folder);
        if (at != all.end()) return both(at->first, at->second, ref);
      }
      return {};
    };
    for (const auto& [text, e] : fixed_) KL_TRY(below(text, {e, kNoRow}));
    for (std::uint32_t e = 0; e < out_.size(); ++e) {
      std::uint32_t r = 0;
      for (const auto& text : out_[e].row_paths) KL_TRY(below(text, {e, r++}));
    }
    return {};
  }

  base::Result<> both(const std::string& at, Ref a, Ref b) const {
    std::vector<Ref> rows;
    for (const auto& ref : {a, b}) {
      if (ref.row != kNoRow) rows.push_back(ref);
    }
    KL_ASSIGN(const auto found, details(rows));
    const auto text = [&](Ref ref) {
      return ref.row == kNoRow
                 ? fmt::format("the document, index or manifest of {}", inventory_text(ref.exp))
                 : found.at(ref).text();
    };
    return refused(at, text(a), text(b), "Change layout.pathTemplate.");
  }

  const std::vector<Export>& exports_;
  std::string_view extension_;
  std::vector<DraftPaths>& drafts_;
  std::vector<LaidOut>& out_;
  std::unordered_map<std::string, std::uint32_t> fixed_;
  std::map<std::string, std::vector<Ref>> groups_;
  std::vector<Ref> settled_;
  std::map<Ref, std::string> changed_;  ///< paths that are not the template's
};

}  // namespace

base::Result<> settle_paths(const std::vector<Export>& exports, const LayoutSpec& spec,
                            std::vector<DraftPaths>&& drafts, std::vector<LaidOut>& laid_out) {
  return Settler(exports, spec, drafts, laid_out).run();
}

}  // namespace kollect::sinks
