// Cases: spec pipeline 2 (L-43), field-document-mark-inside-a-block-string.
#include "base/yaml/read.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::base::yaml {
namespace {

struct Read {
  std::vector<Document> documents;
  std::vector<Problem> problems;
};

Read read(std::string_view text, const Limits& limits = {}) {
  Read all;
  const auto result = read_stream(
      text, limits,
      [&](Document&& document) -> Result<> {
        all.documents.push_back(std::move(document));
        return {};
      },
      [&](const Problem& problem) { all.problems.push_back(problem); });
  EXPECT_TRUE(result.has_value());
  return all;
}

/// Canonical JSON of the only document, or the problem.
std::string one(std::string_view text, const Limits& limits = {}) {
  const auto value = read_one(text, limits);
  return value ? json::canonical(*value) : "error: " + value.error().message;
}

std::string stream_file() {
  const auto text = read_file(KOLLECT_SOURCE_DIR "/tests/cases/yaml/stream.yaml");
  EXPECT_TRUE(text.has_value());
  return text.value_or("");
}

std::vector<std::string> names_of(const Read& all) {
  std::vector<std::string> names;
  for (const Document& document : all.documents) {
    if (const json::Value* items = document.value.find("items")) {
      for (const json::Value& item : items->as_array()) {
        names.emplace_back(item.at_path({"metadata", "name"})->as_string());
      }
    } else {
      names.emplace_back(document.value.at_path({"metadata", "name"})->as_string());
    }
  }
  return names;
}

std::string as_utf16(std::string_view ascii) {
  std::string out = "\xFF\xFE";
  for (const char c : ascii) {
    out += c;
    out += '\0';
  }
  return out;
}

TEST(YamlRead, FieldDocumentMarks) {
  const std::vector<std::string> names = {"one", "two", "three", "four"};
  const std::string text = stream_file();
  for (const std::string& variant :
       {text, replace_all(text, "\n", "\r\n"), "\xEF\xBB\xBF" + text, as_utf16(text)}) {
    const Read all = read(variant);
    EXPECT_TRUE(all.problems.empty());
    EXPECT_EQ(names_of(all), names);
    ASSERT_EQ(all.documents.size(), 3U);
    EXPECT_EQ(all.documents[0].index, 2U);  // the empty one counts
    EXPECT_EQ(all.documents[0].value.at_path({"data", "nested.yaml"})->as_string(),
              "a: 1\n---\nb: 2\n");
  }
}

TEST(YamlRead, FieldBrokenFifthDocument) {
  const std::string text =
      stream_file() + "---\nkind: ConfigMap\nmetadata:\n\tname: five\n---\nname: six\n";
  const Read all = read(text);
  ASSERT_EQ(all.problems.size(), 1U);
  EXPECT_EQ(all.problems[0].document, 5U);
  EXPECT_EQ(all.problems[0].place.line, 28U);
  EXPECT_EQ(all.problems[0].place.column, 1U);
  EXPECT_EQ(all.problems[0].message, "a tab cannot be used for indentation");
  ASSERT_EQ(all.documents.size(), 4U);
  EXPECT_EQ(all.documents[3].index, 6U);
  EXPECT_EQ(all.documents[3].start.line, 30U);
  const auto error = read_all(text);
  ASSERT_FALSE(error.has_value());
  EXPECT_EQ(error.error().kind, ErrorKind::kConfiguration);
  EXPECT_EQ(error.error().message,
            "document 5, line 28, column 1: a tab cannot be used for indentation");
}

TEST(YamlRead, CoreSchemaScalars) {  // L-43
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"y", R"("y")"},
      {"[yes, no, on, off, n, N, Y, YES, Off]",
       R"(["yes","no","on","off","n","N","Y","YES","Off"])"},
      {"[true, True, TRUE, false, False, FALSE, tRue]",
       R"([true,true,true,false,false,false,"tRue"])"},
      {"[null, Null, NULL, ~, nULL, '', ]", R"([null,null,null,null,"nULL",""])"},
      {"a:\nb: ", R"({"a":null,"b":null})"},
      {"[1, +1, -1, 007, 0o17, 0x1F, 0b11, 1_000]", R"([1,1,-1,7,15,31,"0b11","1_000"])"},
      {"[9007199254740993, 18446744073709551615, -9223372036854775808]",
       "[9007199254740993,18446744073709551615,-9223372036854775808]"},
      {"[18446744073709551616, 0xFFFFFFFFFFFFFFFFF]",
       "[18446744073709552000,295147905179352830000]"},
      {"[1.5, .5, 1., 1e3, 1E-2, -1.5e+3, 1e-400]", "[1.5,0.5,1,1000,0.01,-1500,0]"},
      {"[12:30, 2026-01-01, 2026-01-01T00:00:00Z, 1.2.3, '1', \"true\"]",
       R"(["12:30","2026-01-01","2026-01-01T00:00:00Z","1.2.3","1","true"])"},
      {"[!!str 1, !!int '2', !!float 3, !!bool \"true\", !!null '', ! 4, !mine 5]",
       R"(["1",2,3,true,null,"4",5])"},
      {"{1: a, true: b, null: c, '<<': d}",
       R"({"1":"a","\u003c\u003c":"d","null":"c","true":"b"})"},
      {"|\n  a\n  b\n", R"("a\nb\n")"},
      {">-\n  a\n  b\n", R"("a b")"},
      {"{\"a\":\"\\ud83d\\ude00\\/\"}", "{\"a\":\"\xF0\x9F\x98\x80/\"}"},
      {"--- {a: 1} # end", R"({"a":1})"},
      {"%YAML 1.2\n---\na: 1\n", R"({"a":1})"},
      {"%TAG !e! tag:yaml.org,2002:\n---\n!e!str 1\n", R"("1")"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(one(text), expected) << text;
  }
}

