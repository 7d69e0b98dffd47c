// The local folder (spec: sinks 15, pipeline 8.1; field-backend-crash-between-two-steps).
#include "sinks/files/files_sink.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "base/files.h"
#include "sinks/files/folder_manifest.h"
#include "sinks/testing.h"

namespace kollect::sinks {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class FilesSink : public ::testing::Test {
 protected:
  FilesSink() {
    auto made = base::TempDir::create();
    EXPECT_TRUE(made.has_value());
    temp_.emplace(std::move(*made));
    options_.folder = temp_->path() / "out";
  }

  base::Result<ExportReport> run(const std::vector<Export>& exports, bool dry_run = false) {
    return make_files_sink(options_)->export_all(base::Context::background(), exports, dry_run);
  }
  ExportReport must_run(const std::vector<Export>& exports, bool dry_run = false) {
    auto report = run(exports, dry_run);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report.has_value() ? *report : ExportReport{};
  }
  std::vector<std::string> listing() const {
    std::vector<std::string> out;
    for (const auto& [path, text] : files_below(options_.folder)) {
      if (path != kFolderManifest) out.push_back(path);
    }
    return out;
  }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((options_.folder / path).parent_path());
    std::ofstream(options_.folder / path) << text;
  }

  std::optional<base::TempDir> temp_;
  FilesSinkOptions options_;
};

TEST_F(FilesSink, K13ExistingMakesNoFolder) {
  options_.ensure = false;
  const auto rows = pods({{"n", "a"}});
  const auto probed = [&] { return make_files_sink(options_)->probe(base::Context::background()); };
  for (const bool dry_run : {false, true}) {
    const auto report = run({plain_export(rows)}, dry_run);
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().kind, base::ErrorKind::kTerminal);
    EXPECT_THAT(report.error().message, HasSubstr(options_.folder.string()));
  }
  EXPECT_EQ(probed().error().reason, "folder-missing");
  EXPECT_FALSE(fs::exists(options_.folder));
  fs::create_directory(options_.folder);
  EXPECT_TRUE(probed().has_value());
  EXPECT_EQ(must_run({plain_export(rows)}).written, 1U);
}

TEST_F(FilesSink, WritesOnceAndLeavesSameStateAlone) {
  const auto rows = pods({{"n", "a"}, {"n", "b"}});
  for (const auto format : {Format::kYaml, Format::kJson, Format::kNdjson}) {
    options_.layout.format = format;
    auto exp = plain_export(rows);
    EXPECT_EQ(must_run({exp}).written, 1U);
    const auto before = files_below(options_.folder);
    const auto path = options_.folder / ("inventory/x/t" + std::string(extension_of(format)));
    const auto time = fs::last_write_time(path);
    const auto manifest_time = fs::last_write_time(options_.folder / kFolderManifest);
    exp.exported_at += std::chrono::minutes(1);  // P-7: the export time alone is no change
    const auto report = must_run({exp});
    EXPECT_EQ(report.written, 0U);
    EXPECT_EQ(report.unchanged, 1U);
    EXPECT_EQ(files_below(options_.folder), before);
    EXPECT_EQ(fs::last_write_time(path), time);
    EXPECT_EQ(fs::last_write_time(options_.folder / kFolderManifest), manifest_time);
  }
  EXPECT_EQ(fs::status(options_.folder / "inventory/x/t.yaml").permissions(), fs::perms(0644));
}

TEST_F(FilesSink, TreesPruneTheirOwnFilesOnly) {
  options_.layout.mode = LayoutMode::kPerResource;
  const auto rows = pods({{"n", "a"}, {"m", "b"}});
  must_run({plain_export(rows)});
  put("c/n/pod/theirs.yaml", "kept: true\n");
  put("c/m/readme", "kept\n");
  const auto fewer = pods({{"n", "a"}});
  const auto report = must_run({plain_export(fewer)});
  EXPECT_EQ(report.removed, 1U);
  EXPECT_THAT(listing(), ElementsAre("c/m/readme", "c/n/pod/a.yaml", "c/n/pod/theirs.yaml",
                                     "inventory/x/t.manifest.json"));
  EXPECT_FALSE(fs::exists(options_.folder / "c/m/pod"));  // the emptied folder went too
}

