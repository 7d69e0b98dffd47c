// Passes of an operator into a folder against whole exports of the same rows into another: random
// changes, every layout, restarts, failures and hands in between.
#include <gmock/gmock.h>

#include <random>

#include "base/files.h"
#include "base/strings.h"
#include "sinks/files/files_sink.h"
#include "sinks/files/folder_manifest.h"
#include "sinks/testing.h"

namespace kollect::sinks {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using inventory::Owner;
using inventory::OwnerClass;
namespace fs = std::filesystem;

struct Setting {
  const char* name;
  LayoutMode mode;
  Format format;
  std::size_t max_bytes;
};

class FilesPasses : public ::testing::TestWithParam<Setting> {
 protected:
  FilesPasses() {
    auto made = base::TempDir::create();
    EXPECT_TRUE(made.has_value());
    temp_.emplace(std::move(*made));
    options_.layout.mode = GetParam().mode;
    options_.layout.format = GetParam().format;
    options_.layout.content = LayoutContent::kItem;
    head_.inventory = {"x", "t"};
    head_.cluster = "c";
    head_.generation = 1;
    head_.max_bytes = GetParam().max_bytes;
    head_.exported_at = time_of("2026-02-03T04:05:06Z");
    reader_ = store_.subscribe([](const Owner&) { return true; });
    sink_ = sink("out");
  }

  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::unique_ptr<Sink> sink(const std::string& folder) {
    options_.folder = temp_->path() / folder;
    return make_files_sink(options_);
  }
  fs::path out() const { return temp_->path() / "out"; }

  void change_row() {
    const auto number = below(60);
    const auto uid = fmt::format("u{}", number);
    const Owner owner{OwnerClass::kTarget, "x", number % 2 == 0 ? "a" : "b"};
    if (one_in(3)) {
      store_.remove(owner, uid);
      return;
    }
    const auto ns = fmt::format("n{}", number % 4);
    // Some want one path, and some move.
    const auto name = one_in(12) ? fmt::format("same:{}", number % 3) : fmt::format("p{}", number);
    const auto attributes = fmt::format(R"({{"v":"{}"}})", below(1000));
    store_.upsert(owner, 1, {owner.ns, owner.name, ns, name, "", "v1", "Pod", uid, attributes});
  }

  /// Somebody changes a file of ours, or makes writing it impossible.
  void meddle() {
    std::vector<std::string> ours;
    for (const auto& [path, text] : files_below(out())) {
      if (path.starts_with("c/")) ours.push_back(path);
    }
    if (ours.empty()) return;
    const auto path = out() / ours[below(ours.size())];
    meddled_ = true;
    if (one_in(3)) {
      fs::remove(path);
    } else if (one_in(2)) {
      std::ofstream(path) << "by hand\n";
    } else {
      fs::remove(path);
      fs::create_directories(path / "in the way");
      blocked_ = path;
    }
  }

  void pass() {
    const auto changes = reader_->changes();
    const auto rows = reader_->snapshot();
    head_.exported_at += std::chrono::seconds(1 + below(2));
    const bool whole = !known_ || one_in(8);
    const Pass pass{.head = head_,
                    .rows = &rows,
                    .changes = whole ? nullptr : &changes,
                    .row_count = rows.size(),
                    .set_hash = rows.set_hash()};
    const auto report = sink_->apply(base::Context::background(), pass);
    if (!report.has_value()) {
      ++failed_;
      known_ = false;
      ASSERT_FALSE(blocked_.empty()) << report.error().message;
      fs::remove_all(blocked_);
      blocked_.clear();
      return;
    }
    known_ = true;
    if (!whole) ++by_differences_;
    reader_->passed(whole ? rows.version() : changes.to());
    const auto set = rows.to_row_set();
    auto exp = head_;
    exp.rows = &set;
    ASSERT_TRUE(sink("whole")->export_all(base::Context::background(), {exp}, false).has_value());
    if (whole) meddled_ = false;
    if (meddled_ || !blocked_.empty()) return;  // a refresh puts it right
    ASSERT_EQ(timeless(files_below(out())), timeless(files_below(temp_->path() / "whole")))
        << (whole ? "all rows" : "differences");
    EXPECT_FALSE(fs::exists(out() / ".kollect-tmp"));
  }

