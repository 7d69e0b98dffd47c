#include "sinks/objects/s3/s3_bucket.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "sinks/objects/xml.h"

namespace kollect::sinks::objects::s3 {

namespace {

constexpr std::size_t kLargestObject = std::size_t{1} << 30U;
constexpr std::size_t kMostParts = 10'000;
constexpr std::string_view kMetaPrefix = "x-amz-meta-";
constexpr std::string_view kGoogleMetaPrefix = "x-goog-meta-";

/// User metadata. Google's service may answer with a prefix of its own.
std::map<std::string, std::string> metadata_of(const http::Response& answer) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : answer.headers) {
    for (const auto prefix : {kMetaPrefix, kGoogleMetaPrefix}) {
      if (name.starts_with(prefix)) out[name.substr(prefix.size())] = value;
    }
  }
  return out;
}

/// A complete answer may still tell of a failure.
base::Result<> check_completed(const http::Response& answer, const std::string& key) {
  KL_ASSIGN(const auto root, parse_xml(answer.body));
  if (root.name != "Error") return {};
  const auto code = root.text_of("Code");
  // It came with status 200 after the fact.
  return classify(500, code, fmt::format("multipart upload of {}: {}", key, code));
}

class MultipartUpload final : public Upload {
 public:
  MultipartUpload(std::shared_ptr<Client> client, std::string key,
                  std::map<std::string, std::string> headers, std::string checksum,
                  std::size_t part_bytes)
      : client_(std::move(client)),
        key_(std::move(key)),
        headers_(std::move(headers)),
        checksum_(std::move(checksum)),
        part_bytes_(part_bytes) {
    part_.reserve(part_bytes_);
  }
  MultipartUpload(const MultipartUpload&) = delete;
  MultipartUpload& operator=(const MultipartUpload&) = delete;

  ~MultipartUpload() override {
    if (id_.empty()) return;
    // Its parts would be paid for and never seen. The caller's own time may be over.
    Request request;
    request.method = "DELETE";
    request.key = key_;
    request.query = {{"uploadId", id_}};
    request.accepted = {404};
    (void)client_->send(base::Context::background().with_timeout(std::chrono::seconds(10)),
                        request);
  }

  base::Result<> write(const base::Context& context, std::string_view data) override {
    while (!data.empty()) {
      const auto room = part_bytes_ - part_.size();
      part_.append(data.substr(0, room));
      data.remove_prefix(std::min(room, data.size()));
      if (part_.size() == part_bytes_) KL_TRY(send_part(context));
    }
    return {};
  }

  base::Result<> finish(const base::Context& context) override {
    if (id_.empty()) return put_whole(context);
    if (!part_.empty()) KL_TRY(send_part(context));
    std::string body = "<CompleteMultipartUpload>";
    for (std::size_t i = 0; i < tags_.size(); ++i) {
      body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", i + 1,
                          xml_escape(tags_[i]));
    }
    body += "</CompleteMultipartUpload>";
    Request request;
    request.method = "POST";
    request.key = key_;
    request.query = {{"uploadId", id_}};
    request.headers["content-type"] = "application/xml";
    request.body = body;
    request.patience = std::chrono::minutes(5);
    request.accepted = {404};
    KL_ASSIGN(const auto answer, client_->send(context, request));
    if (answer.status == 404) {
      // A first answer that was lost: the upload is known no more because it is complete.
      KL_TRY(must_be_there(context));
    } else {
      KL_TRY(check_completed(answer, key_));
    }
    id_.clear();
    return {};
  }

 private:
  base::Result<> put_whole(const base::Context& context) {
    Request request;
    request.method = "PUT";
    request.key = key_;
    request.headers = headers_;
    request.body = part_;
    KL_TRY(client_->send(context, request));
    return {};
  }

  base::Result<> begin(const base::Context& context) {
    Request request;
    request.method = "POST";
    request.key = key_;
    request.query = {{"uploads", ""}};
    request.headers = headers_;
    KL_ASSIGN(const auto answer, client_->send(context, request));
    KL_ASSIGN(const auto root, parse_xml(answer.body));
    id_ = root.text_of("UploadId");
    if (id_.empty()) return base::retryable("an upload without a number", "bad-answer");
    return {};
  }

  base::Result<> send_part(const base::Context& context) {
    if (id_.empty()) KL_TRY(begin(context));
    if (tags_.size() == kMostParts) {
      return base::configuration(
          fmt::format("{} needs more than {} parts; raise options.partSizeMiB", key_, kMostParts),
          "too-large");
    }
    Request request;
    request.method = "PUT";
    request.key = key_;
    request.query = {{"partNumber", fmt::to_string(tags_.size() + 1)}, {"uploadId", id_}};
    request.body = part_;
    KL_ASSIGN(const auto answer, client_->send(context, request));
    const auto tag = answer.header("etag");
    if (!tag) return base::retryable("a part was answered without its tag", "bad-answer");
    tags_.push_back(*tag);
    part_.clear();
    return {};
  }

  base::Result<> must_be_there(const base::Context& context) {
    Request request;
    request.method = "HEAD";
    request.key = key_;
    request.accepted = {404};
    KL_ASSIGN(const auto answer, client_->send(context, request));
    auto metadata = metadata_of(answer);
    const bool same = !checksum_.empty() && metadata[kChecksumKey] == checksum_;
    if (answer.status == 200 && same) return {};
    return base::retryable(fmt::format("the upload of {} is gone; it begins anew", key_), "server");
  }

  std::shared_ptr<Client> client_;
  std::string key_;
  std::map<std::string, std::string> headers_;
  std::string checksum_;
  std::size_t part_bytes_;
  std::string part_;
  std::string id_;
  std::vector<std::string> tags_;
};

