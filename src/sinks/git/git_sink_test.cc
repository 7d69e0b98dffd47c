// Exports into a repository on disk (spec: sinks 7; field-push-races,
// field-recreated-under-the-same-name).
#include <gmock/gmock.h>
#include "base/strings.h"
#include "sinks/git/git_fixture.h"
#include "sinks/git/mirror.h"

namespace kollect::sinks::git {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class GitSink : public GitFixture {
 protected:
  void tree() { spec_.layout.emplace().mode = "perResource"; }

  void replay(const std::string& name) {
    const auto history = read_case("git/" + name);
    auto decoded = sink_of(*history.find("sink")).spec;
    decoded.endpoint = spec_.endpoint;
    spec_ = decoded;
    int minute = 0;
    for (const auto& step : history.find("steps")->as_array()) {
      const auto rows = rows_of(*step.find("rows"));
      auto exp = export_of(history, rows);
      exp.exported_at = time_of("2026-02-03T04:05:06Z") + std::chrono::minutes(minute++);
      must_run({exp});
      std::vector<std::string> files;
      for (const auto& path : listing()) {
        if (!path.ends_with(".manifest.json")) files.push_back(path);  // [+] of 5.3
      }
      const auto note = std::string(step.text("note"));
      EXPECT_EQ(files, texts_of(*step.find("files"))) << note;
      EXPECT_EQ(std::to_string(commits()), step.text("commits")) << note;
      EXPECT_EQ(base::trim(in_repo({"log", "-1", "--format=%s", "main"})),
                step.text("lastSubject"));
      EXPECT_EQ(base::trim(in_repo({"log", "-1", "--format=%an <%ae>", "main"})),
                step.text("lastAuthor"));
      EXPECT_EQ(rows.checksum(), step.text("checksum"));
    }
    in_repo({"fsck", "--strict"});
  }
};

TEST_F(GitSink, HistoryOfADocument) {
  replay("history-document.json");
  const auto trailers = in_repo({"log", "-1", "--format=%(trailers)", "main"});
  EXPECT_THAT(trailers, HasSubstr("Kollect-Checksum: "));  // K-31
}

TEST_F(GitSink, HistoryOfATree) {
  replay("history-per-resource.json");
}

TEST_F(GitSink, NoCommitWhenOnlyTheTimeDiffers) {
  const auto rows = pods({{"n", "a"}});
  for (const char* format : {"json", "yaml", "ndjson"}) {
    for (const char* mode : {"document", "perResource", "split"}) {
      spec_.serialization.emplace().format = format;
      spec_.layout.emplace().mode = mode;
      auto exp = plain_export(rows);
      must_run({exp});
      const int before = commits();
      exp.exported_at += std::chrono::hours(1);
      const auto report = must_run({exp});
      EXPECT_EQ(commits(), before) << format << mode;
      EXPECT_EQ(report.written, 0U);
      EXPECT_GT(report.unchanged, 0U);
    }
  }
}

TEST_F(GitSink, K28ChangedLayoutReachesTheRepository) {
  const auto rows = pods({{"n", "a"}});
  tree();
  must_run({plain_export(rows)});
  spec_.layout->content = "attributes";
  must_run({plain_export(rows)});
  EXPECT_EQ(show("c/n/pod/a.yaml"), "v: \"1\"\n");
  human("c/n/pod/a.yaml", "damaged\n");
  must_run({plain_export(rows)});
  EXPECT_EQ(show("c/n/pod/a.yaml"), "v: \"1\"\n");
}

TEST_F(GitSink, K32PruneByOwnership) {
  const auto rows = pods({{"n", "a"}, {"n", "b"}, {"m", "c"}});
  tree();
  must_run({plain_export(rows, "one")});
  human("c/n/pod/theirs.yaml", "kept: true\n");
  human("c/m/pod/notes.txt", "kept\n");
  const auto others = pods({{"n", "z"}});
  must_run({plain_export(others, "two")});
  const auto fewer = pods({{"n", "a"}});
  const auto report = must_run({plain_export(fewer, "one")});
  EXPECT_EQ(report.removed, 2U);
  EXPECT_THAT(listing(), ElementsAre("c/m/pod/notes.txt", "c/n/pod/a.yaml", "c/n/pod/theirs.yaml",
                                     "c/n/pod/z.yaml", "inventory/x/one.manifest.json",
                                     "inventory/x/two.manifest.json"));
  inventory::RowSet none;
  none.seal();
  auto exp = plain_export(none, "one");
  must_run({exp});  // rows by themselves decide "document" for nothing; the tree mode is explicit
  EXPECT_THAT(listing(), Not(Contains("c/n/pod/a.yaml")));  // the last file of the folder goes too
  EXPECT_THAT(listing(), Contains("c/n/pod/z.yaml"));
}

TEST_F(GitSink, TwoClustersWithOneInventoryDoNotPruneEachOther) {
  const auto rows = pods({{"n", "a"}, {"n", "b"}});
  const auto fewer = pods({{"n", "a"}});
  tree();
  for (const auto* set : {&rows, &fewer}) {
    for (const char* cluster : {"c", "d"}) {
      auto exp = plain_export(*set);
      exp.cluster = cluster;
      must_run({exp});
    }
  }
  EXPECT_THAT(listing(),
              ElementsAre("c/n/pod/a.yaml", "d/n/pod/a.yaml", "inventory/d/x/t.manifest.json",
                          "inventory/x/t.manifest.json"));
}

TEST_F(GitSink, ARepositoryWithoutManifestIsRecognised) {
  const auto rows = pods({{"n", "a"}, {"n", "b"}});
  tree();
  must_run({plain_export(rows)});
  const auto work = temp_->path() / "work";
  git({"clone", "--quiet", repository_.string(), work.string()});
  git({"-C", work.string(), "rm", "--quiet", "-r", "inventory"});
  std::ofstream(work / "c/n/pod/human.yaml") << "kind: Pod\nname: human\n";
  git({"-C", work.string(), "add", "-A"});
  git({"-C", work.string(), "commit", "--quiet", "-m", "no manifest"});
  git({"-C", work.string(), "push", "--quiet", "origin", "HEAD:main"});
  const auto fewer = pods({{"n", "a"}});
  must_run({plain_export(fewer)});
  EXPECT_THAT(listing(),
              ElementsAre("c/n/pod/a.yaml", "c/n/pod/human.yaml", "inventory/x/t.manifest.json"));
}

TEST_F(GitSink, P9FilesOfUnreadNamespacesStay) {
  const auto rows = pods({{"lab", "a"}, {"shop", "b"}, {"shop", "c"}});
  tree();
  must_run({plain_export(rows)});
  const auto readable = pods({{"shop", "b"}});
  auto exp = plain_export(readable);
  exp.keep_namespaces = {"lab"};
  must_run({exp});
  EXPECT_THAT(listing(),
              ElementsAre("c/lab/pod/a.yaml", "c/shop/pod/b.yaml", "inventory/x/t.manifest.json"));
  exp.keep_namespaces.clear();
  must_run({exp});
  EXPECT_THAT(listing(), ElementsAre("c/shop/pod/b.yaml", "inventory/x/t.manifest.json"));
}

// What a target that cannot be read had exported is not deleted on its account.
TEST_F(GitSink, X9FilesOfUnreadTargetsStay) {
  const auto two = [](bool second) {
    inventory::RowSet rows;
    const std::string object =
        R"({"resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}})";
    rows.add({"x", "t", "n", "a", "", "v1", "Pod", "u1", object});
    if (second) {
      rows.add({"x", "t", "n", "b", "", "v1", "Pod", "u2", object});
      rows.add({"x", "dark", "n", "c", "", "v1", "Pod", "u3", object});
    }
    rows.seal();
    return rows;
  };
  const auto both = two(true);
  const auto readable = two(false);
  tree();
  const auto files = [&](const char* content, const char* row_template) {
    spec_.layout->content = content;
    spec_.layout->path_template = row_template;
    auto exp = plain_export(both);
    exp.resource_key = "resource";
    must_run({exp});
    exp.rows = &readable;
    exp.keep_targets = {"dark"};
    must_run({exp});
    auto out = listing();
    std::erase_if(out, [](const auto& path) { return path.ends_with(".manifest.json"); });
    for (auto& path : out) path = fs::path(path).stem();
    exp.keep_targets.clear();
    must_run({exp});
    EXPECT_EQ(listing().size(), 2U);
    return out;
  };
  EXPECT_THAT(files("item", ""), ElementsAre("a", "c"));
  EXPECT_THAT(files("manifest", "{targetName}/{sourceName}{extension}"),
              ::testing::UnorderedElementsAre("a", "c"));
  // Neither the text nor the path tells the target: everything stays until all can be read.
  EXPECT_THAT(files("manifest", ""), ElementsAre("a", "b", "c"));
}

