// Rows whose paths meet (spec: sinks 4.4, K-8; field-same-kind-in-two-groups).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sinks/layout/run_layout.h"

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

class Settler {
 public:
  Settler(const std::vector<Export>& exports, const LayoutSpec& spec,
          std::vector<DraftPaths>& drafts, std::vector<LaidOut>& laid_out)
      : exports_(exports), extension_(extension_of(spec.format)), drafts_(drafts), out_(laid_out) {}

  base::Result<> run() {
    KL_TRY(place_fixed());
    KL_TRY(group_rows());
    KL_TRY(resolve_groups());
    take_sticky();
    KL_TRY(check_all());
    for (std::size_t e = 0; e < out_.size(); ++e) {
      out_[e].row_paths = std::move(drafts_[e].base);
      out_[e].paths.insert(out_[e].paths.end(), out_[e].row_paths.begin(), out_[e].row_paths.end());
    }
    return {};
  }

 private:
  std::string& path(Ref ref) { return drafts_[ref.exp].base[ref.row]; }

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
      auto fixed = out_[e].paths;
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

  base::Result<> group_rows() {
    std::unordered_map<std::string_view, Ref> first;
    for (std::uint32_t e = 0; e < drafts_.size(); ++e) {
      for (std::uint32_t r = 0; r < drafts_[e].base.size(); ++r) {
        const std::string_view text = drafts_[e].base[r];
        const auto [at, fresh] = first.try_emplace(text, Ref{e, r});
        if (fresh) continue;
        auto& group = groups_[std::string(text)];
        if (group.empty()) group.push_back(at->second);
        group.push_back({e, r});
      }
    }
    return {};
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
      separate(group, found);
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
  void separate(const std::vector<Ref>& group, const std::map<Ref, Detail>& found) {
    const auto unaltered = std::count_if(group.begin(), group.end(), [&](const Ref& ref) {
      return !drafts_[ref.exp].altered[ref.row];
    });
    for (const auto& ref : group) {
      if (unaltered == 1 && !drafts_[ref.exp].altered[ref.row]) {
        settled_.push_back(ref);
        continue;
      }
      path(ref) = with_suffix(path(ref), found.at(ref).suffix, extension_);
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
      for (std::uint32_t r = 0; r < drafts_[e].sticky.size(); ++r) {
        auto& kept = drafts_[e].sticky[r];
        if (kept.empty() || std::binary_search(settled_.begin(), settled_.end(), Ref{e, r}))
          continue;
        drafts_[e].base[r] = std::move(kept);
      }
    }
  }

  /// Last look at all paths together: none twice, none on a document, none the folder of another.
  base::Result<> check_all() {
    std::unordered_map<std::string_view, Ref> all;
    for (const auto& [text, e] : fixed_) all.emplace(text, Ref{e, kNoRow});
    for (std::uint32_t e = 0; e < drafts_.size(); ++e) {
      for (std::uint32_t r = 0; r < drafts_[e].base.size(); ++r) {
        const auto [at, fresh] = all.try_emplace(drafts_[e].base[r], Ref{e, r});
        if (!fresh) return both(drafts_[e].base[r], at->second, {e, r});
      }
    }
    for (const auto& [text, ref] : all) {
      for (auto slash = text.rfind('/'); slash != std::string_view::npos && slash > 0;
           slash = text.rfind('/', slash - 1)) {
        const auto at = all.find(text.substr(0, slash));
        if (at != all.end()) return both(std::string(at->first), at->second, ref);
      }
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
};

}  // namespace

base::Result<> settle_paths(const std::vector<Export>& exports, const LayoutSpec& spec,
                            std::vector<DraftPaths>&& drafts, std::vector<LaidOut>& laid_out) {
  return Settler(exports, spec, drafts, laid_out).run();
}

}  // namespace kollect::sinks
