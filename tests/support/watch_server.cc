#include "support/watch_server.h"

#include <fmt/format.h>

namespace kollect::testing {

namespace {

std::string boat(const std::string& name, const std::string& rv) {
  return fmt::format(R"("metadata":{{"name":"{0}","uid":"uid-{0}","resourceVersion":"{1}"}})", name,
                     rv);
}

std::string event(const char* type, const std::string& name, const std::string& rv) {
  return fmt::format(
      R"({{"type":"{}","object":{{"apiVersion":"harbour.example/v1","kind":"Boat",{}}}}})", type,
      boat(name, rv));
}

std::string mark(const std::string& rv, const std::string& annotations) {
  return fmt::format(
      R"({{"type":"BOOKMARK","object":{{"kind":"Boat","metadata":{{"resourceVersion":"{}"{}}}}}}})",
      rv, annotations);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string describe(const Received& request) {
  if (request.query("watch") == "true") {
    if (request.query("sendInitialEvents") == "true") return "STREAM";
    return "WATCH " + request.query("resourceVersion");
  }
  const std::string token = request.query("continue");
  return token.empty() ? "LIST" : "LIST " + token;
}

}  // namespace

std::string added(const std::string& name, const std::string& rv) {
  return event("ADDED", name, rv);
}

std::string modified(const std::string& name, const std::string& rv) {
  return event("MODIFIED", name, rv);
}

std::string deleted(const std::string& name, const std::string& rv) {
  return event("DELETED", name, rv);
}

std::string bookmark(const std::string& rv) {
  return mark(rv, "");
}

std::string end_mark(const std::string& rv) {
  return mark(rv, R"(,"annotations":{"k8s.io/initial-events-end":"true"})");
}

std::string error_event(int code, const std::string& reason, const std::string& message) {
  return fmt::format(
      R"({{"type":"ERROR","object":{{"kind":"Status","apiVersion":"v1","status":"Failure",)"
      R"("reason":"{}","code":{},"message":"{}"}}}})",
      reason, code, message);
}

Reply list_page(const std::string& rv, const std::vector<std::string>& names,
                const std::string& token) {
  std::string text = fmt::format(
      R"({{"kind":"BoatList","apiVersion":"harbour.example/v1","metadata":{{"resourceVersion":"{}",)"
      R"("continue":"{}"}},"items":[)",
      rv, token);
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "{" : ",{") + boat(names[i], rv) + "}";
  }
  return Reply::json(text + "]}");
}

Reply status_reply(int code, const std::string& reason, const std::string& message) {
  return Reply::json(
      fmt::format(
          R"({{"kind":"Status","status":"Failure","reason":"{}","code":{},"message":"{}"}})",
          reason, code, message),
      code);
}

Reply watch_reply(const std::vector<std::string>& lines) {
  Reply reply;
  reply.chunked = true;
  reply.body = joined(lines);
  return reply;
}

WatchServer::WatchServer(HttpServerOptions options)
    : server_(std::make_unique<HttpServer>([this](const Received& r) { return answer(r); },
                                           std::move(options))) {}

WatchServer::~WatchServer() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  server_.reset();
}

void WatchServer::then(const std::string& request, Reply reply) {
  const std::scoped_lock lock(mutex_);
  script_.emplace_back(request, std::move(reply));
}

void WatchServer::otherwise(std::function<Reply(const Received&)> answer) {
  const std::scoped_lock lock(mutex_);
  otherwise_ = std::move(answer);
}

Reply WatchServer::held(const std::vector<std::string>& lines) {
  return behind(watch_reply(lines), "the end of the server", "");
}

Reply WatchServer::behind(Reply reply, const std::string& gate, const std::string& text) {
  reply.more.emplace_back([this, gate] { wait_for(gate); }, text);
  return reply;
}

void WatchServer::open(const std::string& gate) {
  const std::scoped_lock lock(mutex_);
  open_.insert(gate);
  changed_.notify_all();
}

void WatchServer::wait_for(const std::string& gate) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closing_ || open_.contains(gate); });
}

std::vector<std::string> WatchServer::log() const {
  const std::scoped_lock lock(mutex_);
  return log_;
}

bool WatchServer::wait_for_requests(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return log_.size() >= count; });
}

Reply WatchServer::answer(const Received& request) {
  std::unique_lock lock(mutex_);
  const std::string what = describe(request);
  log_.push_back(what);
  changed_.notify_all();
  if (script_.empty() && otherwise_) {
    const auto answer = otherwise_;
    lock.unlock();
    return answer(request);
  }
  if (script_.empty() || script_.front().first != what) {
    Reply silence;
    silence.no_answer = true;
    return silence;
  }
  Reply reply = std::move(script_.front().second);
  script_.pop_front();
  return reply;
}

}  // namespace kollect::testing