  static std::map<std::string, std::string> timeless(std::map<std::string, std::string> files) {
    for (auto& [path, text] : files) {
      std::string kept;
      for (const auto line : base::split(text, '\n')) {
        if (line.find("exportedAt") == std::string_view::npos) kept += std::string(line) + "\n";
      }
      text = kept;
    }
    return files;
  }

  std::mt19937 random_{17};  // NOLINT: the same passes in every run are fine
  std::optional<base::TempDir> temp_;
  FilesSinkOptions options_;
  inventory::RowStore store_;
  std::unique_ptr<inventory::Reader> reader_;
  std::unique_ptr<Sink> sink_;
  Export head_;
  bool known_ = false;
  bool meddled_ = false;
  fs::path blocked_;
  int failed_ = 0;
  int by_differences_ = 0;
};

TEST_P(FilesPasses, DifferencesGiveTheFilesOfAWholeExport) {
  for (int i = 0; i < 30; ++i) change_row();
  for (int step = 0; step < 120 && !HasFatalFailure(); ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    for (std::size_t i = below(4); i > 0; --i) change_row();
    if (one_in(10)) meddle();
    if (one_in(15)) {
      sink_ = sink("out");
      known_ = false;
    }
    if (one_in(40)) ++head_.generation;
    pass();
  }
  EXPECT_GT(by_differences_, 50);
  if (GetParam().mode != LayoutMode::kDocument) {
    EXPECT_GT(failed_, 0);
  }
}

// Files that a pass with changes does not touch are not even looked at.
using FilesPassesOfATree = FilesPasses;
TEST_P(FilesPassesOfATree, OneChangeTouchesOneFile) {
  const Owner owner{OwnerClass::kTarget, "x", "a"};
  const auto put = [&](int i, int value) {
    store_.upsert(owner, 1,
                  {owner.ns, owner.name, "n", fmt::format("p{}", i), "", "v1", "Pod",
                   fmt::format("u{}", i), fmt::format(R"({{"v":"{}"}})", value)});
  };
  for (int i = 0; i < 200; ++i) put(i, 1);
  const auto apply = [&](bool whole) {
    const auto changes = reader_->changes();
    const auto rows = reader_->snapshot();
    const Pass pass{.head = head_,
                    .rows = &rows,
                    .changes = whole ? nullptr : &changes,
                    .row_count = rows.size(),
                    .set_hash = rows.set_hash()};
    auto report = sink_->apply(base::Context::background(), pass);
    EXPECT_TRUE(report.has_value());
    reader_->passed(changes.to());
    return report.has_value() ? *report : ExportReport{};
  };
  EXPECT_EQ(apply(true).written, 201U);
  std::ofstream(out() / "c/n/pod/p9.yaml") << "by hand\n";
  put(7, 2);
  auto report = apply(false);
  EXPECT_EQ(report.written, 1U);
  EXPECT_EQ(report.unchanged, 0U);
  EXPECT_EQ(read_text(out() / "c/n/pod/p9.yaml"), "by hand\n");
  // Where the set manifest is not ours any more, nothing is taken for granted.
  const auto manifest = out() / "inventory/x/t.manifest.json";
  const auto text = read_text(manifest);
  std::ofstream(manifest) << text;
  put(8, 2);
  report = apply(false);
  EXPECT_EQ(report.written, 2U);
  EXPECT_EQ(report.unchanged, 199U);
}

INSTANTIATE_TEST_SUITE_P(Layouts, FilesPassesOfATree,
                         ::testing::Values(Setting{"Tree", LayoutMode::kPerResource, Format::kYaml,
                                                   0}),
                         [](const auto& one) { return std::string(one.param.name); });
INSTANTIATE_TEST_SUITE_P(
    Layouts, FilesPasses,
    ::testing::Values(Setting{"Tree", LayoutMode::kPerResource, Format::kYaml, 0},
                      Setting{"TreeOfParts", LayoutMode::kPerResource, Format::kJson, 900},
                      Setting{"Split", LayoutMode::kSplit, Format::kYaml, 0},
                      Setting{"SplitOfParts", LayoutMode::kSplit, Format::kNdjson, 2000},
                      Setting{"Document", LayoutMode::kDocument, Format::kJson, 0}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace kollect::sinks