TEST_F(FilesSink, P9FilesOfUnreadNamespacesStayAndStayOwned) {
  options_.layout.mode = LayoutMode::kPerResource;
  const auto rows = pods({{"lab", "a"}, {"shop", "b"}, {"shop", "c"}});
  must_run({plain_export(rows)});
  const auto readable = pods({{"shop", "b"}});
  auto exp = plain_export(readable);
  exp.keep_namespaces = {"lab"};
  EXPECT_EQ(must_run({exp}).removed, 1U);
  EXPECT_TRUE(fs::exists(options_.folder / "c/lab/pod/a.yaml"));
  exp.keep_namespaces.clear();  // readable again, and the object is gone
  EXPECT_EQ(must_run({exp}).removed, 1U);
  EXPECT_FALSE(fs::exists(options_.folder / "c/lab/pod/a.yaml"));
}

TEST_F(FilesSink, L60DocumentsOfTargetsThatLeftGoWithPruneOnly) {
  const auto rows = pods({{"n", "a"}});
  auto other_cluster = plain_export(rows, "gone");
  other_cluster.cluster = "d";
  options_.layout.document_template = "inventory/{cluster}/{namespace}/{name}{extension}";
  must_run({plain_export(rows, "a"), plain_export(rows, "b"), plain_export(rows, "gone")});
  must_run({other_cluster});
  put("inventory/c/x/theirs.yaml", "kept: true\n");
  must_run({plain_export(rows, "a")});
  EXPECT_EQ(listing().size(), 5U);
  options_.prune = true;
  options_.configured = {{"x", "a"}, {"x", "b"}};
  EXPECT_EQ(must_run({plain_export(rows, "a")}).removed, 1U);
  EXPECT_THAT(listing(), ElementsAre("inventory/c/x/a.yaml", "inventory/c/x/b.yaml",
                                     "inventory/c/x/theirs.yaml", "inventory/d/x/gone.yaml"));
}

TEST_F(FilesSink, PruneRemovesTheDocumentUnderItsFormerName) {
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  options_.layout.format = Format::kJson;
  must_run({plain_export(rows)});
  EXPECT_THAT(listing(), ElementsAre("inventory/x/t.json", "inventory/x/t.yaml"));
  options_.prune = true;
  must_run({plain_export(rows)});
  EXPECT_THAT(listing(), ElementsAre("inventory/x/t.json"));
}

TEST_F(FilesSink, K10PartsOfAFormerNumberingGo) {
  const auto rows = named_rows("bulk-a");
  auto exp = plain_export(rows);
  exp.max_bytes = 1200;
  must_run({exp});
  EXPECT_EQ(listing().size(), 3U);
  exp.max_bytes = 0;
  must_run({exp});
  EXPECT_THAT(listing(), ElementsAre("inventory/x/t.yaml"));
}

TEST_F(FilesSink, DryRunTellsAndWritesNothing) {
  using What = ExportReport::Change::What;
  const auto rows = pods({{"n", "a"}});
  auto report = must_run({plain_export(rows)}, true);
  EXPECT_FALSE(fs::exists(options_.folder));
  ASSERT_EQ(report.changes.size(), 1U);
  EXPECT_EQ(report.changes[0].what, What::kCreate);
  EXPECT_EQ(report.changes[0].path, "inventory/x/t.yaml");
  EXPECT_EQ(report.changes[0].rows, 1U);
  must_run({plain_export(rows)});
  EXPECT_EQ(report.changes[0].bytes, fs::file_size(options_.folder / "inventory/x/t.yaml"));
  EXPECT_EQ(must_run({plain_export(rows)}, true).changes[0].what, What::kUnchanged);
  const auto changed = pods({{"n", "a"}}, "2");
  EXPECT_EQ(must_run({plain_export(changed)}, true).changes[0].what, What::kUpdate);
  options_.prune = true;
  options_.configured = {{"x", "z"}};
  report = must_run({plain_export(rows, "z")}, true);
  ASSERT_EQ(report.changes.size(), 2U);
  EXPECT_EQ(report.changes[1].what, What::kRemove);
  EXPECT_THAT(listing(), ElementsAre("inventory/x/t.yaml"));
}

TEST_F(FilesSink, LinksThatLeadOutAreRefused) {
  const auto outside = temp_->path() / "outside";
  fs::create_directories(outside);
  fs::create_directories(options_.folder);
  fs::create_directory_symlink(outside, options_.folder / "inventory");
  const auto rows = pods({{"n", "a"}});
  const auto report = run({plain_export(rows)});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().reason, "path-escapes") << report.error().message;
  EXPECT_TRUE(fs::is_empty(outside));
}

TEST_F(FilesSink, ALinkInPlaceOfADocumentIsReplacedNotFollowed) {
  const auto outside = temp_->path() / "outside.yaml";
  std::ofstream(outside) << "theirs\n";
  fs::create_directories(options_.folder / "inventory/x");
  fs::create_symlink(outside, options_.folder / "inventory/x/t.yaml");
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  EXPECT_EQ(read_text(outside), "theirs\n");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(options_.folder / "inventory/x/t.yaml")));
}

