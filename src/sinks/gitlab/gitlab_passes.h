// Passes of an operator over a gitlab sink, for tests.
#pragma once

#include "inventory/row_store.h"
#include "sinks/gitlab/gitlab_fixture.h"

namespace kollect::sinks::gitlab {

/// An operator's passes: changes where the last pass was confirmed, else a comparison.
class GitLabPassFixture : public GitLabFixture {
 protected:
  void open() {
    writer_ = sink();
    confirmed_ = false;
  }
  void put_row(const std::string& name, const std::string& uid, const std::string& attributes) {
    rows_.upsert(owner_, 1, {"x", "t", "n", name, "", "v1", "Pod", uid, attributes});
  }
  void put(const std::string& name, const std::string& value) {
    put_row(name, "u-" + name, fmt::format(R"({{"v":"{}"}})", value));
  }
  void remove(const std::string& name) { rows_.remove(owner_, "u-" + name); }

  base::Result<ExportReport> pass(bool compare = false) {
    const auto changes = reader_->changes();
    const auto all = reader_->snapshot();
    Pass what{.head = {},
              .rows = &all,
              .changes = confirmed_ && !compare ? &changes : nullptr,
              .row_count = all.size(),
              .set_hash = all.set_hash()};
    what.head.inventory = {"x", "t"};
    what.head.cluster = "c";
    what.head.max_bytes = max_bytes_;
    what.head.exported_at =
        sinks::testing::time_of("2026-02-03T04:05:06Z") + std::chrono::minutes(minute_++);
    auto report = writer_->apply(context_, what);
    confirmed_ = report.has_value();
    if (confirmed_) reader_->passed(changes.to());
    return report;
  }
  ExportReport must_pass(bool compare = false) {
    auto report = pass(compare);
    EXPECT_TRUE(report.has_value()) << (report.has_value() ? "" : report.error().message);
    return report.has_value() ? *report : ExportReport{};
  }
  /// Another process that compares everything finds nothing to push.
  void expect_as_a_whole_export() {
    const auto pushes = server_.pushes();
    auto fresh = options_;
    options_.mirror_dir = temp_->path() / "fresh-mirrors";
    std::filesystem::remove_all(options_.mirror_dir);
    open();
    options_ = fresh;
    must_pass(true);
    EXPECT_EQ(server_.pushes(), pushes);
    open();
    must_pass(true);
    EXPECT_EQ(server_.pushes(), pushes);
  }

  const inventory::Owner owner_{inventory::OwnerClass::kTarget, "x", "t"};
  inventory::RowStore rows_;
  std::unique_ptr<inventory::Reader> reader_ =
      rows_.subscribe([](const inventory::Owner&) { return true; });
  std::unique_ptr<Sink> writer_;
  bool confirmed_ = false;
  int minute_ = 0;
  base::Context context_ = base::Context::background();
  std::size_t max_bytes_ = 0;  ///< of a document
};

}  // namespace kollect::sinks::gitlab
