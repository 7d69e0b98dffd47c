// Internal to base/json: from structural indexes (simdjson's first stage) to the tape of
// document.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json/document.h"
#include "base/result.h"

namespace kollect::base::json::detail {

/// Nodes and the memory of strings that had to be unescaped or copied. Chunks never move, so nodes
/// may point into them.
struct Tape {
  std::vector<Node> nodes;

  /// Forgets the content and keeps the memory of the nodes and of the first chunk.
  void clear();
  /// Room for `size` bytes; valid until clear().
  char* allocate(std::size_t size);
  const char* copy(std::string_view text);

 private:
  static constexpr std::size_t kChunk = 4096;
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t chunk_size_ = 0;
  std::size_t used_ = 0;
};

/// The text with the padding that simdjson wants, and the places of its structural characters.
class TextBuffer {
 public:
  TextBuffer();
  ~TextBuffer();
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;

  /// Copies and indexes. Bytes that are not UTF-8 are replaced first. Errors: configuration.
  Result<> load(std::string_view text);

  [[nodiscard]] const char* data() const { return text_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint32_t structurals() const;
  /// Offset of structural `i`; the text's size for i == structurals().
  [[nodiscard]] std::uint32_t offset(std::uint32_t i) const { return indexes_[i]; }

 private:
  struct Stage1;
  Result<> index();
  void copy_in(std::string_view text);
  std::unique_ptr<Stage1> stage1_;
  std::unique_ptr<char[]> text_;
  const std::uint32_t* indexes_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Walks the structural characters and appends nodes. One builder per buffer pass.
class TapeBuilder {
 public:
  TapeBuilder(const TextBuffer& buffer, Tape& tape) : buffer_(buffer), tape_(tape) {}

  /// The whole buffer as one value.
  Result<> build_document();

  // The steps that walk_list takes on its own.
  Result<> value(std::size_t depth);
  /// Passes over one value without building it (its grammar is not checked).
  Result<> skip();
  [[nodiscard]] char peek() const { return at_end() ? '\0' : buffer_.data()[buffer_.offset(at_)]; }
  [[nodiscard]] bool at_end() const { return at_ >= buffer_.structurals(); }
  void advance() { ++at_; }
  [[nodiscard]] std::uint32_t position() const { return at_; }
  void rewind(std::uint32_t position) { at_ = position; }
  Result<> expect(char c);
  [[nodiscard]] Error error(std::string_view what) const;
  /// Reads a string token; the text lives in the buffer or the tape.
  Result<std::string_view> string();

 private:
  Result<> object(std::size_t depth);
  Result<> array(std::size_t depth);
  Result<> number();
  Result<> literal(std::string_view word, Type type);
  Result<std::string_view> unescape(std::string_view raw);

  const TextBuffer& buffer_;
  Tape& tape_;
  std::uint32_t at_ = 0;
};

}  // namespace kollect::base::json::detail
