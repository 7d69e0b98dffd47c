#include "readstore/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "readstore/columns.h"
#include "readstore/page_queries.h"
#include "readstore/row_text.h"

namespace kollect::readstore {

namespace {

using readapi::RowRequest;
using readapi::SourceRow;

/// Longer texts are nobody's search.
constexpr std::size_t kLongestSearch = 1'000;
/// Rows before a page whose total may be bounded; behind more of them all are counted.
constexpr std::uint64_t kDeepestBounded = 20'000;
/// A walk looks at so many rows for each that is wanted at first, and at so many times
/// PageLimits::walk at last.
constexpr std::uint64_t kFirstStep = 10;
constexpr std::uint64_t kLastStep = 8;

/// What every cursor is.
class TableCursor : public readapi::RowCursor {
 public:
  TableCursor(std::unique_ptr<Session> session, Stand stand, const Counted& total)
      : session_(std::move(session)),
        stand_(std::move(stand)),
        total_(total.rows),
        at_least_(total.at_least) {}
  [[nodiscard]] std::uint64_t total() const override { return total_; }
  [[nodiscard]] bool at_least() const override { return at_least_; }
  [[nodiscard]] std::string state() const override { return stand_.state; }
  [[nodiscard]] base::WallTime updated_at() const override { return stand_.updated_at; }

  base::Result<std::optional<SourceRow>> next() override {
    while (true) {
      if (!rows_) {
        KL_ASSIGN(rows_, next_answer());
        if (!rows_) return std::nullopt;
      }
      if (std::exchange(stands_, false)) break;
      KL_ASSIGN(const bool more, rows_->next());
      if (more) break;
      rows_.reset();
    }
    ++given_;
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
  [[nodiscard]] std::uint64_t given() const { return given_; }
  /// `looked_at`: its first row has been.
  void begin_with(std::unique_ptr<Rows> rows, bool looked_at) {
    rows_ = std::move(rows);
    stands_ = looked_at;
  }

 private:
  std::unique_ptr<Session> session_;
  Stand stand_;
  std::uint64_t total_;
  bool at_least_;
  bool stands_ = false;  ///< the current row of `rows_` is still to be given
  std::uint64_t given_ = 0;
  RowText text_;
  std::string cluster_;
  std::string inventory_namespace_;
  std::string inventory_;
  std::string exported_at_;
  std::unique_ptr<Rows> rows_;  ///< last: dies before the session
};

/// An answer that has been read.
class HeldRows final : public Rows {
 public:
  base::Result<> take(Rows& rows, int columns) {
    while (true) {
      KL_ASSIGN(const bool more, rows.next());
      if (!more) return {};
      std::vector<std::string>& row = rows_.emplace_back();
      for (int i = 0; i < columns; ++i) row.emplace_back(rows.text(i));
    }
  }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  base::Result<bool> next() override { return ++at_ <= rows_.size(); }
  [[nodiscard]] std::string_view text(int column) const override {
    return rows_[at_ - 1][static_cast<std::size_t>(column)];
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t at_ = 0;
};

/// One statement.
class PlainCursor final : public TableCursor {
 public:
  PlainCursor(std::unique_ptr<Session> session, Stand stand, const Counted& total,
              std::optional<Query> query, bool whole)
      : TableCursor(std::move(session), std::move(stand), total),
        query_(std::move(query)),
        whole_(whole) {}
  /// `looked_at`: the first of `rows` has been.
  PlainCursor(std::unique_ptr<Session> session, Stand stand, const Counted& total,
              std::unique_ptr<Rows> rows, bool looked_at)
      : TableCursor(std::move(session), std::move(stand), total) {
    begin_with(std::move(rows), looked_at);
  }

 private:
  base::Result<std::unique_ptr<Rows>> next_answer() override {
    const std::optional<Query> query = std::exchange(query_, std::nullopt);
    if (!query) return nullptr;
    return session().ask(*query, whole_);
  }
  std::optional<Query> query_;
  bool whole_ = true;
};

/// The rows of one time of export after those of another, until the page is full.
class TimesCursor final : public TableCursor {
 public:
  TimesCursor(std::unique_ptr<Session> session, Stand stand, const Counted& total, bool postgres,
              RowRequest request, std::vector<std::string> times, const PageLimits& limits)
      : TableCursor(std::move(session), std::move(stand), total),
        request_(std::move(request)),
        times_(std::move(times)),
        whole_(request_.limit <= limits.whole),
        queries_(postgres, this->session().tables(), request_, limits) {}

 private:
  base::Result<std::unique_ptr<Rows>> next_answer() override {
    if (at_ == times_.size() || given() >= request_.limit) return nullptr;
    return session().ask(queries_.of_time(times_[at_++], request_.limit - given()), whole_);
  }

