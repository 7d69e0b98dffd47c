// Routes that give rows.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json/write.h"
#include "readapi/answers.h"
#include "readapi/service_impl.h"

namespace kollect::readapi {
namespace {

using base::json::append_string;

constexpr std::uint64_t kUsualGroups = 100;
constexpr std::uint64_t kMostGroups = 5000;
constexpr std::size_t kMostGroupColumns = 4;
constexpr const char* kSchema = "{\"schemaVersion\":\"kollect.dev/v1alpha1\"";

std::string joined(const std::optional<std::vector<std::string>>& list) {
  return list ? fmt::format("[{}]", fmt::join(*list, ",")) : std::string("*");
}

/// Equal texts: equal answers.
std::string tag_text(const Call& call, const RowCursor& rows, std::string_view more) {
  // A total that is a lower bound may be another one next time.
  return fmt::format("{}\n{}?{}\n{} {}\n{}{}", rows.state(), call.request.path, call.request.query,
                     joined(call.verdict.sight.namespaces), joined(call.verdict.sight.clusters),
                     more, rows.at_least() ? fmt::format("\n{}+", rows.total()) : "");
}

http::Answer row_answer(const Call& call, const std::string& tag,
                        std::shared_ptr<http::BodySource> body, std::string type) {
  http::Answer answer;
  answer.headers = {{"Content-Type", std::move(type)},
                    {"ETag", tag},
                    {"Cache-Control", "no-cache"},
                    {"Vary", "Authorization, Accept-Encoding"}};
  answer.source = std::move(body);
  return takes_gzip(call.request) ? packed(std::move(answer)) : answer;
}

http::Answer stream_answer(std::shared_ptr<http::BodySource> body) {
  http::Answer answer;
  answer.headers = {{"Content-Type", "text/event-stream"},
                    {"Cache-Control", "no-cache"},
                    {"X-Accel-Buffering", "no"}};
  answer.source = std::move(body);
  return answer;
}

RowRequest request_of(const Query& query, const Sight& sight) {
  return {.filter = query.filter,
          .sight = sight,
          .order = query.order,
          .offset = query.offset,
          .limit = query.limit,
          .at = query.at,
          .bounded = query.bounded};
}

void member(std::string& out, std::string_view key, std::string_view value) {
  if (out.back() != '{') out += ',';
  append_string(out, key);
  out += ':';
  append_string(out, value);
}

void origin(std::string& out, const std::string& cluster, const std::string& ns,
            const std::string& inventory) {
  member(out, "cluster", cluster);
  member(out, "inventoryNamespace", ns);
  member(out, "inventory", inventory);
}

/// Without the line breaks that a row read from a database might have.
void append_json(std::string& out, const std::string& text, std::string_view otherwise) {
  const auto parsed = base::json::Document::parse_borrowed(text);
  if (parsed) {
    base::json::append_compact(out, parsed->root());
  } else {
    out += otherwise;
  }
}

/// Where a stream goes on: the header that browsers send, or what the query says.
std::string last_event(const Call& call) {
  if (const auto header = call.request.header("last-event-id")) return std::string(*header);
  return first_of(call.parameters, "lastEventId");
}

}  // namespace

base::Result<> Service::Impl::check_inventory(const Call& call) {
  const RowFilter& filter = call.query.filter;
  if (filter.inventory.empty() || parts.source.abilities().objects) return {};
  KL_ASSIGN(const auto all,
            parts.source.inventories(context(options.request_limit), call.verdict.sight));
  const bool found = std::ranges::any_of(all, [&](const InventoryState& one) {
    return one.name == filter.inventory &&
           (one.ns == filter.inventory_namespace || (filter.cluster_inventory && one.ns.empty())) &&
           (filter.cluster.empty() || one.cluster == filter.cluster);
  });
  if (found) return {};
  return base::not_found("there is no such inventory");
}

base::Result<std::pair<std::unique_ptr<RowCursor>, SummaryFrame>> Service::Impl::page(
    const Query& query, const Sight& sight, const base::Context& context) {
  KL_ASSIGN(auto rows, parts.source.rows(context, request_of(query, sight)));
  SummaryFrame frame{.limit = query.limit, .offset = query.offset};
  const RowFilter& filter = query.filter;
  frame.inventory = filter.inventory;
  frame.ns = filter.inventory.empty() ? filter.ns : filter.inventory_namespace;
  if (filter.cluster_inventory) frame.ns.clear();
  if (!filter.inventory.empty() && parts.objects != nullptr) {
    const auto exports = parts.objects->exports(filter.cluster_inventory,
                                                filter.inventory_namespace, filter.inventory);
    if (!exports.empty()) frame.exports = base::json::compact(base::json::Value(exports));
  }
  return std::pair(std::move(rows), std::move(frame));
}

http::Answer Service::Impl::inventory(Call& call) {
  if (const auto there = check_inventory(call); !there) {
    return error_answer(there.error(), parts.log);
  }
  auto read = page(call.query, call.verdict.sight, context(options.request_limit));
  if (!read) return error_answer(read.error(), parts.log);
  const std::string tag = entity_tag(tag_text(call, *read->first, read->second.exports));
  if (has_tag(call.request, tag)) return not_modified(tag);
  return row_answer(
      call, tag,
      summary_body(std::move(read->first), std::move(read->second), call.query.fields, parts.log),
      "application/json");
}

http::Answer Service::Impl::exported(Call& call) {
  using Format = ExportPlan::Format;
  const std::string format = first_of(call.parameters, "format");
  ExportPlan plan;
  std::string type = "application/json";
  std::string name = "inventory.json";
  if (format == "csv") {
    plan.format = Format::kCsv;
    type = "text/csv; charset=utf-8";
    name = "inventory.csv";
  } else if (format == "ndjson") {
    plan.format = Format::kNdjson;
    type = "application/x-ndjson";
    name = "inventory.ndjson";
  } else if (!format.empty() && format != "json") {
    return error_answer(400, "BadRequest", "format takes csv, json or ndjson");
  }
  if (const auto there = check_inventory(call); !there) {
    return error_answer(there.error(), parts.log);
  }
  RowRequest request = request_of(call.query, call.verdict.sight);
  request.offset = 0;
  request.limit = 0;
  request.count = false;
  const auto again = [this, request] {
    return parts.source.rows(context(options.export_limit), request);
  };
  auto rows = again();
  if (!rows) return error_answer(rows.error(), parts.log);
  const std::string tag = entity_tag(tag_text(call, **rows, ""));
  if (has_tag(call.request, tag)) return not_modified(tag);
  plan.fields = call.query.fields;
  plan.again = again;
  http::Answer answer =
      row_answer(call, tag, export_body(std::move(*rows), std::move(plan), parts.log), type);
  answer.headers.emplace_back("Content-Disposition",
                              fmt::format("attachment; filename=\"{}\"", name));
  return answer;
}

http::Answer Service::Impl::groups(Call& call) {
  const auto by = read_columns("by", first_of(call.parameters, "by"));
  if (!by) return error_answer(by.error(), parts.log);
  if (by->empty() || by->size() > kMostGroupColumns ||
      std::ranges::find(*by, "attributes") != by->end()) {
    return error_answer(400, "BadRequest",
                        "by takes one to four columns, as kind or attributes.NAME");
  }
  const std::uint64_t limit = read_limit(call.parameters, kUsualGroups, kMostGroups);
  const base::Context within = context(options.request_limit);
  RowRequest all = request_of(call.query, call.verdict.sight);
  all.offset = 0;
  all.limit = 1;
  all.bounded = false;
  all.order = {};
  auto rows = parts.source.rows(within, all);
  if (!rows) return error_answer(rows.error(), parts.log);
  const auto found = parts.source.groups(within, {.filter = call.query.filter,
                                                  .sight = call.verdict.sight,
                                                  .by = *by,
                                                  .limit = static_cast<std::size_t>(limit),
                                                  .at = call.query.at});
  if (!found) return error_answer(found.error(), parts.log);
  std::string out = kSchema;
  const auto append_list = [&out](const std::vector<std::string>& list) {
    out += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += ',';
      append_string(out, list[i]);
    }
    out += ']';
  };
  out += ",\"by\":";
  append_list(*by);
  out += ",\"items\":[";
  for (std::size_t i = 0; i < found->size(); ++i) {
    if (i > 0) out += ',';
    out += "{\"values\":";
    append_list((*found)[i].values);
    out += fmt::format(",\"rows\":{}}}", (*found)[i].rows);
  }
  out += fmt::format("],\"rows\":{}}}\n", (*rows)->total());
  return json_answer(call.request, std::move(out));
}

