#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "base/hash.h"
#include "base/json/write.h"
#include "sinks/bigquery/pass.h"

namespace kollect::sinks::bigquery {

namespace {

constexpr std::size_t kRowOverhead = 220;  ///< member names and braces of a row as parameter
constexpr std::size_t kLineBuffer = std::size_t{1} << 20U;
constexpr std::chrono::hours kTableLife{2};  ///< of a loaded table that nobody drops

std::size_t sent_size(const Difference& row) {
  // Quotes and backslashes of the payload are escaped once more.
  const auto escaped = std::count_if(row.payload.begin(), row.payload.end(),
                                     [](char c) { return c == '"' || c == '\\'; });
  return kRowOverhead + row.target_name.size() + row.source_uid.size() +
         row.target_namespace.size() + row.resource_namespace.size() + row.payload.size() +
         static_cast<std::size_t>(escaped);
}

std::string stage_name(const std::string& table) {
  std::random_device device;
  return fmt::format("{}_kollect_{:08x}{:08x}", table, device(), device());
}

}  // namespace

Stage::~Stage() {
  if (load_)
    load_->give_up(base::Context(work_.context.clock(), {}).with_timeout(std::chrono::seconds(5)));
  drop_table();
}

base::Result<> Stage::add(Difference difference) {
  keys_.push_back(rows::key_hash(difference.target_name, difference.source_uid));
  difference.removed() ? ++removals_ : ++upserts_;
  payload_bytes_ += difference.payload.size();
  if (load_) {
    append_stage_line(lines_, difference);
    return lines_.size() < kLineBuffer ? base::Result<>() : send_lines(*load_);
  }
  bytes_ += sent_size(difference);
  rows_.push_back(std::move(difference));
  return bytes_ <= work_.parameter_bytes ? base::Result<>() : start_load();
}

base::Result<> Stage::start_load() {
  TableName table = partition_.table;
  table.table = stage_name(table.table);
  base::json::Object resource;
  resource.set("tableReference", table.reference());
  resource.set("schema", stage_schema());
  const auto end =
      std::chrono::floor<std::chrono::milliseconds>(work_.context.clock().now() + kTableLife);
  resource.set("expirationTime", std::to_string(end.time_since_epoch().count()));
  KL_TRY(work_.api.send(work_.context,
                        {.method = "POST",
                         .path = fmt::format("/bigquery/v2/projects/{}/datasets/{}/tables",
                                             table.project, table.dataset),
                         .doing = fmt::format("creating table {}", table.title()),
                         .body = base::json::compact(base::json::Value(std::move(resource))),
                         .accept = {409}}));
  table_ = std::move(table);
  KL_ASSIGN(auto started, work_.jobs.start_load(work_.context, *table_));
  Jobs::Load& load = load_.emplace(std::move(started));
  for (const Difference& row : rows_) {
    append_stage_line(lines_, row);
    if (lines_.size() >= kLineBuffer) KL_TRY(send_lines(load));
  }
  rows_ = {};
  return {};
}

base::Result<> Stage::send_lines(Jobs::Load& load) {
  KL_TRY(work_.context.check());
  KL_TRY(load.write(work_.context, lines_));
  lines_.clear();
  return {};
}

bool Stage::has_twice() {
  std::sort(keys_.begin(), keys_.end());
  return std::adjacent_find(keys_.begin(), keys_.end()) != keys_.end();
}

base::Result<std::uint64_t> Stage::count(const Query& query) {
  KL_ASSIGN(const auto done, work_.jobs.run(work_.context, query));
  std::uint64_t out = 0;
  KL_TRY(work_.jobs.read(
      work_.context, done, nullptr,
      [&](const Cells& cells) -> base::Result<> {
        if (!cells.empty()) {
          std::from_chars(cells[0].data(), cells[0].data() + cells[0].size(), out);
        }
        return {};
      },
      nullptr));
  return out;
}

base::Result<bool> Stage::meets_foreign() {
  if (rows_.empty()) return false;
  std::vector<Difference> bare = rows_;
  for (Difference& row : bare) row.payload.clear();
  KL_ASSIGN(const std::uint64_t foreign, count(count_foreign(partition_, bare)));
  return foreign > 0;
}

base::Result<Finished> Stage::merge() {
  if (load_) {
    Jobs::Load& load = *load_;
    KL_TRY(send_lines(load));
    KL_TRY(load.finish(work_.context));
    load_.reset();
  }
  const TableName* stage = table_ ? &*table_ : nullptr;
  // Emulators tell the changed rows as one number.
  std::optional<std::uint64_t> removals;
  if (!work_.api.options().credentials && removals_ > 0) {
    KL_ASSIGN(removals, count(count_removals(partition_, rows_, stage)));
  }
  KL_ASSIGN(Finished done,
            work_.jobs.run(work_.context, stage != nullptr ? merge_stage(partition_, *stage)
                                                           : merge_rows(partition_, rows_)));
  if (!done.detailed) {
    done.deleted = std::min(removals.value_or(0), done.affected);
    done.updated = done.affected - done.deleted;
  }
  return done;
}

base::Result<> Stage::finish(PassCounts& counts) {
  if (upserts_ + removals_ == 0) return {};
  KL_ASSIGN(const Finished done, merge());
  const std::uint64_t written = done.inserted + done.updated;
  counts.removed += done.deleted;
  counts.written += written;
  counts.unchanged += upserts_ - std::min(upserts_, written);
  if (written > 0) counts.bytes += payload_bytes_;
  return {};
}

void Stage::drop_table() {
  if (!table_) return;
  // Also when the pass was stopped; what stays is dropped by the service after its time.
  const auto moment =
      base::Context(work_.context.clock(), {}).with_timeout(std::chrono::seconds(15));
  (void)work_.api.send_once(
      moment,
      {.method = "DELETE",
       .path = fmt::format("/bigquery/v2/projects/{}/datasets/{}/tables/{}", table_->project,
                           table_->dataset, base::percent_encode(table_->table)),
       .doing = "dropping a table"});
  table_.reset();
}

}  // namespace kollect::sinks::bigquery
