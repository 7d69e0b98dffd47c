#include "sinks/events/messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/types.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "sinks/rows/rows.h"

namespace kollect::sinks::events {

namespace {

using inventory::RowView;

std::string place_of(const Export& head) {
  return fmt::format("{}/{}/{}", head.cluster, head.inventory.ns, head.inventory.name);
}

void append_member(std::string& out, std::string_view quoted_key, std::string_view value) {
  out += quoted_key;
  base::json::append_string(out, value);
}

/// A header is one line.
std::string header_text(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '_');
  return out;
}

std::string id_of(std::string_view place, std::string_view text) {
  base::Sha256 hash;
  hash.update(place);
  hash.update("/");
  hash.update(text);
  return hash.finish_hex();
}

/// What all messages begin with.
std::string opening(const Export& head, base::WallTime at) {
  std::string out = fmt::format(R"({{"schemaVersion":"{}","timestamp":"{}")", api::kApiVersion,
                                base::format_rfc3339(at));
  append_member(out, ",\"cluster\":", head.cluster);
  append_member(out, ",\"namespace\":", head.inventory.ns);
  return out;
}

void add_headers(Message& message, const Export& head) {
  auto& headers = message.headers;
  headers.reserve(11);
  headers.emplace_back("Kollect-Schema-Version", api::kApiVersion);
  headers.emplace_back("Kollect-Cluster", header_text(head.cluster));
  headers.emplace_back("Kollect-Namespace", header_text(head.inventory.ns));
  headers.emplace_back("Kollect-Inventory", header_text(head.inventory.name));
  headers.emplace_back("Kollect-Generation", std::to_string(head.generation));
}

void add_set_headers(Message& message, std::string checksum, std::size_t items) {
  message.headers.emplace_back("Kollect-Checksum", std::move(checksum));
  message.headers.emplace_back("Kollect-Item-Count", std::to_string(items));
}

/// The envelope names its checksum first.
std::string checksum_in(std::string_view envelope) {
  constexpr std::string_view kKey = R"("checksum":")";
  return std::string(envelope.substr(envelope.find(kKey) + kKey.size(), 64));
}

/// What of the set could not be read, as members of an object; nothing when all was.
std::string unread_members(const Export& head) {
  std::string out;
  const auto add_list = [&](std::string_view key, const std::vector<std::string>& list) {
    if (list.empty()) return;
    out += fmt::format(",\"{}\":[", key);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += ',';
      base::json::append_string(out, list[i]);
    }
    out += ']';
  };
  // Targets of the inventory's own namespace may be named without it.
  std::vector<std::string> targets = head.keep_targets;
  for (std::string& target : targets) {
    if (target.find('/') == std::string::npos) target = head.inventory.ns + "/" + target;
  }
  add_list("keepTargets", targets);
  add_list("keepNamespaces", head.keep_namespaces);
  add_list("keepParts", texts_of(head.keep_parts));
  return out;
}

std::string row_key(std::string_view place, const RowView& row) {
  return fmt::format("{}/{}/{}", place, row.target_name, rows::source_uid(row));
}

}  // namespace

void append_identity_json(std::string& out, const RowView& row) {
  constexpr std::string_view kTail = R"(,"attributes":{}})";
  RowView bare = row;
  bare.attributes = "{}";
  inventory::append_row_json(out, bare);
  out.resize(out.size() - kTail.size());
  out += '}';
}

