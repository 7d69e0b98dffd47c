#include "support/gitlab_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/value.h"
#include "base/json/write.h"
#include "base/process.h"
#include "base/strings.h"
#include "http/client.h"

namespace kollect::testing {

namespace {

namespace json = base::json;

constexpr std::size_t kPage = 20;

/// User and password of basic authentication; empty without.
std::pair<std::string, std::string> basic_of(const Received& request) {
  const auto header = request.header("authorization");
  if (!header.starts_with("Basic ")) return {};
  const auto text = base::base64_decode(header.substr(6)).value_or("");
  const auto colon = text.find(':');
  return colon == std::string::npos ? std::pair<std::string, std::string>()
                                    : std::pair(text.substr(0, colon), text.substr(colon + 1));
}

std::string token_of(const Received& request, bool gitea) {
  if (!gitea) return request.header("private-token");
  const auto header = request.header("authorization");
  if (header.starts_with("token ")) return header.substr(6);
  return basic_of(request).second;
}

Reply message(int status, const std::string& text) {
  json::Object body;
  body.set("message", text);
  return Reply::json(json::compact(json::Value(std::move(body))), status);
}

HttpServerOptions with_certificate(const CertificateAndKey& certificate) {
  HttpServerOptions out;
  out.certificate = certificate;
  return out;
}

json::Value body_of(const Received& request) {
  auto parsed = json::Document::parse(request.body);
  return parsed.has_value() ? json::to_value(parsed->root()) : json::Value(json::Object());
}

std::string text(const json::Value& object, const std::string& key) {
  const auto* value = object.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

}  // namespace

GitLabServer::GitLabServer(Options options)
    : options_(std::move(options)),
      server_([this](const Received& request) { return answer(request); },
              with_certificate(options_.certificate)) {
  static std::atomic<int> number = 0;
  name_ = fmt::format("gitlab-{}", number++);
  repository_ = git_.make_repository(name_);
  git({"config", "receive.denyNonFastForwards", "false"});
  roles_[kToken] = Role::kDeveloper;
  commit("main", "README.md", "by hand\n");
}

std::string GitLabServer::endpoint() const {
  return fmt::format("{}/{}.git", server_.url(), options_.project);
}

std::string GitLabServer::git(const std::vector<std::string>& args) const {
  base::Command command;
  command.program = "git";
  command.args = {"--git-dir", repository_.string()};
  command.args.insert(command.args.end(), args.begin(), args.end());
  command.env = {{"HOME", "/nonexistent"},       {"GIT_CONFIG_NOSYSTEM", "1"},
                 {"PATH", "/usr/bin:/bin"},      {"GIT_AUTHOR_NAME", "h"},
                 {"GIT_AUTHOR_EMAIL", "h@h"},    {"GIT_COMMITTER_NAME", "h"},
                 {"GIT_COMMITTER_EMAIL", "h@h"}, {"LC_ALL", "C"}};
  const auto result = base::run(base::Context::background(), command);
  if (!result.has_value() || result->exit_code != 0) {
    std::cerr << "git " << base::join(args, " ") << ": "
              << (result.has_value() ? result->err : result.error().message) << "\n";
    std::abort();
  }
  return std::string(base::trim(result->out));
}

std::string GitLabServer::tip(const std::string& branch) const {
  return git({"for-each-ref", "--format=%(objectname)", "refs/heads/" + branch});
}

void GitLabServer::commit(const std::string& branch, const std::string& path,
                          const std::string& content) const {
  // Without a working tree: an index of its own.
  const auto index = repository_ / "hand-index";
  std::filesystem::remove(index);
  const auto with_index = [&](const std::string& script) {
    base::Command command;
    command.program = "sh";
    command.args = {"-ec", script, "sh", path, content};
    command.env = {{"HOME", "/nonexistent"},
                   {"GIT_CONFIG_NOSYSTEM", "1"},
                   {"PATH", "/usr/bin:/bin"},
                   {"GIT_INDEX_FILE", index.string()},
                   {"GIT_DIR", repository_.string()}};
    const auto result = base::run(base::Context::background(), command);
    if (!result.has_value() || result->exit_code != 0) std::abort();
    return std::string(base::trim(result->out));
  };
  const auto parent = tip(branch);
  const auto tree =
      with_index((parent.empty() ? std::string() : fmt::format("git read-tree {}\n", parent)) +
                 "blob=$(printf %s \"$2\" | git hash-object -w --stdin)\n"
                 "git update-index --add --cacheinfo \"100644,$blob,$1\"\ngit write-tree\n");
  std::vector<std::string> args = {"commit-tree", tree, "-m", "by hand"};
  if (!parent.empty()) args.insert(args.end(), {"-p", parent});
  git({"update-ref", "refs/heads/" + branch, git(args)});
}

std::vector<std::string> GitLabServer::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void GitLabServer::forget_calls() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
}

int GitLabServer::pushes() const {
  const std::lock_guard lock(mutex_);
  return pushes_;
}

void GitLabServer::grant(const std::string& token, Role role) {
  const std::lock_guard lock(mutex_);
  roles_[token] = role;
}

void GitLabServer::answer_next(const std::string& begins, int status, const std::string& body,
                               int times) {
  const std::lock_guard lock(mutex_);
  prepared_.push_back({begins, status, body, times});
}

void GitLabServer::check_for(int calls) {
  const std::lock_guard lock(mutex_);
  checks_ = calls;
}

void GitLabServer::pass_pipelines() {
  const std::lock_guard lock(mutex_);
  for (auto& one : requests_) {
    if (one.state == "opened" && one.auto_merge) merge_now(one);
  }
}

std::vector<GitLabServer::MergeRequest> GitLabServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::int64_t GitLabServer::add(MergeRequest request) {
  const std::lock_guard lock(mutex_);
  request.iid = static_cast<std::int64_t>(requests_.size()) + 1;
  requests_.push_back(std::move(request));
  return requests_.back().iid;
}

GitLabServer::MergeRequest* GitLabServer::find(std::int64_t iid) {
  const auto found = std::ranges::find(requests_, iid, &MergeRequest::iid);
  return found == requests_.end() ? nullptr : &*found;
}

void GitLabServer::change(std::int64_t iid, const std::function<void(MergeRequest&)>& edit) {
  const std::lock_guard lock(mutex_);
  edit(*find(iid));
}

void GitLabServer::merge(std::int64_t iid) {
  const std::lock_guard lock(mutex_);
  merge_now(*find(iid));
}

void GitLabServer::merge_now(MergeRequest& one) {
  const auto source = tip(one.source);
  const auto target = tip(one.target);
  const auto tree = git({"merge-tree", "--write-tree", target, source});
  const auto commit = git({"commit-tree", tree, "-p", target, "-p", source, "-m", "merge"});
  git({"update-ref", "refs/heads/" + one.target, commit});
  one.state = "merged";
}

/// A request whose branch is gone is closed.
void GitLabServer::look_at_branches() {
  for (auto& one : requests_) {
    if (one.state == "opened" && one.source_project == 7 && tip(one.source).empty()) {
      one.state = "closed";
    }
  }
}

std::optional<GitLabServer::Role> GitLabServer::role_of(const std::string& token) const {
  const auto found = roles_.find(token);
  if (found == roles_.end()) return {};
  return found->second;
}

Reply GitLabServer::answer(const Received& request) {
  if (away_) return message(502, "GitLab is not responding");
  if (request.target.starts_with("/api/")) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(request.method + " " + request.target);
    if (auto reply = prepared(calls_.back())) return *reply;
    return api_call(request);
  }
  return repository_call(request);
}

