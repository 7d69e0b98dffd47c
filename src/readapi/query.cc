#include "readapi/query.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::readapi {
namespace {

constexpr std::array<std::string_view, 13> kColumns = {
    "attributes",         "cluster", "exportedAt", "group",     "inventory",
    "inventoryNamespace", "kind",    "name",       "namespace", "targetNamespace",
    "targetName",         "uid",     "version"};
constexpr std::string_view kAttribute = "attributes.";
constexpr std::string_view kAttributeFilter = "attr.";
/// Of all routes, as the description of the API has them.
constexpr std::array<std::string_view, 23> kParameters = {"at",
                                                          "by",
                                                          "cluster",
                                                          "cursor",
                                                          "fields",
                                                          "format",
                                                          "group",
                                                          "inventory",
                                                          "kind",
                                                          "limit",
                                                          "inventoryNamespace",
                                                          "lastEventId",
                                                          "name",
                                                          "namespace",
                                                          "offset",
                                                          "q",
                                                          "since",
                                                          "sort",
                                                          "target",
                                                          "total",
                                                          "uid",
                                                          "until",
                                                          "version"};
/// Whoever names more wants all of them.
constexpr std::size_t kMostColumns = 256;

/// A number of digits; none for everything else. What is too large for 64 bits is the largest.
std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return UINT64_MAX;
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

base::Result<> check_column(const std::string& parameter, const std::string& column) {
  if (const auto attribute = attribute_of(column)) {
    if (!attribute->empty()) return {};
    return base::configuration(fmt::format("{}: \"attributes.\" needs a name behind it", parameter),
                               "BadRequest");
  }
  if (std::ranges::find(kColumns, column) != kColumns.end()) return {};
  const std::vector<std::string> known(kColumns.begin(), kColumns.end());
  const auto near = base::near_names(column, known);
  return base::configuration(
      fmt::format("{}: there is no column \"{}\"; {}", parameter, column,
                  near.empty() ? "columns are " + base::join(known, ", ") + ", attributes.NAME"
                               : "did you mean " + near.front() + "?"),
      "BadRequest");
}

/// PostgreSQL takes no NUL, JSON nothing but UTF-8: such a text is in no row.
base::Result<> check_texts(const Parameters& parameters) {
  for (const auto& [name, value] : parameters) {
    for (const std::string* text : {&name, &value}) {
      if (text->find('\0') == std::string::npos && base::is_valid_utf8(*text)) continue;
      return base::configuration("a parameter holds NUL or is not UTF-8", "BadRequest");
    }
  }
  return {};
}

base::Result<Order> read_order(const Parameters& parameters) {
  std::string by = first_of(parameters, "sort");
  Order order{.by = {}, .descending = by.starts_with('-')};
  if (order.descending) by.erase(0, 1);
  if (by.empty()) return Order{};
  KL_TRY(check_column("sort", by));
  if (by == "attributes") {
    return base::configuration("sort: one attribute is needed, as attributes.NAME", "BadRequest");
  }
  order.by = std::move(by);
  return order;
}

base::Result<bool> read_bounded(const Parameters& parameters) {
  const std::string total = first_of(parameters, "total");
  if (total.empty() || total == "exact") return false;
  if (total == "bounded") return true;
  return base::configuration("total takes exact or bounded", "BadRequest");
}

base::Result<RowFilter> read_filter(const Parameters& parameters) {
  RowFilter filter;
  for (const auto& [name, member] : {std::pair{"cluster", &RowFilter::cluster},
                                     {"inventoryNamespace", &RowFilter::inventory_namespace},
                                     {"inventory", &RowFilter::inventory},
                                     {"namespace", &RowFilter::ns},
                                     {"target", &RowFilter::target},
                                     {"group", &RowFilter::group},
                                     {"version", &RowFilter::version},
                                     {"kind", &RowFilter::kind},
                                     {"name", &RowFilter::name},
                                     {"uid", &RowFilter::uid},
                                     {"q", &RowFilter::search}}) {
    filter.*member = first_of(parameters, name);
  }
  for (auto it = parameters.lower_bound(std::string(kAttributeFilter));
       it != parameters.end() && it->first.starts_with(kAttributeFilter); ++it) {
    std::string name = it->first.substr(kAttributeFilter.size());
    if (name.empty()) {
      return base::configuration("attr.NAME=TEXT needs the name of an attribute", "BadRequest");
    }
    filter.attributes.emplace_back(std::move(name), it->second);
  }
  return filter;
}

}  // namespace

