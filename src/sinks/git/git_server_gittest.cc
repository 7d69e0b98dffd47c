// The git sink against real servers: https, http, ssh (spec: sinks 7;
// field-credentials-in-git-errors).
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/git/git_fixture.h"
#include "sinks/git/git_sink.h"
#include "support/git_server.h"
#include "support/http_server.h"

namespace kollect::sinks::git {
namespace {

using namespace sinks::testing;  // NOLINT: the room's own helpers
using kollect::testing::GitServer;
using kollect::testing::HttpServer;
using kollect::testing::Received;
using kollect::testing::Reply;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

inventory::RowSet pod(const std::string& value = "1") {
  inventory::RowSet rows;
  rows.add({"x", "t", "n", "a", "", "v1", "Pod", "u", fmt::format(R"({{"v":"{}"}})", value)});
  rows.seal();
  return rows;
}

class GitServers : public GitFixture {
 protected:
  GitServers() {
    static int number = 0;
    name_ = fmt::format("repo-{}", number++);
    repository_ = server_.make_repository(name_);
    spec_.secret_ref.emplace().name = "git-token";
    secret_["username"] = base::Secret("test");
    secret_["password"] = base::Secret("secret\n");  // K-16: the newline goes
    ca_pem_ = read_text(server_.ca_file());
  }
  void use_https() { spec_.endpoint = server_.https_url() + "/" + name_ + ".git"; }
  void use_ssh() {
    spec_.endpoint = server_.ssh_url() + "/" + name_ + ".git";
    secret_.clear();
    secret_["ssh-privatekey"] = base::Secret(read_text(server_.ssh_key_file()));
    secret_["known_hosts"] = base::Secret(read_text(server_.known_hosts_file()));
  }
  base::Error must_fail() {
    const auto rows = pod();
    const auto report = run({plain_export(rows)});
    EXPECT_FALSE(report.has_value());
    return report.has_value() ? base::Error{} : report.error();
  }

  GitServer& server_ = GitServer::shared();
  std::string name_;
};

TEST_F(GitServers, HttpsWithOwnCaFromEmptyRemote) {
  use_https();
  const auto rows = pod();
  const auto changed = pod("2");
  EXPECT_TRUE(sink()->probe(base::Context::background()).has_value());
  must_run({plain_export(rows)});  // K-25
  must_run({plain_export(rows)});
  EXPECT_EQ(commits(), 1);
  must_run({plain_export(changed)});
  EXPECT_EQ(commits(), 2);
  spec_.git->force_basic_auth = true;
  must_run({plain_export(rows)});
  EXPECT_EQ(commits(), 3);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.mirror_dir)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(read_text(entry.path()), Not(HasSubstr("secret"))) << entry.path();  // K-22
  }
}

TEST_F(GitServers, HttpWorksToo) {
  spec_.endpoint = server_.http_url() + "/" + name_ + ".git";
  const auto rows = pod();
  must_run({plain_export(rows)});
  EXPECT_EQ(commits(), 1);
}

TEST_F(GitServers, UntrustedCertificatesAreTerminal) {
  use_https();
  ca_pem_.reset();
  auto error = must_fail();
  EXPECT_EQ(error.kind, base::ErrorKind::kTerminal) << error.message;
  EXPECT_FALSE(sink()->probe(base::Context::background()).has_value());
  spec_.tls.emplace().insecure_skip_verify = true;
  const auto rows = pod();
  must_run({plain_export(rows)});
}

TEST_F(GitServers, WrongPasswordIsDeniedAndNamed) {
  use_https();
  secret_["password"] = base::Secret("wrong-password");
  const auto error = must_fail();
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied) << error.message;
  EXPECT_THAT(error.message, HasSubstr("HTTP 401"));
  EXPECT_THAT(error.message, HasSubstr(name_ + ".git"));
  EXPECT_THAT(error.message,
              HasSubstr("check Secret kollect-system/git-token (keys password, username)"));
  EXPECT_THAT(error.message, Not(HasSubstr("wrong-password")));
  secret_.clear();
  EXPECT_EQ(must_fail().kind, base::ErrorKind::kDenied);
}

TEST_F(GitServers, ReadOnlyUserIsDenied) {
  use_https();
  secret_["username"] = base::Secret("ro");
  secret_["password"] = base::Secret("ro-secret");
  const auto error = must_fail();
  EXPECT_EQ(error.kind, base::ErrorKind::kDenied) << error.message;
  EXPECT_THAT(error.message, HasSubstr("HTTP 403"));
}

