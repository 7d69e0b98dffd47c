// walk_list: one pass over a list document, an element's tape at a time.
#include "base/json/document.h"
#include "base/json/tape_builder.h"

namespace kollect::base::json {

namespace {

using detail::Tape;
using detail::TapeBuilder;
using detail::TextBuffer;

/// Builds one value on its own tape and returns its view; `tape` is cleared first.
Result<View> small_value(TapeBuilder& builder, Tape& tape) {
  tape.clear();
  KL_TRY(builder.value(2));
  return View(tape.nodes.data());
}

void read_metadata(View metadata, ListHead& head) {
  head.resource_version = metadata.text("resourceVersion");
  head.continue_token = metadata.text("continue");
  if (auto remaining = metadata.find("remainingItemCount"); remaining && remaining->is_number()) {
    head.remaining = remaining->number().i;
  }
}

Result<> read_member(std::string_view key, TapeBuilder& builder, Tape& tape, ListHead& head) {
  KL_ASSIGN(View value, small_value(builder, tape));
  if (key == "metadata") read_metadata(value, head);
  if (value.is_string()) {
    if (key == "apiVersion") head.api_version = value.as_string();
    if (key == "kind") head.kind = value.as_string();
    if (key == "reason") head.status_reason = value.as_string();
    if (key == "message") head.status_message = value.as_string();
  }
  if (key == "code" && value.is_number()) head.status_code = value.number().i;
  return {};
}

/// Appends a string member to the object that the tape holds. Order of members carries no meaning.
void add_member(Tape& tape, std::string_view key, std::string_view value) {
  for (const std::string_view text : {key, value}) {
    tape.nodes.push_back({.text = text.data(),
                          .size = static_cast<std::uint32_t>(text.size()),
                          .span = 1,
                          .type = Type::kString});
  }
  tape.nodes.front().span += 2;
  ++tape.nodes.front().size;
}

View with_type(Tape& tape, const ListHandler& handler) {
  View item(tape.nodes.data());
  if (!item.is_object()) return item;
  const bool needs_version = !handler.item_api_version.empty() && !item.find("apiVersion");
  const bool needs_kind = !handler.item_kind.empty() && !item.find("kind");
  if (needs_version) add_member(tape, "apiVersion", handler.item_api_version);
  if (needs_kind) add_member(tape, "kind", handler.item_kind);
  return View(tape.nodes.data());
}

Result<> walk_item(TapeBuilder& builder, Tape& tape, const ListHandler& handler) {
  const std::uint32_t start = builder.position();
  auto item = small_value(builder, tape);
  if (item) return handler.on_item(with_type(tape, handler));
  if (!handler.on_bad_item) return item.error();
  builder.rewind(start);
  KL_TRY(builder.skip());
  handler.on_bad_item(item.error());
  return {};
}

Result<std::size_t> walk_items(TapeBuilder& builder, Tape& tape, const ListHandler& handler) {
  std::size_t count = 0;
  if (builder.peek() == 'n') {  // "items": null
    KL_TRY(small_value(builder, tape));
    return count;
  }
  KL_TRY(builder.expect('['));
  if (builder.peek() == ']') {
    builder.advance();
    return count;
  }
  while (true) {
    KL_TRY(walk_item(builder, tape, handler));
    ++count;
    if (builder.peek() == ',') {
      builder.advance();
      continue;
    }
    KL_TRY(builder.expect(']'));
    return count;
  }
}

}  // namespace

Result<ListHead> walk_list(std::string_view text, const ListHandler& handler) {
  TextBuffer buffer;
  KL_TRY(buffer.load(text));
  Tape tape;
  TapeBuilder builder(buffer, tape);
  ListHead head;
  KL_TRY(builder.expect('{'));
  if (builder.peek() == '}') return head;
  while (true) {
    KL_ASSIGN(std::string_view raw_key, builder.string());
    const std::string key(raw_key);
    KL_TRY(builder.expect(':'));
    if (key == "items") {
      KL_ASSIGN(head.items, walk_items(builder, tape, handler));
    } else {
      KL_TRY(read_member(key, builder, tape, head));
    }
    if (builder.peek() == ',') {
      builder.advance();
      continue;
    }
    KL_TRY(builder.expect('}'));
    break;
  }
  if (!builder.at_end()) return builder.error("text after the end of the list");
  return head;
}

}  // namespace kollect::base::json