// The same where all rows are in one document: an operator writes them again.
TEST_F(GitSink, X9RowsOfUnreadTargetsStayInDocuments) {
  using inventory::Owner;
  using inventory::OwnerClass;
  for (const char* format : {"yaml", "json", "ndjson"}) {
    SCOPED_TRACE(format);
    spec_.serialization.emplace().format = format;
    inventory::RowStore store;
    const auto reader = store.subscribe([](const Owner&) { return true; });
    const auto put = [&](const std::string& target, const std::string& name) {
      const auto attributes =
          fmt::format(R"({{"big":9007199254740993,"v":"{}: x","yes":"no"}})", name);
      store.upsert({OwnerClass::kTarget, "x", target}, 1,
                   {"x", target, "n", name, "", "v1", "Pod", "u-" + name, attributes});
    };
    const auto writer = sink();
    Export head;
    head.inventory = {"x", "t"};
    head.cluster = "c";
    head.exported_at = time_of("2026-02-03T04:05:06Z");
    head.max_bytes = 500;  // the rows are in several parts
    const auto names = [&] {
      const auto rows = reader->snapshot();
      const Pass pass{.head = head,
                      .rows = &rows,
                      .changes = nullptr,
                      .row_count = rows.size(),
                      .set_hash = rows.set_hash()};
      const auto report = writer->apply(base::Context::background(), pass);
      EXPECT_TRUE(report.has_value()) << report.error().message;
      std::string all;
      for (const auto& path : listing()) {
        if (path.ends_with(format)) all += show(path);
      }
      std::vector<std::string> out;
      for (const char* name : {"aa", "bb", "cc", "dd", "ee"}) {
        if (all.find(fmt::format("u-{}", name)) != std::string::npos) out.emplace_back(name);
        if (all.find(fmt::format("{}: x", name)) != std::string::npos) {
          EXPECT_THAT(all, HasSubstr("9007199254740993"));
        }
      }
      return out;
    };
    for (const char* name : {"aa", "bb"}) put("light", name);
    for (const char* name : {"cc", "dd"}) put("dark", name);
    EXPECT_THAT(names(), ElementsAre("aa", "bb", "cc", "dd"));
    const auto whole = in_repo({"rev-parse", "main^{tree}"});
    // A start at which "dark" cannot be read: its rows are not in the store.
    store.drop({OwnerClass::kTarget, "x", "dark"});
    head.keep_targets = {"dark"};
    EXPECT_THAT(names(), ElementsAre("aa", "bb", "cc", "dd"));
    EXPECT_EQ(in_repo({"rev-parse", "main^{tree}"}), whole);
    store.remove({OwnerClass::kTarget, "x", "light"}, "u-bb");
    put("light", "ee");
    EXPECT_THAT(names(), ElementsAre("aa", "cc", "dd", "ee"));
    head.keep_targets.clear();
    EXPECT_THAT(names(), ElementsAre("aa", "ee"));
    in_repo({"update-ref", "-d", "refs/heads/main"});
  }
}