std::optional<Reply> GitLabServer::prepared(const std::string& call) {
  for (auto& one : prepared_) {
    if (one.times == 0 || !call.starts_with(one.begins)) continue;
    --one.times;
    return Reply::json(one.body, one.status);
  }
  return {};
}

/// Git over http: checked here, served by the real server.
Reply GitLabServer::repository_call(const Received& request) {
  const auto token = basic_of(request).second;
  const bool pushes = request.target.find("git-receive-pack") != std::string::npos;
  std::optional<Role> role;
  {
    const std::lock_guard lock(mutex_);
    role = role_of(token);
    if (role == Role::kDeveloper && pushes && request.method == "POST") {
      ++pushes_;
      // New commits take auto-merge away.
      for (auto& one : requests_) one.auto_merge = false;
    }
  }
  if (!role) {
    Reply reply = message(401, "HTTP Basic: Access denied");
    reply.headers.emplace_back("WWW-Authenticate", "Basic realm=\"GitLab\"");
    return reply;
  }
  if (*role == Role::kGuest) return message(404, "The project you were looking for is not there");
  if (*role == Role::kReporter && pushes) return message(403, "You are not allowed to push code");
  const auto prefix = fmt::format("/{}.git", options_.project);
  if (!request.target.starts_with(prefix)) return message(404, "not found");
  http::Client client;
  http::Request out;
  out.method = request.method;
  out.url =
      fmt::format("{}/{}.git{}", git_.http_url(), name_, request.target.substr(prefix.size()));
  out.body = request.body;
  for (const char* name : {"content-type", "content-encoding", "accept", "git-protocol"}) {
    const auto value = request.header(name);
    if (!value.empty()) out.headers.emplace_back(name, value);
  }
  out.basic_auth.emplace("test", base::Secret("secret"));
  const auto answer = client.fetch(base::Context::background(), out);
  if (!answer.has_value()) return message(502, answer.error().message);
  Reply reply;
  reply.status = answer->status;
  reply.body = answer->body;
  reply.headers = {{"Content-Type", answer->header("content-type").value_or("text/plain")}};
  return reply;
}

