#include "readstore/page_queries.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json/write.h"
#include "dbfile/database.h"

namespace kollect::readstore {

namespace {

std::string select_list(const Dialect& dialect, std::string_view alias) {
  return fmt::format("{0}cluster, {0}inventory_namespace, {0}inventory_name, {1}, {2}", alias,
                     dialect.time(dialect.since().substr(alias.size())), dialect.payload_text());
}

Field place_field(std::size_t i) {
  return static_cast<Field>(i);
}

void append_values(std::string& out, const TallyGroup& group, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    out += fmt::format(",\"c{}\":", i);
    base::json::append_string(out, group.values[i]);
  }
}

/// Places as a JSON list of objects o, s, t, c0, c1, ...
std::string places_text(const std::vector<Slice>& slices, std::size_t first, std::size_t count) {
  std::string out = "[";
  for (std::size_t s = 0; s < count; ++s) {
    const Slice& slice = slices[first + s];
    out +=
        fmt::format("{}{{\"o\":{},\"s\":{},\"t\":{}", s == 0 ? "" : ",", s, slice.skip, slice.take);
    append_values(out, slice.group, slice.fields);
    out += "}";
  }
  return out + "]";
}

/// What of a filter the tally knows.
readapi::RowFilter of_tally(readapi::RowFilter filter) {
  filter.name.clear();
  filter.uid.clear();
  filter.search.clear();
  filter.attributes.clear();
  return filter;
}

/// The rows of a slice agree in its first columns; they are sorted by the others of a place, then
/// by name and uid.
std::vector<Field> order_in(const Slice& slice) {
  std::vector<Field> out;
  for (std::size_t i = slice.fields; i < kPlaceFields; ++i) out.push_back(place_field(i));
  out.push_back(Field::kName);
  out.push_back(Field::kUid);
  return out;
}

}  // namespace

std::size_t PageQueries::together(const std::vector<Slice>& slices, std::size_t first) const {
  std::uint64_t rows = slices[first].take;
  std::size_t count = 1;
  while (postgres_ && first + count < slices.size() &&
         rows + slices[first + count].take <= limits_.whole) {
    rows += slices[first + count++].take;
  }
  return count;
}

Query PageQueries::of_slices(const std::vector<Slice>& slices, std::size_t first,
                             std::size_t count) const {
  return postgres_ && count > 1 ? lateral(slices, first, count) : of_slice(slices[first]);
}

Query PageQueries::sorted(const std::vector<const TallyGroup*>& groups, const Column& by,
                          bool counted) const {
  Query query(postgres_);
  const Dialect dialect(postgres_, tables_, "r.");
  query.add(fmt::format("SELECT {}{} {}", select_list(dialect, "r."),
                        counted ? ", count(*) OVER ()" : "", from_places(query, groups)));
  query.add(" AND " + dialect.where(query, request_.filter, request_.sight));
  order_and_page(query, dialect, by);
  return query;
}

Query PageQueries::count_in(const std::vector<const TallyGroup*>& groups) const {
  Query query(postgres_);
  const Dialect dialect(postgres_, tables_, "r.");
  query.add(fmt::format("SELECT count(*) {}", from_places(query, groups)));
  query.add(" AND " + dialect.where(query, request_.filter, request_.sight));
  return query;
}

Query PageQueries::plain(const Column* by) const {
  Query query(postgres_);
  Dialect dialect(postgres_, tables_, "r.");
  dialect.use_search_index();
  // PostgreSQL would rather read in order and hope that rows match soon: OFFSET 0 keeps it from
  // that.
  const bool apart = postgres_ && !request_.filter.search.empty();
  query.add(fmt::format("SELECT {} FROM {}", select_list(dialect, "r."),
                        apart ? "(SELECT r.* FROM " : ""));
  query.add(tables_.rows + " AS r");
  if (!postgres_) query.add(hint(by));
  query.add(" WHERE " + dialect.where(query, request_.filter, request_.sight));
  if (apart) query.add(" OFFSET 0) AS r");
  order_and_page(query, dialect, by == nullptr ? Column{Field::kCluster, {}} : *by);
  return query;
}