TEST_F(GitSink, L64OneCommitForAllExports) {
  const auto rows = pods({{"n", "a"}});
  const auto more = pods({{"n", "a"}, {"n", "b"}});
  must_run({plain_export(rows, "a"), plain_export(more, "b")});
  EXPECT_EQ(commits(), 1);
  EXPECT_THAT(in_repo({"log", "-1", "--format=%s", "main"}),
              HasSubstr("chore(c/x/a,b): export 3 items @ "));
  EXPECT_THAT(listing(), ElementsAre("inventory/x/a.yaml", "inventory/x/b.yaml"));
}

TEST_F(GitSink, K9AndK10PartsInOneCommit) {
  const auto rows = named_rows("bulk-a");
  auto exp = plain_export(rows);
  exp.max_bytes = 1200;
  must_run({exp});
  EXPECT_EQ(commits(), 1);
  EXPECT_EQ(listing().size(), 3U);
  exp.max_bytes = 0;
  must_run({exp});
  EXPECT_EQ(commits(), 2);
  EXPECT_THAT(listing(), ElementsAre("inventory/x/t.yaml"));
}

// Whatever the numbering was before: the tree of a commit is the set that its manifest names.
TEST_F(GitSink, K10EverySplitSetPassesTheConsumersCheck) {
  spec_.layout.emplace().mode = "split";
  const auto rows = named_rows("bulk-a");
  auto exp = plain_export(rows);
  for (const std::size_t ceiling : {1200U, 0U, 700U, 1200U}) {
    exp.max_bytes = ceiling;
    ++exp.generation;
    must_run({exp});
    const auto manifest = parse_json(show("inventory/x/t.manifest.json"));
    const auto check = check_set(manifest, listing(), exp.generation);
    EXPECT_TRUE(check.complete()) << ceiling;
    EXPECT_THAT(check.missing, ElementsAre());
    EXPECT_THAT(check.stale, ElementsAre());
  }
  EXPECT_EQ(commits(), 4);
}

