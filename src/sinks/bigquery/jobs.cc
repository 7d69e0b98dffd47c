#include "sinks/bigquery/jobs.h"

#include <fmt/format.h>

#include <charconv>
#include <random>
#include <utility>

#include "base/hash.h"
#include "base/json/write.h"

namespace kollect::sinks::bigquery {

namespace {

namespace json = base::json;
using google::Call;
using google::Fault;

constexpr int kTries = 3;
constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{3000};
constexpr std::chrono::seconds kCancelDeadline{5};

std::string random_series() {
  std::random_device device;
  std::string out;
  for (int i = 0; i < 3; ++i) out += fmt::format("{:08x}", device());
  return out;
}

/// 64-bit numbers of the API are texts.
std::uint64_t number_in(std::optional<json::View> view) {
  std::uint64_t out = 0;
  if (view && view->is_string()) {
    const std::string_view text = view->as_string();
    std::from_chars(text.data(), text.data() + text.size(), out);
  } else if (view && view->is_number()) {
    out = static_cast<std::uint64_t>(std::max(0.0, view->number().as_double()));
  }
  return out;
}

Finished finished(std::string id, json::View job) {
  Finished out;
  out.job_id = std::move(id);
  const auto query = job.at_path({"statistics", "query"});
  if (!query) return out;
  out.affected = number_in(query->find("numDmlAffectedRows"));
  if (const auto details = query->find("dmlStats"); details && details->is_object()) {
    out.detailed = true;
    out.inserted = number_in(details->find("insertedRowCount"));
    out.updated = number_in(details->find("updatedRowCount"));
    out.deleted = number_in(details->find("deletedRowCount"));
  }
  return out;
}

std::string query_configuration(const Query& query, std::int64_t limit, bool dry) {
  std::string out = R"({"query":{"useLegacySql":false,"query":)";
  json::append_string(out, query.sql);
  if (limit > 0) out += fmt::format(R"(,"maximumBytesBilled":"{}")", limit);
  if (!query.parameters.empty()) {
    out.append(R"(,"parameterMode":"NAMED","queryParameters":)").append(query.parameters);
  }
  out += '}';
  if (dry) out += R"(,"dryRun":true)";
  return out + "}";
}

}  // namespace

Jobs::Jobs(google::Api& api, std::string project, JobLimits limits)
    : api_(api), project_(std::move(project)), limits_(limits), series_(random_series()) {}

std::string Jobs::next_id() {
  return fmt::format("kollect_{}_{}", series_, ++number_);
}

std::string Jobs::body_of(const std::string& id, std::string_view configuration) const {
  std::string out = R"({"jobReference":{"projectId":)";
  json::append_string(out, project_);
  out += R"(,"jobId":)";
  json::append_string(out, id);
  if (!location_.empty()) {
    out += R"(,"location":)";
    json::append_string(out, location_);
  }
  return out.append(R"(},"configuration":)").append(configuration).append("}");
}

std::string Jobs::path_of(const Reference& job, std::string_view suffix) const {
  std::string out = fmt::format("/bigquery/v2/projects/{}/jobs/{}{}", project_,
                                base::percent_encode(job.id), suffix);
  if (!job.location.empty()) out += "?location=" + base::percent_encode(job.location);
  return out;
}

/// Waits until the job of an earlier call is over, whatever came of it.
base::Result<> Jobs::settle(const base::Context& context) {
  if (!unfinished_) return {};
  const Reference job = *unfinished_;
  constexpr const char* kDoing = "waiting for an earlier job";
  Call call{.method = "GET", .path = path_of(job), .doing = kDoing, .accept = {404}};
  KL_ASSIGN(auto answer, api_.send(context, call));
  if (answer.status != 404) {
    const auto over = wait(context, job, std::move(answer.body), kDoing);
    if (!over.has_value()) KL_TRY(context.check());
    if (unfinished_) return over.error();
  }
  unfinished_.reset();
  return {};
}

void Jobs::cancel(const base::Context& context, const Reference& job) {
  // The caller's time is over; this needs a moment of its own.
  const auto moment = base::Context(context.clock(), {}).with_timeout(kCancelDeadline);
  Call call{.method = "POST", .path = path_of(job, "/cancel"), .doing = "cancelling a job"};
  (void)api_.send_once(moment, call);
}

/// `answer` is the job as the service last told it.
base::Result<Finished> Jobs::wait(const base::Context& context, const Reference& job,
                                  std::string answer, const std::string& doing) {
  unfinished_ = job;
  const auto limited = context.with_timeout(limits_.deadline);
  base::Duration pause = kFirstPause;
  while (true) {
    const auto document = json::Document::parse(answer);
    if (document.has_value() && document->root().is_object()) {
      const auto status = document->root().find("status");
      if (status && status->text("state") == "DONE") {
        unfinished_.reset();
        const auto error = status->find("errorResult");
        if (!error || !error->is_object()) return finished(job.id, document->root());
        return api_.error_of(Fault{.reason = std::string(error->text("reason")),
                                   .message = std::string(error->text("message"))},
                             doing);
      }
    }
    auto next = base::Result<http::Response>(http::Response{});
    if (limited.sleep(pause)) {
      next = api_.send(limited, {.method = "GET", .path = path_of(job), .doing = doing});
    }
    if (!limited.check().has_value()) {
      cancel(context, job);
      KL_TRY(context.check());
      return base::retryable(
          fmt::format("bigquery: {}: the job did not end within {} and was cancelled", doing,
                      base::format_duration(limits_.deadline)),
          "timeout");
    }
    if (!next.has_value()) return next.error();
    answer = std::move(next->body);
    pause = std::min<base::Duration>(pause * 3 / 2, kLongestPause);
  }
}

base::Result<Finished> Jobs::run_once(const base::Context& context, const std::string& id,
                                      const std::string& configuration, const std::string& doing) {
  Reference job{id, location_};
  Call call{.method = "POST",
            .path = fmt::format("/bigquery/v2/projects/{}/jobs", project_),
            .doing = doing,
            .body = body_of(id, configuration),
            .accept = {409}};
  auto answer = api_.send(context, call);
  if (!answer.has_value()) {
    // It may have been taken all the same.
    if (google::is_passing(answer.error()) || answer.error().kind == base::ErrorKind::kCancelled) {
      unfinished_ = job;
      if (answer.error().kind == base::ErrorKind::kCancelled) cancel(context, job);
    }
    return answer.error();
  }
  if (answer->status == 409) answer->body.clear();  // sent twice, run once
  if (const auto told = json::Document::parse(answer->body);
      told.has_value() && told->root().is_object()) {
    const auto reference = told->root().find("jobReference");
    if (reference && job.location.empty()) job.location = std::string(reference->text("location"));
  }
  return wait(context, job, std::move(answer->body), doing);
}

base::Result<Finished> Jobs::run(const base::Context& context, const Query& query) {
  KL_TRY(context.check());
  KL_TRY(settle(context));
  const std::string configuration = query_configuration(query, limits_.maximum_bytes_billed, false);
  for (int attempt = 1;; ++attempt) {
    auto done = run_once(context, next_id(), configuration, query.doing);
    // Only a job that is known to be over is run again.
    if (done.has_value() || !google::is_passing(done.error()) || unfinished_ || attempt == kTries) {
      return done;
    }
    if (!context.sleep(std::chrono::seconds(attempt))) {
      KL_TRY(context.check());
      return done;
    }
  }
}

base::Result<> Jobs::dry_run(const base::Context& context, const Query& query) {
  Call call{.method = "POST",
            .path = fmt::format("/bigquery/v2/projects/{}/jobs", project_),
            .doing = query.doing,
            .body = body_of(next_id(), query_configuration(query, 0, true)),
            .accept = {409}};
  KL_TRY(api_.send(context, call));
  return {};
}

base::Result<> Jobs::read(const base::Context& context, const Finished& query,
                          const std::function<void(std::uint64_t total)>& begin,
                          const std::function<base::Result<>(const Cells&)>& visit,
                          const std::function<base::Result<>()>& page_end) {
  std::string page;
  json::Document document;
  Cells cells;
  for (bool first = true; first || !page.empty(); first = false) {
    Call call{.path = fmt::format("/bigquery/v2/projects/{}/queries/{}?maxResults=20000", project_,
                                  base::percent_encode(query.job_id)),
              .doing = "reading a result"};
    if (!location_.empty()) call.path += "&location=" + base::percent_encode(location_);
    if (!page.empty()) call.path += "&pageToken=" + base::percent_encode(page);
    KL_ASSIGN(const auto answer, api_.send(context, call));
    KL_TRY(document.reparse_borrowed(answer.body));
    const json::View root = document.root();
    if (!root.is_object()) return base::retryable("bigquery: the result is no JSON object", "cut");
    if (first && begin) begin(number_in(root.find("totalRows")));
    if (const auto rows = root.find("rows")) {
      for (const json::View row : rows->items()) {
        cells.clear();
        if (const auto fields = row.find("f")) {
          for (const json::View field : fields->items()) cells.push_back(field.text("v"));
        }
        KL_TRY(visit(cells));
      }
    }
    if (page_end) KL_TRY(page_end());
    page = std::string(root.text("pageToken"));
  }
  return {};
}

base::Result<Jobs::Load> Jobs::start_load(const base::Context& context, const TableName& table) {
  KL_TRY(settle(context));
  json::Object load;
  load.set("destinationTable", table.reference());
  load.set("schema", stage_schema());
  load.set("sourceFormat", "NEWLINE_DELIMITED_JSON");
  load.set("createDisposition", "CREATE_NEVER");
  load.set("writeDisposition", "WRITE_EMPTY");
  json::Object configuration;
  configuration.set("load", std::move(load));
  const std::string doing = fmt::format("loading {}", table.title());
  Call call{
      .method = "POST",
      .path = fmt::format("/upload/bigquery/v2/projects/{}/jobs?uploadType=resumable", project_),
      .doing = doing,
      .body = body_of(next_id(), json::compact(json::Value(std::move(configuration))))};
  KL_ASSIGN(auto upload,
            google::ResumableUpload::start(context, api_, call, "application/octet-stream",
                                           limits_.upload_chunk));
  return Load(*this, std::move(upload), doing);
}

base::Result<> Jobs::Load::finish(const base::Context& context) {
  KL_ASSIGN(auto answer, upload_.finish(context));
  Reference job{"", jobs_->location_};
  if (const auto told = json::Document::parse(answer.body);
      told.has_value() && told->root().is_object()) {
    if (const auto reference = told->root().find("jobReference")) {
      job.id = std::string(reference->text("jobId"));
      if (const auto at = reference->text("location"); !at.empty()) job.location = at;
    }
  }
  if (job.id.empty()) return base::retryable("bigquery: " + doing_ + ": no job began", "cut");
  KL_TRY(jobs_->wait(context, job, std::move(answer.body), doing_));
  return {};
}

}  // namespace kollect::sinks::bigquery
