// Cases: spec examples sinks/yaml, field-yaml-strings-that-look-like-something-else,
// field-integers-past-2-to-53.
#include "base/yaml/write.h"

#include <gtest/gtest.h>
#include <yaml.h>

#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json/document.h"
#include "base/yaml/key_order.h"
#include "base/yaml/read.h"
#include "base/yaml/style.h"

namespace kollect::base::yaml {
namespace {

std::string load(std::string_view name) {
  auto text = read_file(std::string(KOLLECT_SOURCE_DIR "/tests/cases/yaml/") + std::string(name));
  EXPECT_TRUE(text.has_value());
  return text.value_or("");
}

json::Value parse(std::string_view text) {
  auto document = json::Document::parse(text);
  EXPECT_TRUE(document.has_value());
  return json::to_value(document->root());
}

TEST(YamlWrite, ExampleBytes) {
  EXPECT_EQ(write(parse(load("input.json"))), load("expected.yaml"));
  EXPECT_EQ(write(parse(load("input.canonical.json"))), load("expected.yaml"));
}

std::vector<std::string> lines_of(const std::string& text) {
  // Lines of one key stay together.
  std::vector<std::string> entries;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    if (text.compare(at, 1, "k") == 0) {
      entries.emplace_back();
    }
    entries.back().append(text, at, end - at);
    at = end;
  }
  return entries;
}

TEST(YamlWrite, FieldStringsSameBytes) {
  const json::Value list = parse(load("strings.json"));
  json::Object values;
  for (const json::Value& value : list.as_array()) {
    values.set(fmt::format("k{:03}", values.size()), value);
  }
  const auto ours = lines_of(write(values));
  const auto reference = lines_of(load("strings.expected.yaml"));
  ASSERT_EQ(ours.size(), reference.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (i == 45 || i == 46 || i == 72 || i == 73) {
      continue;  // the reference loses these
    }
    EXPECT_EQ(ours[i], reference[i]);
  }
  EXPECT_EQ(ours[45], "k045: \"=\"\n");
  EXPECT_EQ(ours[46], "k046: \"<<\"\n");
  EXPECT_EQ(ours[72], "k072: \"\\N\"\n");
  EXPECT_EQ(ours[73], "k073: \"\\L\"\n");
}

TEST(YamlWrite, FieldStringsRoundTripAsItemsValuesAndKeys) {
  const json::Value list = parse(load("strings.json"));
  json::Object values;
  json::Object keys;
  for (const json::Value& value : list.as_array()) {
    keys.set(value.as_string(), static_cast<std::int64_t>(keys.size()));
    values.set(fmt::format("k{:03}", values.size()), value);
  }
  for (const json::Value& value : {list, json::Value(values), json::Value(keys)}) {
    const auto back = read_one(write(value));
    ASSERT_TRUE(back.has_value()) << back.error().message << "\n" << write(value);
    EXPECT_EQ(*back, value);
  }
}

TEST(YamlWrite, ControlCharactersAreEscaped) {  // K-4
  struct Case {
    std::string text;
    std::string yaml;
  };
  const std::vector<Case> cases = {{"a\x7F"
                                    "b",
                                    "\"a\\x7Fb\"\n"},
                                   {"\xC2\x80", "\"\\x80\"\n"},
                                   {"\xC2\x85", "\"\\N\"\n"},
                                   {std::string(1, '\0'), "\"\\0\"\n"},
                                   {"\x01", "\"\\x01\"\n"},
                                   {"\xEF\xBF\xBE", "\"\\uFFFE\"\n"},
                                   {"\xEF\xBF\xBF", "\"\\uFFFF\"\n"},
                                   {"\xF4\x8F\xBF\xBF", "\"\\U0010FFFF\"\n"},
                                   {"\xC2\xA0", "\xC2\xA0\n"},
                                   {"a\nb\tc", "\"a\\nb\\tc\"\n"},
                                   {"a \nb", "\"a \\nb\"\n"}};
  for (const Case& c : cases) {
    EXPECT_EQ(write(c.text), c.yaml);
    const auto back = read_one(write(c.text));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->as_string(), c.text);
  }
}

TEST(YamlWrite, Numbers) {  // field-integers-past-2-to-53
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"9007199254740993", "9007199254740993"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "1.8446744073709552e+19"},
      {"1.0", "1"},
      {"1e3", "1000"},
      {"0.1", "0.1"},
      {"1e-7", "1e-07"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"123456.5", "123456.5"},
      {"1234567.5", "1.2345675e+06"},
      {"1e21", "1e+21"},
      {"1.5e300", "1.5e+300"}};
  for (const auto& [text, yaml] : cases) {
    EXPECT_EQ(write(json::Document::parse(text)->root()), yaml + "\n");
  }
}

TEST(YamlWrite, PlainWordsStayPlain) {
  for (const char* text :
       {"nginx", "shop-api", "nginx:1.27", "1.2.3", "a'b", "2024-13-01", "10:8080", "0b2", "-x",
        "2001-01-01T00:00:00", "0x", "sha256:ab", "no way", "1.2.3.4/24", "http://a/b#c", "_1"}) {
    EXPECT_EQ(choose_style(text), Style::kPlain) << text;
  }
  for (const char* text : {"0x1F", "-0b1", "1_0", "0o17", "1e400", "2001-1-1", "2001-1-1 1:2:3.5",
                           "2001-1-1t1:2:3+01:00", "2024-02-29", "1:2:3", "99999999999999999999",
                           "0xffffffffffffffffffff", ".5e3", "+.inf"}) {
    EXPECT_EQ(choose_style(text), Style::kDoubleQuoted) << text;
  }
}