bool PageQueries::can_walk(const Column* by) const {
  const Field field = by == nullptr ? Field::kCluster : by->field;
  if (field == Field::kCluster) return tables_.by_place;
  // SQLite does not see that rows with one value of a column behind come in the order of the index.
  const bool in_order =
      postgres_ || (of_tally(request_.filter) == readapi::RowFilter{} && !request_.sight.clusters);
  return in_order && ((field == Field::kName && tables_.by_name) ||
                      (field == Field::kExportedAt && tables_.by_export));
}

Query PageQueries::walk(const Column* by, std::uint64_t most) const {
  Query query(postgres_);
  const Dialect dialect(postgres_, tables_, "r.");
  const Field field = by == nullptr ? Field::kCluster : by->field;
  const readapi::RowFilter others{.name = request_.filter.name,
                                  .uid = request_.filter.uid,
                                  .search = request_.filter.search,
                                  .attributes = request_.filter.attributes};
  query.add(fmt::format("SELECT {} FROM (SELECT r.* FROM {} AS r", select_list(dialect, "r."),
                        tables_.rows));
  if (!postgres_) {
    query.add(indexed_by(field == Field::kCluster ? "_by_place"
                         : field == Field::kName  ? "_by_name"
                                                  : "_by_export"));
  }
  query.add(" WHERE " + dialect.where(query, of_tally(request_.filter), request_.sight));
  query.add(order(query, dialect, by == nullptr ? Column{Field::kCluster, {}} : *by));
  query.add(fmt::format(" LIMIT {}) AS r WHERE {}", most, dialect.where(query, others, {})));
  order_and_page(query, dialect, by == nullptr ? Column{Field::kCluster, {}} : *by);
  return query;
}

Query PageQueries::count() const {
  Query query(postgres_);
  Dialect dialect(postgres_, tables_);
  dialect.use_search_index();
  query.add(fmt::format("SELECT count(*) FROM {} WHERE ", tables_.rows));
  query.add(dialect.where(query, request_.filter, request_.sight));
  return query;
}

Query PageQueries::first_found(const Column& by, std::uint64_t most) const {
  Query query(postgres_);
  Dialect dialect(postgres_, tables_, "r.");
  dialect.use_search_index();
  query.add(fmt::format("SELECT {}, count(*) OVER () FROM (SELECT r.* FROM ",
                        select_list(dialect, "r.")));
  // Row by row from the index on texts, which a list of all that it finds would not be.
  const bool indexed = dialect.searches_by_index(request_.filter.search);
  if (indexed) {
    query.add(fmt::format("(SELECT rowid AS found FROM {} WHERE payload LIKE {}) AS s CROSS JOIN ",
                          tables_.search, query.bind(fmt::format("%{}%", request_.filter.search))));
  }
  query.add(fmt::format("{} AS r WHERE {}", tables_.rows, indexed ? "r.rowid = s.found AND " : ""));
  const Dialect rows(postgres_, tables_, "r.");
  query.add((postgres_ ? dialect : rows).where(query, request_.filter, request_.sight));
  query.add(fmt::format(" LIMIT {}) AS r", most));
  order_and_page(query, dialect, by);
  return query;
}

Query PageQueries::count_by_place(std::size_t fields) const {
  Query query(postgres_);
  Dialect dialect(postgres_, tables_);
  dialect.use_search_index();
  query.add("SELECT ");
  std::string numbers;
  for (std::size_t i = 0; i < fields; ++i) {
    query.add(dialect.value(place_field(i)) + ", ");
    numbers += fmt::format("{}{}", i == 0 ? "" : ", ", i + 1);
  }
  query.add(fmt::format("count(*) FROM {} WHERE ", tables_.rows));
  query.add(dialect.where(query, request_.filter, request_.sight));
  query.add(" GROUP BY " + numbers);
  return query;
}