TEST_F(GitServers, NoSuchRepository) {
  use_https();
  spec_.endpoint = server_.https_url() + "/nowhere.git";
  EXPECT_EQ(must_fail().kind, base::ErrorKind::kNotFound);
}

TEST_F(GitServers, SshWithKeyAndHostKeys) {
  use_ssh();
  const auto rows = pod();
  must_run({plain_export(rows)});
  EXPECT_EQ(commits(), 1);
  EXPECT_TRUE(sink()->probe(base::Context::background()).has_value());
}

TEST_F(GitServers, SshWithAnUnknownKeyOrHostIsDenied) {
  use_ssh();
  secret_["ssh-privatekey"] = base::Secret(read_text(server_.other_key_file()));
  EXPECT_EQ(must_fail().kind, base::ErrorKind::kDenied);
  use_ssh();
  auto hosts = read_text(server_.known_hosts_file());
  hosts = base::replace_all(hosts, "127.0.0.1", "127.0.0.9");
  secret_["known_hosts"] = base::Secret(hosts);
  EXPECT_EQ(must_fail().kind, base::ErrorKind::kDenied);
  secret_.erase("known_hosts");
  spec_.tls.emplace().insecure_skip_verify = true;
  const auto rows = pod();
  must_run({plain_export(rows)});
}

TEST_F(GitServers, TheCheckedAddressIsDialledAndTheNameChecked) {
  use_ssh();
  spec_.endpoint = base::replace_all(spec_.endpoint, "127.0.0.1", "gitbox.test");
  auto hosts = read_text(server_.known_hosts_file());
  secret_["known_hosts"] = base::Secret(base::replace_all(hosts, "127.0.0.1", "gitbox.test"));
  options_.resolver = [](const std::string& host) -> base::Result<std::vector<std::string>> {
    EXPECT_EQ(host, "gitbox.test");
    return std::vector<std::string>{"127.0.0.1"};
  };
  const auto rows = pod();
  must_run({plain_export(rows)});
  secret_["known_hosts"] = base::Secret(hosts);  // the number's key is not the name's
  EXPECT_EQ(must_fail().kind, base::ErrorKind::kDenied);
  secret_ = {{"username", base::Secret("test")}, {"password", base::Secret("secret")}};
  use_https();
  spec_.endpoint = base::replace_all(spec_.endpoint, "127.0.0.1", "gitbox.test");
  spec_.tls.emplace().insecure_skip_verify = true;
  must_run({plain_export(rows)});
  EXPECT_EQ(commits(), 1);
}

TEST_F(GitServers, TheGuardRefusesBeforeGitIsRun) {
  use_https();
  options_.guard_addresses = true;
  options_.allow_private = true;
  EXPECT_EQ(must_fail().reason, "address-refused");
  spec_.endpoint = "https://gitbox.example/x.git";
  options_.resolver = [](const std::string&) -> base::Result<std::vector<std::string>> {
    return std::vector<std::string>{"192.0.2.1", "169.254.169.254"};  // the whole answer counts
  };
  EXPECT_EQ(must_fail().reason, "address-refused");
}

/// Names of processes whose command line or environment holds the text.
std::vector<std::string> processes_with(const std::string& text) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    for (const char* file : {"cmdline", "environ"}) {
      const std::ifstream in(entry.path() / file, std::ios::binary);
      std::ostringstream content;
      content << in.rdbuf();
      if (content.str().find(text) != std::string::npos) out.push_back(content.str());
    }
  }
  return out;
}

// field-credentials-in-git-errors: nowhere, useful, env
TEST_F(GitServers, TheTokenIsNowhere) {
  const std::string token = "pl@in/To:ken+with%odd&chars";
  const auto basic = base::base64_encode("ci-user:" + token);
  ::setenv("GIT_TRACE", "1", 1);
  ::setenv("GIT_CURL_VERBOSE", "1", 1);
  ::setenv("GIT_TRACE_CURL", "1", 1);
  std::atomic<int> leaks = 0;
  std::atomic<int> with_token = 0;
  HttpServer http([&](const Received& request) {
    for (const auto& form : {token, basic, base::percent_encode(token)}) {
      leaks += static_cast<int>(processes_with(form).size());
    }
    Reply reply;
    if (request.header("authorization").empty()) {
      reply.status = 401;
      reply.headers = {{"WWW-Authenticate", "Basic realm=\"git\""}};
      return reply;
    }
    if (request.header("authorization") == "Basic " + basic) ++with_token;
    reply.status = 403;
    reply.headers = {{"Content-Type", "text/plain"}};
    reply.body = "denied for " + token + "\n" + basic + "\n";
    return reply;
  });
  spec_.endpoint =
      base::replace_all(http.url(), "http://", "http://ci-user@") + "/org/inventory.git";
  secret_ = {{"username", base::Secret("ci-user")}, {"token", base::Secret(token)}};
  for (const bool forced : {false, true}) {
    spec_.git->force_basic_auth = forced;
    const auto error = must_fail();
    EXPECT_EQ(error.kind, base::ErrorKind::kDenied);
    for (const auto& form : {token, basic, base::percent_encode(token)}) {
      EXPECT_THAT(error.message, Not(HasSubstr(form)));
    }
    EXPECT_THAT(error.message, HasSubstr("127.0.0.1"));
    EXPECT_THAT(error.message, HasSubstr("/org/inventory.git"));
    EXPECT_THAT(error.message, HasSubstr("HTTP 403"));
    EXPECT_THAT(error.message, HasSubstr("git-token"));
  }
  EXPECT_EQ(leaks, 0);
  EXPECT_EQ(with_token, 2);
  ::unsetenv("GIT_TRACE");
  ::unsetenv("GIT_CURL_VERBOSE");
  ::unsetenv("GIT_TRACE_CURL");
}

