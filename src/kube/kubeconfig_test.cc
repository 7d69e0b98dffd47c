#include "kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/hash.h"
#include "support/certificates.h"

namespace kollect::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Path = std::filesystem::path;

class KubeconfigTest : public ::testing::Test {
 protected:
  base::TempDir dir_ = *base::TempDir::create();

  Path write(const std::string& name, std::string_view text) const {
    const Path path = dir_.path() / name;
    EXPECT_TRUE(base::write_file_atomic(path, text));
    return path;
  }
  /// The context "c" of a file with this cluster and user body (flow style).
  base::Result<ClusterConfig> resolve(const std::string& cluster, const std::string& user) const {
    auto config = Kubeconfig::load({write("config", "clusters: [{name: k, cluster: {" + cluster +
                                                        "}}]\nusers: [{name: u, user: {" + user +
                                                        "}}]\ncontexts: [{name: c, context: "
                                                        "{cluster: k, user: u}}]\n")});
    if (!config) return config.error();
    return config->resolve("c");
  }
  std::string error_of(const std::string& cluster, const std::string& user) const {
    auto resolved = resolve(cluster, user);
    EXPECT_FALSE(resolved);
    if (resolved) return "no error";
    EXPECT_EQ(resolved.error().kind, base::ErrorKind::kConfiguration);
    EXPECT_EQ(resolved.error().reason, "context");
    EXPECT_THAT(resolved.error().message, StartsWith("context \"c\": "));
    return resolved.error().message;
  }
};

constexpr std::string_view kFirst = R"(apiVersion: v1
kind: Config
clusters:
- name: one
  cluster: {server: "https://one.test:6443/"}
users:
- name: u
  user: {token: first}
contexts:
- name: a
  context: {cluster: one, user: u, namespace: shop}
- name: far
  context: {cluster: two, user: u}
)";
constexpr std::string_view kSecond = R"(clusters:
- name: one
  cluster: {server: "https://other.test", proxy-url: "http://proxy.test"}
- name: two
  cluster: {server: "https://two.test"}
users:
- name: u
  user: {token: second, as: root}
contexts:
- name: b
  context: {cluster: two, user: u}
current-context: b
)";

// L-52
TEST_F(KubeconfigTest, TheFirstFileThatSetsAnEntryWins) {
  auto config =
      Kubeconfig::load({write("1", kFirst), dir_.path() / "missing", write("2", kSecond)});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->current_context(), "b");
  EXPECT_THAT(config->context_names(), ElementsAre("a", "b", "far"));
  auto a = config->resolve("a");
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(a->server, "https://one.test:6443");
  EXPECT_EQ(a->proxy_url, "");
  EXPECT_EQ(a->token.reveal(), "first");
  EXPECT_FALSE(a->impersonate);
  EXPECT_EQ(a->default_namespace, "shop");
  auto far = config->resolve("far");  // entries of several files meet
  ASSERT_TRUE(far);
  EXPECT_EQ(far->server, "https://two.test");
}

TEST_F(KubeconfigTest, TheDefaultIsFlagThenVariableThenHome) {
  const Path home = dir_.path() / "home";
  ASSERT_TRUE(base::write_file_atomic(home / ".kube" / "config", kSecond));
  const Path first = write("1", kFirst);
  std::map<std::string, std::string> env = {{"HOME", home.string()}};
  EXPECT_EQ(Kubeconfig::load_default("", env)->current_context(), "b");
  env["KUBECONFIG"] = first.string();
  EXPECT_THAT(Kubeconfig::load_default("", env)->context_names(), ElementsAre("a", "far"));
  env["KUBECONFIG"] = "/nowhere:" + first.string() + "::" + (home / ".kube/config").string();
  EXPECT_THAT(Kubeconfig::load_default("", env)->context_names(), ElementsAre("a", "b", "far"));
  EXPECT_THAT(Kubeconfig::load_default(write("2", kSecond), env)->context_names(),
              ElementsAre("b"));
  auto missing = Kubeconfig::load_default("/no/such/file", env);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/no/such/file"));
  EXPECT_EQ(missing.error().kind, base::ErrorKind::kConfiguration);
}

