#include "base/json/tape_builder.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <charconv>
#include <cstring>

#include "base/strings.h"

namespace kollect::base::json::detail {

void Tape::clear() {
  nodes.clear();
  if (chunks_.size() > 1) chunks_.resize(1);
  if (!chunks_.empty() && chunk_size_ != kChunk) {
    chunks_.clear();
    chunk_size_ = 0;
  }
  used_ = 0;
}

char* Tape::allocate(std::size_t size) {
  if (chunks_.empty() || used_ + size > chunk_size_) {
    chunk_size_ = std::max(kChunk, size);
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk_size_));
    used_ = 0;
  }
  char* at = chunks_.back().get() + used_;
  used_ += size;
  return at;
}

const char* Tape::copy(std::string_view text) {
  if (text.empty()) return "";
  char* at = allocate(text.size());
  std::memcpy(at, text.data(), text.size());
  return at;
}

struct TextBuffer::Stage1 {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

TextBuffer::TextBuffer() : stage1_(std::make_unique<Stage1>()) {}
TextBuffer::~TextBuffer() = default;

std::uint32_t TextBuffer::structurals() const {
  return stage1_->parser->n_structural_indexes;
}

void TextBuffer::copy_in(std::string_view text) {
  const std::size_t need = text.size() + simdjson::SIMDJSON_PADDING;
  if (need > capacity_) {
    text_ = std::make_unique_for_overwrite<char[]>(need);
    capacity_ = need;
  }
  if (!text.empty()) std::memcpy(text_.get(), text.data(), text.size());
  std::memset(text_.get() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
  size_ = text.size();
}

Result<> TextBuffer::load(std::string_view text) {
  if (text.size() >= 0xFFFF'FF00U) return configuration("JSON text is larger than 4 GiB");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  copy_in(text);
  auto indexed = index();
  if (!indexed && !is_valid_utf8(text)) {
    copy_in(sanitize_utf8(text));
    indexed = index();
  }
  return indexed;
}

Result<> TextBuffer::index() {
  if (!stage1_->parser || stage1_->parser->capacity() < size_) {
    const std::size_t capacity = std::max<std::size_t>(size_, 1024);
    auto code = simdjson::get_active_implementation()->create_dom_parser_implementation(
        capacity, Document::kMaxDepth, stage1_->parser);
    if (code != simdjson::SUCCESS) return terminal("no memory to parse JSON");
  }
  const auto code = stage1_->parser->stage1(reinterpret_cast<const std::uint8_t*>(text_.get()),
                                            size_, simdjson::stage1_mode::regular);
  if (code == simdjson::EMPTY) return configuration("JSON text is empty");
  if (code != simdjson::SUCCESS) {
    return configuration(fmt::format("not JSON: {}", simdjson::error_message(code)));
  }
  indexes_ = stage1_->parser->structural_indexes.get();
  return {};
}

Error TapeBuilder::error(std::string_view what) const {
  const std::size_t offset = at_end() ? buffer_.size() : buffer_.offset(at_);
  return configuration(fmt::format("not JSON: {} at byte {}", what, offset));
}

Result<> TapeBuilder::expect(char c) {
  if (peek() != c) return error(fmt::format("'{}' expected", c));
  advance();
  return {};
}

Result<> TapeBuilder::build_document() {
  KL_TRY(value(1));
  if (!at_end()) return error("text after the end of the value");
  return {};
}

Result<> TapeBuilder::value(std::size_t depth) {
  switch (peek()) {
    case '{':
      return object(depth);
    case '[':
      return array(depth);
    case '"': {
      KL_ASSIGN(std::string_view text, string());
      tape_.nodes.push_back(
          {text.data(), static_cast<std::uint32_t>(text.size()), 1, Type::kString});
      return {};
    }
    case 't':
      return literal("true", Type::kTrue);
    case 'f':
      return literal("false", Type::kFalse);
    case 'n':
      return literal("null", Type::kNull);
    default:
      return number();
  }
}

Result<> TapeBuilder::object(std::size_t depth) {
  if (depth > Document::kMaxDepth) return error("nesting deeper than the limit");
  const std::size_t at = tape_.nodes.size();
  tape_.nodes.push_back({nullptr, 0, 1, Type::kObject});
  advance();
  std::uint32_t count = 0;
  if (peek() == '}') {
    advance();
  } else {
    while (true) {
      if (peek() != '"') return error("member name expected");
      KL_ASSIGN(std::string_view key, string());
      tape_.nodes.push_back({key.data(), static_cast<std::uint32_t>(key.size()), 1, Type::kString});
      KL_TRY(expect(':'));
      KL_TRY(value(depth + 1));
      ++count;
      if (peek() == ',') {
        advance();
        continue;
      }
      KL_TRY(expect('}'));
      break;
    }
  }
  tape_.nodes[at].size = count;
  tape_.nodes[at].span = static_cast<std::uint32_t>(tape_.nodes.size() - at);
  return {};
}

Result<> TapeBuilder::array(std::size_t depth) {
  if (depth > Document::kMaxDepth) return error("nesting deeper than the limit");
  const std::size_t at = tape_.nodes.size();
  tape_.nodes.push_back({nullptr, 0, 1, Type::kArray});
  advance();
  std::uint32_t count = 0;
  if (peek() == ']') {
    advance();
  } else {
    while (true) {
      KL_TRY(value(depth + 1));
      ++count;
      if (peek() == ',') {
        advance();
        continue;
      }
      KL_TRY(expect(']'));
      break;
    }
  }
  tape_.nodes[at].size = count;
  tape_.nodes[at].span = static_cast<std::uint32_t>(tape_.nodes.size() - at);
  return {};
}

Result<> TapeBuilder::skip() {
  const char first = peek();
  if (first != '{' && first != '[') {
    if (first == '\0' || first == '}' || first == ']' || first == ',' || first == ':') {
      return error("value expected");
    }
    advance();
    return {};
  }
  std::size_t open = 0;
  while (!at_end()) {
    const char c = peek();
    advance();
    if (c == '{' || c == '[') ++open;
    if ((c == '}' || c == ']') && --open == 0) return {};
  }
  return error("end of text inside a value");
}

Result<std::string_view> TapeBuilder::string() {
  if (peek() != '"') return error("string expected");
  const char* begin = buffer_.data() + buffer_.offset(at_) + 1;
  // The closing quote is the last character that is no white space before the next structural one.
  const char* end = buffer_.data() + buffer_.offset(at_ + 1);
  while (end > begin && (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\t' || end[-1] == '\r'))
    --end;
  if (end <= begin || end[-1] != '"') return error("string without end");
  --end;
  advance();
  const std::string_view raw(begin, static_cast<std::size_t>(end - begin));
  if (raw.empty()) return raw;
  if (std::memchr(raw.data(), '\\', raw.size()) == nullptr) return raw;
  return unescape(raw);
}

namespace {

std::optional<std::uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  std::uint32_t code = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (ec != std::errc() || end != text.data() + 4) return std::nullopt;
  return code;
}

char simple_escape(char c) {
  switch (c) {
    case '"':
      return '"';
    case '\\':
      return '\\';
    case '/':
      return '/';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

/// Reads the escape \uXXXX (and its second half) at the front of `text`; lone surrogates become
/// U+FFFD.
std::optional<char32_t> unicode_escape(std::string_view& text) {
  auto first = hex4(text.substr(2));
  if (!first) return std::nullopt;
  text.remove_prefix(6);
  if (*first < 0xD800 || *first > 0xDFFF) return static_cast<char32_t>(*first);
  if (*first < 0xDC00 && text.starts_with("\\u")) {
    auto second = hex4(text.substr(2));
    if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
      text.remove_prefix(6);
      return static_cast<char32_t>(0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00));
    }
  }
  return U'\uFFFD';
}

}  // namespace

Result<std::string_view> TapeBuilder::unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    const std::size_t plain = std::min(raw.find('\\'), raw.size());
    out.append(raw.substr(0, plain));
    raw.remove_prefix(plain);
    if (raw.empty()) break;
    if (raw.size() < 2) return error("bad escape");
    if (raw[1] == 'u') {
      auto code = unicode_escape(raw);
      if (!code) return error("bad \\u escape");
      append_utf8(out, *code);
      continue;
    }
    const char c = simple_escape(raw[1]);
    if (c == '\0') return error("unknown escape");
    out.push_back(c);
    raw.remove_prefix(2);
  }
  return std::string_view(tape_.copy(out), out.size());
}

Result<> TapeBuilder::literal(std::string_view word, Type type) {
  const std::size_t offset = buffer_.offset(at_);
  const std::string_view rest(buffer_.data() + offset, buffer_.offset(at_ + 1) - offset);
  if (trim(rest) != word) return error("unknown word");
  tape_.nodes.push_back({nullptr, 0, 1, type});
  advance();
  return {};
}

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Length of the JSON number at the front of `text`, 0 when there is none. The text ends with white
/// space at least.
std::size_t number_length(const char* text) {
  const char* at = text;
  if (*at == '-') ++at;
  if (!is_digit(*at)) return 0;
  if (*at == '0') {
    ++at;
  } else {
    while (is_digit(*at)) ++at;
  }
  if (*at == '.') {
    ++at;
    if (!is_digit(*at)) return 0;
    while (is_digit(*at)) ++at;
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    if (*at == '+' || *at == '-') ++at;
    if (!is_digit(*at)) return 0;
    while (is_digit(*at)) ++at;
  }
  return static_cast<std::size_t>(at - text);
}

}  // namespace

Result<> TapeBuilder::number() {
  if (at_end()) return error("value expected");
  const char* text = buffer_.data() + buffer_.offset(at_);
  const std::size_t length = number_length(text);
  // The padding behind the text is blank, so reading one past the number is safe.
  const char next = text[length];
  const bool ends = next == ' ' || next == '\n' || next == '\r' || next == '\t' || next == ',' ||
                    next == '}' || next == ']' || next == ':';
  if (length == 0 || !ends) return error("value expected");
  tape_.nodes.push_back({text, static_cast<std::uint32_t>(length), 1, Type::kNumber});
  advance();
  return {};
}

}  // namespace kollect::base::json::detail