Reply GitLabServer::api_call(const Received& request) {
  const auto path = request.path();
  if (path.starts_with("/api/v4/") == is_gitea()) return message(404, "404 Not Found");
  const auto role = role_of(token_of(request, is_gitea()));
  if (!role) return message(401, "401 Unauthorized");
  if (path == "/api/v4/version") return Reply::json(R"({"version":"18.2.1"})");
  const auto project = is_gitea()
                           ? "/api/v1/repos/" + options_.project
                           : "/api/v4/projects/" + base::replace_all(options_.project, "/", "%2F");
  const auto requests = project + (is_gitea() ? "/pulls" : "/merge_requests");
  if (!path.starts_with(project) || *role == Role::kGuest) {
    return message(404, "404 Project Not Found");
  }
  if (path == project && request.method == "GET") return Reply::json(R"({"id":7})");
  look_at_branches();
  if (path == requests && request.method == "GET") return list(request);
  if (*role != Role::kDeveloper) return message(403, "403 Forbidden");
  if (path == requests && request.method == "POST") return open(request);
  if (!path.starts_with(requests + "/")) return message(404, "404 Not Found");
  auto* one = find(std::atoll(path.c_str() + requests.size() + 1));
  if (one == nullptr) return message(404, "404 Not found");
  if (path.ends_with("/merge")) return accept(request, *one);
  return edit(request, *one);
}

