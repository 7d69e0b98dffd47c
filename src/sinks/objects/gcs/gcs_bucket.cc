#include "sinks/objects/gcs/gcs_bucket.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/hash.h"
#include "base/json/document.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "sinks/google/resumable.h"

namespace kollect::sinks::objects::gcs {

namespace {

namespace json = base::json;
using google::Call;

constexpr std::chrono::seconds kAbortDeadline{5};

ObjectInfo info_of(json::View object) {
  ObjectInfo out;
  out.key = std::string(object.text("name"));
  const std::string_view size = object.text("size");
  std::from_chars(size.data(), size.data() + size.size(), out.bytes);
  if (const auto metadata = object.find("metadata"); metadata && metadata->is_object()) {
    for (const auto& [name, value] : metadata->members()) {
      if (value.is_string()) out.metadata[base::to_lower(name)] = value.as_string();
    }
  }
  return out;
}

base::Result<json::Document> parsed(const http::Response& answer) {
  auto document = json::Document::parse(answer.body);
  if (!document.has_value() || !document->root().is_object()) {
    return base::retryable("gcs: the answer is no JSON object", "cut");
  }
  return document;
}

/// An upload in chunks. The api outlives it.
class GcsUpload final : public Upload {
 public:
  GcsUpload(const base::Context& context, std::shared_ptr<google::Api> api,
            google::ResumableUpload upload)
      : clock_(&context.clock()), api_(std::move(api)), upload_(std::move(upload)) {}
  GcsUpload(const GcsUpload&) = delete;
  GcsUpload& operator=(const GcsUpload&) = delete;
  ~GcsUpload() override {
    // The caller's time may be over; this needs a moment of its own.
    upload_.give_up(base::Context(*clock_, {}).with_timeout(kAbortDeadline));
  }
  base::Result<> write(const base::Context& context, std::string_view data) override {
    return upload_.write(context, data);
  }
  base::Result<> finish(const base::Context& context) override {
    KL_TRY(upload_.finish(context));
    return {};
  }

 private:
  const base::Clock* clock_;
  std::shared_ptr<google::Api> api_;
  google::ResumableUpload upload_;
};

class GcsBucket final : public Bucket {
 public:
  GcsBucket(std::shared_ptr<google::Api> api, BucketOptions options)
      : api_(std::move(api)), options_(std::move(options)) {}

  base::Result<> check(const base::Context& context) override {
    KL_TRY(ask(context, {.path = bucket_path() + "/o?maxResults=1&fields=kind",
                         .doing = fmt::format("looking at bucket {}", options_.name)}));
    return {};
  }

  base::Result<> create(const base::Context& context) override {
    json::Object body;
    body.set("name", options_.name);
    if (!options_.location.empty()) body.set("location", options_.location);
    if (!options_.storage_class.empty()) body.set("storageClass", options_.storage_class);
    const std::string doing = fmt::format("creating bucket {}", options_.name);
    KL_ASSIGN(const auto answer, ask(context, {.method = "POST",
                                               .path = "/storage/v1/b?project=" +
                                                       base::percent_encode(options_.project),
                                               .doing = doing,
                                               .body = json::compact(json::Value(std::move(body))),
                                               .accept = {409}}));
    // Somebody was quicker; whether it is a bucket of ours its listing tells.
    return answer.status == 409 ? check(context) : base::Result<>();
  }

  base::Result<std::optional<ObjectInfo>> head(const base::Context& context,
                                               const std::string& key) override {
    KL_ASSIGN(const auto answer,
              ask(context, {.path = object_path(key) + "?fields=name,size,metadata",
                            .doing = about("looking at", key),
                            .accept = {404}}));
    if (answer.status == 404) return std::optional<ObjectInfo>();
    KL_ASSIGN(const auto document, parsed(answer));
    return std::optional(info_of(document.root()));
  }

  base::Result<> put(const base::Context& context, const std::string& key, std::string_view body,
                     const ObjectMeta& meta) override {
    const std::string resource = resource_of(key, meta);
    const std::string boundary =
        "kollect-" + base::sha256_hex(fmt::format("{}{}", resource, base::sha256_hex(body)));
    Call call{.method = "POST",
              .path = upload_path("multipart"),
              .doing = about("writing", key),
              .content_type = "multipart/related; boundary=" + boundary};
    call.body.reserve(body.size() + resource.size() + 512);
    call.body += fmt::format(
        "--{}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{}\r\n"
        "--{}\r\nContent-Type: {}\r\n\r\n",
        boundary, resource, boundary, meta.content_type);
    call.body.append(body).append(fmt::format("\r\n--{}--\r\n", boundary));
    KL_TRY(ask(context, call));
    return {};
  }