Message document_message(const Export& head, base::WallTime at, const Document& document) {
  Message out;
  const std::string place = place_of(head);
  out.inventory = head.inventory;
  out.cluster = head.cluster;
  out.key = place;
  std::string body = opening(head, at);
  body.reserve(body.size() + document.envelope.size() + 16);
  body += ",\"payload\":";
  body += document.envelope;
  const std::string unread = unread_members(head);
  if (!unread.empty()) body += fmt::format(",\"incomplete\":{{{}}}", unread.substr(1));
  body += '}';
  out.body = std::move(body);
  add_headers(out, head);
  add_set_headers(out, checksum_in(document.envelope), document.rows);
  if (!unread.empty()) out.headers.emplace_back("Kollect-Incomplete", "true");
  if (document.parts > 0) {
    out.headers.emplace_back("Kollect-Part-Index", std::to_string(document.part));
    out.headers.emplace_back("Kollect-Part-Total", std::to_string(document.parts));
  }
  out.id = id_of(place, document.envelope + unread);
  return out;
}

ChangeEvents::ChangeEvents(const Export& head) : head_(&head), place_(place_of(head)) {}

Message ChangeEvents::event(std::string_view type, base::WallTime at, std::string_view rest) {
  Message out;
  out.inventory = head_->inventory;
  out.cluster = head_->cluster;
  out.type = type;
  std::string body = opening(*head_, at);
  body.reserve(body.size() + rest.size() + 128);
  append_member(body, ",\"inventory\":", head_->inventory.name);
  body += fmt::format(R"(,"type":"{}","generation":{})", type, head_->generation);
  body += rest;
  body += '}';
  out.id = id_of(place_, body);
  out.body = std::move(body);
  add_headers(out, *head_);
  return out;
}

Message ChangeEvents::of_row(std::string_view type, base::WallTime at, const RowView& row,
                             std::string_view rest, std::string_view items, std::size_t count) {
  Message out = event(type, at, rest);
  out.key = row_key(place_, row);
  add_set_headers(out, base::sha256_hex(items), count);
  out.headers.emplace_back("Kollect-Type", type);
  out.headers.emplace_back("Kollect-Uid", header_text(row.uid));
  out.headers.emplace_back("Kollect-Target", header_text(row.target_name));
  return out;
}

Message ChangeEvents::upsert(const RowView& row, base::WallTime at, std::size_t limit,
                             bool& replaced) {
  constexpr std::string_view kKey = ",\"row\":";
  // The row stands in brackets: its checksum is that of a set with this row alone.
  row_ = kKey;
  row_ += '[';
  inventory::append_row_json(row_, row);
  row_ += ']';
  const std::string_view items = std::string_view(row_).substr(kKey.size());
  const std::string_view json = items.substr(1, items.size() - 2);
  std::string rest(kKey);
  replaced = json.size() > limit;
  if (!replaced) {
    rest += json;
    Message out = of_row("upsert", at, row, rest, items, 1);
    replaced = out.body->size() > limit;
    if (!replaced) return out;
    rest = kKey;
  }
  append_identity_json(rest, row);
  rest += fmt::format(R"(,"tooLarge":{{"bytes":{},"sha256":"{}"}})", json.size(),
                      base::sha256_hex(json));
  return of_row("upsert", at, row, rest, items, 1);
}

Message ChangeEvents::erase(const RowView& row, base::WallTime at) {
  std::string rest = ",\"row\":";
  append_identity_json(rest, row);
  return of_row("delete", at, row, rest, "[]", 0);
}

Message ChangeEvents::tombstone(const RowView& row) const {
  Message out;
  out.inventory = head_->inventory;
  out.cluster = head_->cluster;
  out.type = "delete";
  out.key = row_key(place_, row);
  add_headers(out, *head_);
  return out;
}

Message ChangeEvents::mark(std::string_view type, base::WallTime at, std::size_t items,
                           const std::string& checksum) {
  std::string rest = fmt::format(R"(,"itemCount":{},"checksum":"{}")", items, checksum);
  rest += unread_members(*head_);
  Message out = event(type, at, rest);
  // Not the same key for both marks: a compacted topic would keep the last one only.
  out.key = fmt::format("{}/{}", place_, type);
  out.bracket = true;
  add_set_headers(out, checksum, items);
  out.headers.emplace_back("Kollect-Type", type);
  return out;
}

}  // namespace kollect::sinks::events
