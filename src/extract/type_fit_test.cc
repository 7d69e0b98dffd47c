#include "extract/type_fit.h"

#include <gtest/gtest.h>

namespace kollect::extract {
namespace {

// E-4
TEST(TypeFit, Table) {
  struct Case {
    const char* type;
    const char* json;
    bool fits;
  };
  const Case cases[] = {
      {"string", "\"\"", true},
      {"string", "1", false},
      {"int", "1", true},
      {"int", "18446744073709551615", true},
      {"int", "2.0", true},
      {"int", "2.5", false},
      {"int", "1e300", false},
      {"int", "\"42\"", false},
      {"float", "1", true},
      {"float", "1.5", true},
      {"float", "true", false},
      {"bool", "false", true},
      {"bool", "\"true\"", false},
      {"list", "[]", true},
      {"list", "{}", false},
      {"map", "{}", true},
      {"map", "[]", false},
      {"timestamp", "\"2026-02-28T23:59:60Z\"", true},
      {"timestamp", "\"2026-01-02T03:04:05.123456789+05:30\"", true},
      {"timestamp", "\"2024-02-29T00:00:00Z\"", true},
      {"timestamp", "\"2026-02-29T00:00:00Z\"", false},
      {"timestamp", "\"2026-01-02\"", false},
      {"timestamp", "\"2026-01-02T03:04:05\"", false},
      {"timestamp", "\"2026-01-02T03:04:05.Z\"", false},
      {"timestamp", "1700000000", false},
      {"quantity", "\"500m\"", true},
      {"quantity", "\"1.5Gi\"", true},
      {"quantity", "\".5\"", true},
      {"quantity", "\"-1e-3\"", true},
      {"quantity", "\"12E\"", true},
      {"quantity", "2", true},
      {"quantity", "\"3K\"", false},
      {"quantity", "\"1 Gi\"", false},
      {"quantity", "\"\"", false},
      {"quantity", "\"1e\"", false},
      {"whatever", "{}", true},
      {"", "1", true},
  };
  for (const auto& c : cases) {
    auto document = base::json::Document::parse(c.json);
    ASSERT_TRUE(document) << c.json;
    EXPECT_EQ(fits(parse_type_hint(c.type), document->root()), c.fits) << c.type << " " << c.json;
  }
  auto null = base::json::Document::parse("null");
  for (const auto* type :
       {"string", "int", "float", "bool", "list", "map", "timestamp", "quantity"}) {
    EXPECT_TRUE(fits(parse_type_hint(type), null->root())) << type;
  }
}

}  // namespace
}  // namespace kollect::extract
