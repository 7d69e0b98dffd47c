// Passes by differences against whole exports of the same rows: random changes, every layout, in
// one object store without a remote.
#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

#include "base/files.h"
#include "sinks/git/change_set.h"
#include "sinks/git/pass_job.h"
#include "sinks/git/tree_diff.h"
#include "sinks/git/tree_editor.h"
#include "sinks/testing.h"

namespace kollect::sinks::git {
namespace {

using inventory::Owner;
using inventory::OwnerClass;

class Chance {
 public:
  explicit Chance(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return *(all.begin() + below(all.size()));
  }

 private:
  std::mt19937 random_;
};

/// A layout and a way to make rows.
struct Setting {
  std::string name;
  LayoutSpec spec;
  std::size_t max_bytes = 0;
  enum class Objects { kNone, kAll, kSome } objects = Objects::kNone;
  std::optional<std::string> resource_key;
  bool clashes = false;  ///< rows want each other's places
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

std::vector<Setting> settings() {
  std::vector<Setting> out;
  using Objects = Setting::Objects;
  for (const auto mode : {LayoutMode::kDocument, LayoutMode::kPerResource, LayoutMode::kSplit}) {
    for (const auto format : {Format::kYaml, Format::kJson, Format::kNdjson}) {
      for (const std::size_t most : {0, 700, 4000}) {
        Setting one;
        one.spec.mode = mode;
        one.spec.format = format;
        one.spec.content = LayoutContent::kItem;
        one.spec.prune = most == 700;
        one.max_bytes = most;
        one.name = fmt::format("mode {} format {} parts {}", static_cast<int>(mode),
                               static_cast<int>(format), most);
        out.push_back(one);
      }
    }
    for (const auto content : {LayoutContent::kAttributes, LayoutContent::kManifest}) {
      Setting one;
      one.spec.mode = mode;
      one.spec.content = content;
      one.objects = Objects::kAll;
      one.max_bytes = 2000;
      one.name =
          fmt::format("mode {} content {}", static_cast<int>(mode), static_cast<int>(content));
      out.push_back(one);
      one.resource_key = "resource";
      one.name += " by profile";
      out.push_back(one);
    }
    Setting by_rows;
    by_rows.spec.mode = mode;
    by_rows.name = fmt::format("mode {} content by rows", static_cast<int>(mode));
    by_rows.objects = Objects::kSome;
    out.push_back(by_rows);
    Setting clashes;
    clashes.spec.mode = mode;
    clashes.spec.content = LayoutContent::kItem;
    clashes.spec.row_template = "{sourceNamespace}/{sourceName}{extension}";
    clashes.clashes = true;
    clashes.max_bytes = 1500;
    clashes.name = fmt::format("mode {} with clashes", static_cast<int>(mode));
    out.push_back(clashes);
  }
  Setting free;
  free.name = "everything by rows";
  free.objects = Objects::kAll;
  out.push_back(free);
  free.objects = Objects::kSome;
  free.name = "everything by mixed rows";
  out.push_back(free);
  Setting bare;
  bare.name = "split without index";
  bare.spec.mode = LayoutMode::kSplit;
  bare.spec.content = LayoutContent::kItem;
  bare.spec.index_enabled = false;
  bare.max_bytes = 900;
  out.push_back(bare);
  return out;
}

class Model {
 public:
  /// `proposes`: the passes go to a branch beside the tip, which is merged now and then.
  Model(const Setting& setting, unsigned seed, bool proposes = false)
      : setting_(setting), chance_(seed), proposes_(proposes) {
    auto made = base::TempDir::create();
    EXPECT_TRUE(made.has_value());
    temp_.emplace(std::move(*made));
    auto store = ObjectStore::open(temp_->path() / "repo.git");
    EXPECT_TRUE(store.has_value());
    store_.emplace(std::move(*store));
    options_.layout = setting.spec;
    head_.inventory = {"x", "t"};
    head_.cluster = "c";
    head_.generation = 1;
    head_.exported_at = testing::time_of("2026-02-03T04:05:06Z");
    head_.max_bytes = setting.max_bytes;
    head_.resource_key = setting.resource_key;
    reader_ = rows_.subscribe([](const Owner&) { return true; });
  }