/// Along the index, from one time to the next.
Query PageQueries::times(std::size_t most) const {
  Query query(postgres_);
  const Dialect dialect(postgres_, tables_);
  const bool down = request_.order.descending;
  query.add(fmt::format(
      "WITH RECURSIVE times(exported_at, number) AS (SELECT {1}(exported_at), 1 FROM {0} UNION ALL "
      "SELECT (SELECT {1}(r.exported_at) FROM {0} AS r WHERE r.exported_at {2} "
      "times.exported_at), number + 1 FROM times WHERE exported_at IS NOT NULL AND number < {3}) "
      "SELECT {4} FROM times WHERE exported_at IS NOT NULL ORDER BY number",
      tables_.rows, down ? "max" : "min", down ? "<" : ">", most, dialect.time("exported_at")));
  return query;
}

Query PageQueries::of_time(std::string_view time, std::uint64_t left) const {
  Query query(postgres_);
  const Dialect dialect(postgres_, tables_);
  query.add(fmt::format("SELECT {} FROM {}", select_list(dialect, ""), tables_.rows));
  if (!postgres_) query.add(indexed_by("_by_export"));
  query.add(fmt::format(" WHERE exported_at = {}{} AND ", query.bind(time),
                        postgres_ ? "::timestamptz" : ""));
  query.add(dialect.where(query, request_.filter, request_.sight));
  query.add(fmt::format(" ORDER BY {} LIMIT {}", dialect.canonical(direction()), left));
  return query;
}

Query PageQueries::of_moment(const Column& by, base::WallTime at, bool counted) const {
  Query query(postgres_);
  Dialect dialect(postgres_, tables_);
  dialect.set_since("valid_from");
  query.add(fmt::format("SELECT {} FROM {} WHERE ", counted ? "count(*)" : select_list(dialect, ""),
                        tables_.history));
  query.add(dialect.stood_at(query, at));
  query.add(dialect.where(query, request_.filter, request_.sight));
  if (!counted) order_and_page(query, dialect, by);
  return query;
}

std::string PageQueries::indexed_by(std::string_view suffix) const {
  return " INDEXED BY " + dbfile::quote_name(tables_.rows_name + std::string(suffix));
}

/// SQLite without statistics takes the index whose first columns are compared; where rows are to
/// come in an order that another one has, it is named.
std::string PageQueries::hint(const Column* by) const {
  if (by == nullptr || !in_tally(request_.filter)) return "";
  if (by->field == Field::kName && tables_.by_name) return indexed_by("_by_name");
  if (by->field == Field::kExportedAt && tables_.by_export) return indexed_by("_by_export");
  return "";
}

std::string PageQueries::order(Query& query, const Dialect& dialect, const Column& by) const {
  std::string first;
  if (by.field == Field::kAttribute) {
    first = dialect.attribute(query, by.attribute);
    if (postgres_) first += request_.order.descending ? " DESC NULLS LAST" : " NULLS FIRST";
  } else if (by.field != Field::kCluster) {
    first = dialect.ordered(by.field);
  }
  if (!first.empty()) {
    if (by.field != Field::kAttribute || !postgres_) first += direction();
    first += ", ";
  }
  return fmt::format(" ORDER BY {}{}", first, dialect.canonical(direction()));
}

void PageQueries::order_and_page(Query& query, const Dialect& dialect, const Column& by) const {
  query.add(order(query, dialect, by));
  if (request_.limit != 0) {
    query.add(fmt::format(" LIMIT {}", request_.limit));
  } else if (!postgres_) {
    query.add(" LIMIT -1");
  }
  query.add(fmt::format(" OFFSET {}", std::min<std::uint64_t>(request_.offset, INT64_MAX)));
}

/// An index on an attribute that is asked for begins with it and has the place behind.
std::string PageQueries::slice_hint() const {
  const auto& indexed = tables_.attributes;
  const bool better = std::ranges::any_of(request_.filter.attributes, [&](const auto& attribute) {
    return std::ranges::find(indexed, attribute.first) != indexed.end();
  });
  return postgres_ || better ? "" : indexed_by("_by_place");
}