  RowRequest request_;
  std::vector<std::string> times_;
  bool whole_;
  PageQueries queries_;
  std::size_t at_ = 0;
};

/// Slice after slice.
class SliceCursor final : public TableCursor {
 public:
  SliceCursor(std::unique_ptr<Session> session, Stand stand, const Counted& total, bool postgres,
              RowRequest request, std::shared_ptr<const void> texts, std::vector<Slice> slices,
              const PageLimits& limits)
      : TableCursor(std::move(session), std::move(stand), total),
        request_(std::move(request)),
        texts_(std::move(texts)),
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
  std::shared_ptr<const void> texts_;  ///< of the slices
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
    if (impossible(request_.filter)) return plain(std::nullopt, {});
    if (request_.at) return of_moment(*request_.at, counts);
    const Dialect dialect(postgres_, session_->tables());
    KL_ASSIGN(const auto tally, book.at(*session_, dialect, stand_));
    std::vector<const TallyGroup*> groups;
    if (tally) {
      groups = tally->matching(request_.filter, request_.sight);
      among_ = total_of(groups);
      if (in_tally(request_.filter)) return along_tally(tally, std::move(groups));
      const bool few = among_ <= limits_.sortable && request_.filter.uid.empty();
      if (few && session_->tables().by_place) return among(groups, counts);
    }
    if (!request_.filter.search.empty()) {
      KL_ASSIGN(auto found, first_found(counts));
      if (found) return found;
    }
    KL_ASSIGN(const Counted counted, count(counts, groups));
    return page(counted, groups);
  }

 private:
  using Opened = base::Result<std::unique_ptr<readapi::RowCursor>>;

  [[nodiscard]] bool canonical() const { return !by_ || by_->field == Field::kCluster; }
  [[nodiscard]] const Column* by() const { return by_ ? &*by_ : nullptr; }
  [[nodiscard]] bool whole() const {
    return request_.limit != 0 && request_.limit <= limits_.whole;
  }

  Opened along_tally(const std::shared_ptr<const Tally>& tally,
                     std::vector<const TallyGroup*> groups) {
    const Counted total{.rows = total_of(groups)};
    if (!session_->tables().by_place) return plain(queries_.plain(by()), total);
    if (by_ && by_->field == Field::kExportedAt && total.rows > limits_.sortable) {
      KL_ASSIGN(auto times, few_times());
      if (times.size() > 1) return of_times(std::move(times), total);
      if (times.size() == 1) by_.reset();  // all of one time: in canonical order
    }
    if (by_ && !by_->in_tally()) {
      return plain(total.rows <= limits_.sortable ? queries_.sorted(groups, *by_, false)
                                                  : queries_.plain(by()),
                   total);
    }
    sort_groups(groups, by_ ? by_->field : Field::kCluster, request_.order.descending);
    const bool by_place = !by_ || static_cast<std::size_t>(by_->field) < kPlaceFields;
    return of_slices(total, tally, groups, by_place ? kPlaceFields : kTallyFields);
  }

  Opened of_slices(const Counted& total, std::shared_ptr<const void> texts,
                   const std::vector<const TallyGroup*>& groups, std::size_t fields) {
    auto slices = cut(groups, request_.offset, request_.limit, fields);
    return std::make_unique<SliceCursor>(std::move(session_), std::move(stand_), total, postgres_,
                                         request_, std::move(texts), std::move(slices), limits_);
  }

  /// The times of exports of all rows, in the order of the request; empty: there are too many, or
  /// the page is none of the first.
  base::Result<std::vector<std::string>> few_times() {
    std::vector<std::string> out;
    if (!session_->tables().by_export || request_.limit == 0) return out;
    KL_ASSIGN(const auto rows, session_->ask(queries_.times(limits_.times + 1), true));
    while (true) {
      KL_ASSIGN(const bool more, rows->next());
      if (!more) break;
      out.emplace_back(rows->text(0));
    }
    const bool first_page = out.size() == 1 || request_.offset == 0;
    if (out.size() > limits_.times || !first_page) out.clear();
    return out;
  }

  Opened of_times(std::vector<std::string> times, const Counted& total) {
    return std::make_unique<TimesCursor>(std::move(session_), std::move(stand_), total, postgres_,
                                         request_, std::move(times), limits_);
  }

