#include "sandbox/faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"

namespace kollect::sandbox {

using base::json::Array;
using base::json::Object;
using base::json::Value;

namespace {

struct ActionName {
  std::string_view name;
  FaultRule::Action action;
};
constexpr ActionName kActions[] = {
    {"error", FaultRule::Action::kError},
    {"cut", FaultRule::Action::kCut},
    {"stall", FaultRule::Action::kStall},
    {"gone", FaultRule::Action::kGone},
    {"duplicate", FaultRule::Action::kDuplicate},
    {"late", FaultRule::Action::kLate},
    {"no-bookmarks", FaultRule::Action::kNoBookmarks},
    {"no-list-end", FaultRule::Action::kNoListEnd},
};

constexpr std::string_view kMembers[] = {
    "id",          "do",   "verbs",      "resources",   "namespaces", "skip", "times",
    "probability", "code", "retryAfter", "afterEvents", "afterBytes", "by"};

base::Error unknown_action(std::string_view name) {
  std::vector<std::string> names;
  for (const ActionName& action : kActions) names.emplace_back(action.name);
  return base::configuration(
      fmt::format("\"{}\" is no action; actions are {}", name, base::join(names, ", ")));
}

base::Error unknown_member(std::string_view name) {
  const std::vector<std::string> members(std::begin(kMembers), std::end(kMembers));
  const auto near = base::near_names(name, members);
  return base::configuration(
      near.empty() ? "is no member of a rule; members are " + base::join(members, ", ")
                   : "is no member of a rule; did you mean " + near.front() + "?");
}

base::Result<> read_strings(const Value& value, std::vector<std::string>& out) {
  if (!value.is_array()) return base::configuration("must be a list of texts");
  for (const Value& item : value.as_array()) {
    if (!item.is_string()) return base::configuration("must be a list of texts");
    out.push_back(item.as_string());
  }
  return {};
}

base::Result<std::uint64_t> read_count(const Value& value) {
  if (!value.is_int() || value.as_int() < 0)
    return base::configuration("must be a number from 0 on");
  return static_cast<std::uint64_t>(value.as_int());
}

base::Result<> read_member(const std::string& key, const Value& value, FaultRule& rule) {
  if (key == "id" || key == "do") {
    if (!value.is_string()) return base::configuration("must be a text");
    if (key == "id") rule.id = value.as_string();
    if (key == "id") return {};
    const auto found = std::ranges::find(kActions, value.as_string(), &ActionName::name);
    if (found == std::end(kActions)) return unknown_action(value.as_string());
    rule.action = found->action;
    return {};
  }
  if (key == "verbs") return read_strings(value, rule.verbs);
  if (key == "resources") return read_strings(value, rule.resources);
  if (key == "namespaces") return read_strings(value, rule.namespaces);
  if (key == "probability") {
    if (!value.is_number()) return base::configuration("must be a number");
    rule.probability = value.is_double() ? value.as_double() : static_cast<double>(value.as_int());
    return {};
  }
  if (std::ranges::find(kMembers, key) == std::end(kMembers)) return unknown_member(key);
  KL_ASSIGN(const std::uint64_t count, read_count(value));
  if (key == "skip")
    rule.skip = count;
  else if (key == "times")
    rule.times = count;
  else if (key == "code")
    rule.code = static_cast<int>(count);
  else if (key == "retryAfter")
    rule.retry_after = static_cast<int>(count);
  else if (key == "afterEvents")
    rule.after_events = count;
  else if (key == "afterBytes")
    rule.after_bytes = count;
  else if (key == "by")
    rule.by = count;
  return {};
}

bool allows(const std::vector<std::string>& list, std::string_view value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

Status error_of(const FaultRule& rule) {
  Status status;
  status.code = rule.code;
  status.retry_after = rule.retry_after;
  switch (rule.code) {
    case 401:
      status.reason = "Unauthorized";
      break;
    case 403:
      status.reason = "Forbidden";
      break;
    case 404:
      status.reason = "NotFound";
      break;
    case 409:
      status.reason = "Conflict";
      break;
    case 410:
      status.reason = "Expired";
      break;
    case 429:
      status.reason = "TooManyRequests";
      break;
    case 503:
      status.reason = "ServiceUnavailable";
      break;
    case 504:
      status.reason = "Timeout";
      break;
    default:
      status.reason = "InternalError";
      break;
  }
  status.message = fmt::format("fault \"{}\"", rule.id);
  return status;
}

/// Faults that concern the body, not the request as a whole.
bool is_of_body(const FaultRule& rule, bool watch) {
  switch (rule.action) {
    case FaultRule::Action::kError:
      return false;
    case FaultRule::Action::kCut:
    case FaultRule::Action::kStall:
      return rule.after_bytes.has_value() || (watch && rule.after_events.has_value());
    case FaultRule::Action::kGone:
    case FaultRule::Action::kDuplicate:
    case FaultRule::Action::kLate:
    case FaultRule::Action::kNoBookmarks:
    case FaultRule::Action::kNoListEnd:
      return watch;
  }
  return false;
}

/// Decided event by event.
bool is_of_events(const FaultRule& rule) {
  return rule.action == FaultRule::Action::kDuplicate || rule.action == FaultRule::Action::kLate;
}

/// A text that is sent piece by piece, so that it can be cut.
class TextSource final : public http::BodySource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  Pull pull(std::string& out) override {
    out += text_;
    return {.next = Next::kEnd};
  }

 private:
  std::string text_;
};

}  // namespace

bool Faults::Live::strikes_now() {
  const std::uint64_t turn = matches++;
  if (turn < rule.skip) return false;
  const std::string text = fmt::format("{}/{}/{}", seed, rule.id, turn);
  const double dice = static_cast<double>(base::xxh64(text) >> 11U) * 0x1.0p-53;
  if (dice >= rule.probability) return false;
  std::uint64_t had = strikes;
  while (had < rule.times) {
    if (strikes.compare_exchange_weak(had, had + 1)) return true;
  }
  return false;
}

base::Result<> Faults::set(const Value& document) {
  if (!document.is_object()) return base::configuration("faults: must be an object");
  const Value* rules = document.find("rules");
  const Value* seed = document.find("seed");
  for (const auto& [key, value] : document.as_object()) {
    if (key != "rules" && key != "seed") {
      return base::configuration(fmt::format("faults: {} is no member", key));
    }
  }
  if (rules != nullptr && !rules->is_array()) {
    return base::configuration("faults: rules must be a list");
  }
  std::vector<LivePtr> fresh;
  const std::uint64_t used =
      seed != nullptr && seed->is_int() ? static_cast<std::uint64_t>(seed->as_int()) : seed_;
  for (const Value& one : rules != nullptr ? rules->as_array() : Array{}) {
    auto live = std::make_shared<Live>();
    live->seed = used;
    live->rule.id = fmt::format("{}", fresh.size());
    const std::string place = fmt::format("faults: rules[{}]", fresh.size());
    if (!one.is_object() || one.find("do") == nullptr) {
      return base::configuration(place + ": \"do\" must be given");
    }
    for (const auto& [key, value] : one.as_object()) {
      auto read = read_member(key, value, live->rule);
      if (!read) {
        return base::configuration(fmt::format("{}.{}: {}", place, key, read.error().message));
      }
    }
    fresh.push_back(std::move(live));
  }
  std::vector<http::Reply> released;
  const std::scoped_lock lock(mutex_);
  rules_ = std::move(fresh);
  released.swap(stalled_);
  return {};
}

void Faults::clear() {
  (void)set(Object{});
}

Value Faults::describe() const {
  const std::scoped_lock lock(mutex_);
  Array rules;
  for (const LivePtr& live : rules_) {
    Object one;
    one.set("id", live->rule.id);
    const auto found = std::ranges::find(kActions, live->rule.action, &ActionName::action);
    one.set("do", found->name);
    one.set("matches", live->matches.load());
    one.set("strikes", live->strikes.load());
    rules.emplace_back(std::move(one));
  }
  Object out;
  out.set("rules", std::move(rules));
  out.set("stalled", static_cast<std::int64_t>(stalled_.size()));
  return out;
}

std::vector<Faults::LivePtr> Faults::matching(const Call& call) const {
  const std::scoped_lock lock(mutex_);
  std::vector<LivePtr> out;
  for (const LivePtr& live : rules_) {
    const FaultRule& rule = live->rule;
    if (allows(rule.verbs, to_string(call.verb)) && allows(rule.namespaces, call.ns) &&
        allows(rule.resources, qualified(call.served->plural, call.served->group))) {
      out.push_back(live);
    }
  }
  return out;
}

void Faults::serve(const std::optional<Call>& call, http::Reply reply,
                   const std::function<http::Answer()>& answer) {
  if (clock_.steady_now() < down_until_.load()) return;
  const bool watch = call && call->verb == Verb::kWatch;
  std::vector<LivePtr> of_body;
  for (const LivePtr& live : call ? matching(*call) : std::vector<LivePtr>{}) {
    const FaultRule& rule = live->rule;
    if (is_of_body(rule, watch)) {
      if (is_of_events(rule) || live->strikes_now()) of_body.push_back(live);
      continue;
    }
    if (is_of_events(rule) || rule.action == FaultRule::Action::kNoBookmarks ||
        rule.action == FaultRule::Action::kNoListEnd || !live->strikes_now()) {
      continue;
    }
    if (rule.action == FaultRule::Action::kCut) return;
    if (rule.action == FaultRule::Action::kStall) {
      const std::scoped_lock lock(mutex_);
      stalled_.push_back(std::move(reply));
      return;
    }
    FaultRule gone = rule;
    if (rule.action == FaultRule::Action::kGone) gone.code = 410;
    return reply.send(error_of(gone).to_answer());
  }
  http::Answer made = answer();
  if (!of_body.empty() && made.status == 200) {
    if (!made.source) made.source = std::make_shared<TextSource>(std::exchange(made.body, {}));
    made.source = with_faults(std::move(made.source), std::move(of_body), watch);
  }
  reply.send(std::move(made));
}

}  // namespace kollect::sandbox
