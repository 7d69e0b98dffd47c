#include "readapi/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/gzip.h"
#include "base/json/write.h"
#include "readapi/memory_source.h"
#include "readapi/request_check.h"

namespace kollect::readapi {
namespace {

using base::json::Value;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

using Headers = std::vector<std::pair<std::string, std::string>>;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    for (int i = 0; i < 20; ++i) {
      source_.table.push_back(
          {.ns = i % 2 == 0 ? "shop" : "pay",
           .name = fmt::format("n{:02}", i),
           .uid = fmt::format("u{}", i),
           .attributes = fmt::format(R"({{"even":{},"text":"zoë {}"}})", i % 2 == 0, i)});
    }
  }

  http::Answer ask(const std::string& path, const std::string& query = {}, Headers headers = {},
                   const std::string& method = "GET") {
    auto request = std::make_shared<http::ServerRequest>();
    request->method = method;
    request->path = path;
    request->query = query;
    request->headers = std::move(headers);
    return service_.answer(request);
  }
  Value get(const std::string& path, const std::string& query = {}, int status = 200) {
    const http::Answer answer = ask(path, query);
    EXPECT_EQ(answer.status, status) << path << query;
    const std::string body = testing::drained(answer);
    EXPECT_TRUE(body.ends_with("\n")) << body;
    const auto document = base::json::Document::parse(body);
    return document ? base::json::to_value(document->root()) : Value();
  }
  static std::string header(const http::Answer& answer, std::string_view name) {
    for (const auto& [key, value] : answer.headers) {
      if (key == name) return value;
    }
    return {};
  }
  std::vector<std::string> names(const std::string& query) {
    const Value page = get("/v1alpha1/inventory", query);
    std::vector<std::string> out;
    for (const Value& item : page.find("items")->as_array()) out.emplace_back(item.text("name"));
    EXPECT_EQ(page.find("itemCount")->as_int(), static_cast<std::int64_t>(out.size()));
    return out;
  }
  std::string refused(const std::string& path, const std::string& query, int status) {
    const Value answer = get(path, query, status);
    const Value* error = answer.find("error");
    if (error == nullptr) return "no error";
    EXPECT_EQ(error->find("code")->as_int(), status);
    return std::string(error->text("reason"));
  }

  base::ManualClock clock_;
  testing::MemorySource source_;
  testing::MemoryFeed feed_;
  testing::MemoryAccess access_;
  Service service_{{.source = source_, .access = access_, .clock = clock_, .feed = &feed_},
                   {.version = "1", .own_thread = false}};
};

TEST_F(ServiceTest, PagesFitTogether) {
  EXPECT_THAT(names("limit=3&offset=2"), ElementsAre("n02", "n03", "n04"));
  const Value page = get("/v1alpha1/inventory", "limit=3&offset=18");
  EXPECT_EQ(base::json::compact(*page.find("pagination")),
            R"({"limit":3,"offset":18,"total":20,"hasMore":false})");
  EXPECT_THAT(names("offset=20"), IsEmpty());
  EXPECT_THAT(names("offset=99999999999999999999"), IsEmpty());
  EXPECT_EQ(get("/v1alpha1/inventory", "name=none").find("pagination"), nullptr);
}

/// A total is exact unless the caller takes less.
TEST_F(ServiceTest, TotalsOfSearchesMayBeBounded) {
  const auto pagination = [&](const std::string& query) {
    return base::json::compact(*get("/v1alpha1/inventory", query).find("pagination"));
  };
  const std::string exact = R"({"limit":3,"offset":4,"total":20,"hasMore":true})";
  EXPECT_EQ(pagination("limit=3&offset=4&q=n"), exact);
  EXPECT_EQ(pagination("limit=3&offset=4&q=n&total=exact"), exact);
  EXPECT_EQ(pagination("limit=3&offset=4&total=bounded"), exact);
  EXPECT_EQ(pagination("limit=3&offset=4&q=n&total=bounded"),
            R"({"limit":3,"offset":4,"total":8,"atLeast":true,"hasMore":true})");
  EXPECT_EQ(pagination("limit=3&offset=18&q=n&total=bounded"),
            R"({"limit":3,"offset":18,"total":20,"hasMore":false})");
  EXPECT_EQ(pagination("offset=99999999999999999999&q=n&total=bounded"),
            R"({"limit":500,"offset":18446744073709551615,"total":20,"hasMore":false})");
  EXPECT_EQ(get("/v1alpha1/groups", "by=kind&q=n&total=bounded").find("rows")->as_int(), 20);
  EXPECT_EQ(refused("/v1alpha1/inventory", "total=some", 400), "BadRequest");
  EXPECT_EQ(
      get("/v1alpha1/inventory", "total=Bounded", 400).at_path({"error", "message"})->as_string(),
      "total takes exact or bounded");
}

