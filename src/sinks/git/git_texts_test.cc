// Endpoints, branches, commit texts, error classes and redaction (spec examples: sinks/git).
#include <gmock/gmock.h>

#include "base/hash.h"
#include "sinks/git/access.h"
#include "sinks/git/commit_text.h"
#include "sinks/git/git_error.h"
#include "sinks/testing.h"

namespace kollect::sinks::git {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using ::testing::HasSubstr;
using ::testing::Not;

TEST(GitRemotes, Recorded) {
  const auto cases = read_case("git/remotes.json");
  for (const auto& entry : cases.as_array()) {
    const auto endpoint = std::string(entry.text("endpoint"));
    const auto remote = parse_remote(endpoint);
    if (endpoint == "git@git.example.org:a/b.git") {  // K-19: works here
      ASSERT_TRUE(remote.has_value());
      EXPECT_EQ(remote->url, "ssh://git.example.org/a/b.git");
      EXPECT_EQ(remote->ssh_user, "git");
      continue;
    }
    EXPECT_EQ(remote.has_value(), entry.find("schemeAccepted")->as_bool()) << endpoint;
    if (!remote.has_value()) continue;
    // A local folder is told to git as a path: nothing in it can be read as a part of a URL, and
    // the folder is the same. The other URLs are told as recorded.
    const std::string scheme = remote->scheme == Scheme::kLocal ? "file://" : "";
    EXPECT_EQ(scheme + remote->url, entry.text("cloneURL")) << endpoint;
    EXPECT_EQ(*choose_branch("", *remote), entry.text("branch")) << endpoint;
  }
}

TEST(GitRemotes, K18UserPortAndPaths) {
  const auto ssh = parse_remote("ssh://deploy@git.example.org:2222/a/b.git");
  ASSERT_TRUE(ssh.has_value());
  EXPECT_EQ(ssh->ssh_user, "deploy");
  EXPECT_EQ(ssh->host, "git.example.org");
  EXPECT_EQ(ssh->port, 2222);
  const auto v6 = parse_remote("https://[2001:db8::1]:8443/a");
  ASSERT_TRUE(v6.has_value());
  EXPECT_EQ(v6->host, "2001:db8::1");
  EXPECT_EQ(v6->url, "https://[2001:db8::1]:8443/a");
  const auto file = parse_remote("file:///srv/x.git#branch=dev");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->url, "/srv/x.git");
  EXPECT_EQ(file->branch, "dev");
  // In a URL "%20" is a blank, as git reads it; what is no escape stays.
  EXPECT_EQ(parse_remote("file:///srv/a%20b.git")->url, "/srv/a b.git");
  EXPECT_EQ(parse_remote("file:///srv/50%.git")->url, "/srv/50%.git");
  EXPECT_EQ(parse_remote("/srv/a%20b.git")->url, "/srv/a%20b.git");
  EXPECT_FALSE(parse_remote("file:///srv/a%0Ab.git").has_value());
  const auto folder = parse_remote("./some/repo.git");
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(folder->scheme, Scheme::kLocal);
  EXPECT_TRUE(folder->url.ends_with("/some/repo.git"));
}

TEST(GitRemotes, WhatCouldBecomeAnOptionIsRefused) {
  for (const char* endpoint :
       {"ssh://-oProxyCommand=x/a", "ssh://u;x@h/a", "ssh://$(x)/a", "-x:a", "https:///a",
        "https://h", "https://h:99999/a", "ext::sh -c x", "https://h/a\nb"}) {
    const auto remote = parse_remote(endpoint);
    EXPECT_TRUE(!remote.has_value() || remote->scheme == Scheme::kLocal) << endpoint;
  }
  const auto remote = parse_remote("https://user:s3cret-token@/a");
  ASSERT_FALSE(remote.has_value());
  EXPECT_THAT(remote.error().message, Not(HasSubstr("s3cret-token")));
}

TEST(GitBranches, Recorded) {
  const auto cases = read_case("git/branch-names.json");
  for (const auto& entry : cases.as_array()) {
    EXPECT_EQ(check_branch(entry.text("ref")).has_value(), entry.find("ok")->as_bool())
        << entry.text("ref");
  }
}