std::string GitLabServer::written(const MergeRequest& one) const {
  json::Object out;
  out.set("title", one.title);
  if (is_gitea()) {
    const auto end = [&](const std::string& branch, bool own) {
      json::Object repository;
      repository.set("full_name", own ? options_.project : "fork/inv");
      json::Object side;
      side.set("ref", branch);
      side.set("repo", std::move(repository));
      return side;
    };
    out.set("number", one.iid);
    out.set("state", one.state == "opened" ? "open" : "closed");
    out.set("head", end(one.source, one.source_project == 7));
    out.set("base", end(one.target, true));
  } else {
    out.set("iid", one.iid);
    out.set("state", one.state);
    out.set("source_branch", one.source);
    out.set("target_branch", one.target);
    out.set("source_project_id", one.source_project);
    out.set("target_project_id", std::int64_t{7});
    out.set("merge_when_pipeline_succeeds", one.auto_merge);
  }
  return json::compact(json::Value(std::move(out)));
}

Reply GitLabServer::list(const Received& request) {
  std::vector<std::string> found;
  const bool open = request.query("state") == (is_gitea() ? "open" : "opened");
  for (const auto& one : requests_) {
    if (open && one.state != "opened") continue;
    // Gitea knows no filter by branch.
    if (!is_gitea() && one.source != request.query("source_branch")) continue;
    found.push_back(written(one));
  }
  const auto page =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::atoll(request.query("page").c_str())));
  const auto first = std::min(found.size(), (page - 1) * kPage);
  const auto last = std::min(found.size(), page * kPage);
  const std::vector<std::string> shown(found.begin() + static_cast<std::ptrdiff_t>(first),
                                       found.begin() + static_cast<std::ptrdiff_t>(last));
  auto reply = Reply::json("[" + base::join(shown, ",") + "]");
  const bool more = last < found.size();
  if (is_gitea()) {
    if (more) {
      reply.headers.emplace_back("Link", fmt::format("<x?page={}>; rel=\"next\"", page + 1));
    }
  } else {
    reply.headers.emplace_back("X-Next-Page", more ? fmt::to_string(page + 1) : "");
  }
  return reply;
}

Reply GitLabServer::open(const Received& request) {
  const auto body = body_of(request);
  MergeRequest one;
  one.source = text(body, is_gitea() ? "head" : "source_branch");
  one.target = text(body, is_gitea() ? "base" : "target_branch");
  one.title = text(body, "title");
  if (one.title.empty()) return message(400, "title is missing");
  if (one.source == one.target || tip(one.target).empty() || tip(one.source).empty()) {
    return message(422, "branches cannot be compared");
  }
  for (const auto& other : requests_) {
    const bool alive = other.state == "opened" || other.state == "locked";
    if (alive && other.source_project == 7 && other.source == one.source &&
        other.target == one.target) {
      return message(409, fmt::format("Another open merge request already exists for this source "
                                      "branch: !{}",
                                      other.iid));
    }
  }
  return Reply::json(written(*find(add(std::move(one)))), 201);
}

Reply GitLabServer::edit(const Received& request, MergeRequest& one) {
  if (request.method != (is_gitea() ? "PATCH" : "PUT")) return message(405, "not allowed");
  const auto body = body_of(request);
  if (const auto title = text(body, "title"); !title.empty()) one.title = title;
  if (text(body, "state_event") == "close" || text(body, "state") == "closed") {
    one.state = "closed";
  }
  return Reply::json(written(one));
}

Reply GitLabServer::accept(const Received& request, MergeRequest& one) {
  const auto body = body_of(request);
  const auto sha = text(body, is_gitea() ? "head_commit_id" : "sha");
  if (!sha.empty() && sha != tip(one.source)) {
    return message(409, "SHA does not match HEAD of source branch");
  }
  if (one.state != "opened" || one.title.starts_with("Draft:") || checks_ > 0) {
    if (checks_ > 0) --checks_;
    return message(405, "405 Method Not Allowed");
  }
  const auto* when = body.find(is_gitea() ? "merge_when_checks_succeed" : "auto_merge");
  if (pipelines_ && when != nullptr) {
    one.auto_merge = true;
  } else if (pipelines_) {
    return message(405, "405 Method Not Allowed");
  } else {
    merge_now(one);
  }
  return Reply::json(written(one));
}

}  // namespace kollect::testing