  /// Other conditions than those of the tally, but few rows to ask: all are looked at once, for the
  /// page and its total.
  Opened among(const std::vector<const TallyGroup*>& groups, CountCache& counts) {
    const Column by = by_ ? *by_ : Column{Field::kCluster, {}};
    const std::string key = key_of(request_.filter, request_.sight);
    const auto known = known_count(counts, key);
    if (known || !request_.count) {
      return plain(queries_.sorted(groups, by, false), known.value_or(Counted{}));
    }
    KL_ASSIGN(auto rows, session_->ask(queries_.sorted(groups, by, true), whole()));
    KL_ASSIGN(const bool found, rows->next());
    Counted total;
    if (found) {
      total.rows = rows->number(PageQueries::kRowColumns);
    } else if (request_.offset > 0) {
      KL_ASSIGN(total.rows, number_of(queries_.count_in(groups)));
    }
    keep(counts, key, total);
    if (!found) return plain(std::nullopt, total);
    return std::make_unique<PlainCursor>(std::move(session_), std::move(stand_), total,
                                         std::move(rows), true);
  }

  Opened of_moment(base::WallTime moment, CountCache& counts) {
    if (session_->tables().history.empty()) return no_history();
    const Column by = by_ ? *by_ : Column{Field::kCluster, {}};
    const std::string at = base::format_rfc3339(moment);
    const std::string key = at + key_of(request_.filter, request_.sight);
    Counted total;
    if (const auto known = known_count(counts, key)) {
      total = *known;
    } else if (request_.count) {
      KL_ASSIGN(total.rows, number_of(queries_.of_moment(by, moment, true)));
      keep(counts, key, total);
    }
    stand_.updated_at = std::min(stand_.updated_at, moment);
    stand_.state += "@" + at;
    return plain(queries_.of_moment(by, moment, false), total);
  }

  /// Without a table of exports nothing tells when a count has become wrong.
  [[nodiscard]] bool keeps() const { return !session_->tables().exports.empty(); }
  std::optional<Counted> known_count(CountCache& counts, const std::string& key) const {
    auto known = keeps() ? counts.find(stand_.state, key) : std::nullopt;
    if (known && known->at_least && known->rows < enough()) return std::nullopt;
    return known;
  }
  void keep(CountCache& counts, const std::string& key, const Counted& counted) const {
    if (keeps()) counts.keep(stand_.state, key, counted);
  }
  base::Result<std::uint64_t> number_of(const Query& query) {
    KL_ASSIGN(const auto rows, session_->ask(query, true));
    KL_ASSIGN(const bool found, rows->next());
    return found ? rows->number(0) : 0;
  }

  /// Counting may end when it is known that rows follow the page.
  [[nodiscard]] bool bounds() const {
    return request_.bounded && whole() && !request_.filter.search.empty() &&
           request_.offset <= kDeepestBounded && among_ > limits_.countable;
  }
  /// At so many rows.
  [[nodiscard]] std::uint64_t enough() const {
    if (!bounds()) return std::numeric_limits<std::uint64_t>::max();
    return std::max(limits_.bounded, request_.offset + request_.limit + 1);
  }

  /// Columns of a place by which it pays to count; 0: none.
  [[nodiscard]] std::size_t counted_fields(const std::vector<const TallyGroup*>& groups) const {
    if (!session_->tables().by_place || groups.empty() || !request_.filter.uid.empty() ||
        !request_.filter.name.empty()) {
      return 0;
    }
    constexpr std::array<std::size_t, 3> kLevels = {kPlaceFields, 5, 3};
    const auto* const level = std::ranges::find_if(kLevels, [&](std::size_t fields) {
      return count_places(groups, fields) <= limits_.places;
    });
    return level == kLevels.end() ? 0 : *level;
  }

  base::Result<Counted> count(CountCache& counts, const std::vector<const TallyGroup*>& groups) {
    if (!request_.count) return Counted{};
    const std::string key = key_of(request_.filter, request_.sight);
    if (const auto known = known_count(counts, key)) return *known;
    if (some_.at_least && some_.rows >= enough()) return some_;
    Counted out;
    if (const std::size_t fields = counted_fields(groups); fields > 0) {
      KL_ASSIGN(out, count_by_place(fields));
    } else {
      KL_ASSIGN(out.rows, number_of(queries_.count()));
    }
    keep(counts, key, out);
    return out;
  }

  /// Searching: rows are found until there are many. Few of them are all there are: page and total
  /// are known. Null: there are many, or it is known how many.
  Opened first_found(CountCache& counts) {
    const std::string key = key_of(request_.filter, request_.sight);
    if (!request_.count || !whole() || known_count(counts, key)) return nullptr;
    const std::uint64_t most = bounds() ? enough() : limits_.sortable + 1;
    const Column by = by_ ? *by_ : Column{Field::kCluster, {}};
    KL_ASSIGN(auto rows, session_->ask(queries_.first_found(by, most), true));
    KL_ASSIGN(const bool found, rows->next());
    if (!found && request_.offset > 0) return nullptr;
    Counted total{.rows = found ? rows->number(PageQueries::kRowColumns) : 0};
    total.at_least = total.rows >= most;
    if (total.at_least) some_ = total;
    if (!total.at_least || bounds()) keep(counts, key, total);
    if (total.at_least) return nullptr;
    if (!found) return plain(std::nullopt, total);
    return std::make_unique<PlainCursor>(std::move(session_), std::move(stand_), total,
                                         std::move(rows), true);
  }