TEST_F(KubeconfigTest, AMountedAccountStepsInOnlyWhenThereIsNoFile) {
  const Path account = dir_.path() / "account";
  ASSERT_TRUE(base::write_file_atomic(account / "token", "tok\n"));
  ASSERT_TRUE(base::write_file_atomic(account / "ca.crt", "ca"));
  ASSERT_TRUE(base::write_file_atomic(account / "namespace", "team-a\n"));
  std::map<std::string, std::string> env = {{"HOME", "/no/such/home"},
                                            {"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                            {"KUBERNETES_SERVICE_PORT", "443"}};
  auto config = Kubeconfig::load_default("", env, account);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->current_context(), "in-cluster");
  auto cluster = config->resolve("in-cluster");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->server, "https://[fd00::1]:443");
  EXPECT_EQ(cluster->token_file, account / "token");
  EXPECT_EQ(cluster->ca_pem, "ca");
  EXPECT_EQ(cluster->default_namespace, "team-a");
  // L-54: a file whose context is broken is not replaced by the account.
  env["KUBECONFIG"] = write("empty", "current-context: gone\n").string();
  auto broken = Kubeconfig::load_default("", env, account);
  ASSERT_TRUE(broken);
  EXPECT_FALSE(broken->resolve("gone"));
  env.erase("KUBECONFIG");
  env.erase("KUBERNETES_SERVICE_HOST");
  auto none = Kubeconfig::load_default("", env, account);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("/no/such/home/.kube/config"));
}

TEST_F(KubeconfigTest, BadFilesAreNamedWithPlace) {
  const auto error = [this](std::string_view text) {
    auto config = Kubeconfig::load({write("bad", text)});
    EXPECT_FALSE(config);
    return config ? std::string("no error") : config.error().message;
  };
  const std::string file = (dir_.path() / "bad").string();
  EXPECT_THAT(error("clusters: [\nusers: }\n"), StartsWith(file + ":2:"));
  EXPECT_THAT(error("kind: Deployment\n"),
              AllOf(StartsWith(file + ":1:1"), HasSubstr("Deployment")));
  EXPECT_THAT(error("clusters:\n- cluster: {server: x}\n"),
              AllOf(StartsWith(file + ":2:"), HasSubstr("no name")));
  EXPECT_THAT(error("users:\n- {name: a}\n- {name: a}\n"),
              AllOf(StartsWith(file + ":3:"), HasSubstr("twice")));
  EXPECT_THAT(error("contexts: {}\n"), AllOf(StartsWith(file + ":1:"), HasSubstr("list")));
  EXPECT_THAT(error("a: 1\n---\nb: 2\n"), HasSubstr("one document"));
  EXPECT_THAT(error("just text\n"), HasSubstr("not a kubeconfig"));
  EXPECT_TRUE(Kubeconfig::load({write("empty", "# nothing\n")}));
  EXPECT_TRUE(Kubeconfig::load({write("json", R"({"clusters":null,"users":[]})")}));
  auto folder = Kubeconfig::load({dir_.path()});
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr(dir_.path().string()));
}

// L-54
TEST_F(KubeconfigTest, MissingEntriesAreErrors) {
  auto config = Kubeconfig::load({write("c", R"(
clusters: [{name: k, cluster: {server: "https://k"}}, {name: bare, cluster: }]
contexts:
- {name: no-cluster, context: {cluster: gone, user: u}}
- {name: no-user, context: {cluster: k, user: gone}}
- {name: no-server, context: {cluster: bare}}
- {name: anonymous, context: {cluster: k}}
)")});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->resolve("no-cluster").error().message, HasSubstr("cluster entry \"gone\""));
  EXPECT_THAT(config->resolve("no-user").error().message, HasSubstr("user entry \"gone\""));
  EXPECT_THAT(config->resolve("no-server").error().message, HasSubstr("no server"));
  EXPECT_EQ(config->resolve("unknown").error().reason, "context");
  EXPECT_TRUE(config->resolve("anonymous"));
}

TEST_F(KubeconfigTest, CertificatesComeFromDataOrFiles) {
  const testing::TestAuthority authority;
  const auto pair = authority.issue("me");
  write("sub/ca.pem", authority.pem());
  write("me.crt", pair.cert_pem);
  write("me.key", pair.key_pem);
  auto files =
      resolve("server: 'https://k', certificate-authority: sub/ca.pem",
              "client-certificate: me.crt, client-key: " + (dir_.path() / "me.key").string());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->ca_pem, authority.pem());
  EXPECT_EQ(files->client_cert_pem, pair.cert_pem);
  EXPECT_EQ(files->client_key_pem.reveal(), pair.key_pem);
  auto data =
      resolve("server: 'https://k', certificate-authority: nowhere, certificate-authority-data: " +
                  base::base64_encode(authority.pem()),
              "client-certificate-data: " + base::base64_encode(pair.cert_pem) +
                  ", client-key-data: " + base::base64_encode(pair.key_pem));
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->ca_pem, authority.pem());

  const auto other = authority.issue("other");
  write("other.key", other.key_pem);
  EXPECT_THAT(error_of("server: 'https://k'", "client-certificate: me.crt, client-key: other.key"),
              HasSubstr("do not belong together"));
  EXPECT_THAT(error_of("server: 'https://k'", "client-certificate: me.crt"),
              HasSubstr("need each other"));
  EXPECT_THAT(error_of("server: 'https://k', certificate-authority: gone.pem", ""),
              AllOf(HasSubstr("gone.pem"), HasSubstr("/config:1:")));
  EXPECT_THAT(error_of("server: 'https://k', certificate-authority: me.key", ""),
              HasSubstr("no certificate"));
  EXPECT_THAT(error_of("server: 'https://k', certificate-authority-data: '%%%'", ""),
              HasSubstr("not base64"));
  EXPECT_THAT(error_of("server: 'https://k', insecure-skip-tls-verify: true, "
                       "certificate-authority: sub/ca.pem",
                       ""),
              HasSubstr("exclude each other"));
}

