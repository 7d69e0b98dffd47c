// Random passes of an operator with everything that happens to a repository in between: refused
// pushes, other writers (also in the middle of a push), lost and damaged mirrors, restarts, a
// rewound branch. After every pass that says it is done the branch holds exactly the rows, and what
// others wrote beside them (spec: sinks 7; field-push-races,
// field-backend-crash-between-two-steps).
#include <gmock/gmock.h>

#include <random>

#include "sinks/git/git_fixture.h"
#include "sinks/git/mirror.h"
#include "sinks/git/pack_writer.h"

namespace kollect::sinks::git {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using inventory::Owner;
using inventory::OwnerClass;
namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;  ///< by path, the name of the content

std::string name_of(const std::string& text) {
  Pieces content;
  content.add(text);
  return hash_object(ObjectType::kBlob, content).hex();
}

/// Without the line that tells a time.
std::string timeless(const std::string& text) {
  std::string out;
  for (const auto line : base::split(text, '\n')) {
    if (line.find("exportedAt") == std::string_view::npos) out += std::string(line) + "\n";
  }
  return out;
}

class GitFaults : public GitFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  GitFaults() : random_(static_cast<unsigned>(std::string_view(GetParam()).size())) {
    spec_.layout.emplace().mode = GetParam();
    spec_.layout->content = "item";
    head_.inventory = {"x", "t"};
    head_.cluster = "c";
    head_.generation = 1;
    head_.exported_at = time_of("2026-02-03T04:05:06Z");
    head_.max_bytes = 0;
    reader_ = store_.subscribe([](const Owner&) { return true; });
    sink_ = sink();
  }

  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }

  // The rows.
  void change_row() {
    const auto number = below(50);
    const auto uid = fmt::format("u{}", number);
    const Owner owner{OwnerClass::kTarget, "x", number % 2 == 0 ? "a" : "b"};
    if (one_in(3)) {
      store_.remove(owner, uid);
      return;
    }
    const auto ns = fmt::format("n{}", number % 4);
    const auto name = fmt::format("pod-{}", number);
    const auto attributes = fmt::format(R"({{"v":"{}"}})", below(1000));
    store_.upsert(owner, 1, {owner.ns, owner.name, ns, name, "", "v1", "Pod", uid, attributes});
  }

  // The branch.
  Files branch() const {
    Files out;
    if (!exists()) return out;
    const auto listed = in_repo({"ls-tree", "-r", "main"});
    for (const auto line : base::split(listed, '\n')) {
      const auto tab = line.find('\t');
      if (tab == std::string_view::npos) continue;
      out[std::string(line.substr(tab + 1))] = line.substr(tab - 40, 40);
    }
    return out;
  }
  bool exists() const { return fs::exists(repository_ / "refs/heads/main"); }
  std::string tip() const { return std::string(base::trim(in_repo({"rev-parse", "main"}))); }
  static bool is_ours(const std::string& path) {
    return (path.starts_with("c/") && path.find("/note-") == std::string::npos) ||
           path.starts_with("inventory/x/t.") || path.starts_with("inventory/x/t/");
  }
  Files others() const {
    auto out = branch();
    std::erase_if(out, [](const auto& file) { return is_ours(file.first); });
    return out;
  }

  /// Somebody's commit on `branch`, on top of main.
  void commit(const std::string& branch, const std::vector<std::string>& edits) {
    base::Command import;
    import.program = "git";
    import.args = {"--git-dir", repository_.string(), "fast-import", "--quiet", "--force"};
    import.env = {
        {"PATH", "/usr/bin:/bin"}, {"GIT_CONFIG_NOSYSTEM", "1"}, {"HOME", "/nonexistent"}};
    import.stdin_text =
        fmt::format("commit refs/heads/{}\ncommitter h <h@h> {} +0000\ndata 2\nby\n", branch,
                    1'700'000'000 + commits_made_++);
    if (exists()) import.stdin_text += fmt::format("from {}\n", tip());
    for (const auto& edit : edits) import.stdin_text += edit;
    const auto done = base::run(base::Context::background(), import);
    ASSERT_TRUE(done.has_value() && done->exit_code == 0) << (done ? done->err : "");
  }
  std::vector<std::string> some_edits() {
    std::vector<std::string> out;
    const auto write = [&](const std::string& path) {
      const auto text = fmt::format("by hand {}\n", below(100000));
      out.push_back(fmt::format("M 100644 inline {}\ndata {}\n{}\n", path, text.size(), text));
    };
    std::vector<std::string> ours;
    for (const auto& [path, name] : branch()) {
      if (is_ours(path)) ours.push_back(path);
    }
    switch (below(ours.empty() ? 3 : 6)) {
      case 0:
        write("README");
        break;
      case 1:
        write(fmt::format("d/n{}/pod/pod-{}.yaml", below(4), below(9)));  // another cluster
        break;
      case 2:
        write(fmt::format("c/n{}/pod/note-{}.yaml", below(4), below(5)));  // beside our files
        break;
      case 3:
        write(ours[below(ours.size())]);
        break;
      case 4:
        out.push_back(fmt::format("D {}\n", ours[below(ours.size())]));
        break;
      default:
        write(ours[below(ours.size())]);
        out.push_back(fmt::format("D {}\n", ours[below(ours.size())]));
    }
    return out;
  }

  // What goes wrong. Each may come before or during a pass.
  void fault() {
    switch (below(7)) {
      case 0:
        ++happened_["refused"];
        hook("pre-receive", "exit 1\n");
        return;
      case 1:
        ++happened_["writer"];
        commit("main", some_edits());
        return;
      case 2: {
        if (!exists()) return;
        // The other writer is there first, while our push is on its way.
        ++happened_["race"];
        commit("theirs", some_edits());
        const auto flag = (temp_->path() / fmt::format("raced-{}", commits_made_)).string();
        hook("pre-receive", "test -e '" + flag + "' && exit 0\ntouch '" + flag +
                                "'\nunset GIT_QUARANTINE_PATH\n"
                                "git update-ref refs/heads/main refs/heads/theirs\nexit 0\n");
        return;
      }
      case 3:
        ++happened_["mirror lost"];
        fs::remove_all(options_.mirror_dir);
        return;
      case 4:
        ++happened_["mirror damaged"];
        damage_mirror();
        return;
      case 5:
        ++happened_["restart"];
        sink_ = sink();
        differences_ = false;
        return;
      default:
        if (!exists() || commits() < 4) return;
        ++happened_["rewound"];
        in_repo({"update-ref", "refs/heads/main", "main~2"});
    }
  }
  void damage_mirror() {
    const auto folder = options_.mirror_dir / Mirror::key(repository_.string(), "main");
    if (!fs::exists(folder / "objects/pack")) return;
    if (one_in(2)) {
      std::ofstream(folder.string() + ".busy") << "";
      return;
    }
    for (const auto& entry : fs::directory_iterator(folder / "objects/pack")) {
      if (entry.path().extension() != ".pack") continue;
      fs::permissions(entry.path(), fs::perms(0644));
      fs::resize_file(entry.path(), 40);
    }
  }

  /// A pass as the operator's exporter makes them.
  void pass() {
    const auto changes = reader_->changes();
    const auto rows = reader_->snapshot();
    head_.exported_at += std::chrono::seconds(1);
    const bool whole = !differences_ || one_in(8);
    const Pass pass{.head = head_,
                    .rows = &rows,
                    .changes = whole ? nullptr : &changes,
                    .row_count = rows.size(),
                    .set_hash = rows.set_hash()};
    const bool refused = fs::exists(repository_ / "hooks/pre-receive");
    const auto report = sink_->apply(base::Context::background(), pass);
    std::error_code error;
    fs::remove(repository_ / "hooks/pre-receive", error);
    if (!report.has_value()) {
      // A lost or damaged mirror is no reason to fail, nor are other writers.
      EXPECT_TRUE(refused) << report.error().message;
      ++failed_;
      differences_ = false;
      return;
    }
    ++done_;
    // Equal rows are taken for equal files; what others did to them meanwhile, a refresh puts
    // right.
    const bool looked = whole || pass.set_hash != confirmed_;
    if (!whole) ++by_differences_;
    reader_->passed(whole ? rows.version() : changes.to());
    differences_ = true;
    confirmed_ = pass.set_hash;
    if (looked) check(rows);
  }

  void check(const inventory::Snapshot& rows) {
    const auto set = rows.to_row_set();
    auto exp = head_;
    exp.rows = &set;
    Files want;
    std::map<std::string, std::string> timed;
    ASSERT_TRUE(render(exp, *layout_spec(spec_), [&](File&& file) -> base::Result<> {
                  KL_ASSIGN(const auto text, file.text());
                  if (file.timed) timed[file.path] = text;
                  want[file.path] = name_of(text);
                  return {};
                }).has_value());
    auto got = branch();
    std::erase_if(got, [](const auto& file) { return !is_ours(file.first); });
    for (const auto& [path, text] : timed) {
      ASSERT_TRUE(got.contains(path)) << path;
      EXPECT_EQ(timeless(show(path)), timeless(text)) << path;
      got.erase(path);
      want.erase(path);
    }
    ASSERT_EQ(got, want);
  }

  std::mt19937 random_;
  inventory::RowStore store_;
  std::unique_ptr<inventory::Reader> reader_;
  Export head_;
  std::unique_ptr<Sink> sink_;
  bool differences_ = false;  ///< the branch is known to hold what reader_ has passed
  std::string confirmed_;
  int commits_made_ = 0;
  int done_ = 0;
  int failed_ = 0;
  int by_differences_ = 0;
  std::map<std::string, int> happened_;
};

