// Rules of layouts beyond the recorded cases.
#include <gmock/gmock.h>

#include "base/strings.h"
#include "sinks/layout/run_layout.h"
#include "sinks/testing.h"

namespace kollect::sinks {
namespace {

using namespace testing;  // NOLINT: the room's own helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string row_text(const std::string& kind, const std::string& name, const std::string& uid,
                     const std::string& group = "", const std::string& ns = "n",
                     const std::string& target = "t") {
  return fmt::format(
      "{{'targetNamespace':'x','targetName':'{}','namespace':'{}','name':'{}','group':'{}',"
      "'version':'v1','kind':'{}','uid':'{}','attributes':{{'a':'{}'}}}}",
      target, ns, name, group, kind, uid, uid);
}

inventory::RowSet rows_from(const std::vector<std::string>& texts) {
  return rows_of("[" + base::join(texts, ",") + "]");
}

LayoutSpec per_resource() {
  LayoutSpec spec;
  spec.mode = LayoutMode::kPerResource;
  return spec;
}

base::Result<LaidOut> plan_one(const Export& exp, const LayoutSpec& spec, const Owned& owned = {}) {
  const std::vector<Export> exports = {exp};
  KL_ASSIGN(auto layout, RunLayout::plan(exports, spec, {owned}));
  return layout.exports().front();
}

// field-same-kind-in-two-groups
const char* const kShop = "00000000-0000-4000-8000-0000000000";
std::vector<std::string> two_groups() {
  return {row_text("Service", "shop", std::string(kShop) + "11"),
          row_text("Service", "shop", std::string(kShop) + "12", "serving.knative.dev"),
          row_text("Gateway", "edge", std::string(kShop) + "13", "gateway.networking.k8s.io"),
          row_text("Gateway", "edge", std::string(kShop) + "14", "networking.istio.io")};
}

TEST(SameKindInTwoGroups, FourFilesStableAndWarned) {
  auto texts = two_groups();
  const auto rows = rows_from(texts);
  const auto laid_out = plan_one(plain_export(rows), per_resource());
  ASSERT_TRUE(laid_out.has_value()) << laid_out.error().message;
  const std::set<std::string> paths(laid_out->row_paths.begin(), laid_out->row_paths.end());
  EXPECT_EQ(paths.size(), 4U);
  for (const auto& path : paths) {
    EXPECT_THAT(path, ::testing::MatchesRegex("c/n/(service/shop|gateway/edge)-[0-9a-f]+.yaml"));
  }
  ASSERT_EQ(laid_out->warnings.size(), 2U);
  EXPECT_THAT(laid_out->warnings[0], HasSubstr("Gateway.gateway.networking.k8s.io n/edge"));
  EXPECT_THAT(laid_out->warnings[0], HasSubstr("Gateway.networking.istio.io n/edge"));
  std::reverse(texts.begin(), texts.end());
  const auto turned = rows_from(texts);
  const auto again = plan_one(plain_export(turned), per_resource());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->row_paths, laid_out->row_paths);
}

TEST(SameKindInTwoGroups, TheOtherOfAPairKeepsItsFile) {
  auto texts = two_groups();
  const auto rows = rows_from(texts);
  const auto before = plan_one(plain_export(rows), per_resource());
  ASSERT_TRUE(before.has_value());
  Owned owned;
  owned.paths.insert(before->row_paths.begin(), before->row_paths.end());
  texts.erase(texts.begin());  // the core Service goes
  const auto fewer = rows_from(texts);
  const auto after = plan_one(plain_export(fewer), per_resource(), owned);
  ASSERT_TRUE(after.has_value());
  for (const auto& path : after->row_paths) {
    EXPECT_TRUE(owned.paths.contains(path)) << path;
  }
}

TEST(SameKindInTwoGroups, OverTwoExportsOfOneRun) {
  const auto texts = two_groups();
  const auto first = rows_from({texts[0]});
  const auto second = rows_from({texts[1]});
  const std::vector<Export> exports = {plain_export(first, "a"), plain_export(second, "b")};
  const auto layout = RunLayout::plan(exports, per_resource());
  ASSERT_TRUE(layout.has_value()) << layout.error().message;
  EXPECT_NE(layout->exports()[0].row_paths, layout->exports()[1].row_paths);
}

