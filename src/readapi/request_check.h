// For tests: any request, and what must hold for its answer whatever it asks.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/json/document.h"
#include "base/strings.h"
#include "readapi/open_api.h"
#include "readapi/service.h"

namespace kollect::readapi::testing {

/// Statuses of each path that the description tells, by path with "{name}" in it.
inline std::map<std::string, std::set<int>> described_statuses() {
  std::map<std::string, std::set<int>> out;
  const base::json::Value document = open_api();
  for (const auto& [path, methods] : document.find("paths")->as_object()) {
    for (const auto& [status, answer] : methods.find("get")->find("responses")->as_object()) {
      out[path].insert(std::stoi(status));
    }
  }
  return out;
}

/// Whether a path is one of a template: a segment in braces is any segment.
inline bool is_path(std::string_view path, std::string_view described) {
  const auto have = base::split(path, '/');
  const auto want = base::split(described, '/');
  if (have.size() != want.size()) return false;
  for (std::size_t i = 0; i < have.size(); ++i) {
    if (want[i].starts_with('{') ? have[i].empty() : have[i] != want[i]) return false;
  }
  return true;
}

/// The body, all of it or, of a stream, what is there now.
inline std::string drained(const http::Answer& answer) {
  if (!answer.source) return answer.body;
  answer.source->start([] {});
  std::string out;
  constexpr int kMost = 100000;
  for (int i = 0; i < kMost; ++i) {
    if (answer.source->pull(out).next != http::BodySource::Next::kMore) break;
  }
  return out;
}

/// What is wrong with the answer to a GET; empty: nothing.
inline std::string fault_of(const http::Answer& answer, const std::string& path,
                            const std::map<std::string, std::set<int>>& described) {
  const std::string body = drained(answer);
  std::string type;
  bool packed = false;
  for (const auto& [name, value] : answer.headers) {
    if (name == "Content-Type") type = value;
    if (name == "Content-Encoding") packed = true;
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return "header " + name + " has a line end";
    }
  }
  if (packed && !body.starts_with("\x1f\x8b")) return "no gzip";
  if (!packed && type == "application/json" && !base::json::Document::parse(body)) {
    return "no JSON: " + body;
  }
  const std::set<int>* statuses = nullptr;
  for (const auto& [known, its] : described) {
    if (is_path(path, known) && (statuses == nullptr || known.find('{') == std::string::npos)) {
      statuses = &its;
    }
  }
  constexpr int kMissing = 404;
  constexpr int kMoved = 302;
  const bool good = statuses != nullptr ? statuses->contains(answer.status) ||
                                              answer.status == kMissing  // no such name
                                        : answer.status == kMissing || answer.status == kMoved;
  return good ? "" : path + ": status " + std::to_string(answer.status) + ": " + body;
}

}  // namespace kollect::readapi::testing