TEST_F(GitSink, DryRunComparesAndWritesNothing) {
  using What = ExportReport::Change::What;
  const auto rows = pods({{"n", "a"}, {"n", "b"}});
  tree();
  must_run({plain_export(rows)});
  const auto fewer = pods({{"n", "a"}, {"n", "c"}});
  const auto report = must_run({plain_export(fewer)}, true);
  std::map<std::string, What> changes;
  for (const auto& change : report.changes) changes[change.path] = change.what;
  EXPECT_EQ(changes.at("c/n/pod/a.yaml"), What::kUnchanged);
  EXPECT_EQ(changes.at("c/n/pod/b.yaml"), What::kRemove);
  EXPECT_EQ(changes.at("c/n/pod/c.yaml"), What::kCreate);
  EXPECT_EQ(changes.at("inventory/x/t.manifest.json"), What::kUpdate);
  EXPECT_EQ(commits(), 1);
}

TEST_F(GitSink, BranchByFragmentAndOtherBranchesUntouched) {
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  spec_.endpoint += "#branch=dev/x";
  must_run({plain_export(rows)});
  EXPECT_EQ(in_repo({"rev-list", "--count", "dev/x"}), "1\n");
  EXPECT_EQ(commits(), 1);
}

TEST_F(GitSink, AFileInPlaceOfAFolderIsAClearError) {
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  human("c", "a file\n");
  tree();
  const auto report = run({plain_export(rows)});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "path-taken");
}

// field-recreated-under-the-same-name, variants C and D
TEST_F(GitSink, ARecreatedObjectIsNeverMissing) {
  const auto row = [](const char* uid, const char* value) {
    inventory::RowSet rows;
    rows.add(
        {"x", "t", "n", "job", "batch", "v1", "Job", uid, fmt::format(R"({{"v":"{}"}})", value)});
    rows.seal();
    return rows;
  };
  tree();
  const auto old_row = row("u1", "old");
  const auto new_row = row("u2", "new");
  must_run({plain_export(old_row)});
  must_run({plain_export(new_row)});
  EXPECT_THAT(show("c/n/job/job.yaml"), HasSubstr("new"));
  EXPECT_EQ(in_repo({"log", "--diff-filter=D", "--format=%h", "main", "--", "c/n/job/job.yaml"}),
            "");
}

TEST_F(GitSink, ForcePushDoesNotLoseWhatOthersDid) {  // K-29
  spec_.git->push_policy = "ForcePush";
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  human("README", "by hand\n");
  const auto changed = pods({{"n", "a"}}, "2");
  must_run({plain_export(changed)});
  EXPECT_THAT(listing(), Contains("README"));
  EXPECT_EQ(commits(), 3);
}