TEST(Collisions, OneObjectSeenByTwoExportsIsRefused) {
  const auto first = rows_from({row_text("Pod", "p", "u1", "", "n", "a")});
  const auto second = rows_from({row_text("Pod", "p", "u1", "", "n", "b")});
  const std::vector<Export> exports = {plain_export(first, "a"), plain_export(second, "b")};
  const auto layout = RunLayout::plan(exports, per_resource());
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().reason, "path-collision");
  EXPECT_THAT(layout.error().message, HasSubstr("x/a"));
  EXPECT_THAT(layout.error().message, HasSubstr("c/n/pod/p.yaml"));
}

TEST(Collisions, K8TheUnalteredRowKeepsItsPath) {
  const auto rows = rows_from({row_text("Role", "a-b", "u1"), row_text("Role", "a:b", "u2")});
  const auto laid_out = plan_one(plain_export(rows), per_resource());
  ASSERT_TRUE(laid_out.has_value()) << laid_out.error().message;
  // The first 8 digits of SHA-256("u2").
  EXPECT_THAT(laid_out->row_paths, ElementsAre("c/n/role/a-b.yaml", "c/n/role/a-b-6ca202c8.yaml"));
}

TEST(Collisions, TwoExportsWithOneDocumentAreRefused) {
  const auto rows = rows_from({row_text("Pod", "p", "u1")});
  LayoutSpec spec;
  spec.document_template = "all/{namespace}{extension}";
  const std::vector<Export> exports = {plain_export(rows, "a"), plain_export(rows, "b")};
  const auto layout = RunLayout::plan(exports, spec);
  ASSERT_FALSE(layout.has_value());
  EXPECT_THAT(layout.error().message, HasSubstr("x/a"));
  EXPECT_THAT(layout.error().message, HasSubstr("x/b"));
}

TEST(Collisions, AFileInPlaceOfAFolderIsRefused) {
  const auto rows = rows_from({row_text("Node", "n", "u1", "", ""), row_text("Pod", "p", "u2")});
  auto spec = per_resource();
  spec.row_template = "{sourceNamespace}/{sourceName}";
  const auto laid_out = plan_one(plain_export(rows), spec);
  ASSERT_FALSE(laid_out.has_value());
  EXPECT_EQ(laid_out.error().reason, "path-collision");
}

// field-names-with-colons-and-slashes
bool is_portable(std::string_view segment) {
  static const std::set<std::string> kDevices = {"con", "prn", "aux", "nul", "com1", "lpt1"};
  if (segment.empty() || segment.size() > 255 || segment == "." || segment == "..") return false;
  if (segment.back() == '.' || segment.back() == ' ' || base::to_lower(segment) == ".git")
    return false;
  for (const char c : segment) {
    if (static_cast<unsigned char>(c) < 0x20 ||
        std::string_view("<>|?*\":\\").find(c) != std::string_view::npos) {
      return false;
    }
  }
  return !kDevices.contains(base::to_lower(segment.substr(0, segment.find('.'))));
}

TEST(OddNames, EverySegmentIsPortableAndEveryRowHasItsFile) {
  std::vector<std::string> texts;
  int number = 0;
  for (const std::string name :
       {"system:controller:job-controller", "Admin%2Fall", "con", "aux.x", "ends.",
        "q?*<>|\\\"name", "..", ".git", "CON", "nul.tar.gz", "COM1", "\\u0001x"}) {
    texts.push_back(row_text("ClusterRole", name, fmt::format("u{}", number++),
                             "rbac.authorization.k8s.io", ""));
  }
  texts.push_back(row_text("ConfigMap", std::string(253, 'a'), "u99"));
  const auto rows = rows_from(texts);
  for (const std::string cluster : {"arn:aws:eks:eu-north-1:000000000000:cluster/prod",
                                    "rak5/c28r7ot20s0mbcas9940", "kind-dev@home", ".."}) {
    auto exp = plain_export(rows);
    exp.cluster = cluster;
    for (const std::string path_template :
         {"", "{cluster}/n-{sourceName}", "x/.n{sourceName}/{uid}"}) {
      auto spec = per_resource();
      spec.row_template = path_template;
      spec.max_segment_length = path_template.empty() ? 300 : 63;
      const auto laid_out = plan_one(exp, spec);
      ASSERT_TRUE(laid_out.has_value()) << laid_out.error().message;
      std::set<std::string> folded;
      for (const auto& path : laid_out->row_paths) {
        folded.insert(path);
        for (const auto segment : base::split(path, '/')) EXPECT_TRUE(is_portable(segment)) << path;
      }
      EXPECT_EQ(folded.size(), texts.size());
    }
  }
  auto exp = plain_export(rows);
  const auto laid_out = plan_one(exp, per_resource());
  ASSERT_TRUE(laid_out.has_value());
  EXPECT_THAT(laid_out->row_paths,
              ::testing::Contains("c/clusterrole/system-controller-job-controller.yaml"));
}