TEST(YamlWrite, LongKeysAndKeysOfSeveralLines) {
  const std::string key(129, 'k');
  EXPECT_EQ(write(json::Object()), "{}\n");
  json::Object object;
  object.set(key, json::Array{json::Value(1), json::Value(2)});
  EXPECT_EQ(write(object), "? " + key + "\n: - 1\n  - 2\n");
  json::Object nested;
  nested.set("a\nb\n", object);
  EXPECT_EQ(write(nested), "? |\n  a\n  b\n: ? " + key + "\n  : - 1\n    - 2\n");
  EXPECT_EQ(*read_one(write(nested)), json::Value(nested));
}

TEST(YamlWrite, SequenceItem) {
  std::string out;
  const auto document = json::Document::parse(R"({"b":1,"a":["x\n",[]]})");
  append_sequence_item(out, document->root());
  append_sequence_item(out, document->root());
  EXPECT_EQ(out, "- a:\n  - |\n    x\n  - []\n  b: 1\n- a:\n  - |\n    x\n  - []\n  b: 1\n");
}

TEST(YamlWrite, KeyOrder) {
  const std::vector<std::pair<std::string, std::string>> less = {
      {"a9", "a10"},     {"zone9", "zone10"}, {"Z", "a"},           {"a-1", "a1"},
      {"a11", "a101"},   {"a", "ab"},         {"1", "a"},           {"a/b", "ab"},
      {"z", "\xC3\xA9"}, {"a1", "a01"},       {"\xE2\x98\x83", "a"}};
  for (const auto& [a, b] : less) {
    EXPECT_TRUE(key_less(a, b)) << a << " " << b;
    EXPECT_FALSE(key_less(b, a)) << a << " " << b;
  }
}

// The same events through libyaml's emitter, with our choice of styles: structure and folding must
// agree.
class Emitter {
 public:
  Emitter() {
    yaml_emitter_initialize(&emitter_);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_output(
        &emitter_,
        [](void* to, unsigned char* bytes, std::size_t size) {
          static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), size);
          return 1;
        },
        &out_);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  ~Emitter() { yaml_emitter_delete(&emitter_); }

  std::string document(const json::Value& value) {
    yaml_event_t event;
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(event);
    yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
    emit(event);
    node(value);
    yaml_document_end_event_initialize(&event, 1);
    emit(event);
    yaml_emitter_flush(&emitter_);
    return out_;
  }

 private:
  void emit(yaml_event_t& event) { EXPECT_EQ(yaml_emitter_emit(&emitter_, &event), 1); }

  void text(const std::string& value) {
    yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;
    switch (choose_style(value)) {
      case Style::kPlain:
        break;
      case Style::kSingleQuoted:
        style = YAML_SINGLE_QUOTED_SCALAR_STYLE;
        break;
      case Style::kDoubleQuoted:
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
        break;
      case Style::kLiteral:
        style = YAML_LITERAL_SCALAR_STYLE;
        break;
    }
    yaml_event_t event;
    auto* bytes = reinterpret_cast<unsigned char*>(const_cast<char*>(value.data()));
    yaml_scalar_event_initialize(&event, nullptr, nullptr, bytes, static_cast<int>(value.size()), 1,
                                 1, style);
    emit(event);
  }

  void node(const json::Value& value) {
    yaml_event_t event;
    if (value.is_array()) {
      yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE);
      emit(event);
      for (const json::Value& item : value.as_array()) {
        node(item);
      }
      yaml_sequence_end_event_initialize(&event);
      emit(event);
    } else if (value.is_object()) {
      yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE);
      emit(event);
      const auto document = json::Document::from_value(value);
      for (const auto& member : ordered_members(document.root())) {
        text(std::string(member.key));
        node(*value.find(member.key));
      }
      yaml_mapping_end_event_initialize(&event);
      emit(event);
    } else {
      text(value.as_string());
    }
  }

  yaml_emitter_t emitter_{};
  std::string out_;
};

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {"a",
                                                   "word",
                                                   " ",
                                                   " ",
                                                   "  ",
                                                   "\n",
                                                   "\xC3\xA9",
                                                   ":",
                                                   "#",
                                                   "- ",
                                                   "'",
                                                   "\"",
                                                   "\\",
                                                   ",",
                                                   "1",
                                                   "0",
                                                   "\xE6\x97\xA5",
                                                   "longer-word-without-blank",
                                                   "?",
                                                   "\r",
                                                   "\x01",
                                                   "T",
                                                   "{",
                                                   "..."};
  std::string text;
  const std::size_t pieces = random() % (random() % 4 == 0 ? 60 : 8);
  for (std::size_t i = 0; i < pieces; ++i) {
    text += kPieces[random() % kPieces.size()];
  }
  return text;
}

json::Value random_value(std::mt19937& random, int depth) {
  const auto kind = random() % 6;
  if (depth == 0 || kind < 3) {
    return random_text(random);
  }
  const std::size_t size = random() % 4;
  if (kind == 3) {
    json::Array array;
    for (std::size_t i = 0; i < size; ++i) {
      array.push_back(random_value(random, depth - 1));
    }
    return array;
  }
  json::Object object;
  for (std::size_t i = 0; i < size; ++i) {
    object.set(random_text(random), random_value(random, depth - 1));
  }
  return object;
}

TEST(YamlWrite, AgreesWithLibyamlAndReadsBack) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const json::Value value = random_value(random, 4);
    const std::string ours = write(value);
    ASSERT_EQ(ours, Emitter().document(value)) << "round " << i;
    const auto back = read_one(ours);
    ASSERT_TRUE(back.has_value()) << back.error().message << "\n" << ours;
    ASSERT_EQ(*back, value) << ours;
  }
}

}  // namespace
}  // namespace kollect::base::yaml