TEST_F(FilesSink, AForgedListRemovesNothingOutside) {
  const auto outside = temp_->path() / "precious";
  std::ofstream(outside) << "x";
  put(kFolderManifest,
      R"({"kind":"KollectFolderManifest","exports":[{"cluster":"c","namespace":"x","name":"old",)"
      R"("paths":["../precious","/etc/hostname",".git/config","a/../../precious"]}]})");
  options_.prune = true;
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  EXPECT_TRUE(fs::exists(outside));
}

TEST_F(FilesSink, AnUnreadableListMeansNothingIsOwned) {
  options_.layout.mode = LayoutMode::kPerResource;
  put(kFolderManifest, "{ half a manif");
  put("c/n/pod/z.yaml", "theirs: true\n");
  const auto rows = pods({{"n", "a"}});
  const auto report = must_run({plain_export(rows)});
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_TRUE(fs::exists(options_.folder / "c/n/pod/z.yaml"));
}

// field-recreated-under-the-same-name
TEST_F(FilesSink, ARecreatedObjectIsOneFileWithTheNewContent) {
  options_.layout.mode = LayoutMode::kPerResource;
  const auto row = [](const char* uid, const char* value) {
    inventory::RowSet rows;
    rows.add(
        {"x", "t", "n", "job", "batch", "v1", "Job", uid, fmt::format(R"({{"v":"{}"}})", value)});
    rows.seal();
    return rows;
  };
  const auto old_row = row("u1", "old");
  const auto new_row = row("u2", "new");
  must_run({plain_export(old_row)});
  must_run({plain_export(new_row)});
  EXPECT_THAT(listing(), ElementsAre("c/n/job/job.yaml", "inventory/x/t.manifest.json"));
  EXPECT_THAT(read_text(options_.folder / "c/n/job/job.yaml"), HasSubstr("new"));
}

/// Runs `body` in a child process; its exit code.
int in_child(const std::function<int()>& body) {
  const auto pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(FilesSink, AFullDiskLeavesTheOldStateAndSaysSo) {
  const auto rows = pods({{"n", "a"}});
  must_run({plain_export(rows)});
  const auto before = files_below(options_.folder);
  // The largest file size stands for the disk's end: write() fails in the middle of the text.
  const int code = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::vector<std::pair<std::string, std::string>> many;
    for (int i = 0; i < 1000; ++i) many.emplace_back("n", fmt::format("pod-{}", i));
    const auto large = pods(many);
    const auto report = run({plain_export(large)});
    if (report.has_value()) return 1;
    if (report.error().kind != base::ErrorKind::kRetryable) return 2;
    return report.error().message.find("inventory/x/t.yaml") == std::string::npos ? 3 : 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(files_below(options_.folder), before);
  EXPECT_EQ(must_run({plain_export(rows)}).unchanged, 1U);
}

// field-backend-crash-between-two-steps: repairs, no-human, files
TEST_F(FilesSink, KilledAtAnyPointTheNextRunEndsRight) {
  options_.layout.mode = LayoutMode::kPerResource;
  const auto state = [](int number) {
    std::vector<std::pair<std::string, std::string>> objects;
    for (int i = 0; i < 40; ++i)
      objects.emplace_back("n", fmt::format("pod-{}", i + number % 3 * 20));
    return pods(objects, std::to_string(number % 6));
  };
  std::mt19937 random(7);  // NOLINT: the same points in every run are fine
  for (int round = 0; round < 100; ++round) {
    const auto pid = ::fork();
    if (pid == 0) {
      for (int number = round;; ++number) {
        const auto rows = state(number);
        (void)run({plain_export(rows)});
      }
    }
    ::usleep(std::uniform_int_distribution<useconds_t>(200, 9000)(random));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (const auto& [path, text] : files_below(options_.folder)) {
      if (!path.ends_with(".yaml")) continue;
      EXPECT_TRUE(text.starts_with("attributes:") && text.ends_with("version: v1\n")) << path;
    }
    const auto rows = state(round);
    must_run({plain_export(rows)});
    const auto fresh_folder = temp_->path() / fmt::format("fresh-{}", round % 6);
    if (round < 6) {
      auto fresh = options_;
      fresh.folder = fresh_folder;
      ASSERT_TRUE(make_files_sink(fresh)
                      ->export_all(base::Context::background(), {plain_export(rows)}, false)
                      .has_value());
    }
    EXPECT_EQ(files_below(options_.folder), files_below(fresh_folder)) << round;
  }
}

}  // namespace
}  // namespace kollect::sinks
