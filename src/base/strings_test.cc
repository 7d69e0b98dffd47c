#include "base/strings.h"

#include <utility>

#include <gtest/gtest.h>

namespace kollect::base {
namespace {

TEST(Strings, TrimSplitJoinReplace) {
  EXPECT_EQ(trim(" \t\r\n\v\fa b\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(replace_all("aXbXX", "X", "yy"), "ayybyyyy");
  EXPECT_EQ(replace_all("aa", "a", "aa"), "aaaa");
  EXPECT_EQ(replace_all("a", "", "b"), "a");
  EXPECT_EQ(to_lower("ABCÄ"), "abcÄ");
  EXPECT_TRUE(iequals("HTTP", "http"));
  EXPECT_FALSE(iequals("HTTP", "https"));
}

TEST(Strings, Utf8) {
  EXPECT_TRUE(is_valid_utf8("plain text, größe, ⚓, 🚢"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\xFF"
       "b",
       "a�b"},
      {"\xC0\x80", "��"},             // overlong
      {"\xED\xA0\x80", "���"},        // surrogate
      {"\xF4\x90\x80\x80", "����"},   // past U+10FFFF
      {"\xE2\x9A", "��"},             // cut off
      {"12345678\x80", "12345678�"},  // behind a whole word of ASCII
      {"\xF0\x9F\x9A\xA2", "🚢"}};
  for (const auto& [text, clean] : cases) {
    EXPECT_EQ(sanitize_utf8(text), clean);
    EXPECT_EQ(is_valid_utf8(text), text == clean);
  }
  EXPECT_EQ(cut_utf8("aé", 2), "a");
  EXPECT_EQ(cut_utf8("aé", 3), "aé");
  EXPECT_EQ(cut_utf8("🚢x", 3), "");
  EXPECT_EQ(cut_utf8("\x80\x80\x80\x80\x80", 4).size(), 4U);
  std::string out;
  for (const char32_t c :
       {U'a', U'é', U'⚓', U'\U0001F6A2', char32_t{0xD800}, char32_t{0x110000}}) {
    append_utf8(out, c);
  }
  EXPECT_EQ(out, "aé⚓🚢��");
}

TEST(Strings, Dns1123) {
  EXPECT_TRUE(is_dns1123_label("a-1"));
  EXPECT_TRUE(is_dns1123_label(std::string(63, 'a')));
  for (const std::string& text :
       {std::string(), std::string("A"), std::string("-a"), std::string("a-"), std::string("a.b"),
        std::string("a_b"), std::string(64, 'a')}) {
    EXPECT_FALSE(is_dns1123_label(text)) << text;
  }
  EXPECT_TRUE(is_dns1123_subdomain("a.b-c.1"));
  EXPECT_TRUE(is_dns1123_subdomain(std::string(100, 'a') + ".b"));
  EXPECT_FALSE(is_dns1123_subdomain("a..b"));
  EXPECT_FALSE(is_dns1123_subdomain(std::string(254, 'a')));
}

TEST(Strings, NearNames) {
  const std::vector<std::string> names = {"namespace", "namespaces", "name", "kind", "image"};
  EXPECT_EQ(near_names("namespce", names), (std::vector<std::string>{"namespace", "namespaces"}));
  EXPECT_EQ(near_names("Kind", names), (std::vector<std::string>{"kind"}));
  EXPECT_TRUE(near_names("xyz", names).empty());
  EXPECT_EQ(near_names("namespace", names, 1), (std::vector<std::string>{"namespace"}));
}

}  // namespace
}  // namespace kollect::base
