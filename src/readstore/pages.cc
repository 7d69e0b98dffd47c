#include "readstore/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json/write.h"
#include "dbfile/database.h"
#include "readstore/columns.h"
#include "readstore/row_text.h"

namespace kollect::readstore {

namespace {

using readapi::RowRequest;
using readapi::SourceRow;

/// Longer texts are nobody's search.
constexpr std::size_t kLongestSearch = 1'000;

std::string select_list(const Dialect& dialect, std::string_view alias) {
  return fmt::format("{0}cluster, {0}inventory_namespace, {0}inventory_name, {1}, {2}", alias,
                     dialect.time(dialect.since().substr(alias.size())), dialect.payload_text());
}

/// What every cursor is.
class TableCursor : public readapi::RowCursor {
 public:
  TableCursor(std::unique_ptr<Session> session, Stand stand, std::uint64_t total)
      : session_(std::move(session)), stand_(std::move(stand)), total_(total) {}
  [[nodiscard]] std::uint64_t total() const override { return total_; }
  [[nodiscard]] std::string state() const override { return stand_.state; }
  [[nodiscard]] base::WallTime updated_at() const override { return stand_.updated_at; }

  base::Result<std::optional<SourceRow>> next() override {
    while (true) {
      if (!rows_) {
        KL_ASSIGN(rows_, next_answer());
        if (!rows_) return std::nullopt;
      }
      KL_ASSIGN(const bool more, rows_->next());
      if (more) break;
      rows_.reset();
    }
    SourceRow out;
    KL_ASSIGN(out.row, text_.read(rows_->text(4)));
    cluster_ = rows_->text(0);
    inventory_namespace_ = rows_->text(1);
    inventory_ = rows_->text(2);
    const auto at = base::parse_rfc3339(rows_->text(3));
    exported_at_ = at ? base::format_rfc3339(*at) : std::string();
    out.cluster = cluster_;
    out.inventory_namespace = inventory_namespace_;
    out.inventory = inventory_;
    out.exported_at = exported_at_;
    return out;
  }

 protected:
  /// The next piece; null: there is none.
  virtual base::Result<std::unique_ptr<Rows>> next_answer() = 0;
  Session& session() { return *session_; }

 private:
  std::unique_ptr<Session> session_;
  Stand stand_;
  std::uint64_t total_;
  RowText text_;
  std::string cluster_;
  std::string inventory_namespace_;
  std::string inventory_;
  std::string exported_at_;
  std::unique_ptr<Rows> rows_;  ///< last: dies before the session
};

/// One statement.
class PlainCursor final : public TableCursor {
 public:
  PlainCursor(std::unique_ptr<Session> session, Stand stand, std::uint64_t total,
              std::optional<Query> query, bool whole)
      : TableCursor(std::move(session), std::move(stand), total),
        query_(std::move(query)),
        whole_(whole) {}

 private:
  base::Result<std::unique_ptr<Rows>> next_answer() override {
    if (!query_) return nullptr;
    const Query query = *std::exchange(query_, std::nullopt);
    return session().ask(query, whole_);
  }
  std::optional<Query> query_;
  bool whole_;
};

/// The statements of a request over tables of rows that stand now.
class PageQueries {
 public:
  PageQueries(bool postgres, const Tables& tables, const RowRequest& request,
              const PageLimits& limits)
      : postgres_(postgres), tables_(tables), request_(request), limits_(limits) {}

