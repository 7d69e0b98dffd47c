#include "kube/watch_event.h"

#include <fmt/format.h>

#include <algorithm>

namespace kollect::kube {

namespace {

constexpr std::string_view kEndMark = "k8s.io/initial-events-end";

base::Error unreadable(std::string_view why) {
  return base::retryable(fmt::format("an event cannot be read: {}", why), "unreadable");
}

std::optional<WatchEvent::Type> type_of(std::string_view name) {
  using enum WatchEvent::Type;
  if (name == "ADDED" || name == "MODIFIED") return kPut;
  if (name == "DELETED") return kDeleted;
  if (name == "BOOKMARK") return kMark;
  if (name == "ERROR") return kError;
  return std::nullopt;
}

bool is_plain_number(std::string_view text) {
  return !text.empty() && text.front() != '0' &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

base::Result<WatchEvent> read_watch_event(base::json::Document& document, std::string_view line) {
  if (auto parsed = document.reparse_borrowed(line); !parsed) {
    return unreadable(parsed.error().message);
  }
  const base::json::View root = document.root();
  const auto type = type_of(root.text("type"));
  if (!type) return unreadable("its type is not known");
  const auto object = root.find("object");
  if (!object || !object->is_object()) return unreadable("it has no object");
  WatchEvent event{.type = *type, .added = root.text("type") == "ADDED", .object = *object};
  if (event.type == WatchEvent::Type::kError) {
    if (const auto code = object->find("code"); code && code->is_number()) {
      event.code = code->number().i;
    }
    event.reason = object->text("reason");
    return event;
  }
  const auto metadata = object->find("metadata");
  if (!metadata || !metadata->is_object()) return unreadable("its object has no metadata");
  event.version = metadata->text("resourceVersion");
  if (event.type == WatchEvent::Type::kMark) {
    const auto annotations = metadata->find("annotations");
    event.end_of_list = annotations && annotations->text(kEndMark) == "true";
  }
  return event;
}

bool went_back(std::string_view now, std::string_view before) {
  if (!is_plain_number(now) || !is_plain_number(before)) return false;
  return now.size() != before.size() ? now.size() < before.size() : now < before;
}

}  // namespace kollect::kube