TEST(GitCommitMessages, Recorded) {
  const auto cases = read_case("git/commit-messages.json");
  const auto& given = *cases.find("context");
  CommitContext context;
  context.cluster = given.text("cluster");
  context.ns = given.text("namespace");
  context.name = given.text("name");
  context.generation = given.find("generation")->as_int();
  context.item_count = static_cast<std::size_t>(given.find("itemCount")->as_int());
  context.checksum = given.text("checksum");
  context.exported_at = time_of(given.text("exportedAt"));
  context.sink = given.text("sink");
  context.path = given.text("path");
  for (const auto& entry : cases.find("cases")->as_array()) {
    CommitTemplates templates;
    templates.subject = entry.text("commitMessage");
    templates.body = entry.text("commitBody");
    if (entry.find("commitTrailers")->is_array()) {
      templates.trailers = texts_of(*entry.find("commitTrailers"));
    }
    auto want = std::string(entry.text("subject"));
    if (!entry.text("body").empty()) want += "\n\n" + std::string(entry.text("body"));
    const auto trailers = texts_of(*entry.find("trailers"));
    // K-31: one paragraph, one a line.
    for (std::size_t i = 0; i < trailers.size(); ++i)
      want += (i == 0 ? "\n\n" : "\n") + trailers[i];
    const auto message = commit_message(templates, context);
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(*message, want);
  }
}

TEST(GitCommitMessages, NulIsRefused) {
  CommitTemplates templates;
  templates.subject = std::string("a\0b", 3);
  EXPECT_FALSE(commit_message(templates, {}).has_value());
}

TEST(GitErrors, RecordedClasses) {
  const auto cases = read_case("git/error-classes.json");
  for (const auto& entry : cases.as_array()) {
    EXPECT_EQ(is_terminal(classify(entry.text("error"))), entry.text("class") == "terminal")
        << entry.text("error");
  }
}

TEST(GitErrors, K65NumbersThatAreNoStatus) {
  EXPECT_EQ(classify("Failed to connect to git.example.org port 401: Connection refused"),
            ErrorClass::kTransient);
  EXPECT_EQ(classify("connect to 10.1.2.3:403: refused"), ErrorClass::kTransient);
  EXPECT_EQ(classify("connect to host x port 9401: refused"), ErrorClass::kTransient);
  EXPECT_EQ(classify("The requested URL returned error: 403"), ErrorClass::kAuthentication);
  EXPECT_EQ(classify("git@h: Permission denied (publickey)."), ErrorClass::kAuthentication);
  EXPECT_EQ(classify("fatal: repository 'https://h/x/' not found"), ErrorClass::kNotFound);
}

TEST(GitErrors, LocksOfOthersAreFound) {
  EXPECT_EQ(lock_held("remote: error: cannot lock ref 'refs/heads/main': Unable to create "
                      "'/srv/a b.git/./refs/heads/main.lock': File exists.   \nremote: \n"),
            "/srv/a b.git/./refs/heads/main.lock");
  EXPECT_EQ(lock_held("cannot lock ref 'refs/heads/main': is at X but expected Y"), "");
  EXPECT_EQ(lock_held("Unable to create '/a.lock\n': File exists"), "");
  EXPECT_EQ(lock_held("Unable to create '/a.lock': Permission denied"), "");
}

TEST(GitErrors, RacesInAllSpellings) {
  for (const char* text : {"! [rejected] main -> main (fetch first)", "(non-fast-forward)",
                           "(stale info)", "incorrect old value provided",
                           "cannot lock ref 'refs/heads/main': is at X but expected Y"}) {
    EXPECT_TRUE(is_race(text)) << text;
  }
  EXPECT_FALSE(is_race("branch is protected"));
}

TEST(GitRedaction, Recorded) {
  const auto cases = read_case("git/redaction.json");
  for (const auto& entry : cases.as_array()) {
    base::Redactor redactor;
    Access access;
    access.password = base::Secret(std::string(entry.text("secret")));
    add_secrets(access, redactor);
    EXPECT_EQ(redactor.redact(entry.text("in")), entry.text("out"));
  }
}