  base::Result<Counted> count_by_place(std::size_t fields) {
    KL_ASSIGN(const auto rows, session_->ask(queries_.count_by_place(fields), true));
    Counted out{.fields = fields};
    auto places = std::make_shared<InventoryTally>();
    while (true) {
      KL_ASSIGN(const bool more, rows->next());
      if (!more) break;
      std::array<std::string_view, kTallyFields> values;
      for (std::size_t i = 0; i < fields; ++i) values[i] = rows->text(static_cast<int>(i));
      const std::uint64_t here = rows->number(static_cast<int>(fields));
      places->add(values, here);
      out.rows += here;
    }
    places->sort();
    out.places = std::move(places);
    return out;
  }

  Opened page(const Counted& counted, const std::vector<const TallyGroup*>& groups) {
    const bool searches = !request_.filter.search.empty();
    const bool many = counted.at_least || counted.rows > limits_.sortable;
    if (counted.places && canonical() && request_.limit != 0 &&
        (!searches || pays_by_place(counted, total_of(groups)))) {
      std::vector<const TallyGroup*> places;
      for (const TallyGroup& group : counted.places->groups()) places.push_back(&group);
      if (request_.order.descending) std::ranges::reverse(places);
      if (request_.offset >= limits_.deep ||
          (searches && lie_deep(*places.front(), groups, counted))) {
        return of_slices(counted, counted.places, places, counted.fields);
      }
    }
    if (searches && many && whole() && queries_.can_walk(by())) {
      KL_ASSIGN(auto walked, walk(counted));
      if (walked) return walked;
    }
    return plain(queries_.plain(by()), counted);
  }

  /// A page that is full after a walk over the first rows in its order. Null: it is not.
  Opened walk(const Counted& counted) {
    if (request_.offset >= limits_.walk) return nullptr;
    // The last step where nobody knows how many there are: sorting them all may cost far more.
    const std::uint64_t most = limits_.walk * (counted.at_least ? kLastStep : 1);
    std::uint64_t rows = std::min((request_.offset + request_.limit) * kFirstStep, limits_.walk);
    while (true) {
      KL_ASSIGN(const auto answer, session_->ask(queries_.walk(by(), rows), true));
      auto held = std::make_unique<HeldRows>();
      KL_TRY(held->take(*answer, PageQueries::kRowColumns));
      if (held->size() == request_.limit) {
        return std::make_unique<PlainCursor>(std::move(session_), std::move(stand_), counted,
                                             std::move(held), false);
      }
      if (rows == most) return nullptr;
      rows = rows < limits_.walk ? limits_.walk : most;
    }
  }

  /// Whether many rows would be passed on the way to those of `first`.
  [[nodiscard]] bool lie_deep(const TallyGroup& first, std::vector<const TallyGroup*> groups,
                              const Counted& counted) const {
    if (request_.order.descending) std::ranges::reverse(groups);
    std::uint64_t before = 0;
    for (const TallyGroup* group : groups) {
      if (group->agrees(first, counted.fields)) return false;
      before += group->rows;
      if (before > limits_.sortable) return true;
    }
    return false;
  }

  /// Whether reading the rows of places, until enough of them match, looks at fewer than finding
  /// all that match and sorting them. `of`: rows among which they are.
  [[nodiscard]] bool pays_by_place(const Counted& counted, std::uint64_t of) const {
    const auto rows = static_cast<double>(counted.rows);
    return counted.rows > limits_.sortable &&
           static_cast<double>(request_.limit) * static_cast<double>(of) < 2 * rows * rows;
  }

  Opened plain(std::optional<Query> query, const Counted& total) {
    return std::make_unique<PlainCursor>(std::move(session_), std::move(stand_), total,
                                         std::move(query), whole());
  }

  std::unique_ptr<Session> session_;
  bool postgres_;
  const RowRequest& request_;
  Stand stand_;
  PageLimits limits_;
  PageQueries queries_;
  std::optional<Column> by_;
  /// Rows that the tally's part of the filter leaves; nobody knows: as many as can be.
  std::uint64_t among_ = std::numeric_limits<std::uint64_t>::max();
  Counted some_;  ///< of a search, when there are many
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