// field-push-races: protected
TEST_F(GitSink, APermanentRefusalIsTerminalAfterFewTries) {
  hook("pre-receive", "echo x >>\"" + (temp_->path() / "tries").string() +
                          "\"\necho 'branch is protected' >&2\nexit 1\n");
  const auto rows = pods({{"n", "a"}});
  const auto report = run({plain_export(rows)});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kTerminal) << report.error().message;
  EXPECT_THAT(report.error().message, HasSubstr("branch is protected"));
  EXPECT_LE(read_text(temp_->path() / "tries").size(), 6U);
}

TEST_F(GitSink, ALostRaceIsBuiltAnewOnTheNewTip) {
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  human("README", "1\n");
  // The first push meets a branch that moves under it; git itself says so.
  const auto flag = (temp_->path() / "raced").string();
  hook("pre-receive",
       "test -e '" + flag + "' && exit 0\ntouch '" + flag +
           "'\nwhile read old new ref; do\n"
           "unset GIT_QUARANTINE_PATH\n"
           "other=$(echo other | GIT_AUTHOR_NAME=h GIT_AUTHOR_EMAIL=h GIT_COMMITTER_NAME=h "
           "GIT_COMMITTER_EMAIL=h git commit-tree -p $old $old^{tree})\n"
           "cp -r \"$GIT_OBJECT_DIRECTORY\"/* objects/ 2>/dev/null\n"
           "git update-ref $ref $other\ndone\nexit 0\n");
  const auto changed = pods({{"n", "a"}}, "2");
  must_run({plain_export(changed)});
  EXPECT_TRUE(fs::exists(flag));
  EXPECT_EQ(commits(), 4);
  EXPECT_THAT(listing(), Contains("README"));
  EXPECT_THAT(show("inventory/x/t.yaml"), HasSubstr("v: \"2\""));
}

TEST_F(GitSink, ALockThatNobodyReleasesIsNamed) {
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  const auto lock = repository_ / "refs/heads/main.lock";
  std::ofstream(lock) << "";  // of a writer that died
  const auto changed = pods({{"n", "a"}}, "2");
  const base::ManualClock clock;  // its pauses between the tries do not wait
  const auto report = sink()->export_all(base::Context(clock, {}), {plain_export(changed)}, false);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "push-locked");
  EXPECT_THAT(report.error().message, HasSubstr("refs/heads/main.lock"));
  fs::remove(lock);
  must_run({plain_export(changed)});
  EXPECT_THAT(show("inventory/x/t.yaml"), HasSubstr("v: \"2\""));
}

TEST_F(GitSink, MirrorsDamagedOrHalfFinishedAreThrownAway) {  // K-27
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  const auto key = Mirror::key(repository_.string(), "main");
  const auto folder = options_.mirror_dir / key;
  const auto damage = [&](const std::function<void()>& how, const std::string& value) {
    how();
    const auto changed = pods({{"n", "a"}}, value);
    must_run({plain_export(changed)});
    EXPECT_THAT(show("inventory/x/t.yaml"), HasSubstr("v: \"" + value + "\""));
  };
  damage([&] { fs::remove(folder / "HEAD"); }, "2");
  damage([&] { fs::remove_all(folder / "objects"); }, "3");
  damage([&] { std::ofstream(folder / "shallow.lock") << ""; }, "4");
  damage(
      [&] {
        fs::remove_all(folder);
        std::ofstream(folder.string()) << "";
      },
      "5");
  damage(
      [&] {
        fs::remove_all(options_.mirror_dir);
        std::ofstream(options_.mirror_dir.string()) << "";
      },
      "6");
  damage([&] { std::ofstream(folder.string() + ".busy") << ""; }, "7");
  for (const auto& entry : fs::directory_iterator(folder / "objects" / "pack")) {
    if (entry.path().extension() == ".pack") {
      fs::permissions(entry.path(), fs::perms(0644));
      fs::resize_file(entry.path(), 40);
    }
  }
  damage([] {}, "8");
}