  /// Slices of one statement: one in SQLite, in PostgreSQL as many as make a short answer.
  [[nodiscard]] std::size_t together(const std::vector<Slice>& slices, std::size_t first) const {
    std::uint64_t rows = slices[first].take;
    std::size_t count = 1;
    while (postgres_ && first + count < slices.size() &&
           rows + slices[first + count].take <= limits_.whole) {
      rows += slices[first + count++].take;
    }
    return count;
  }
  [[nodiscard]] Query of_slices(const std::vector<Slice>& slices, std::size_t first,
                                std::size_t count) const {
    return postgres_ && count > 1 ? lateral(slices, first, count) : of_slice(slices[first]);
  }
  /// Rows of some places, all sorted.
  [[nodiscard]] Query sorted(const std::vector<const TallyGroup*>& groups, const Column& by) const {
    Query query(postgres_);
    const Dialect dialect(postgres_, tables_, "r.");
    query.add(fmt::format("SELECT {} {}", select_list(dialect, "r."), from_places(query, groups)));
    query.add(" AND " + dialect.where(query, request_.filter, request_.sight));
    order_and_page(query, dialect, by);
    return query;
  }
  [[nodiscard]] Query count_in(const std::vector<const TallyGroup*>& groups) const {
    Query query(postgres_);
    const Dialect dialect(postgres_, tables_, "r.");
    query.add(fmt::format("SELECT count(*) {}", from_places(query, groups)));
    query.add(" AND " + dialect.where(query, request_.filter, request_.sight));
    return query;
  }
  [[nodiscard]] Query plain(const Column* by) const {
    Query query(postgres_);
    Dialect dialect(postgres_, tables_);
    dialect.use_search_index();
    query.add(fmt::format("SELECT {} FROM {}", select_list(dialect, ""), tables_.rows));
    if (!postgres_) query.add(hint(by));
    query.add(" WHERE " + dialect.where(query, request_.filter, request_.sight));
    order_and_page(query, dialect, by == nullptr ? Column{Field::kCluster, {}} : *by);
    return query;
  }
  [[nodiscard]] Query count() const {
    Query query(postgres_);
    Dialect dialect(postgres_, tables_);
    dialect.use_search_index();
    query.add(fmt::format("SELECT count(*) FROM {} WHERE ", tables_.rows));
    query.add(dialect.where(query, request_.filter, request_.sight));
    return query;
  }
  /// Rows of a moment that has passed; `counted`: only how many.
  [[nodiscard]] Query of_moment(const Column& by, bool counted) const {
    Query query(postgres_);
    Dialect dialect(postgres_, tables_);
    dialect.set_since("valid_from");
    query.add(fmt::format("SELECT {} FROM {} WHERE ",
                          counted ? "count(*)" : select_list(dialect, ""), tables_.history));
    const std::string at = dialect.moment(query, *request_.at);
    query.add(fmt::format("valid_from <= {0} AND (valid_to IS NULL OR valid_to > {0}) AND ", at));
    query.add(dialect.where(query, request_.filter, request_.sight));
    if (!counted) order_and_page(query, dialect, by);
    return query;
  }

 private:
  [[nodiscard]] std::string direction() const { return request_.order.descending ? " DESC" : ""; }

  [[nodiscard]] std::string indexed_by(std::string_view suffix) const {
    return " INDEXED BY " + dbfile::quote_name(tables_.rows_name + std::string(suffix));
  }

  /// SQLite without statistics takes the index whose first columns are compared; where rows are to
  /// come in an order that another one has, it is named.
  [[nodiscard]] std::string hint(const Column* by) const {
    if (by == nullptr || !in_tally(request_.filter)) return "";
    if (by->field == Field::kName && tables_.by_name) return indexed_by("_by_name");
    if (by->field == Field::kExportedAt && tables_.by_export) return indexed_by("_by_export");
    return "";
  }

  void order_and_page(Query& query, const Dialect& dialect, const Column& by) const {
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
    query.add(fmt::format(" ORDER BY {}{}", first, dialect.canonical(direction())));
    if (request_.limit != 0) {
      query.add(fmt::format(" LIMIT {}", request_.limit));
    } else if (!postgres_) {
      query.add(" LIMIT -1");
    }
    query.add(fmt::format(" OFFSET {}", std::min<std::uint64_t>(request_.offset, INT64_MAX)));
  }

  [[nodiscard]] static Field place_field(std::size_t i) { return static_cast<Field>(i); }
  [[nodiscard]] std::size_t compared(const Slice& slice) const {
    return slice.whole_place ? kPlaceFields : kTallyFields;
  }

  [[nodiscard]] Query of_slice(const Slice& slice) const {
    Query query(postgres_);
    const Dialect dialect(postgres_, tables_);
    query.add(fmt::format("SELECT {} FROM {}", select_list(dialect, ""), tables_.rows));
    if (!postgres_) {
      query.add(indexed_by("_by_place"));
    }
    query.add(" WHERE ");
    for (std::size_t i = 0; i < compared(slice); ++i) {
      query.add(fmt::format("{} = {} AND ", dialect.ordered(place_field(i)),
                            query.bind(slice.group.values[i])));
    }
    query.add(dialect.where(query, request_.filter, request_.sight));
    query.add(fmt::format(" ORDER BY {0}{2}, {1}{2} LIMIT {3} OFFSET {4}",
                          dialect.ordered(Field::kName), dialect.ordered(Field::kUid), direction(),
                          slice.take, slice.skip));
    return query;
  }