TEST_P(GitFaults, TheBranchEndsWithTheRows) {
  const int steps = std::string_view(GetParam()) == "perResource" ? 150 : 50;
  for (int step = 0; step < steps && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    for (std::size_t i = below(4); i > 0; --i) change_row();
    for (std::size_t i = one_in(2) ? 1 + below(2) : 0; i > 0; --i) fault();
    const auto before = others();
    const bool race = fs::exists(repository_ / "hooks/pre-receive");
    pass();
    if (!race) {
      EXPECT_EQ(others(), before);
    }
  }
  change_row();
  differences_ = false;
  const int failed = failed_;
  pass();
  EXPECT_EQ(failed_, failed) << "nothing is wrong any more";
  check(reader_->snapshot());
  in_repo({"fsck", "--strict", "--no-dangling"});
  for (const char* what :
       {"refused", "writer", "race", "mirror lost", "mirror damaged", "restart", "rewound"}) {
    EXPECT_GT(happened_[what], 0) << what;
  }
  EXPECT_GT(failed_, 0);
  EXPECT_GT(by_differences_, steps / 5);
  EXPECT_GT(done_, steps / 2);
}

INSTANTIATE_TEST_SUITE_P(Layouts, GitFaults, ::testing::Values("perResource", "split", "document"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace kollect::sinks::git
