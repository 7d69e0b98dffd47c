// What is the same for everybody: the description of the API, the console, readiness.
#include <fmt/format.h>

#include "base/json/write.h"
#include "readapi/answers.h"
#include "readapi/open_api.h"
#include "readapi/service_impl.h"

namespace kollect::readapi {
namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

http::Answer file_answer(const http::ServerRequest& request, const StaticFile& file) {
  http::Answer answer;
  if (has_tag(request, file.etag)) {
    answer.status = 304;
  } else {
    const bool packed = !file.gzip.empty() && takes_gzip(request);
    answer.body = packed ? file.gzip : file.bytes;
    answer.headers.emplace_back("Content-Type", file.content_type);
    if (packed) answer.headers.emplace_back("Content-Encoding", "gzip");
  }
  answer.headers.emplace_back("ETag", file.etag);
  answer.headers.emplace_back("Vary", "Accept-Encoding");
  answer.headers.emplace_back("Cache-Control",
                              file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  answer.headers.emplace_back("Content-Security-Policy", kPolicy);
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
  return answer;
}

http::Answer redirect(std::string location, std::string_view query) {
  if (!query.empty()) location.append("?").append(query);
  http::Answer answer;
  answer.status = 302;
  answer.headers.emplace_back("Location", std::move(location));
  return answer;
}

}  // namespace

http::Answer Service::Impl::console(const Call& call) {
  if (parts.ui == nullptr) {
    return error_answer(404, "NotFound", "there is nothing at this path; the API is at /v1alpha1/");
  }
  if (call.routed.route == Route::kRoot) {
    return redirect("/ui/", {});
  }
  const std::string& path = call.routed.name;
  const StaticFile* file = parts.ui->find(path.empty() ? "index.html" : path);
  // A view of the console is no file: it is the page itself that reads the rest of the path. Views
  // are one level deep, further down its relative addresses would not hold.
  const std::size_t slash = path.find('/');
  const bool view = slash == std::string::npos && path.find('.') == std::string::npos;
  if (file == nullptr && view) file = parts.ui->find("index.html");
  if (file == nullptr && slash != std::string::npos && slash == path.size() - 1) {
    return redirect("../" + path.substr(0, slash), call.request.query);
  }
  if (file == nullptr) {
    return error_answer(404, "NotFound", "there is no such page or file; the console is at /ui/");
  }
  return file_answer(call.request, *file);
}

http::Answer Service::Impl::description(const Call& call) {
  if (call.routed.name == "json") {
    return json_answer(call.request, base::json::compact(open_api()) + "\n");
  }
  http::Answer answer = json_answer(call.request, std::string(open_api_text()));
  for (auto& [name, value] : answer.headers) {
    if (name == "Content-Type") value = "application/yaml";
  }
  return answer;
}

http::Answer Service::Impl::ready() {
  const auto state = parts.source.state(context(options.request_limit));
  if (state) return http::Answer::text(200, "ok");
  if (parts.log != nullptr) parts.log->warn("not ready", {{"error", state.error().message}});
  return http::Answer::text(503, "the store cannot be read at the moment\n");
}

}  // namespace kollect::readapi