Query PageQueries::of_slice(const Slice& slice) const {
  Query query(postgres_);
  const Dialect dialect(postgres_, tables_);
  query.add(fmt::format("SELECT {} FROM {}{} WHERE ", select_list(dialect, ""), tables_.rows,
                        slice_hint()));
  for (std::size_t i = 0; i < slice.fields; ++i) {
    query.add(fmt::format("{} = {} AND ", dialect.ordered(place_field(i)),
                          query.bind(slice.group.values[i])));
  }
  query.add(dialect.where(query, request_.filter, request_.sight));
  std::string order;
  for (const Field field : order_in(slice)) {
    order += fmt::format("{}{}{}", order.empty() ? "" : ", ", dialect.ordered(field), direction());
  }
  query.add(fmt::format(" ORDER BY {} LIMIT {} OFFSET {}", order, slice.take, slice.skip));
  return query;
}

Query PageQueries::lateral(const std::vector<Slice>& slices, std::size_t first,
                           std::size_t count) const {
  Query query(true);
  const Dialect dialect(true, tables_, "r.");
  query.add("SELECT x.* FROM jsonb_to_recordset(");
  query.add(query.bind(places_text(slices, first, count)));
  query.add(
      "::jsonb) AS g(o int, s bigint, t bigint, c0 text, c1 text, c2 text, c3 text, c4 "
      "text, c5 text, c6 text, c7 text, c8 text) CROSS JOIN LATERAL (SELECT ");
  query.add(select_list(dialect, "r."));
  std::string inner;
  std::string outer;
  for (const Field field : order_in(slices[first])) {
    const std::string name = fmt::format("sort{}", static_cast<int>(field));
    query.add(fmt::format(", {} AS {}", dialect.value(field), name));
    inner += fmt::format("{}{}{}", inner.empty() ? "" : ", ", dialect.ordered(field), direction());
    outer += fmt::format(", x.{} COLLATE \"C\"{}", name, direction());
  }
  query.add(fmt::format(" FROM {} AS r WHERE ", tables_.rows));
  for (std::size_t i = 0; i < slices[first].fields; ++i) {
    query.add(fmt::format("{} = g.c{} AND ", dialect.ordered(place_field(i)), i));
  }
  query.add(dialect.where(query, request_.filter, request_.sight));
  query.add(fmt::format(" ORDER BY {} LIMIT g.t OFFSET g.s) AS x ORDER BY g.o{}", inner, outer));
  return query;
}

/// Rows of places, found along the index; ends with a condition.
std::string PageQueries::from_places(Query& query,
                                     const std::vector<const TallyGroup*>& groups) const {
  std::string list = "[";
  const TallyGroup* last = nullptr;
  for (const TallyGroup* group : groups) {
    if (last != nullptr && last->agrees(*group, kPlaceFields)) continue;
    list += list.size() == 1 ? "{\"o\":0" : ",{\"o\":0";
    append_values(list, *group, kPlaceFields);
    list += "}";
    last = group;
  }
  list += "]";
  const Dialect dialect(postgres_, tables_, "r.");
  const std::string place = query.bind(list);
  std::string out;
  if (postgres_) {
    out = fmt::format(
        "FROM jsonb_to_recordset({}::jsonb) AS g(c0 text, c1 text, c2 text, c3 text, c4 text, c5 "
        "text) CROSS JOIN {} AS r WHERE ",
        place, tables_.rows);
  } else {
    out = fmt::format("FROM json_each({}) AS g CROSS JOIN {} AS r{} WHERE ", place, tables_.rows,
                      indexed_by("_by_place"));
  }
  for (std::size_t i = 0; i < kPlaceFields; ++i) {
    out += fmt::format(
        "{}{} = {}", i == 0 ? "" : " AND ", dialect.ordered(place_field(i)),
        postgres_ ? fmt::format("g.c{}", i) : fmt::format("json_extract(g.value, '$.c{}')", i));
  }
  return out;
}

}  // namespace kollect::readstore
