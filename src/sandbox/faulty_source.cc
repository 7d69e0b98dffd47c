// A body that is cut, goes silent, or whose events come twice or late.
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/json/document.h"
#include "base/json/write.h"
#include "sandbox/faults.h"

namespace kollect::sandbox {

namespace {

using base::json::View;

/// An event that is held back comes after this at the latest, when no others come.
constexpr auto kLongestHold = std::chrono::milliseconds(50);

class FaultySource final : public http::BodySource {
 public:
  FaultySource(std::shared_ptr<http::BodySource> inner, std::vector<Faults::LivePtr> rules,
               bool events)
      : inner_(std::move(inner)), rules_(std::move(rules)), events_(events) {
    for (const auto& live : rules_) {
      if (live->rule.action == FaultRule::Action::kNoBookmarks) no_bookmarks_ = true;
      if (live->rule.action == FaultRule::Action::kNoListEnd) no_list_end_ = true;
    }
  }

  void start(std::function<void()> wake) override { inner_->start(std::move(wake)); }

  Pull pull(std::string& out) override {
    if (silent_) return {.next = Next::kWait};
    std::string text;
    Pull next = inner_->pull(text);
    const std::size_t before = out.size();
    if (events_) {
      std::string_view rest = text;
      while (!rest.empty() && !ended_ && !silent_) {
        const std::size_t end = rest.find('\n');
        const std::size_t size = end == std::string_view::npos ? rest.size() : end + 1;
        take_line(std::string(rest.substr(0, size)), out);
        rest.remove_prefix(size);
      }
      const bool idle = next.next == Next::kWait && text.empty();
      if (!ended_ && (idle || next.next == Next::kEnd)) flush(out);
    } else {
      out += text;
    }
    limit_bytes(out, before);
    if (ended_) return {.next = *ended_};
    if (silent_) return {.next = Next::kWait};
    if (next.next == Next::kWait && !held_.empty()) {
      next.at_most = std::min<base::Duration>(next.at_most, kLongestHold);
    }
    return next;
  }

 private:
  struct Held {
    std::string key;
    std::string line;
    std::uint64_t left = 0;  ///< other events that go first
  };

  void take_line(std::string line, std::string& out) {
    const auto document = base::json::Document::parse_borrowed(line);
    if (!document) return;
    const View event = document->root();
    const auto metadata = event.at_path({"object", "metadata"});
    if (event.text("type") == "BOOKMARK") {
      const auto annotations = metadata ? metadata->find("annotations") : std::nullopt;
      const bool end_mark = annotations && annotations->find("k8s.io/initial-events-end");
      // A bookmark says that everything up to it was given.
      flush(out);
      if (no_bookmarks_ || (no_list_end_ && end_mark)) return;
      out += line;
      return;
    }
    if (strikes_after_events(out)) return;
    ++seen_;
    const std::string key =
        metadata ? fmt::format("{}/{}", metadata->text("namespace"), metadata->text("name")) : "";
    release_of(key, out);
    for (const auto& live : rules_) {
      if (live->rule.action == FaultRule::Action::kLate && live->strikes_now()) {
        held_.push_back({key, std::move(line), live->rule.by});
        return;
      }
    }
    out += line;
    for (const auto& live : rules_) {
      if (live->rule.action == FaultRule::Action::kDuplicate && live->strikes_now()) out += line;
    }
    pass_held(out);
  }

  bool strikes_after_events(std::string& out) {
    for (const auto& live : rules_) {
      const FaultRule& rule = live->rule;
      if (rule.action != FaultRule::Action::kGone && !rule.after_events) continue;
      if (seen_ < rule.after_events.value_or(0)) continue;
      flush(out);
      if (rule.action == FaultRule::Action::kGone) {
        out += R"({"type":"ERROR","object":)" +
               base::json::compact(expired(fmt::format("fault \"{}\"", rule.id)).to_value()) +
               "}\n";
        ended_ = Next::kEnd;
      } else if (rule.action == FaultRule::Action::kCut) {
        ended_ = Next::kCut;
      } else if (rule.action == FaultRule::Action::kStall) {
        silent_ = true;
        return true;
      } else {
        continue;
      }
      return true;
    }
    return silent_;
  }

  void limit_bytes(std::string& out, std::size_t before) {
    for (const auto& live : rules_) {
      const FaultRule& rule = live->rule;
      if (!rule.after_bytes || sent_ + out.size() - before < *rule.after_bytes) continue;
      out.resize(before +
                 static_cast<std::size_t>(*rule.after_bytes - std::min(*rule.after_bytes, sent_)));
      if (rule.action == FaultRule::Action::kStall) {
        silent_ = true;
      } else {
        ended_ = Next::kCut;
      }
    }
    sent_ += out.size() - before;
  }

  /// Events of one object keep their order.
  void release_of(const std::string& key, std::string& out) {
    std::erase_if(held_, [&](const Held& held) {
      if (held.key != key) return false;
      out += held.line;
      return true;
    });
  }

  void pass_held(std::string& out) {
    std::erase_if(held_, [&](Held& held) {
      if (held.left > 1) {
        --held.left;
        return false;
      }
      out += held.line;
      return true;
    });
  }

  void flush(std::string& out) {
    for (const Held& held : held_) out += held.line;
    held_.clear();
  }

  std::shared_ptr<http::BodySource> inner_;
  std::vector<Faults::LivePtr> rules_;
  bool events_;
  bool no_bookmarks_ = false;
  bool no_list_end_ = false;
  std::uint64_t seen_ = 0;
  std::uint64_t sent_ = 0;
  std::deque<Held> held_;
  bool silent_ = false;
  std::optional<Next> ended_;
};

}  // namespace

std::shared_ptr<http::BodySource> with_faults(std::shared_ptr<http::BodySource> inner,
                                              std::vector<Faults::LivePtr> rules, bool events) {
  return std::make_shared<FaultySource>(std::move(inner), std::move(rules), events);
}

}  // namespace kollect::sandbox