class S3Bucket final : public Bucket {
 public:
  S3Bucket(std::shared_ptr<Client> client, BucketOptions options)
      : client_(std::move(client)), options_(std::move(options)) {}

  base::Result<> check(const base::Context& context) override {
    Request request;
    request.method = "HEAD";
    KL_TRY(client_->send(context, request));
    return {};
  }

  base::Result<> create(const base::Context& context) override {
    Request request;
    request.method = "PUT";
    const auto& endpoint = client_->endpoint();
    auto place = options_.location;
    // Where a bucket goes by default has no name in this request.
    const bool regional = endpoint.service.empty() && client_->region() != "us-east-1";
    if (place.empty() && regional) place = client_->region();
    std::string body;
    if (!place.empty()) {
      body = fmt::format(
          "<CreateBucketConfiguration><LocationConstraint>{}</LocationConstraint>"
          "</CreateBucketConfiguration>",
          xml_escape(place));
      request.headers["content-type"] = "application/xml";
    }
    if (!options_.project.empty()) request.headers["x-amz-project-id"] = options_.project;
    request.body = body;
    request.accepted = {409};
    KL_ASSIGN(const auto answer, client_->send(context, request));
    if (answer.status != 409) return {};
    const auto root = parse_xml(answer.body);
    const auto code = root.has_value() ? std::string(root->text_of("Code")) : std::string();
    if (code == "BucketAlreadyOwnedByYou") return {};
    return base::terminal(fmt::format("{} cannot be created: {}; the name may be somebody else's",
                                      endpoint.shown(), code),
                          "refused");
  }

  base::Result<std::optional<ObjectInfo>> head(const base::Context& context,
                                               const std::string& key) override {
    Request request;
    request.method = "HEAD";
    request.key = key;
    request.accepted = {404};
    KL_ASSIGN(const auto answer, client_->send(context, request));
    if (answer.status == 404) return std::optional<ObjectInfo>();
    ObjectInfo out;
    out.key = key;
    out.bytes = number_of(answer.header("content-length").value_or(""));
    out.metadata = metadata_of(answer);
    return std::optional(std::move(out));
  }

  base::Result<> put(const base::Context& context, const std::string& key, std::string_view body,
                     const ObjectMeta& meta) override {
    Request request;
    request.method = "PUT";
    request.key = key;
    request.headers = headers_of(meta);
    request.body = body;
    request.body_sha256 = meta.body_sha256;
    KL_TRY(client_->send(context, request));
    return {};
  }

  base::Result<std::unique_ptr<Upload>> start_upload(const base::Context& context,
                                                     const std::string& key,
                                                     const ObjectMeta& meta) override {
    KL_TRY(abort_left_over(context, key));
    const auto checksum = meta.metadata.find(kChecksumKey);
    return std::unique_ptr<Upload>(std::make_unique<MultipartUpload>(
        client_, key, headers_of(meta),
        checksum == meta.metadata.end() ? std::string() : checksum->second, options_.part_bytes));
  }