// field-credentials-in-git-errors: nowhere, useful
TEST(GitRedaction, TheTokenInNoFormAndTheMessageIsOfUse) {
  const std::string token = "pl@in/To:ken+with%odd&chars";
  Access access;
  access.user = "ci-user";
  access.password = base::Secret(token);
  access.secret_name = "team/git-token";
  base::Redactor redactor;
  add_secrets(access, redactor);
  const auto remote = parse_remote("https://ci-user@127.0.0.1:8443/org/inventory.git");
  ASSERT_TRUE(remote.has_value());
  const auto basic = base::base64_encode("ci-user:" + token);
  const auto error = git_error(
      {&*remote, &redactor, access.secret_name}, "push to",
      fmt::format("remote: denied for {}\nremote: Basic {}\nfatal: unable to access "
                  "'https://ci-user:{}@127.0.0.1:8443/org/inventory.git/': The requested URL "
                  "returned error: 403\n",
                  token, basic, base::percent_encode(token)));
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
  EXPECT_THAT(error.message, Not(HasSubstr(token)));
  EXPECT_THAT(error.message, Not(HasSubstr(basic)));
  EXPECT_THAT(error.message, Not(HasSubstr(base::percent_encode(token))));
  EXPECT_THAT(error.message, HasSubstr("127.0.0.1:8443/org/inventory.git"));
  EXPECT_THAT(error.message, HasSubstr("HTTP 403"));
  EXPECT_THAT(error.message, HasSubstr("team/git-token"));
}

TEST(GitAccess, SecretKeysAndK16) {
  const auto https = *parse_remote("https://h/a");
  api::SnapshotSinkSpec spec;
  const auto read = [&](const SecretData& secret) { return read_access(spec, secret, {}, https); };
  auto access = read({{"token", base::Secret("tok\n")}, {"password", base::Secret("pw")}});
  ASSERT_TRUE(access.has_value());
  EXPECT_EQ(access->user, "x-access-token");
  EXPECT_EQ(access->password.reveal(), "tok");
  access = read({{"password", base::Secret("pw")}});
  EXPECT_EQ(access->user, "git");
  access = read({{"username", base::Secret("me\n")}, {"password", base::Secret("pw")}});
  EXPECT_EQ(access->user, "me");
  access = read({});
  EXPECT_TRUE(access->user.empty());
  EXPECT_FALSE(read({{"token", base::Secret("a\nb")}}).has_value());
  const auto ssh = *parse_remote("ssh://deploy@h/a");
  const SecretData keys = {{"identity", base::Secret("KEY")},
                           {"known_hosts", base::Secret("h ssh-ed25519 A")}};
  EXPECT_EQ(read_access(spec, keys, {}, ssh)->user, "deploy");
  EXPECT_FALSE(read_access(spec, {{"identity", base::Secret("KEY")}}, {}, ssh).has_value());
  EXPECT_FALSE(read_access(spec, {}, {}, ssh).has_value());
  spec.git.emplace().auth.emplace().type = "ssh";
  EXPECT_FALSE(read({}).has_value());
}

TEST(GitAccess, NothingSecretInTheEnvironment) {
  const auto remote = *parse_remote("https://h.example.org/a");
  Access access;
  access.user = "u";
  access.password = base::Secret("s3cret-token");
  for (const bool forced : {false, true}) {
    access.force_basic_auth = forced;
    const auto setup = command_setup(remote, access, {"192.0.2.7"});
    ASSERT_TRUE(setup.has_value());
    for (const auto& [name, value] : setup->env) {
      EXPECT_THAT(value, Not(HasSubstr("s3cret-token")));
      EXPECT_THAT(value, Not(HasSubstr(base::base64_encode("u:s3cret-token"))));
    }
    const auto config = read_text(setup->env.at("GIT_CONFIG_GLOBAL"));
    EXPECT_THAT(config, HasSubstr("h.example.org:443:192.0.2.7"));
    EXPECT_THAT(config, Not(HasSubstr("s3cret-token")));
    EXPECT_EQ(config.find("extraHeader") != std::string::npos, forced);
  }
}

}  // namespace
}  // namespace kollect::sinks::git