TEST_F(GitServers, RedirectsAreNotFollowed) {
  std::atomic<int> elsewhere = 0;
  HttpServer target([&](const Received&) {
    ++elsewhere;
    return Reply{};
  });
  HttpServer http([&](const Received& request) {
    Reply reply;
    reply.status = 302;
    reply.headers = {{"Location", target.url() + request.target}};
    return reply;
  });
  spec_.endpoint = http.url() + "/x.git";
  const auto rows = pod();
  const auto report =
      sink()->export_all(base::Context::background().with_timeout(std::chrono::seconds(1)),
                         {plain_export(rows)}, false);
  EXPECT_FALSE(report.has_value());
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(GitServers, ASilentServerEndsWithTheDeadline) {
  HttpServer http([](const Received&) {
    Reply reply;
    reply.no_answer = true;
    return reply;
  });
  api::SnapshotSink whole;
  whole.spec = spec_;
  whole.spec.endpoint = http.url() + "/x.git";
  auto options = git_sink_options(whole, secret_, {});
  ASSERT_TRUE(options.has_value());
  options->mirror_dir = options_.mirror_dir;
  options->deadline = std::chrono::milliseconds(700);
  const auto rows = pod();
  const auto report = make_git_sink(std::move(*options))
                          ->export_all(base::Context::background(), {plain_export(rows)}, false);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, base::ErrorKind::kRetryable);
  EXPECT_EQ(report.error().reason, "timeout");
}

// field-push-races: all-there, no-loss, time
class PushRaces : public GitServers, public ::testing::WithParamInterface<bool> {};

