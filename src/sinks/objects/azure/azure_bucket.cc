#include "sinks/objects/azure/azure_bucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/objects/xml.h"

namespace kollect::sinks::objects::azure {

namespace {

constexpr std::string_view kMetaPrefix = "x-ms-meta-";
constexpr std::size_t kLargestObject = std::size_t{1} << 30U;
constexpr std::size_t kMostBlocks = 50000;

std::map<std::string, std::string> headers_of(const ObjectMeta& meta, const std::string& tier) {
  std::map<std::string, std::string> out;
  if (!meta.content_type.empty()) out["x-ms-blob-content-type"] = meta.content_type;
  if (!meta.content_encoding.empty()) out["x-ms-blob-content-encoding"] = meta.content_encoding;
  for (const auto& [name, value] : meta.metadata) {
    out[std::string(kMetaPrefix) + base::replace_all(name, "-", "_")] = value;
  }
  if (!tier.empty()) out["x-ms-access-tier"] = tier;
  return out;
}

/// Blocks stay out of sight until a list names them; those of an upload that was given up are
/// dropped by the service after a week, or with the next write of the same object.
class BlockUpload final : public Upload {
 public:
  BlockUpload(std::shared_ptr<Client> client, std::string key,
              std::map<std::string, std::string> headers, std::size_t part_bytes)
      : client_(std::move(client)),
        key_(std::move(key)),
        headers_(std::move(headers)),
        part_bytes_(part_bytes) {
    // Two writers of one object must not mix their blocks.
    std::random_device device;
    run_ = (std::uint64_t{device()} << 32U) | device();
  }

  base::Result<> write(const base::Context& context, std::string_view data) override {
    while (!data.empty()) {
      const auto taken = data.substr(0, part_bytes_ - part_.size());
      part_ += taken;
      data.remove_prefix(taken.size());
      if (part_.size() == part_bytes_) KL_TRY(send_block(context));
    }
    return {};
  }

  base::Result<> finish(const base::Context& context) override {
    if (!part_.empty()) KL_TRY(send_block(context));
    std::string list = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
    for (const auto& id : ids_) list += fmt::format("<Latest>{}</Latest>", id);
    list += "</BlockList>";
    Request request;
    request.method = "PUT";
    request.key = key_;
    request.query = {{"comp", "blocklist"}};
    request.headers = headers_;
    request.headers["content-type"] = "application/xml";
    request.body = list;
    KL_TRY(client_->send(context, request));
    return {};
  }

 private:
  base::Result<> send_block(const base::Context& context) {
    if (ids_.size() == kMostBlocks) {
      return base::configuration(
          fmt::format("{} needs more than {} blocks; raise options.partSizeMiB", key_, kMostBlocks),
          "too-large");
    }
    // Ids of one object must have the same length.
    auto id = base::base64_encode(fmt::format("{:016x}-{:05}", run_, ids_.size()));
    Request request;
    request.method = "PUT";
    request.key = key_;
    request.query = {{"comp", "block"}, {"blockid", id}};
    request.body = part_;
    KL_TRY(client_->send(context, request));
    ids_.push_back(std::move(id));
    part_.clear();
    return {};
  }

  std::shared_ptr<Client> client_;
  std::string key_;
  std::map<std::string, std::string> headers_;
  std::size_t part_bytes_;
  std::uint64_t run_ = 0;
  std::string part_;
  std::vector<std::string> ids_;
};

class AzureBucket final : public Bucket {
 public:
  AzureBucket(std::shared_ptr<Client> client, BucketOptions options)
      : client_(std::move(client)), options_(std::move(options)) {}

  base::Result<> check(const base::Context& context) override {
    Request request;
    request.query = {{"restype", "container"}};
    if (client_->lists_only()) {
      request.query.insert(request.query.end(), {{"comp", "list"}, {"maxresults", "1"}});
    } else {
      request.method = "HEAD";
    }
    KL_TRY(client_->send(context, request));
    return {};
  }

  base::Result<> create(const base::Context& context) override {
    Request request;
    request.method = "PUT";
    request.query = {{"restype", "container"}};
    request.accepted = {409};
    KL_ASSIGN(const auto answer, client_->send(context, request));
    const auto code = answer.header("x-ms-error-code").value_or("");
    if (answer.status != 409 || code == "ContainerAlreadyExists") return {};
    // Names of deleted containers are free again after some time.
    return base::retryable(fmt::format("{} cannot be created yet", client_->endpoint().shown()),
                           "server");
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
    for (const auto& [name, value] : answer.headers) {
      if (!name.starts_with(kMetaPrefix)) continue;
      out.metadata[base::replace_all(name.substr(kMetaPrefix.size()), "_", "-")] = value;
    }
    return std::optional(std::move(out));
  }

  base::Result<> put(const base::Context& context, const std::string& key, std::string_view body,
                     const ObjectMeta& meta) override {
    Request request;
    request.method = "PUT";
    request.key = key;
    request.headers = headers_of(meta, options_.access_tier);
    request.headers["x-ms-blob-type"] = "BlockBlob";
    request.headers["content-type"] = "application/octet-stream";
    request.body = body;
    KL_TRY(client_->send(context, request));
    return {};
  }

  base::Result<std::unique_ptr<Upload>> start_upload(const base::Context& /*context*/,
                                                     const std::string& key,
                                                     const ObjectMeta& meta) override {
    return std::unique_ptr<Upload>(std::make_unique<BlockUpload>(
        client_, key, headers_of(meta, options_.access_tier), options_.part_bytes));
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
    std::string marker;
    do {
      Request request;
      request.query = {{"restype", "container"}, {"comp", "list"}, {"prefix", prefix}};
      if (!marker.empty()) request.query.emplace_back("marker", marker);
      KL_ASSIGN(const auto answer, client_->send(context, request));
      KL_ASSIGN(const auto root, parse_xml(answer.body));
      add_page(root, out);
      auto next = std::string(root.text_of("NextMarker"));
      if (!next.empty() && next == marker) {
        return base::retryable("a list of objects without its next page", "bad-answer");
      }
      marker = std::move(next);
    } while (!marker.empty());
    std::ranges::sort(out, {}, &ObjectInfo::key);
    return out;
  }

 private:
  static void add_page(const XmlElement& root, std::vector<ObjectInfo>& out) {
    const auto* blobs = root.find("Blobs");
    if (blobs == nullptr) return;
    for (const auto& one : blobs->children) {
      if (one.name != "Blob") continue;
      ObjectInfo info;
      info.key = one.text_of("Name");
      if (const auto* properties = one.find("Properties")) {
        info.bytes = number_of(properties->text_of("Content-Length"));
      }
      out.push_back(std::move(info));
    }
  }

  std::shared_ptr<Client> client_;
  BucketOptions options_;
};

}  // namespace

std::unique_ptr<Bucket> make_bucket(std::shared_ptr<Client> client, BucketOptions options) {
  return std::make_unique<AzureBucket>(std::move(client), std::move(options));
}

}  // namespace kollect::sinks::objects::azure
