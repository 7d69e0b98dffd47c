#include "install/state.h"

#include <algorithm>

#include "api/codec.h"
#include "base/strings.h"

namespace kollect::install {

using base::json::Value;

namespace {

State from(const char* word, const Value& condition) {
  return {.word = word,
          .reason = std::string(condition.text("reason")),
          .message = std::string(condition.text("message"))};
}

}  // namespace

std::string text_at(const Value& object, std::initializer_list<std::string_view> path) {
  const Value* found = object.at_path(path);
  return found != nullptr && found->is_string() ? found->as_string() : std::string();
}

std::int64_t number_at(const Value& object, std::initializer_list<std::string_view> path,
                       std::int64_t otherwise) {
  const Value* found = object.at_path(path);
  return found != nullptr && found->is_int() ? found->as_int() : otherwise;
}

const std::vector<Value>& list_at(const Value& object,
                                  std::initializer_list<std::string_view> path) {
  static const std::vector<Value> kNone;
  const Value* found = object.at_path(path);
  return found != nullptr && found->is_array() ? found->as_array() : kNone;
}

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view part : base::split(text, ',')) {
    const std::string_view word = base::trim(part);
    if (!word.empty() && std::ranges::find(words, word) == words.end()) words.emplace_back(word);
  }
  return words;
}

bool is_looked_at(std::string_view kind) {
  return api::find_kind(kind) != nullptr && kind != "KollectProfile" && !kind.ends_with("Scope");
}

const Value* find_condition(const Value& status, std::string_view type) {
  for (const Value& one : list_at(status, {"conditions"})) {
    if (one.text("type") == type) return &one;
  }
  return nullptr;
}

State state_of(const Value& object) {
  const std::string_view kind = object.text("kind");
  if (object.at_path({"metadata", "deletionTimestamp"}) != nullptr) {
    return {.word = "Deleting", .reason = {}, .message = {}};
  }
  if (!is_looked_at(kind)) return {.word = "-", .reason = {}, .message = {}};
  const Value* status = object.find("status");
  if (status == nullptr || !status->is_object() || find_condition(*status, "Ready") == nullptr) {
    const Value* degraded = status == nullptr ? nullptr : find_condition(*status, "Degraded");
    if (degraded != nullptr && degraded->text("status") == "True") {
      return from("Degraded", *degraded);
    }
    const Value* verified =
        status == nullptr ? nullptr : find_condition(*status, "ConnectionVerified");
    if (verified != nullptr) {
      return from(verified->text("status") == "True" ? "Ready" : "Degraded", *verified);
    }
    // Sinks are looked at when an inventory uses them; nothing is said of those that work.
    return {.word = kind.ends_with("Sink") ? "-" : "Unseen", .reason = {}, .message = {}};
  }
  const Value* degraded = find_condition(*status, "Degraded");
  const std::int64_t seen = number_at(object, {"status", "observedGeneration"});
  if (seen != 0 && seen < number_at(object, {"metadata", "generation"})) {
    return {.word = "Pending", .reason = {}, .message = {}};
  }
  if (degraded != nullptr && degraded->text("status") == "True") return from("Degraded", *degraded);
  const Value& ready = *find_condition(*status, "Ready");
  if (ready.text("status") != "True") return from("Waiting", ready);
  return from(ready.text("reason") == "PartiallySynced" ? "Partly" : "Ready", ready);
}

std::string namespace_in(const Value& object) {
  return text_at(object, {"metadata", "namespace"});
}

std::string name_in(const Value& object) {
  return text_at(object, {"metadata", "name"});
}

std::string place_of(const Value& object) {
  const std::string ns = namespace_in(object);
  return ns.empty() ? name_in(object) : ns + "/" + name_in(object);
}

std::string status_text(const Value& object, std::string_view field) {
  return text_at(object, {"status", field});
}

std::optional<std::int64_t> status_number(const Value& object, std::string_view field) {
  const Value* found = object.at_path({"status", field});
  if (found == nullptr || !found->is_int()) return std::nullopt;
  return found->as_int();
}

}  // namespace kollect::install