TEST_F(ServiceTest, NumbersThatAreNoneAreTheUsualOnes) {
  for (const auto& [text, limit] : {std::pair{"0", 500},
                                    {"-3", 500},
                                    {"x", 500},
                                    {"", 500},
                                    {"%20", 500},
                                    {"1e3", 500},
                                    {"7", 7},
                                    {"%207%20", 7},
                                    {"99999", 5000},
                                    {"99999999999999999999999", 5000}}) {
    const Value page = get("/v1alpha1/inventory", std::string("limit=") + text);
    EXPECT_EQ(page.at_path({"pagination", "limit"})->as_int(), limit) << text;
  }
}

TEST_F(ServiceTest, Filters) {
  EXPECT_THAT(names("name=n03"), ElementsAre("n03"));
  EXPECT_THAT(names("name=%20n03%20"), ElementsAre("n03"));
  EXPECT_EQ(names("attr.even=true").size(), 10U);
  EXPECT_THAT(names("attr.text=zo%C3%AB+7"), ElementsAre("n07"));
  EXPECT_THAT(names("q=ZO%C3%AB+7"), ElementsAre("n07"));
  EXPECT_THAT(names("q=%22"), IsEmpty());
  EXPECT_THAT(names("name=n03&name=n04"), ElementsAre("n03"));
  EXPECT_THAT(names("sort=-name&limit=2"), ElementsAre("n19", "n18"));
}

TEST_F(ServiceTest, MembersThatAreWanted) {
  const Value page = get("/v1alpha1/inventory", "fields=attributes.even,name&limit=1");
  EXPECT_EQ(base::json::compact(page.find("items")->as_array()[0]),
            R"({"name":"n00","uid":"u0","attributes":{"even":true}})");
}

TEST_F(ServiceTest, SingleAttributesOfAnyTypeAndName) {
  source_.table = {
      {.ns = "shop",
       .name = "a",
       .uid = "1",
       .attributes = R"({"images":["x"],"replicas":3,"tier":"front","wanted by":{}})"}};
  const std::string item =
      R"({"name":"a","uid":"1","attributes":{"images":["x"],"replicas":3,"wanted by":{}}})";
  const std::string query =
      "fields=name,attributes.images,attributes.replicas,attributes.wanted%20by";
  EXPECT_EQ(base::json::compact(get("/v1alpha1/inventory", query).find("items")->as_array()[0]),
            item);
  EXPECT_EQ(testing::drained(ask("/v1alpha1/export", "format=ndjson&" + query)), item + "\n");
}

// They are passed over, as the spec has it, but a misspelt filter is not silent.
TEST_F(ServiceTest, ParametersThatNoRouteKnowsAreTold) {
  EXPECT_EQ(header(ask("/v1alpha1/inventory", "name=n03&attr.x=1&at="), "Warning"), "");
  const http::Answer answer = ask("/v1alpha1/inventory", "knd=Deployment");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(header(answer, "Warning"),
            "299 - \"no route knows the parameter knd; did you mean kind?\"");
  EXPECT_EQ(header(ask("/v1alpha1/groups", "by=kind&pretty=1"), "Warning"),
            "299 - \"no route knows the parameter pretty\"");
  EXPECT_EQ(header(ask("/v1alpha1/clusters", "colour%0d%0aX=17"), "Warning"),
            "299 - \"no route knows the parameter\"");
}