http::Answer Service::Impl::changes(Call& call) {
  const auto since = read_time(call.parameters, "since");
  const auto until = read_time(call.parameters, "until");
  if (!since) return error_answer(since.error(), parts.log);
  if (!until) return error_answer(until.error(), parts.log);
  if (!parts.source.abilities().history) {
    return error_answer(501, "NoHistory", "this store keeps no history");
  }
  const std::optional<base::WallTime>& from = *since;
  if (!from) {
    return error_answer(400, "BadRequest", "since is needed, as 2026-01-31T12:00:00Z (RFC 3339)");
  }
  ChangeRequest request{.filter = call.query.filter,
                        .sight = call.verdict.sight,
                        .since = *from,
                        .until = *until,
                        .after = first_of(call.parameters, "cursor"),
                        .limit = call.query.limit};
  const auto page = parts.source.changes(context(options.request_limit), request);
  if (!page) return error_answer(page.error(), parts.log);
  std::string out = kSchema;
  out += ",\"items\":[";
  bool first = true;
  for (const HistoryChange& change : page->changes) {
    out += std::exchange(first, false) ? "{" : ",{";
    member(out, "at", change.at);
    member(out, "change", change.change);
    origin(out, change.cluster, change.inventory_namespace, change.inventory);
    out += ",\"item\":";
    append_json(out, change.row, "{}");
    out += ",\"before\":";
    append_json(out, change.before, "null");
    out += '}';
  }
  out += "],\"next\":";
  append_string(out, page->next);
  out += "}\n";
  return json_answer(call.request, std::move(out));
}