TEST_F(KubeconfigTest, AllFieldsAreRead) {
  auto config = resolve(
      "server: 'https://k/prefix/', tls-server-name: api.test, insecure-skip-tls-verify: true, "
      "proxy-url: 'socks5://127.0.0.1:1080', extensions: [{name: "
      "client.authentication.k8s.io/exec, extension: {audience: x}}]",
      "tokenFile: tok, token: fixed, as: root, as-uid: '7', as-groups: [g, h], "
      "as-user-extra: {scopes: [a, b]}, exec: {command: ./plugin, args: [x, 1], env: [{name: A, "
      "value: b}], apiVersion: client.authentication.k8s.io/v1, installHint: get it, "
      "provideClusterInfo: true, interactiveMode: Never}");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://k/prefix");
  EXPECT_EQ(config->tls_server_name, "api.test");
  EXPECT_TRUE(config->insecure_skip_verify);
  EXPECT_EQ(config->proxy_url, "socks5://127.0.0.1:1080");
  EXPECT_EQ(config->token_file, dir_.path() / "tok");
  ASSERT_TRUE(config->impersonate);
  EXPECT_EQ(config->impersonate->user, "root");
  EXPECT_EQ(config->impersonate->uid, "7");
  EXPECT_THAT(config->impersonate->groups, ElementsAre("g", "h"));
  EXPECT_THAT(config->impersonate->extra.at("scopes"), ElementsAre("a", "b"));
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->command, "./plugin");
  EXPECT_THAT(config->exec->args, ElementsAre("x", "1"));
  EXPECT_EQ(config->exec->env.at("A"), "b");
  EXPECT_EQ(config->exec->base_dir, dir_.path());
  EXPECT_EQ(config->exec->interactive_mode, "Never");
  EXPECT_TRUE(config->exec->provide_cluster_info);
  EXPECT_EQ(config->exec->cluster_config.text("audience"), "x");
  auto basic = resolve("server: k:6443", "username: me, password: 12345");
  ASSERT_TRUE(basic);
  EXPECT_EQ(basic->server, "http://k:6443");
  EXPECT_EQ(basic->password.reveal(), "12345");
}

TEST_F(KubeconfigTest, ContradictionsAreErrors) {
  const std::string server = "server: 'https://k'";
  EXPECT_THAT(error_of(server, "token: t, username: u"), HasSubstr("exclude each other"));
  EXPECT_THAT(error_of(server, "as-groups: [g]"), HasSubstr("need as"));
  EXPECT_THAT(error_of(server, "auth-provider: {name: gcp}"), HasSubstr("use exec"));
  EXPECT_THAT(
      error_of(server, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}"),
      HasSubstr("v1alpha1"));
  EXPECT_THAT(error_of(server, "exec: {apiVersion: client.authentication.k8s.io/v1}"),
              HasSubstr("no command"));
  EXPECT_THAT(error_of(server, "token: [a]"), HasSubstr("token must be text"));
  EXPECT_THAT(error_of(server + ", proxy-url: 'ftp://p'", ""), HasSubstr("proxy-url"));
  EXPECT_THAT(error_of("server: 'ftp://k'", ""), HasSubstr("server must begin"));
  EXPECT_THAT(error_of(server + ", insecure-skip-tls-verify: maybe", ""),
              HasSubstr("true or false"));
}