TEST_F(ServiceTest, WhatCannotBeIsSaid) {
  for (const char* query :
       {"sort=colour", "sort=attributes", "sort=attributes.", "fields=colour", "at=yesterday",
        "at=2026-02-30T00:00:00Z", "name=%00", "q=%ff", "attr.=x", "%ff=1", "inventory=all"}) {
    EXPECT_EQ(refused("/v1alpha1/inventory", query, 400), "BadRequest") << query;
  }
  for (const char* query :
       {"", "by=", "by=colour", "by=attributes", "by=kind,name,uid,group,version"}) {
    EXPECT_EQ(refused("/v1alpha1/groups", query, 400), "BadRequest") << query;
  }
  EXPECT_EQ(refused("/v1alpha1/export", "format=xml", 400), "BadRequest");
  EXPECT_EQ(refused("/v1alpha1/changes", "since=2026-01-01T00:00:00Z", 501), "NoHistory");
  EXPECT_EQ(refused("/v1alpha1/history", "uid=u1", 501), "NoHistory");
  EXPECT_EQ(refused("/v1alpha1/status/targets", "", 501), "NoObjects");
  EXPECT_EQ(refused("/v1alpha1/inventory/ops/none", "", 404), "NotFound");
  EXPECT_EQ(refused("/fleet/clusters", "", 404), "NotFound");
}

TEST_F(ServiceTest, OnlyReading) {
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"}) {
    const http::Answer answer = ask("/v1alpha1/inventory", {}, {}, method);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_THAT(header(answer, "Allow"), HasSubstr("GET"));
  }
  for (const char* path : {"/v1alpha1", "/v1alpha1/inventory/", "/v1alpha1/inventory/a%2Fb/c", "/x",
                           "/v1alpha1/inventory/%00/a", "/v1alpha1/inventory/..%2f/a", "//", ""}) {
    EXPECT_EQ(ask(path).status, 404) << path;
  }
}

TEST_F(ServiceTest, TagsAndGzip) {
  const http::Answer answer = ask("/v1alpha1/inventory", "limit=3");
  const std::string tag = header(answer, "ETag");
  EXPECT_EQ(ask("/v1alpha1/inventory", "limit=3", {{"if-none-match", tag}}).status, 304);
  EXPECT_EQ(ask("/v1alpha1/inventory", "limit=3", {{"if-none-match", "\"x\", " + tag}}).status,
            304);
  EXPECT_EQ(ask("/v1alpha1/inventory", "limit=4", {{"if-none-match", tag}}).status, 200);
  ++source_.version;
  EXPECT_EQ(ask("/v1alpha1/inventory", "limit=3", {{"if-none-match", tag}}).status, 200);
  // Another sight is another answer.
  const std::string now = header(ask("/v1alpha1/inventory", "limit=3"), "ETag");
  access_.verdict = [](const Caller&, const Wish&) {
    return Verdict{.sight = {.clusters = {}, .namespaces = std::vector<std::string>{"ops"}}};
  };
  EXPECT_EQ(ask("/v1alpha1/inventory", "limit=3", {{"if-none-match", now}}).status, 200);
  const http::Answer packed = ask("/v1alpha1/inventory", "limit=3", {{"accept-encoding", "gzip"}});
  EXPECT_EQ(header(packed, "Content-Encoding"), "gzip");
  EXPECT_EQ(testing::drained(packed).substr(0, 2), "\x1f\x8b");
}

TEST_F(ServiceTest, WhoMayNotIsToldSoBeforeAnythingElse) {
  std::vector<std::string> wishes;
  access_.verdict = [&](const Caller&, const Wish& wish) {
    wishes.push_back(fmt::format("{} {} {}/{}", wish.verb, wish.resource, wish.ns, wish.name));
    return Verdict{.kind = Verdict::Kind::kForbidden, .message = "no"};
  };
  EXPECT_EQ(refused("/v1alpha1/inventory", "namespace=pay", 403), "Forbidden");
  EXPECT_EQ(refused("/v1alpha1/inventory", "namespace=pay&inventory=all", 403), "Forbidden");
  EXPECT_EQ(refused("/v1alpha1/inventory/pay/none", "namespace=ops", 403), "Forbidden");
  EXPECT_EQ(refused("/v1alpha1/clusterinventory/none", "", 403), "Forbidden");
  EXPECT_EQ(refused("/v1alpha1/export", "", 403), "Forbidden");
  EXPECT_THAT(wishes,
              ElementsAre("list kollectinventories pay/", "get kollectinventories pay/all",
                          "get kollectinventories pay/none", "get kollectclusterinventories /none",
                          "list kollectinventories /"));
  EXPECT_EQ(ask("/openapi/v1alpha1/inventory.yaml").status, 200);
  access_.verdict = [&](const Caller&, const Wish&) {
    return Verdict{.kind = Verdict::Kind::kUnauthenticated, .message = "no token"};
  };
  const http::Answer answer = ask("/v1alpha1/inventory", "sort=colour");
  EXPECT_EQ(answer.status, 401);
  EXPECT_THAT(header(answer, "WWW-Authenticate"), StartsWith("Bearer"));
}

