#include "console/assets.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kollect::console {
namespace {

const std::filesystem::path kDist = std::filesystem::path(KOLLECT_SOURCE_DIR) / "web/dist";

TEST(ConsoleAssets, AreTheFilesOfWebDist) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kDist)) {
    ++files;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const readapi::StaticFile* file = Files().find(entry.path().filename().string());
    ASSERT_NE(file, nullptr) << entry.path();
    EXPECT_EQ(file->bytes, text) << entry.path();
  }
  EXPECT_EQ(files, assets().size());
}

TEST(ConsoleAssets, ThePageIsThere) {
  const readapi::StaticFile* page = Files().find("index.html");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
  EXPECT_FALSE(page->immutable);
}

TEST(ConsoleAssets, NothingElseIsThere) {
  for (const std::string_view path : {"", "../README.md", "app.js", "a/b", "inventory"}) {
    EXPECT_EQ(Files().find(path), nullptr) << path;
  }
}

TEST(ConsoleAssets, EachIsWhatItSays) {
  for (const Asset& asset : assets()) {
    const auto& [bytes, gzip, type, etag, immutable] =
        static_cast<const readapi::StaticFile&>(asset);
    EXPECT_TRUE(gzip.starts_with("\x1f\x8b")) << asset.name;
    EXPECT_EQ(etag.size(), 34U) << asset.name;
    EXPECT_EQ(etag.front(), '"') << asset.name;
    EXPECT_FALSE(bytes.empty()) << asset.name;
    EXPECT_FALSE(type.empty()) << asset.name;
    EXPECT_EQ(immutable, asset.name.find('-') != std::string_view::npos) << asset.name;
  }
}

/// The first view is the page, its script and its style: 200 KiB at most.
TEST(ConsoleAssets, TheFirstViewIsSmall) {
  std::size_t sum = 0;
  for (const Asset& asset : assets()) sum += asset.gzip.size();
  std::printf("first view: %zu bytes with gzip\n", sum);
  EXPECT_LE(sum, 200U * 1024);
}

/// The content security policy forbids what is inline.
TEST(ConsoleAssets, ThePageHasNothingInline) {
  const std::string_view page = Files().find("index.html")->bytes;
  EXPECT_EQ(page.find("<style"), std::string_view::npos);
  EXPECT_EQ(page.find(" style="), std::string_view::npos);
  EXPECT_EQ(page.find(" onload="), std::string_view::npos);
  std::size_t scripts = 0;
  for (std::size_t at = page.find("<script"); at != std::string_view::npos;
       at = page.find("<script", at + 1)) {
    ++scripts;
    EXPECT_NE(page.substr(at, page.find('>', at) - at).find(" src="), std::string_view::npos);
  }
  EXPECT_EQ(scripts, 1U);
}

}  // namespace
}  // namespace kollect::console
