// For tests: the API without a network.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sandbox/api.h"

namespace kollect::sandbox::testing {

using base::json::Value;

inline Value parse(std::string_view text) {
  auto document = base::json::Document::parse(text);
  EXPECT_TRUE(document.has_value()) << text;
  return document ? base::json::to_value(document->root()) : Value();
}

/// An answer with its body read to the end.
struct Got {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string text;
  bool cut = false;
  [[nodiscard]] Value json() const { return parse(text); }
  [[nodiscard]] std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

/// A watch, read as far as it goes without waiting.
class Watching {
 public:
  explicit Watching(http::Answer answer) : source_(std::move(answer.source)) {
    if (source_) source_->start([] {});
  }
  /// "TYPE ns/name@resourceVersion", of what has come since the last call.
  std::vector<std::string> events() {
    std::vector<std::string> out;
    for (const std::string& line : lines()) {
      const Value event = parse(line);
      const Value* object = event.find("object");
      if (event.text("type") == "ERROR") {
        out.push_back(fmt::format("ERROR {}", object->find("code")->as_int()));
        continue;
      }
      const Value* metadata = object->find("metadata");
      const std::string_view ns = metadata->text("namespace");
      out.push_back(fmt::format("{} {}{}{}", event.text("type"), ns, ns.empty() ? "" : "/",
                                metadata->text("name")));
    }
    return out;
  }
  std::vector<std::string> lines() {
    std::string text;
    http::BodySource::Pull pull;
    do {
      std::string piece;
      pull = source_->pull(piece);
      text += piece;
    } while (pull.next == http::BodySource::Next::kMore);
    last = pull;
    std::vector<std::string> out;
    for (const auto line : base::split(text, '\n')) {
      if (!line.empty()) out.emplace_back(line);
    }
    return out;
  }
  http::BodySource::Pull last;

 private:
  std::shared_ptr<http::BodySource> source_;
};

/// One server without sockets; its clock stands still.
class Server {
 public:
  explicit Server(ApiOptions options = {})
      : clock(*base::parse_rfc3339("2026-02-03T04:05:06Z")), api(clock, options) {}

  http::Answer ask(const std::string& method, const std::string& target, std::string body = {},
                   const std::string& type = "application/json", const std::string& accept = {}) {
    http::ServerRequest request;
    request.method = method;
    const std::size_t mark = target.find('?');
    request.path = target.substr(0, mark);
    if (mark != std::string::npos) request.query = target.substr(mark + 1);
    request.headers.emplace_back("content-type", type);
    if (!accept.empty()) request.headers.emplace_back("accept", accept);
    request.body = std::move(body);
    return api.answer(request);
  }
  Got call(const std::string& method, const std::string& target, std::string body = {},
           const std::string& type = "application/json", const std::string& accept = {}) {
    http::Answer answer = ask(method, target, std::move(body), type, accept);
    Got got{.status = answer.status,
            .headers = std::move(answer.headers),
            .text = std::move(answer.body)};
    if (answer.source) {
      http::BodySource::Pull pull;
      do {
        std::string piece;
        pull = answer.source->pull(piece);
        got.text += piece;
      } while (pull.next == http::BodySource::Next::kMore);
      got.cut = pull.next == http::BodySource::Next::kCut;
    }
    return got;
  }
  Got get(const std::string& target) { return call("GET", target); }
  Got post(const std::string& target, std::string body) {
    return call("POST", target, std::move(body));
  }
  Watching watch(const std::string& target) { return Watching(ask("GET", target)); }

  base::ManualClock clock;
  Api api;
};

/// "ns/name" of a list's items.
inline std::vector<std::string> names(const Got& list) {
  std::vector<std::string> out;
  const Value value = list.json();
  const Value* items = value.find("items");
  EXPECT_NE(items, nullptr) << list.text;
  if (items == nullptr || !items->is_array()) return out;
  for (const Value& item : items->as_array()) {
    const Value* metadata = item.find("metadata");
    const std::string_view ns = metadata->text("namespace");
    out.push_back(fmt::format("{}{}{}", ns, ns.empty() ? "" : "/", metadata->text("name")));
  }
  return out;
}

/// Text at a path of member names ("metadata.name"), "" when missing; numbers as text.
inline std::string at(const Value& value, std::string_view path) {
  const Value* found = &value;
  for (const auto step : base::split(path, '.')) {
    found = found->find(step);
    if (found == nullptr) return {};
  }
  return found->is_string() ? found->as_string() : base::json::compact(*found);
}

inline std::string config_map(const std::string& name, const std::string& labels = "{}") {
  return fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}},"data":{{"k":"v"}}}})", name,
                     labels);
}

}  // namespace kollect::sandbox::testing