  base::Result<std::optional<std::string>> get(const base::Context& context,
                                               const std::string& key) override {
    Request request;
    request.key = key;
    request.max_answer = kLargestObject;
    request.accepted = {404};
    KL_ASSIGN(auto answer, client_->send(context, request));
    if (answer.status == 404) return std::optional<std::string>();
    return std::optional(std::move(answer.body));
  }

  base::Result<> remove(const base::Context& context, const std::string& key) override {
    Request request;
    request.method = "DELETE";
    request.key = key;
    request.accepted = {404};
    KL_TRY(client_->send(context, request));
    return {};
  }

  base::Result<std::vector<ObjectInfo>> list(const base::Context& context,
                                             const std::string& prefix) override {
    std::vector<ObjectInfo> out;
    std::string token;
    do {
      Request request;
      request.query = {{"list-type", "2"}, {"prefix", prefix}, {"encoding-type", "url"}};
      if (!token.empty()) request.query.emplace_back("continuation-token", token);
      KL_ASSIGN(const auto answer, client_->send(context, request));
      KL_ASSIGN(const auto root, parse_xml(answer.body));
      KL_TRY(add_page(root, out));
      const bool more = root.text_of("IsTruncated") == "true";
      auto next = more ? std::string(root.text_of("NextContinuationToken")) : std::string();
      if (more && (next.empty() || next == token)) {
        return base::retryable("a list of objects without its next page", "bad-answer");
      }
      token = std::move(next);
    } while (!token.empty());
    std::ranges::sort(out, {}, &ObjectInfo::key);
    return out;
  }

 private:
  [[nodiscard]] std::map<std::string, std::string> headers_of(const ObjectMeta& meta) const {
    std::map<std::string, std::string> out;
    if (!meta.content_type.empty()) out["content-type"] = meta.content_type;
    if (!meta.content_encoding.empty()) out["content-encoding"] = meta.content_encoding;
    for (const auto& [name, value] : meta.metadata) out[std::string(kMetaPrefix) + name] = value;
    if (!options_.storage_class.empty()) out["x-amz-storage-class"] = options_.storage_class;
    if (!options_.sse.empty()) out["x-amz-server-side-encryption"] = options_.sse;
    if (!options_.sse_kms_key.empty()) {
      out["x-amz-server-side-encryption-aws-kms-key-id"] = options_.sse_kms_key;
    }
    return out;
  }

  static base::Result<> add_page(const XmlElement& root, std::vector<ObjectInfo>& out) {
    const bool encoded = root.text_of("EncodingType") == "url";
    for (const auto& one : root.children) {
      if (one.name != "Contents") continue;
      ObjectInfo info;
      info.key = one.text_of("Key");
      if (encoded) {
        // Blanks are written as in forms.
        std::ranges::replace(info.key, '+', ' ');
        KL_ASSIGN(info.key, base::percent_decode(info.key));
      }
      info.bytes = number_of(one.text_of("Size"));
      out.push_back(std::move(info));
    }
    return {};
  }

  /// Uploads of the same object that a killed process left.
  base::Result<> abort_left_over(const base::Context& context, const std::string& key) {
    Request request;
    request.query = {{"uploads", ""}, {"prefix", key}};
    const auto answer = client_->send(context, request);
    // Not everybody may list them.
    if (!answer.has_value()) return context.check();
    KL_ASSIGN(const auto root, parse_xml(answer->body));
    for (const auto& one : root.children) {
      if (one.name != "Upload" || one.text_of("Key") != key) continue;
      Request abort;
      abort.method = "DELETE";
      abort.key = key;
      abort.query = {{"uploadId", std::string(one.text_of("UploadId"))}};
      abort.accepted = {404};
      (void)client_->send(context, abort);
    }
    return {};
  }

  std::shared_ptr<Client> client_;
  BucketOptions options_;
};

}  // namespace

std::unique_ptr<Bucket> make_bucket(std::shared_ptr<Client> client, BucketOptions options) {
  return std::make_unique<S3Bucket>(std::move(client), std::move(options));
}

}  // namespace kollect::sinks::objects::s3