TEST(YamlRead, MergesAndAliases) {
  EXPECT_EQ(one("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n"),
            R"({"a":{"x":1,"y":2},"b":{"x":1,"y":3}})");
  EXPECT_EQ(one("- &a {x: 1}\n- &b {x: 2, y: 2}\n- {z: 0, <<: [*a, *b]}\n"),
            R"([{"x":1},{"x":2,"y":2},{"x":1,"y":2,"z":0}])");
  EXPECT_EQ(one("a: &k name\n*k : 1\n"), R"({"a":"name","name":1})");
}

TEST(YamlRead, Problems) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a: 1\nb: 2\na: 3\n", "line 3, column 1: key \"a\" stands twice"},
      {"{\"a\":1,\n \"a\":2}", "line 2, column 2: key \"a\" stands twice"},
      {"a: *b\n", "line 1, column 4: unknown alias *b"},
      {"a: &a [*a]\n", "line 1, column 8: unknown alias *a"},
      {"? [x]\n: 1\n", "line 1, column 3: a key must be text"},
      {"a: .nan\n",
       "line 1, column 4: .nan is no number that JSON can hold; quote it if it is text"},
      {"a: 1e400\n", "line 1, column 4: number 1e400 is out of range"},
      {"a: !!int x\n", "line 1, column 4: \"x\" does not fit its tag !!int"},
      {"a: {<<: 1}\n", "line 1, column 4: \"<<\" must be given a mapping or a list of mappings"},
      {"a: \"x\n",
       "line 2, column 1: while scanning a quoted scalar found unexpected end of stream (begun in "
       "line 1)"},
      {"\xC3\xA9: \xFF\n", "line 1, column 4: invalid leading UTF-8 octet"},
      {"a: 1\nb: \x01\n", "line 2, column 4: control characters are not allowed"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(one(text), "error: document 1, " + expected) << text;
  }
  EXPECT_EQ(one(""), "error: there is no document");
  EXPECT_EQ(one("# nothing\n---\n# here\n"), "error: there is no document");
  EXPECT_EQ(one("a\n---\nb\n"), "error: there are 2 documents where one is wanted");
}