// L-55
TEST_F(KubeconfigTest, TwinsHaveEqualIdentity) {
  auto config = Kubeconfig::load({write("twins", R"(
clusters:
- {name: k1, cluster: {server: "https://same"}}
- {name: k2, cluster: {server: "https://same/"}}
- {name: k3, cluster: {server: "https://same", proxy-url: "http://p"}}
users: [{name: u, user: {token: t}}, {name: v, user: {token: t}}, {name: w, user: {token: x}}]
contexts:
- {name: a, context: {cluster: k1, user: u}}
- {name: b, context: {cluster: k2, user: u, namespace: n}}
- {name: copy, context: {cluster: k1, user: v}}
- {name: other-user, context: {cluster: k1, user: w}}
- {name: other-way, context: {cluster: k3, user: u}}
)")});
  ASSERT_TRUE(config);
  const auto key = [&](const char* name) { return config->resolve(name)->identity_key; };
  EXPECT_EQ(key("a"), key("b"));
  EXPECT_EQ(key("a"), key("copy"));
  EXPECT_NE(key("a"), key("other-user"));
  EXPECT_NE(key("a"), key("other-way"));
}

// ---- --context

TEST_F(KubeconfigTest, ContextsBySelection) {
  std::string text = "current-context: pipe\ncontexts:\n";
  for (const char* name : {"prod-b", "prod-a", "pipe", "arn:aws:eks:eu:1/c1", "[x]", "x"}) {
    text += std::string("- {name: '") + name + "', context: {}}\n";
  }
  auto config = Kubeconfig::load({write("c", text)});
  ASSERT_TRUE(config) << config.error().message;
  using Texts = std::vector<std::string>;
  const auto names = [&](const Texts& values) {
    auto selected = select_contexts(*config, values);
    EXPECT_TRUE(selected) << selected.error().message;
    return selected ? selected->names : Texts();
  };
  const auto error = [&](const Texts& values) {
    auto selected = select_contexts(*config, values);
    EXPECT_FALSE(selected);
    return selected ? std::string() : selected.error().message;
  };
  EXPECT_THAT(names({}), ElementsAre("pipe"));
  EXPECT_THAT(names({"prod-*,pipe"}), ElementsAre("pipe", "prod-a", "prod-b"));  // case 9
  EXPECT_THAT(names({"pipe", "p*", "prod-a"}), ElementsAre("pipe", "prod-a", "prod-b"));
  EXPECT_THAT(names({"arn*"}), ElementsAre("arn:aws:eks:eu:1/c1"));  // case 11, L-53
  EXPECT_THAT(names({"*"}), ::testing::SizeIs(6));
  EXPECT_THAT(names({"[x]"}), ElementsAre("[x]"));  // a context of exactly this name
  EXPECT_THAT(names({"[xy]"}), ElementsAre("x"));
  EXPECT_THAT(names({"prod-[^a]"}), ElementsAre("prod-b"));
  auto partly = select_contexts(*config, {"zz*", "prod-a"});  // case 10
  ASSERT_TRUE(partly);
  EXPECT_THAT(partly->names, ElementsAre("prod-a"));
  EXPECT_THAT(partly->warnings, ElementsAre(HasSubstr("zz*")));
  EXPECT_THAT(error({"prod-c"}), AllOf(HasSubstr("\"prod-c\""), HasSubstr("prod-a")));  // case 12
  EXPECT_THAT(error({"zz*"}), HasSubstr("no context matches"));
  EXPECT_THAT(error({"pipe", "[a"}), HasSubstr("malformed"));
  auto none = Kubeconfig::load({write("none", "{}")});
  EXPECT_THAT(select_contexts(*none, {"[a"}).error().message, HasSubstr("malformed"));
  EXPECT_THAT(select_contexts(*none, {}).error().message, HasSubstr("no current context"));
}

TEST(Glob, Matches) {
  const auto match = [](std::string_view pattern, std::string_view text) {
    auto result = glob_match(pattern, text);
    EXPECT_TRUE(result) << pattern;
    return result && *result;
  };
  EXPECT_TRUE(match("", ""));
  EXPECT_FALSE(match("", "a"));
  EXPECT_TRUE(match("*", ""));
  EXPECT_TRUE(match("a*b*c", "a/x/b/c/c"));
  EXPECT_FALSE(match("a*b*c", "a/x/c"));
  EXPECT_TRUE(match("?", "/"));
  EXPECT_TRUE(match("?", "ä"));
  EXPECT_FALSE(match("??", "ä"));
  EXPECT_TRUE(match("[a-c]x[^0-9]", "bxy"));
  EXPECT_FALSE(match("[a-c]x[^0-9]", "bx7"));
  EXPECT_TRUE(match("\\*\\[", "*["));
  EXPECT_FALSE(match("\\*", "a"));
  EXPECT_TRUE(match("[\\]\\-]", "]"));
  EXPECT_TRUE(match("[ä-ü]", "ö"));
  EXPECT_FALSE(match("A", "a"));
  // Must not take for ever.
  EXPECT_FALSE(match(std::string(40, '*') + "b", std::string(20'000, 'a')));
  EXPECT_FALSE(match("*a*a*a*a*a*a*a*b", std::string(2'000, 'a')));
  for (const char* bad : {"[", "[a", "[]", "[^]", "a\\", "[a-", "[a-]", "[b-a]", "[\\"}) {
    EXPECT_FALSE(glob_match(bad, "a")) << bad;
    EXPECT_FALSE(glob_match(bad, "")) << bad;
  }
}

}  // namespace
}  // namespace kollect::kube