TEST(Segments, DevicesGitFolderAndLength) {
  EXPECT_EQ(portable_segment("con.yaml", ".yaml"), "con_.yaml");
  EXPECT_EQ(portable_segment("AUX"), "AUX_");
  EXPECT_EQ(portable_segment("console.yaml"), "console.yaml");
  EXPECT_EQ(portable_segment(".GIT"), "_.GIT");
  EXPECT_EQ(portable_segment(".g\u200cit"), "_.g\u200cit");
  EXPECT_EQ(portable_segment("ends. ."), "ends");
  EXPECT_EQ(portable_segment(std::string(300, 'a') + ".yaml", ".yaml"),
            std::string(250, 'a') + ".yaml");
  EXPECT_EQ(sanitise_segment("\u00e4\u00e4\u00e4", 3), "\u00e4");  // K-7: not inside a character
}

TEST(Templates, WhatLeavesTheFolderIsRefused) {
  const auto rows = rows_from({row_text("Pod", "p", "u1")});
  auto spec = per_resource();
  for (const std::string path_template : {"../{uid}", "a/./{uid}", "{group}"}) {
    spec.row_template = path_template;
    EXPECT_FALSE(plan_one(plain_export(rows), spec).has_value()) << path_template;
  }
  spec.row_template = "/abs\\{uid}//{kind}{unknown}";
  const auto laid_out = plan_one(plain_export(rows), spec);
  ASSERT_TRUE(laid_out.has_value());
  EXPECT_THAT(laid_out->row_paths, ElementsAre("abs/u1/pod{unknown}"));
  spec.row_template = ".git/{uid}";
  const auto in_git = plan_one(plain_export(rows), spec);
  ASSERT_TRUE(in_git.has_value());
  EXPECT_THAT(in_git->row_paths, ElementsAre("_.git/u1"));
  LayoutSpec document;
  document.document_template = "/abs/{namespace}/{name}";
  EXPECT_FALSE(plan_one(plain_export(rows), document).has_value());
}

TEST(Templates, ValuesAreNotExpandedAgain) {
  const auto rows = rows_from({row_text("Pod", "{uid}", "u1")});
  auto spec = per_resource();
  spec.row_template = "{sourceName}{extension}";
  const auto laid_out = plan_one(plain_export(rows), spec);
  ASSERT_TRUE(laid_out.has_value());
  EXPECT_THAT(laid_out->row_paths, ElementsAre("{uid}.yaml"));
}

TEST(Layout, K5ProfilesDecideNotOneOddRow) {
  const auto rows = rows_from({row_text("Pod", "p", "u1")});
  auto exp = plain_export(rows);
  exp.resource_key = "a";
  auto laid_out = plan_one(exp, LayoutSpec{});
  ASSERT_TRUE(laid_out.has_value());
  EXPECT_EQ(laid_out->mode, LayoutMode::kPerResource);
  EXPECT_EQ(laid_out->content, LayoutContent::kManifest);
  inventory::RowSet none;
  none.seal();
  exp.rows = &none;
  laid_out = plan_one(exp, LayoutSpec{});
  ASSERT_TRUE(laid_out.has_value());
  EXPECT_EQ(laid_out->mode, LayoutMode::kPerResource);
}