  void step() {
    const auto changes = chance_.of<std::size_t>({0, 1, 1, 1, 2, 5, 30});
    for (std::size_t i = 0; i < changes; ++i) change_row();
    if (chance_.one_in(12)) meddle();
    if (proposes_ && chance_.one_in(8)) merge();
    if (proposes_ && proposal_ && chance_.one_in(30)) proposal_->on_tip = false;
    if (chance_.one_in(25)) ledgers_.clear();  // a new sink
    if (chance_.one_in(40)) ++head_.generation;
    if (keeps_files()) keep_something();
    // A pass may come without differences, and with rows that are newer than they are.
    const auto differences = reader_->changes();
    if (chance_.one_in(15)) change_row();
    const auto snapshot = reader_->snapshot();
    const bool whole = !known_ || chance_.one_in(10);
    head_.exported_at += std::chrono::nanoseconds(1 + chance_.below(2'000'000'000));
    const Pass pass{.head = head_,
                    .rows = &snapshot,
                    .changes = whole ? nullptr : &differences,
                    .row_count = snapshot.size(),
                    .set_hash = snapshot.set_hash()};
    apply(pass, snapshot, differences, whole);
  }

  std::size_t by_differences() const { return by_differences_; }
  std::size_t failed() const { return failed_; }
  const std::map<std::string, std::size_t>& reasons() const { return reasons_; }
  std::size_t rows() const { return reader_->row_count(); }

 private:
  struct Done {
    std::optional<Oid> tree;
    std::string error;
  };

  void apply(const Pass& pass, const inventory::Snapshot& snapshot,
             const inventory::ChangeSet& differences, bool whole) {
    const auto had = ledgers_;
    Done got;
    bool all = true;
    if (PassJob::is_idle(pass, ledgers_)) {
      // It does not look at the branch: what others did there, the next refresh puts right.
      if (meddled_) return;
      if (proposal_ && !proposal_->on_tip) return;
      got.tree = proposal_ ? proposal_->tree : tree_;
      all = false;
    } else {
      PassJob job(pass, options_, ledgers_);
      got = with_pack([&](PackWriter& pack) -> base::Result<std::optional<Oid>> {
        const bool asks = proposes_ || job.asks_first();
        KL_ASSIGN(auto built, job.build({context_, *store_, tree_, asks, pack, proposal_}));
        if (built.ask) {
          KL_ASSIGN(built, job.build({context_, *store_, tree_, true, pack, proposal_}));
        }
        return built.tree ? built.tree : tree_;
      });
      if (got.tree) job.confirmed(*store_, *got.tree);
      all = job.looked_at_all();
      if (all && !whole) ++reasons_[job.why_all().substr(0, job.why_all().find(':'))];
    }
    // The rows that the pass wrote: those of the differences, or all as they are.
    const auto rows = all ? snapshot.to_row_set() : rows_of_differences(pass, snapshot);
    auto exp = head_;
    exp.rows = &rows;
    const auto whole_export = [&](bool take) {
      return with_pack(
          [&](PackWriter& pack) -> base::Result<std::optional<Oid>> {
            std::optional<Oid> proposed;
            if (proposal_) proposed = proposal_->tree;
            KL_ASSIGN(const auto changes, build_change_set(context_, *store_, tree_, {exp},
                                                           setting_.spec, pack, false, proposed));
            return changes.tree ? changes.tree : tree_;
          },
          take);
    };
    const auto want = whole_export(false);
    ASSERT_EQ(got.error, want.error);
    known_ = got.error.empty();
    if (!known_) {
      ++failed_;
      ledgers_ = had;
      return;
    }
    if (got.tree != want.tree) whole_export(true);
    ASSERT_EQ(got.tree->hex(), want.tree->hex()) << (all ? "all rows" : "differences") << "\n"
                                                 << difference(*got.tree, *want.tree);
    if (!all && !whole && !differences.empty()) ++by_differences_;
    if (all) confirmed_rows_ = list(snapshot.to_row_set());
    take(*got.tree);
    meddled_ = false;
    reader_->passed(whole ? snapshot.version() : differences.to());
  }

  /// What a pass built is on the branch: the tip itself, or the proposal for it.
  void take(const Oid& built) {
    if (!proposes_) {
      tree_ = built;
    } else if (built != tree_) {
      proposal_ = Proposal{built, true};
    }
  }
  void merge() {
    if (!proposal_ || !proposal_->on_tip) return;
    tree_ = proposal_->tree;
    proposal_->on_tip = false;
    if (chance_.one_in(2)) proposal_.reset();  // the branch goes with it
  }

  /// What the last pass wrote with the differences in it.
  inventory::RowSet rows_of_differences(const Pass& pass, const inventory::Snapshot& snapshot) {
    if (pass.changes == nullptr) return snapshot.to_row_set();
    EXPECT_TRUE(pass.changes
                    ->for_each([&](const inventory::RowChange& change) -> base::Result<> {
                      const auto key = std::pair(key_of(change.row), std::string(change.row.uid));
                      if (change.removed) {
                        confirmed_rows_.erase(key);
                      } else {
                        confirmed_rows_[key] = text_of(change.row);
                      }
                      return {};
                    })
                    .has_value());
    std::string all = "[";
    for (const auto& [key, text] : confirmed_rows_) all += (all.size() > 1 ? "," : "") + text;
    return testing::rows_of(testing::parse_json(all + "]"));
  }

  static std::string key_of(const inventory::RowView& row) {
    return fmt::format("{}/{}/{}/{}", row.target_namespace, row.target_name, row.ns, row.name);
  }
  static std::string text_of(const inventory::RowView& row) {
    std::string text;
    inventory::append_row_json(text, row);
    return text;
  }
  using Texts = std::map<std::pair<std::string, std::string>, std::string>;
  static Texts list(const inventory::RowSet& rows) {
    Texts out;
    EXPECT_TRUE(rows.for_each([&](const inventory::RowView& row) -> base::Result<> {
                      out[{key_of(row), std::string(row.uid)}] = text_of(row);
                      return {};
                    })
                    .has_value());
    return out;
  }

  /// `take`: the new objects become part of the store.
  Done with_pack(const std::function<base::Result<std::optional<Oid>>(PackWriter&)>& work,
                 bool take = true) {
    auto pack = PackWriter::create(temp_->path() / "new.pack",
                                   [&](const Oid& oid) { return store_->exists(oid); });
    EXPECT_TRUE(pack.has_value());
    const auto tree = work(*pack);
    if (!tree.has_value()) return {{}, tree.error().reason + ": " + tree.error().message};
    EXPECT_TRUE(pack->finish().has_value());
    if (take && pack->count() > 0) {
      EXPECT_TRUE(store_->take_pack(*pack).has_value());
    }
    return {*tree, ""};
  }

  /// For the eye: what the two trees do not share.
  std::string difference(const Oid& got, const Oid& want) {
    std::string out;
    const auto text = [&](const Oid& tree, const std::string& path) -> std::string {
      TreeEditor editor(*store_, tree);
      const auto oid = editor.file(path);
      if (!oid.has_value() || !*oid) return "nothing\n";
      return store_->blob(**oid).value_or("unreadable\n");
    };
    EXPECT_TRUE(for_each_difference(*store_, got, want, [&](std::string&& path) -> base::Result<> {
                  out +=
                      fmt::format("--- {}\ngot {}want {}", path, text(got, path), text(want, path));
                  return {};
                }).has_value());
    return out;
  }

  void change_row() {
    const auto owner = chance_.of<Owner>({{OwnerClass::kTarget, "x", "a"},
                                          {OwnerClass::kTarget, "x", "a"},
                                          {OwnerClass::kTarget, "x", "a"},
                                          {OwnerClass::kTarget, "y", "b"},
                                          {OwnerClass::kTarget, "y", "b"},
                                          {OwnerClass::kTarget, "y", "b"}});
    const bool twice = chance_.one_in(60);  // a cluster target of the same name
    const auto number = chance_.below(40);
    const auto uid = fmt::format("{}-{}", owner.name, number);
    if (chance_.one_in(3)) {
      rows_.remove(owner, uid);
      rows_.remove({OwnerClass::kClusterTarget, owner.ns, owner.name}, uid);
      return;
    }
    const auto ns = fmt::format("n{}", number % 3);
    auto name = fmt::format("{}{}", owner.name, number);
    if (setting_.clashes) {
      // Different objects of one name, and names that only sanitising makes equal.
      if (chance_.one_in(4)) name = fmt::format("same:{}", number % 10);
      if (chance_.one_in(9)) name = fmt::format("same-{}", number % 10);
    }
    // An object may come back under its name.
    auto given = uid + "-again";
    auto other = uid;
    if (!chance_.one_in(6)) std::swap(given, other);
    if (!setting_.clashes || !chance_.one_in(4)) rows_.remove(owner, other);
    const std::string kind = (number % 4 == 0) != chance_.one_in(50) ? "Service" : "Pod";
    // Rows that two owners have go again soon: differences do not do as long as they are there.
    if (!twice) drop_twins();
    const auto written = twice ? Owner{OwnerClass::kClusterTarget, owner.ns, owner.name} : owner;
    rows_.upsert(written, 1,
                 {owner.ns, owner.name, ns, name, kind == "Pod" ? "" : "g", "v1", kind, given,
                  attributes(kind)});
  }

  /// Documents have rows to keep, not files; an operator's pass differs from a whole export there.
  bool keeps_files() const {
    return setting_.spec.mode.value_or(LayoutMode::kDocument) != LayoutMode::kDocument;
  }

  void keep_something() {
    if (chance_.one_in(head_.keep_namespaces.empty() ? 50 : 3)) {
      head_.keep_namespaces = head_.keep_namespaces.empty() ? std::vector<std::string>{"n1"}
                                                            : std::vector<std::string>();
      known_ = false;
    }
    if (chance_.one_in(head_.keep_targets.empty() ? 50 : 3)) {
      head_.keep_targets =
          head_.keep_targets.empty() ? std::vector<std::string>{"a"} : std::vector<std::string>();
      known_ = false;
    }
  }

  void drop_twins() {
    if (!chance_.one_in(4)) return;
    for (const auto& owner : rows_.owners()) {
      if (owner.owner_class == OwnerClass::kClusterTarget) rows_.drop(owner);
    }
  }

  const std::string& attributes(const std::string& kind) {
    using Objects = Setting::Objects;
    const auto value = std::string(1 + chance_.below(chance_.one_in(8) ? 300 : 12), 'v');
    const bool object = setting_.objects == Objects::kAll
                            ? !chance_.one_in(250)
                            : setting_.objects == Objects::kSome && !chance_.one_in(4);
    room_ = object
                ? fmt::format(R"({{"a":"{}","resource":{{"apiVersion":"v1","kind":"{}","x":{}}}}})",
                              value, kind, chance_.below(100))
                : fmt::format(R"({{"a":"{}","n":{}}})", value, chance_.below(100));
    return room_;
  }

  /// Somebody else writes: over one of our files, or beside them.
  void meddle() {
    if (!tree_) return;
    TreeEditor editor(*store_, tree_);
    std::vector<std::string> files;
    ASSERT_TRUE(editor
                    .for_files_below(
                        "", [](std::string_view) { return true; },
                        [&](std::string_view path) -> base::Result<> {
                          files.emplace_back(path);
                          return {};
                        })
                    .has_value());
    const auto done = with_pack([&](PackWriter& pack) -> base::Result<std::optional<Oid>> {
      const auto path = files.empty() || chance_.one_in(2)
                            ? fmt::format("c/n1/note-{}.txt", noted_++)
                            : files[chance_.below(files.size())];
      if (!files.empty() && chance_.one_in(3)) {
        KL_TRY(editor.remove_file(files[chance_.below(files.size())]));
      } else {
        Pieces content;
        content.add(fmt::format("by hand {}\n", chance_.below(1000)));
        const auto oid = hash_object(ObjectType::kBlob, content);
        KL_TRY(pack.add(ObjectType::kBlob, oid, content));
        KL_TRY(editor.set_file(path, oid));
      }
      KL_ASSIGN(const auto root, editor.write(pack));
      return std::optional(root);
    });
    ASSERT_EQ(done.error, "");
    tree_ = done.tree;
    meddled_ = true;
    if (proposal_) proposal_->on_tip = false;
  }

  const Setting& setting_;
  Chance chance_;
  const bool proposes_;
  std::optional<Proposal> proposal_;
  std::optional<base::TempDir> temp_;
  std::optional<ObjectStore> store_;
  const base::Context context_ = base::Context::background();
  inventory::RowStore rows_;
  std::unique_ptr<inventory::Reader> reader_;
  GitSinkOptions options_;
  Export head_;
  Ledgers ledgers_;
  std::optional<Oid> tree_;  ///< of the tip
  Texts confirmed_rows_;
  bool known_ = false;
  bool meddled_ = false;
  std::string room_;
  std::size_t noted_ = 0;
  std::size_t by_differences_ = 0;
  std::size_t failed_ = 0;
  std::map<std::string, std::size_t> reasons_;  ///< of whole passes in place of differences
};

class PassModel : public ::testing::TestWithParam<Setting> {};

TEST_P(PassModel, DifferencesGiveTheBytesOfAWholeExport) {
  std::size_t by_differences = 0;
  std::size_t failed = 0;
  std::map<std::string, std::size_t> reasons;
  const bool tree = GetParam().spec.mode && GetParam().spec.mode != LayoutMode::kDocument;
  const int steps = tree ? 80 : 20;
  for (unsigned seed = 1; seed <= 2 && !HasFatalFailure(); ++seed) {
    Model model(GetParam(), seed);
    for (int step = 0; step < steps && !HasFatalFailure(); ++step) {
      SCOPED_TRACE(fmt::format("seed {} step {} rows {}", seed, step, model.rows()));
      model.step();
    }
    by_differences += model.by_differences();
    failed += model.failed();
    for (const auto& [why, count] : model.reasons()) reasons[why] += count;
  }
  if (!tree) return;
  std::string told;
  for (const auto& [why, count] : reasons) told += fmt::format("{}: {}\n", why, count);
  EXPECT_GT(by_differences, GetParam().clashes ? 3U : 30U)
      << failed << " passes failed; whole passes for these reasons:\n"
      << told;
}

TEST_P(PassModel, ProposalsGiveTheBytesOfAWholeExportOnTheTip) {
  const bool tree = GetParam().spec.mode && GetParam().spec.mode != LayoutMode::kDocument;
  const int steps = tree ? 80 : 20;
  Model model(GetParam(), 3, true);
  for (int step = 0; step < steps && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(fmt::format("step {} rows {}", step, model.rows()));
    model.step();
  }
  if (!tree) return;
  std::string told;
  for (const auto& [why, count] : model.reasons()) told += fmt::format("{}: {}\n", why, count);
  EXPECT_GT(model.by_differences(), GetParam().clashes ? 0U : 8U) << told;
}

INSTANTIATE_TEST_SUITE_P(Git, PassModel, ::testing::ValuesIn(settings()), [](const auto& one) {
  auto name = one.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace kollect::sinks::git