http::Answer Service::Impl::history(Call& call) {
  if (!parts.source.abilities().history) {
    return error_answer(501, "NoHistory", "this store keeps no history");
  }
  const RowFilter& object = call.query.filter;
  if (object.uid.empty() && (object.kind.empty() || object.name.empty())) {
    return error_answer(400, "BadRequest",
                        "one object is needed: uid, or group, kind, namespace and name");
  }
  const auto versions =
      parts.source.versions(context(options.request_limit), object, call.verdict.sight);
  if (!versions) return error_answer(versions.error(), parts.log);
  std::string out = kSchema;
  out += ",\"items\":[";
  bool first = true;
  const auto or_null = [&out](std::string_view key, const std::string& value) {
    if (!value.empty()) return member(out, key, value);
    out += ',';
    append_string(out, key);
    out += ":null";
  };
  for (const RowVersion& version : *versions) {
    out += std::exchange(first, false) ? "{" : ",{";
    origin(out, version.cluster, version.inventory_namespace, version.inventory);
    member(out, "validFrom", version.valid_from);
    or_null("validTo", version.valid_to);
    member(out, "began", version.began);
    or_null("ended", version.ended);
    out += ",\"item\":";
    append_json(out, version.row, "{}");
    out += '}';
  }
  out += "]}\n";
  return json_answer(call.request, std::move(out));
}

std::expected<StreamParts, http::Answer> Service::Impl::open_stream(const Call& call) const {
  auto seat = seats->take();
  if (!seat) {
    return std::unexpected(error_answer(503, "TooManyStreams",
                                        fmt::format("{} streams are open already", seats->most())));
  }
  return StreamParts{.hub = *hub,
                     .clock = parts.clock,
                     .log = parts.log,
                     .seat = std::move(seat),
                     // Whether the caller may still listen.
                     .allowed =
                         [this, caller = call.caller(), wish = call.wish] {
                           return parts.access.decide(context(options.request_limit), caller, wish);
                         },
                     .recheck = parts.access.recheck()};
}

http::Answer Service::Impl::watch(Call& call) {
  // A request that cannot be answered is told at once, not within a stream.
  if (const auto there = check_inventory(call); !there) {
    return error_answer(there.error(), parts.log);
  }
  const auto tried = page(call.query, call.verdict.sight, context(options.request_limit));
  if (!tried) return error_answer(tried.error(), parts.log);
  if (call.request.method == "HEAD") return stream_answer(nullptr);
  auto stream = open_stream(call);
  if (!stream) return std::move(stream.error());
  return stream_answer(summary_stream(
      std::move(*stream), {.after = last_event(call),
                           .page =
                               [this, query = call.query, sight = call.verdict.sight] {
                                 return page(query, sight, context(options.request_limit));
                               },
                           .fields = call.query.fields}));
}

http::Answer Service::Impl::watch_changes(Call& call) {
  Feed& feed = parts.feed != nullptr ? *parts.feed : static_cast<Feed&>(*polled);
  if (!feed.tells_rows()) {
    return error_answer(501, "NoHistory",
                        "this store keeps no history, so changes of single rows are not known; "
                        "/v1alpha1/inventory/watch tells when something has changed");
  }
  if (const auto there = check_inventory(call); !there) {
    return error_answer(there.error(), parts.log);
  }
  auto belongs = feed.rows_of(call.query.filter);
  if (!belongs) return error_answer(belongs.error(), parts.log);
  if (call.request.method == "HEAD") return stream_answer(nullptr);
  auto stream = open_stream(call);
  if (!stream) return std::move(stream.error());
  stream->dropped = [shared = counts] {
    const std::scoped_lock lock(shared->mutex);
    ++shared->dropped;
  };
  return stream_answer(change_stream(std::move(*stream), {.after = last_event(call),
                                                          .filter = call.query.filter,
                                                          .sight = call.verdict.sight,
                                                          .belongs = std::move(*belongs)}));
}

}  // namespace kollect::readapi