  /// Places as a JSON list of objects a, b, c, ...
  static std::string places_text(const std::vector<Slice>& slices, std::size_t first,
                                 std::size_t count) {
    std::string out = "[";
    for (std::size_t s = 0; s < count; ++s) {
      const Slice& slice = slices[first + s];
      out += fmt::format("{}{{\"o\":{},\"s\":{},\"t\":{}", s == 0 ? "" : ",", s, slice.skip,
                         slice.take);
      append_values(out, slice.group, kTallyFields);
      out += "}";
    }
    return out + "]";
  }
  static void append_values(std::string& out, const TallyGroup& group, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      out += fmt::format(",\"c{}\":", i);
      base::json::append_string(out, group.values[i]);
    }
  }

  [[nodiscard]] Query lateral(const std::vector<Slice>& slices, std::size_t first,
                              std::size_t count) const {
    Query query(true);
    const Dialect dialect(true, tables_, "r.");
    query.add("SELECT x.* FROM jsonb_to_recordset(");
    query.add(query.bind(places_text(slices, first, count)));
    query.add(
        "::jsonb) AS g(o int, s bigint, t bigint, c0 text, c1 text, c2 text, c3 text, c4 "
        "text, c5 text, c6 text, c7 text, c8 text) CROSS JOIN LATERAL (SELECT ");
    query.add(fmt::format("{}, {} AS sort_name, r.source_uid AS sort_uid FROM {} AS r WHERE ",
                          select_list(dialect, "r."), dialect.value(Field::kName), tables_.rows));
    for (std::size_t i = 0; i < compared(slices[first]); ++i) {
      query.add(fmt::format("{} = g.c{} AND ", dialect.ordered(place_field(i)), i));
    }
    query.add(dialect.where(query, request_.filter, request_.sight));
    query.add(
        fmt::format(" ORDER BY {0}{2}, {1}{2} LIMIT g.t OFFSET g.s) AS x ORDER BY g.o, "
                    "x.sort_name COLLATE \"C\"{2}, x.sort_uid COLLATE \"C\"{2}",
                    dialect.ordered(Field::kName), dialect.ordered(Field::kUid), direction()));
    return query;
  }