TEST_F(ServiceTest, WhatFailsInsideStaysInside) {
  source_.failure = base::terminal("password hunter2 was refused");
  for (const char* path : {"/v1alpha1/inventory", "/v1alpha1/export", "/v1alpha1/overview"}) {
    const http::Answer answer = ask(path);
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.body.find("hunter2"), std::string::npos);
  }
}

TEST_F(ServiceTest, ATableAsAFile) {
  source_.table = {
      {.ns = "shop", .name = "a", .uid = "1", .attributes = R"({"f":"=1+1","t":"x,\"y\"\nz"})"}};
  const http::Answer answer = ask("/v1alpha1/export", "format=csv");
  EXPECT_THAT(answer.headers,
              Contains(Pair("Content-Disposition", "attachment; filename=\"inventory.csv\"")));
  EXPECT_THAT(testing::drained(answer), HasSubstr("\"x,\"\"y\"\"\nz\""));
  EXPECT_EQ(testing::drained(ask("/v1alpha1/export", "format=ndjson&fields=name")),
            "{\"name\":\"a\",\"uid\":\"1\"}\n");
}

/// Pieces that requests are made of, and nonsense.
std::string piece(std::mt19937_64& random, const std::vector<std::string>& pieces) {
  if (random() % 8 != 0) return pieces[random() % pieces.size()];
  std::string out;
  for (std::size_t i = random() % 6; i > 0; --i) out += fmt::format("%{:02x}", random() % 256);
  return out;
}

TEST_F(ServiceTest, WhateverIsAskedTheAnswerIsDescribed) {
  const auto described = testing::described_statuses();
  std::vector<std::string> paths = {"/", "/ui/", "/fleet/clusters", "/healthz", "/v1alpha1/x"};
  for (const auto& [path, statuses] : described) {
    for (const char* name : {"ops", "all", "%zz", "..", "a%2fb"}) {
      paths.push_back(
          base::replace_all(base::replace_all(path, "{namespace}", "ops"), "{name}", name));
    }
  }
  const std::vector<std::string> keys = {"namespace", "inventory",   "inventoryNamespace",
                                         "cluster",   "target",      "group",
                                         "kind",      "name",        "uid",
                                         "q",         "attr.even",   "attr.",
                                         "sort",      "fields",      "at",
                                         "limit",     "offset",      "since",
                                         "until",     "cursor",      "by",
                                         "format",    "lastEventId", "version"};
  const std::vector<std::string> values = {"",
                                           "ops",
                                           "all",
                                           "n01",
                                           "true",
                                           "-name",
                                           "attributes.even",
                                           "kind,cluster",
                                           "csv",
                                           "ndjson",
                                           "5",
                                           "-1",
                                           "18446744073709551615",
                                           "2026-01-01T00:00:00Z",
                                           "2026",
                                           "x-1",
                                           "%F0%9F%9A%A2",
                                           "*"};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string& path = paths[random() % paths.size()];
    std::string query;
    for (std::size_t n = random() % 4; n > 0; --n) {
      query += piece(random, keys) + (random() % 9 == 0 ? "" : "=") + piece(random, values) + "&";
    }
    Headers headers;
    if (random() % 3 == 0) headers.emplace_back("last-event-id", piece(random, values));
    if (random() % 3 == 0) headers.emplace_back("if-none-match", piece(random, values));
    const std::string fault = testing::fault_of(ask(path, query, headers), path, described);
    ASSERT_EQ(fault, "") << path << "?" << query;
  }
}

}  // namespace
}  // namespace kollect::readapi