TEST(Layout, EmptySets) {
  inventory::RowSet none;
  none.seal();
  const auto text_of = [&](Format format, LayoutMode mode) {
    LayoutSpec spec;
    spec.format = format;
    spec.mode = mode;
    std::map<std::string, std::string> files;
    const auto done = render(plain_export(none), spec, [&](File&& file) -> base::Result<> {
      KL_ASSIGN(files[file.path], file.text());
      return {};
    });
    EXPECT_TRUE(done.has_value());
    return files;
  };
  EXPECT_EQ(text_of(Format::kYaml, LayoutMode::kDocument).at("inventory/x/t.yaml"), "[]\n");
  EXPECT_EQ(text_of(Format::kNdjson, LayoutMode::kDocument).at("inventory/x/t.ndjson"), "");
  EXPECT_THAT(text_of(Format::kJson, LayoutMode::kDocument).at("inventory/x/t.json"),
              ::testing::EndsWith("\"items\":[]}"));
  const auto tree = text_of(Format::kYaml, LayoutMode::kSplit);
  EXPECT_EQ(tree.size(), 2U);
  EXPECT_TRUE(tree.contains("inventory/x/t.yaml"));
  EXPECT_TRUE(tree.contains("inventory/x/t.manifest.json"));
}

TEST(Manifest, ReadBackByItsInventoryOnly) {
  const auto rows = rows_from({row_text("Pod", "p", "u1")});
  auto exp = plain_export(rows);
  const std::vector<Export> exports = {exp};
  const auto layout = RunLayout::plan(exports, per_resource());
  ASSERT_TRUE(layout.has_value());
  const auto text = layout->manifest(0, {"b", "a"}).text();
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*read_manifest(*text, exp),
            (std::vector<std::string>{"a", "b", layout->exports()[0].row_paths.begin()->c_str()}));
  exp.cluster = "other";
  EXPECT_FALSE(read_manifest(*text, exp).has_value());
  EXPECT_TRUE(is_foreign_manifest(*text, exp));
  EXPECT_EQ(exported_at_of(*text), time_of("2026-02-03T04:05:06Z"));
}

TEST(Parts, K10SiblingsOfAnotherNumbering) {
  inventory::RowSet none;
  none.seal();
  const PartSiblings siblings(plain_export(none), LayoutSpec{});
  EXPECT_TRUE(siblings.matches("inventory/x/t.yaml"));
  EXPECT_TRUE(siblings.matches("inventory/x/t.part-0001-of-0002.yaml"));
  EXPECT_FALSE(siblings.matches("inventory/x/t.part-1-of-2.yaml"));
  EXPECT_FALSE(siblings.matches("inventory/x/t2.yaml"));
  EXPECT_FALSE(siblings.matches("inventory/x/t.json"));
  EXPECT_EQ(siblings.folder(), "inventory/x");
}

TEST(KeepNamespaces, P9OwnedFilesOfUnreadNamespacesStay) {
  const auto rows = rows_from({row_text("Pod", "p", "u1")});
  auto exp = plain_export(rows);
  exp.keep_namespaces = {"lab"};
  const auto laid_out = plan_one(exp, per_resource());
  ASSERT_TRUE(laid_out.has_value());
  const auto none = [] { return std::optional<std::string>(); };
  const auto item = [](std::string ns) {
    return [ns] { return std::optional<std::string>("targetName: t\nnamespace: " + ns + "\n"); };
  };
  EXPECT_TRUE(must_keep(exp, per_resource(), *laid_out, "c/lab/pod/q.yaml", item("lab")));
  EXPECT_FALSE(must_keep(exp, per_resource(), *laid_out, "c/n/pod/q.yaml", item("n")));
  EXPECT_TRUE(must_keep(exp, per_resource(), *laid_out, "c/lab/pod/q.yaml", none));
  EXPECT_FALSE(must_keep(exp, per_resource(), *laid_out, "c/n/pod/q.yaml", none));
}

TEST(Cost, FiftyThousandRowsInLinearTime) {
  inventory::RowSet rows;
  for (int i = 0; i < 50'000; ++i) {
    const auto name = fmt::format("web-{}", i);
    rows.add({"x", "t", fmt::format("ns-{}", i % 50), name, "apps", "v1", "Deployment", name,
              R"({"image":"registry.example.org/web:1.0","ready":true,"replicas":3})"});
  }
  rows.seal();
  auto exp = plain_export(rows);
  exp.max_bytes = 1 << 20;
  std::size_t most = 0;
  std::size_t files = 0;
  const auto done = render(exp, LayoutSpec{}, [&](File&& file) -> base::Result<> {
    ++files;
    return file.chunks([&](std::string_view piece) -> base::Result<> {
      most = std::max(most, piece.size());
      return {};
    });
  });
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_GT(files, 8U);
  EXPECT_LT(most, 1U << 20U);  // documents come in pieces
}

}  // namespace
}  // namespace kollect::sinks