std::optional<std::string_view> attribute_of(std::string_view column) {
  if (!column.starts_with(kAttribute)) return std::nullopt;
  return column.substr(kAttribute.size());
}

std::string unknown_parameter(const Parameters& parameters) {
  for (const auto& [name, value] : parameters) {
    if (name.starts_with(kAttributeFilter) ||
        std::ranges::find(kParameters, name) != kParameters.end()) {
      continue;
    }
    // A header takes no other characters; who sends such names knows which.
    const bool plain = std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-' || c == '.';
    });
    const auto near = base::near_names(name, {kParameters.begin(), kParameters.end()});
    return fmt::format("no route knows the parameter{}{}{}", plain ? " " : "", plain ? name : "",
                       near.empty() ? "" : "; did you mean " + near.front() + "?");
  }
  return {};
}

std::string first_of(const Parameters& parameters, const std::string& name) {
  const auto it = parameters.lower_bound(name);
  if (it == parameters.end() || it->first != name) return {};
  return std::string(base::trim(it->second));
}

base::Result<std::optional<base::WallTime>> read_time(const Parameters& parameters,
                                                      const std::string& name) {
  const std::string text = first_of(parameters, name);
  if (text.empty()) return std::optional<base::WallTime>();
  const auto time = base::parse_rfc3339(text);
  if (!time) {
    return base::configuration(
        fmt::format("{} must be a moment as 2026-01-31T12:00:00Z (RFC 3339)", name), "BadRequest");
  }
  return std::optional(*time);
}

std::uint64_t read_limit(const Parameters& parameters, std::uint64_t usual, std::uint64_t most) {
  const std::uint64_t value = number(first_of(parameters, "limit")).value_or(0);
  return value == 0 ? usual : std::min(value, most);
}

std::uint64_t read_offset(const Parameters& parameters) {
  return number(first_of(parameters, "offset")).value_or(0);
}

base::Result<std::vector<std::string>> read_columns(const std::string& parameter,
                                                    const std::string& text) {
  std::vector<std::string> columns;
  for (const std::string_view part : base::split(text, ',')) {
    const std::string column(base::trim(part));
    if (column.empty() || std::ranges::find(columns, column) != columns.end()) continue;
    KL_TRY(check_column(parameter, column));
    columns.push_back(column);
  }
  if (columns.size() > kMostColumns) {
    return base::configuration(fmt::format("{}: at most {} columns", parameter, kMostColumns),
                               "BadRequest");
  }
  return columns;
}

base::Result<Query> read_query(const Parameters& parameters) {
  KL_TRY(check_texts(parameters));
  Query query;
  KL_ASSIGN(query.filter, read_filter(parameters));
  KL_ASSIGN(query.order, read_order(parameters));
  KL_ASSIGN(query.at, read_time(parameters, "at"));
  KL_ASSIGN(query.fields, read_columns("fields", first_of(parameters, "fields")));
  if (!query.fields.empty() && std::ranges::find(query.fields, "uid") == query.fields.end()) {
    query.fields.emplace_back("uid");
  }
  query.limit = read_limit(parameters, kUsualLimit, kMostLimit);
  query.offset = read_offset(parameters);
  KL_ASSIGN(query.bounded, read_bounded(parameters));
  return query;
}

}  // namespace kollect::readapi