  /// Rows of places, found along the index; ends with a condition.
  [[nodiscard]] std::string from_places(Query& query,
                                        const std::vector<const TallyGroup*>& groups) const {
    std::string list = "[";
    const TallyGroup* last = nullptr;
    for (const TallyGroup* group : groups) {
      if (last != nullptr && last->same_place(*group)) continue;
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

  bool postgres_;
  const Tables& tables_;
  const RowRequest& request_;
  PageLimits limits_;
};

/// Slice after slice.
class SliceCursor final : public TableCursor {
 public:
  SliceCursor(std::unique_ptr<Session> session, Stand stand, std::uint64_t total, bool postgres,
              RowRequest request, std::shared_ptr<const Tally> tally, std::vector<Slice> slices,
              const PageLimits& limits)
      : TableCursor(std::move(session), std::move(stand), total),
        request_(std::move(request)),
        tally_(std::move(tally)),
        slices_(std::move(slices)),
        limits_(limits),
        queries_(postgres, this->session().tables(), request_, limits) {}

 private:
  base::Result<std::unique_ptr<Rows>> next_answer() override {
    if (at_ == slices_.size()) return nullptr;
    const std::size_t count = queries_.together(slices_, at_);
    const std::size_t first = std::exchange(at_, at_ + count);
    return session().ask(queries_.of_slices(slices_, first, count),
                         count > 1 || slices_[first].take <= limits_.whole);
  }

  RowRequest request_;
  std::shared_ptr<const Tally> tally_;  ///< owns the slices' texts
  std::vector<Slice> slices_;
  PageLimits limits_;
  PageQueries queries_;
  std::size_t at_ = 0;
};

/// Decides for one request.
class Opening {
 public:
  Opening(std::unique_ptr<Session> session, bool postgres, const RowRequest& request, Stand stand,
          const PageLimits& limits)
      : session_(std::move(session)),
        postgres_(postgres),
        request_(request),
        stand_(std::move(stand)),
        limits_(limits),
        queries_(postgres, session_->tables(), request, limits) {}

  base::Result<std::unique_ptr<readapi::RowCursor>> open(TallyBook& book, CountCache& counts) {
    if (request_.filter.search.size() > kLongestSearch) {
      return base::configuration(
          fmt::format("the text to search for is longer than {} bytes", kLongestSearch),
          "BadQuery");
    }
    if (!request_.order.by.empty()) {
      KL_ASSIGN(by_, read_column(request_.order.by));
    }
    if (impossible(request_.filter)) return plain(std::nullopt, 0);
    if (request_.at) return of_moment(counts);
    const Dialect dialect(postgres_, session_->tables());
    KL_ASSIGN(const auto tally, book.at(*session_, dialect, stand_));
    if (tally) {
      auto groups = tally->matching(request_.filter, request_.sight);
      if (in_tally(request_.filter)) return along_tally(tally, std::move(groups));
      const bool few = total_of(groups) <= limits_.sortable && request_.filter.uid.empty();
      if (few && session_->tables().by_place) return among(groups, counts);
    }
    KL_ASSIGN(const std::uint64_t total, total_of_query(queries_.count(), counts, ""));
    return plain(queries_.plain(by_ ? &*by_ : nullptr), total);
  }

 private:
  base::Result<std::unique_ptr<readapi::RowCursor>> along_tally(
      const std::shared_ptr<const Tally>& tally, std::vector<const TallyGroup*> groups) {
    const std::uint64_t total = total_of(groups);
    const bool in_groups = !by_ || by_->in_tally();
    if (!session_->tables().by_place) {
      return plain(queries_.plain(by_ ? &*by_ : nullptr), total);
    }
    if (!in_groups) {
      return plain(
          total <= limits_.sortable ? queries_.sorted(groups, *by_) : queries_.plain(&*by_), total);
    }
    sort_groups(groups, by_ ? by_->field : Field::kCluster, request_.order.descending);
    const bool by_place = !by_ || static_cast<std::size_t>(by_->field) < kPlaceFields;
    auto slices = cut(groups, request_.offset, request_.limit, by_place);
    return std::make_unique<SliceCursor>(std::move(session_), std::move(stand_), total, postgres_,
                                         request_, tally, std::move(slices), limits_);
  }

  /// Other conditions than those of the tally, but few rows to ask.
  base::Result<std::unique_ptr<readapi::RowCursor>> among(
      const std::vector<const TallyGroup*>& groups, CountCache& counts) {
    KL_ASSIGN(const std::uint64_t total, total_of_query(queries_.count_in(groups), counts, ""));
    return plain(queries_.sorted(groups, by_ ? *by_ : Column{Field::kCluster, {}}), total);
  }

  base::Result<std::unique_ptr<readapi::RowCursor>> of_moment(CountCache& counts) {
    if (session_->tables().history.empty()) return no_history();
    const Column by = by_ ? *by_ : Column{Field::kCluster, {}};
    const std::string at = base::format_rfc3339(*request_.at);
    KL_ASSIGN(const std::uint64_t total, total_of_query(queries_.of_moment(by, true), counts, at));
    stand_.updated_at = std::min(stand_.updated_at, *request_.at);
    stand_.state += "@" + at;
    return plain(queries_.of_moment(by, false), total);
  }

  base::Result<std::uint64_t> total_of_query(const Query& query, CountCache& counts,
                                             const std::string& at) {
    if (!request_.count) return 0;
    const std::string key = at + key_of(request_.filter, request_.sight);
    // Without a table of exports nothing tells when a count has become wrong.
    const bool keeps = !session_->tables().exports.empty();
    if (const auto known = counts.find(stand_.state, key); known && keeps) return *known;
    KL_ASSIGN(const auto rows, session_->ask(query, true));
    KL_ASSIGN(const bool found, rows->next());
    const std::uint64_t total = found ? rows->number(0) : 0;
    if (keeps) counts.keep(stand_.state, key, total);
    return total;
  }

  base::Result<std::unique_ptr<readapi::RowCursor>> plain(std::optional<Query> query,
                                                          std::uint64_t total) {
    const bool whole = request_.limit != 0 && request_.limit <= limits_.whole;
    return std::make_unique<PlainCursor>(std::move(session_), std::move(stand_), total,
                                         std::move(query), whole);
  }

  std::unique_ptr<Session> session_;
  bool postgres_;
  const RowRequest& request_;
  Stand stand_;
  PageLimits limits_;
  PageQueries queries_;
  std::optional<Column> by_;
};

}  // namespace

base::Error no_history() {
  return base::configuration(
      "the store keeps no history: its sink needs options.history (PostgreSQL), or the file was "
      "not written by kollect",
      "NoHistory");
}

base::Result<std::unique_ptr<readapi::RowCursor>> open_rows(std::unique_ptr<Session> session,
                                                            bool postgres,
                                                            const RowRequest& request,
                                                            TallyBook& book, CountCache& counts,
                                                            const PageLimits& limits) {
  const Dialect dialect(postgres, session->tables());
  KL_ASSIGN(Stand stand, read_stand(*session, dialect));
  return Opening(std::move(session), postgres, request, std::move(stand), limits)
      .open(book, counts);
}

}  // namespace kollect::readstore