TEST(YamlRead, AliasesDoNotMultiplyLargeTexts) {
  std::string bomb = "a: &a " + std::string(100'000, 'x') + "\nb: [*a";
  for (int i = 1; i < 700; ++i) bomb += ", *a";
  EXPECT_EQ(
      one(bomb + "]\n"),
      "error: document 1, line 2, column 2689: aliases repeat more than 67108864 bytes of text");
  const std::string map =
      "a: &a {k: " + std::string(100'000, 'x') + "}\nb: &b [*a, *a, *a, *a]\nc: [*b";
  std::string deep = map;
  for (int i = 1; i < 200; ++i) deep += ", *b";
  EXPECT_THAT(one(deep + "]\n"), testing::HasSubstr("aliases repeat more than 67108864 bytes"));
  EXPECT_EQ(one(map + "]\n").find("error"), std::string::npos);
}

// What a text spells out itself is no matter of limits, whatever its size.
TEST(YamlRead, LimitsOfADump) {
  std::string plain = "- [a";
  for (int i = 0; i < 200'000; ++i) plain += ",a";
  plain += "]\n";
  EXPECT_FALSE(read_one(plain).has_value());
  EXPECT_TRUE(read_one(plain, limits_of_dump(plain)).has_value());
  std::string bomb = "a: &a [" + plain.substr(3, 20'000) + "a]\nb: [*a";
  for (int i = 1; i < 110; ++i) bomb += ", *a";
  bomb += "]\n";
  const auto read = read_one(bomb, limits_of_dump(bomb));
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message, testing::HasSubstr("aliases counted"));
}

TEST(YamlRead, Limits) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'i'; ++c) {
    bomb += fmt::format("{0}: &{0} [", c);
    for (int i = 0; i < 10; ++i) {
      bomb += fmt::format("{}*{}", i == 0 ? "" : ", ", static_cast<char>(c - 1));
    }
    bomb += "]\n";
  }
  EXPECT_TRUE(one(bomb).find("more than 100000 values in one document, aliases counted") !=
              std::string::npos);
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(one(nested(128)), nested(128));
  EXPECT_EQ(one(nested(200)),
            "error: document 1, line 1, column 130: nested deeper than 128 levels");
  Limits limits;
  limits.max_documents = 2;
  const Read all = read("a\n---\nb\n---\nc\n", limits);
  EXPECT_EQ(all.documents.size(), 2U);
  ASSERT_EQ(all.problems.size(), 1U);
  EXPECT_EQ(all.problems[0].message, "more than 2 documents");
}

TEST(YamlRead, Places) {
  Limits limits;
  limits.keep_places = true;
  const Read all =
      read("# x\n---\nspec:\n  attributes:\n  - name: a\n    path: b\n  - {name: c, \xC3\xA9: d}\n",
           limits);
  ASSERT_EQ(all.documents.size(), 1U);
  const auto& places = all.documents[0].places;
  const auto at = [&](const std::string& path) {
    const auto found = places.find(path);
    return found == places.end() ? std::string("none")
                                 : fmt::format("{}:{}", found->second.line, found->second.column);
  };
  EXPECT_EQ(at("spec"), "3:1");
  EXPECT_EQ(at("spec.attributes"), "4:3");
  EXPECT_EQ(at("spec.attributes[0]"), "5:5");
  EXPECT_EQ(at("spec.attributes[0].path"), "6:5");
  EXPECT_EQ(at("spec.attributes[1].\xC3\xA9"), "7:15");
  const auto near = [&](const std::string& path) {
    const Place* place = find_place(places, path);
    return place == nullptr ? std::string("none")
                            : fmt::format("{}:{}", place->line, place->column);
  };
  EXPECT_EQ(near("spec.attributes[0].path"), "6:5");
  EXPECT_EQ(near("spec.attributes[0].type"), "5:5");
  EXPECT_EQ(near("spec.attributes[9].path"), "4:3");
  EXPECT_EQ(near("spec.suspend"), "3:1");
  EXPECT_EQ(near("metadata.name"), "none");
  EXPECT_EQ(near(""), "none");
}

TEST(YamlRead, GoesOnBehindBrokenDocuments) {
  const Read all =
      read("a: [1\n---\nb: 1\n---\nc: \"\n---\nd: 1\n...\nnot closed: [\n...\n---\ne: 1\n");
  ASSERT_EQ(all.documents.size(), 3U);
  EXPECT_EQ(json::canonical(all.documents[2].value), R"({"e":1})");
  ASSERT_EQ(all.problems.size(), 3U);
  EXPECT_EQ(all.problems[0].document, 1U);
  EXPECT_EQ(all.problems[1].document, 3U);
  EXPECT_EQ(all.problems[2].document, 5U);
}

TEST(YamlRead, JsonValuesOneAfterAnother) {
  const Read all = read("{\"a\":\"}{\"}\n{\"b\":[1]}\n{\"c\":3}{\"d\":\"\\\"\"}\n");
  EXPECT_TRUE(all.problems.empty());
  ASSERT_EQ(all.documents.size(), 4U);
  EXPECT_EQ(json::canonical(all.documents[3].value), R"({"d":"\""})");
  EXPECT_EQ(all.documents[2].start.line, 3U);
}

TEST(YamlRead, CallbackStops) {
  int seen = 0;
  const auto result = read_stream(
      "a\n---\nb\n", {},
      [&](Document&&) -> Result<> {
        ++seen;
        return terminal("enough");
      },
      [](const Problem&) {});
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace kollect::base::yaml
