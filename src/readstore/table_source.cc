#include "readstore/table_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "readstore/history.h"
#include "readstore/pages.h"

namespace kollect::readstore {

namespace {

/// What sinks write as the namespace of a cluster inventory.
constexpr std::string_view kClusterInventory = "cluster";

bool allows(const std::optional<std::vector<std::string>>& list, const std::string& text) {
  return !list || std::find(list->begin(), list->end(), text) != list->end();
}

base::Result<std::vector<readapi::Group>> groups_of_table(Session& session, bool postgres,
                                                          const readapi::GroupRequest& request,
                                                          const std::vector<Column>& by) {
  Query query(postgres);
  Dialect dialect(postgres, session.tables());
  const char* since = request.at ? "valid_from" : "exported_at";
  dialect.set_since(since);
  std::string selected;
  std::string numbers;
  std::string order;
  for (const Column& column : by) {
    std::string value = column.field == Field::kAttribute
                            ? dialect.attribute_text(query, column.attribute)
                        : column.field == Field::kExportedAt ? dialect.time(since)
                                                             : dialect.value(column.field);
    selected += value + ", ";
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", &column - by.data() + 1);
    order += fmt::format(", {}{}", value, dialect.postgres() ? " COLLATE \"C\"" : "");
  }
  query.add(fmt::format("SELECT {}count(*) FROM {} WHERE ", selected,
                        request.at ? session.tables().history : session.tables().rows));
  if (request.at) query.add(dialect.stood_at(query, *request.at));
  query.add(dialect.where(query, request.filter, request.sight));
  query.add(
      fmt::format(" GROUP BY {} ORDER BY count(*) DESC{} LIMIT {}", numbers, order, request.limit));
  KL_ASSIGN(const auto rows, session.ask(query, true));
  std::vector<readapi::Group> out;
  while (true) {
    KL_ASSIGN(const bool more, rows->next());
    if (!more) return out;
    readapi::Group group;
    for (std::size_t i = 0; i < by.size(); ++i) {
      group.values.emplace_back(rows->text(static_cast<int>(i)));
    }
    group.rows = rows->number(static_cast<int>(by.size()));
    out.push_back(std::move(group));
  }
}

}  // namespace

TableSource::TableSource(std::unique_ptr<Place> place, PageLimits limits)
    : place_(std::move(place)), limits_(limits) {}
TableSource::~TableSource() = default;

readapi::Abilities TableSource::abilities() const {
  return {.store = place_->postgres() ? "postgres" : "sqlite",
          .history = history_,
          .objects = false,
          .stream = false};
}

base::Result<> TableSource::prepare(const base::Context& context) {
  KL_ASSIGN(const auto session, place_->open(context));
  history_ = !session->tables().history.empty();
  const Dialect dialect(place_->postgres(), session->tables());
  KL_ASSIGN(const Stand stand, read_stand(*session, dialect));
  KL_TRY(book_.at(*session, dialect, stand));
  return {};
}

base::Result<std::unique_ptr<readapi::RowCursor>> TableSource::rows(
    const base::Context& context, const readapi::RowRequest& request) {
  KL_ASSIGN(auto session, place_->open(context));
  history_ = !session->tables().history.empty();
  return open_rows(std::move(session), place_->postgres(), request, book_, counts_, limits_);
}

base::Result<std::vector<readapi::Group>> TableSource::groups(
    const base::Context& context, const readapi::GroupRequest& request) {
  std::vector<Column> columns;
  bool told = !request.at && in_tally(request.filter);  // the tally knows the present
  for (const std::string& name : request.by) {
    KL_ASSIGN(Column column, read_column(name));
    told = told && column.in_tally();
    columns.push_back(std::move(column));
  }
  if (columns.empty()) return base::configuration("no column to group by", "BadQuery");
  if (impossible(request.filter) || request.limit == 0) return std::vector<readapi::Group>();
  KL_ASSIGN(const auto session, place_->open(context));
  if (request.at && session->tables().history.empty()) return no_history();
  if (told) {
    const Dialect dialect(place_->postgres(), session->tables());
    KL_ASSIGN(const Stand stand, read_stand(*session, dialect));
    KL_ASSIGN(const auto tally, book_.at(*session, dialect, stand));
    if (tally)
      return count_by(tally->matching(request.filter, request.sight), columns, request.limit);
  }
  return groups_of_table(*session, place_->postgres(), request, columns);
}

base::Result<std::vector<readapi::InventoryState>> TableSource::inventories(
    const base::Context& context, const readapi::Sight& sight) {
  KL_ASSIGN(const auto session, place_->open(context));
  KL_ASSIGN(Stand stand, read_stand(*session, Dialect(place_->postgres(), session->tables())));
  std::vector<readapi::InventoryState> out;
  for (readapi::InventoryState& inventory : stand.inventories) {
    if (!allows(sight.clusters, inventory.cluster)) continue;
    if (!allows(sight.namespaces, inventory.ns)) continue;
    if (inventory.ns == kClusterInventory) inventory.ns.clear();
    out.push_back(std::move(inventory));
  }
  return out;
}

base::Result<readapi::ChangePage> TableSource::changes(const base::Context& context,
                                                       const readapi::ChangeRequest& request) {
  KL_ASSIGN(const auto session, place_->open(context));
  return read_changes(*session, place_->postgres(), request);
}

base::Result<std::vector<readapi::RowVersion>> TableSource::versions(
    const base::Context& context, const readapi::RowFilter& object, const readapi::Sight& sight) {
  KL_ASSIGN(const auto session, place_->open(context));
  return read_versions(*session, place_->postgres(), object, sight);
}

base::Result<std::string> TableSource::state(const base::Context& context) {
  KL_ASSIGN(const auto session, place_->open(context));
  KL_ASSIGN(const Stand stand,
            read_stand(*session, Dialect(place_->postgres(), session->tables())));
  return stand.state;
}

}  // namespace kollect::readstore