  base::Result<std::unique_ptr<Upload>> start_upload(const base::Context& context,
                                                     const std::string& key,
                                                     const ObjectMeta& meta) override {
    Call call{.method = "POST",
              .path = upload_path("resumable"),
              .doing = about("writing", key),
              .body = resource_of(key, meta)};
    auto upload = google::ResumableUpload::start(context, *api_, call, meta.content_type,
                                                 options_.chunk_bytes);
    if (!upload.has_value()) return sorted(upload.error());
    return std::unique_ptr<Upload>(std::make_unique<GcsUpload>(context, api_, std::move(*upload)));
  }

  base::Result<std::optional<std::string>> get(const base::Context& context,
                                               const std::string& key) override {
    // Named, so that the stored bytes come: without it the service unpacks gzip.
    KL_ASSIGN(auto answer, ask(context, {.path = object_path(key) + "?alt=media",
                                         .doing = about("reading", key),
                                         .headers = {{"Accept-Encoding", "gzip"}},
                                         .accept = {404}}));
    if (answer.status == 404) return std::optional<std::string>();
    return std::optional(std::move(answer.body));
  }

  base::Result<> remove(const base::Context& context, const std::string& key) override {
    KL_TRY(ask(context, {.method = "DELETE",
                         .path = object_path(key),
                         .doing = about("removing", key),
                         .accept = {404}}));
    return {};
  }

  base::Result<std::vector<ObjectInfo>> list(const base::Context& context,
                                             const std::string& prefix) override {
    std::vector<ObjectInfo> out;
    std::string page;
    do {
      Call call{.path = fmt::format("{}/o?fields=items(name,size),nextPageToken&prefix={}",
                                    bucket_path(), base::percent_encode(prefix)),
                .doing = fmt::format("listing bucket {}", options_.name)};
      if (!page.empty()) call.path += "&pageToken=" + base::percent_encode(page);
      KL_ASSIGN(const auto answer, ask(context, call));
      KL_ASSIGN(const auto document, parsed(answer));
      if (const auto items = document.root().find("items")) {
        for (const json::View item : items->items()) out.push_back(info_of(item));
      }
      page = std::string(document.root().text("nextPageToken"));
    } while (!page.empty());
    return out;
  }

 private:
  /// An object that is missing is an answer of the callers; else a 404 means the bucket.
  base::Result<http::Response> ask(const base::Context& context, const Call& call) {
    auto answer = api_->send(context, call);
    if (!answer.has_value()) return sorted(answer.error());
    return answer;
  }
  static base::Error sorted(const base::Error& error) {
    if (error.kind == base::ErrorKind::kNotFound) {
      return base::terminal(error.message, std::string(kNoBucket));
    }
    if (error.reason == "auth" || error.reason == "forbidden") {
      return base::denied(error.message, "access-denied");
    }
    return error;
  }
  [[nodiscard]] std::string bucket_path() const {
    return "/storage/v1/b/" + base::percent_encode(options_.name);
  }
  [[nodiscard]] std::string object_path(const std::string& key) const {
    return bucket_path() + "/o/" + base::percent_encode(key);
  }
  [[nodiscard]] std::string upload_path(std::string_view type) const {
    std::string out = fmt::format("/upload/storage/v1/b/{}/o?uploadType={}",
                                  base::percent_encode(options_.name), type);
    if (!options_.kms_key.empty()) out += "&kmsKeyName=" + base::percent_encode(options_.kms_key);
    return out;
  }
  [[nodiscard]] std::string about(std::string_view doing, const std::string& key) const {
    return fmt::format("{} {}/{}", doing, options_.name, base::sanitize_utf8(key));
  }
  /// The object's description, sent beside its bytes.
  [[nodiscard]] std::string resource_of(const std::string& key, const ObjectMeta& meta) const {
    json::Object metadata;
    for (const auto& [name, value] : meta.metadata) metadata.set(name, value);
    json::Object out;
    out.set("name", key);
    out.set("contentType", meta.content_type);
    if (!meta.content_encoding.empty()) out.set("contentEncoding", meta.content_encoding);
    if (!options_.storage_class.empty()) out.set("storageClass", options_.storage_class);
    out.set("metadata", std::move(metadata));
    return json::compact(json::Value(std::move(out)));
  }

  std::shared_ptr<google::Api> api_;
  BucketOptions options_;
};

}  // namespace

std::unique_ptr<Bucket> make_bucket(std::shared_ptr<google::Api> api, BucketOptions options) {
  return std::make_unique<GcsBucket>(std::move(api), std::move(options));
}

std::unique_ptr<Sink> make_gcs_sink(GcsSinkOptions options) {
  auto api = std::make_shared<google::Api>(std::move(options.api));
  return make_object_sink(std::move(options.objects),
                          make_bucket(std::move(api), std::move(options.bucket)));
}

}  // namespace kollect::sinks::objects::gcs