TEST_P(PushRaces, TenWritersOneBranch) {
  constexpr int kWriters = 10;
  constexpr int kExports = 20;
  spec_.endpoint = server_.http_url() + "/" + name_ + ".git";
  spec_.layout.emplace().mode = "perResource";
  if (GetParam()) {
    const auto count = (temp_->path() / "count").string();
    hook("pre-receive",
         "echo x >>'" + count + "'\nn=$(wc -l <'" + count +
             "')\nif [ $((n % 3)) = 0 ]; then\n"
             "echo \"cannot lock ref 'refs/heads/main': is at X but expected Y\" >&2\n"
             "exit 1\nfi\nexit 0\n");
  }
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> writers;
  std::atomic<int> done = 0;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      auto own = options_;
      own.mirror_dir = temp_->path() / fmt::format("mirrors-{}", w);
      api::SnapshotSink whole;
      whole.spec = spec_;
      const auto writer = make_snapshot_sink(whole, secret_, ca_pem_, own);
      ASSERT_TRUE(writer.has_value());
      inventory::RowStore rows;
      const auto reader = rows.subscribe([](const inventory::Owner&) { return true; });
      bool differences = false;
      // As the operator does: changes where the last pass was confirmed, else a comparison.
      const auto pass = [&] {
        const auto changes = reader->changes();
        const auto all = reader->snapshot();
        Pass what{.head = {},
                  .rows = &all,
                  .changes = differences ? &changes : nullptr,
                  .row_count = all.size(),
                  .set_hash = all.set_hash()};
        what.head.inventory = {"x", "t"};
        what.head.cluster = fmt::format("c{:02}", w);
        what.head.exported_at = time_of("2026-02-03T04:05:06Z");
        auto report = (*writer)->apply(base::Context::background(), what);
        differences = report.has_value();
        if (report.has_value()) reader->passed(changes.to());
        return report;
      };
      for (int e = 1; e <= kExports; ++e) {
        const auto value = fmt::format(R"({{"v":"{}"}})", e);
        rows.upsert({inventory::OwnerClass::kTarget, "x", "t"}, 1,
                    {"x", "t", "n", "a", "", "v1", "Pod", "u", value});
        auto report = pass();
        for (int again = 0; again < 20 && !report.has_value(); ++again) {
          ASSERT_EQ(report.error().kind, base::ErrorKind::kRetryable) << report.error().message;
          report = pass();
        }
        ASSERT_TRUE(report.has_value()) << report.error().message;
        ++done;
      }
    });
  }
  while (done < kWriters) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // The human's push may itself lose a race.
  const auto work = (temp_->path() / "human").string();
  base::Command push;
  push.program = "git";
  push.args = {"-C", work, "push", "--quiet", "origin", "HEAD:main"};
  push.env = {{"GIT_CONFIG_NOSYSTEM", "1"}, {"PATH", "/usr/bin:/bin"}};
  git({"clone", "--quiet", repository_.string(), work});
  std::ofstream(work + "/README") << "by hand\n";
  git({"-C", work, "add", "-A"});
  git({"-C", work, "commit", "--quiet", "-m", "by hand"});
  while (base::run(base::Context::background(), push)->exit_code != 0) {
    git({"-C", work, "-c", "user.name=h", "-c", "user.email=h@h", "pull", "--quiet", "--rebase",
         "origin", "main"});
  }
  const auto human_commit = std::string(base::trim(git({"-C", work, "rev-parse", "HEAD"})));
  for (auto& writer : writers) writer.join();
  const auto seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  RecordProperty("seconds", std::to_string(seconds));

  EXPECT_EQ(commits(), kWriters * kExports + 1);
  in_repo({"merge-base", "--is-ancestor", human_commit, "main"});
  std::vector<std::string> want = {"README"};
  for (int w = 0; w < kWriters; ++w) {
    want.push_back(fmt::format("c{:02}/n/pod/a.yaml", w));
    EXPECT_THAT(show(want.back()), HasSubstr(fmt::format("v: \"{}\"", kExports)));
  }
  auto files = listing();
  std::erase_if(files, [](const auto& path) { return path.ends_with(".manifest.json"); });
  EXPECT_EQ(files, want);
  EXPECT_LT(seconds, 180);  // 60 s on two idle cores; test machines are not
}

INSTANTIATE_TEST_SUITE_P(Variants, PushRaces, ::testing::Bool(), [](const auto& one) {
  return one.param ? "EveryThirdPushRejected" : "Plain";
});

// field-backend-crash-between-two-steps: over the network
TEST_F(GitServers, KilledDuringFetchOrPushTheNextRunEndsRight) {
  use_https();
  const auto first = pod();
  must_run({plain_export(first)});
  std::mt19937 random(5);  // NOLINT: the same points in every run are fine
  for (int round = 0; round < 25; ++round) {
    const auto pid = ::fork();
    if (pid == 0) {
      for (int number = 0;; ++number) {
        const auto rows = pod(fmt::format("{}-{}", round, number));
        (void)run({plain_export(rows)});
      }
    }
    ::usleep(std::uniform_int_distribution<useconds_t>(5'000, 300'000)(random));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    const auto rows = pod(fmt::format("truth-{}", round));
    must_run({plain_export(rows)});
    // This state is new to the branch, so our push moves it: a late one of the killed run is
    // refused.
    ASSERT_THAT(show("inventory/x/t.yaml"), HasSubstr(fmt::format("v: truth-{}\n", round)));
  }
  in_repo({"fsck", "--strict"});
}

TEST_F(GitServers, AFullDiskUnderTheMirrorPasses) {
  spec_.endpoint = server_.http_url() + "/" + name_ + ".git";
  const auto first = pod();
  must_run({plain_export(first)});
  const auto pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2048, 2048};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    inventory::RowSet rows;
    std::mt19937_64 random(3);  // NOLINT
    for (int i = 0; i < 500; ++i) {
      rows.add({"x", "t", "n", fmt::format("{:016x}", random()), "", "v1", "Pod",
                fmt::format("{:016x}", random()), "{}"});
    }
    rows.seal();
    const auto report = run({plain_export(rows)});
    ::_exit(report.has_value() ? 1 : report.error().kind == base::ErrorKind::kRetryable ? 0 : 2);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const auto changed = pod("2");
  must_run({plain_export(changed)});
  EXPECT_EQ(commits(), 2);
}

}  // namespace
}  // namespace kollect::sinks::git