TEST_F(GitSink, NoSuchRepositoryIsSaidAtOnce) {
  spec_.endpoint = (temp_->path() / "nowhere.git").string();
  const auto rows = pods({{"n", "a"}});
  const auto report = run({plain_export(rows)});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kNotFound) << report.error().message;
  EXPECT_FALSE(sink()->probe(base::Context::background()).has_value());
}

TEST_F(GitSink, K13ExistingMakesNoBranch) {
  spec_.provisioning.emplace().mode = "existing";
  const auto rows = pods({{"n", "a"}});
  const auto is_missing = [&](const base::Error& error) {
    EXPECT_EQ(error.kind, base::ErrorKind::kTerminal);
    EXPECT_EQ(error.reason, "branch-missing");
    EXPECT_THAT(error.message, ::testing::HasSubstr("no branch main"));
    EXPECT_THAT(error.message, ::testing::HasSubstr("repo.git"));
  };
  const auto probed = [&] { return sink()->probe(base::Context::background()); };
  const auto branches = [&] { return in_repo({"branch", "--list"}); };
  auto report = run({plain_export(rows)});
  ASSERT_FALSE(report.has_value());
  is_missing(report.error());
  is_missing(probed().error());
  EXPECT_EQ(branches(), "");
  spec_.provisioning->mode = "ensure";
  EXPECT_TRUE(probed().has_value());
  must_run({plain_export(rows)});
  spec_.provisioning->mode = "existing";
  EXPECT_TRUE(probed().has_value());
  const auto more = pods({{"n", "a"}, {"n", "b"}});
  EXPECT_EQ(must_run({plain_export(more)}).written, 1U);
  // Neither does a sink that remembers the branch bring it back.
  const auto kept = sink();
  ASSERT_TRUE(kept->export_all(base::Context::background(), {plain_export(rows)}, false));
  in_repo({"update-ref", "-d", "refs/heads/main"});
  report = kept->export_all(base::Context::background(), {plain_export(more)}, false);
  ASSERT_FALSE(report.has_value());
  is_missing(report.error());
  EXPECT_EQ(branches(), "");
}

TEST(GitMirrors, PlacesAndTheirRights) {
  auto temp = base::TempDir::create();
  ASSERT_TRUE(temp.has_value());
  const auto open_place = temp->path() / "open";
  fs::create_directory(open_place);
  fs::permissions(open_place, fs::perms(0777));
  const auto none = [](const char*) { return std::optional<std::string>(); };
  EXPECT_FALSE(mirror_root(open_place, none).has_value());
  const auto by_variable = [&](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "KOLLECT_GIT_MIRROR_DIR") return open_place.string();
    return {};
  };
  EXPECT_FALSE(mirror_root({}, by_variable).has_value());
  fs::create_directories(temp->path() / "home/.cache/kollect/git-mirrors");
  fs::permissions(temp->path() / "home/.cache/kollect/git-mirrors", fs::perms(0777));
  const auto by_home = [&](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "HOME") return (temp->path() / "home").string();
    if (std::string_view(name) == "TMPDIR") return temp->path().string();
    return {};
  };
  EXPECT_EQ(mirror_root({}, by_home)->string(), (temp->path() / "kollect-git-mirrors").string());
  fs::create_symlink(temp->path(), temp->path() / "link");
  EXPECT_FALSE(mirror_root(temp->path() / "link", none).has_value());
}

TEST(GitMirrors, UnusedForTwoDaysAreRemoved) {
  auto temp = base::TempDir::create();
  ASSERT_TRUE(temp.has_value());
  base::ManualClock clock(
      std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now()));
  const base::Context context(clock, {});
  for (const char* key : {"a", "b"}) {
    auto mirror = Mirror::open(context, temp->path(), key);
    ASSERT_TRUE(mirror.has_value());
    fs::create_directory(mirror->git_dir());
    mirror->finish();
  }
  clock.advance(std::chrono::hours(49));
  ASSERT_TRUE(Mirror::open(context, temp->path(), "b").has_value());
  EXPECT_FALSE(fs::exists(temp->path() / "a"));
  EXPECT_FALSE(fs::exists(temp->path() / "a.lock"));
  EXPECT_TRUE(fs::exists(temp->path() / "b"));
}

}  // namespace
}  // namespace kollect::sinks::git
