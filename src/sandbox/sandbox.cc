#include "sandbox/sandbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "base/yaml/read.h"
#include "sandbox/api.h"

namespace kollect::sandbox {

using base::json::Value;

struct Sandbox::Impl {
  Impl(const base::Clock& clock, SandboxOptions given)
      : options(std::move(given)),
        api(clock, {.history_events = options.history_events,
                    .seed = options.seed,
                    .reader = {.bookmark_interval = options.bookmark_interval}}) {}

  SandboxOptions options;
  Api api;
  std::unique_ptr<http::Server> server;  // last: its threads use the rest
};

Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sandbox::~Sandbox() = default;

base::Result<std::unique_ptr<Sandbox>> Sandbox::start(const base::Clock& clock,
                                                      SandboxOptions options,
                                                      const base::Logger* log) {
  auto impl = std::make_unique<Impl>(clock, std::move(options));
  http::ServerOptions server;
  server.address = impl->options.address;
  server.port = impl->options.port;
  server.tls = impl->options.tls;
  server.workers = impl->options.workers;
  Api& api = impl->api;
  KL_ASSIGN(impl->server, http::Server::start(
                              std::move(server),
                              [&api](const std::shared_ptr<const http::ServerRequest>& request,
                                     http::Reply reply) { reply.send(api.answer(*request)); },
                              log));
  return std::unique_ptr<Sandbox>(new Sandbox(std::move(impl)));
}

std::uint16_t Sandbox::port() const {
  return impl_->server->port();
}

std::string Sandbox::url() const {
  const SandboxOptions& options = impl_->options;
  const bool any =
      options.address.empty() || options.address == "0.0.0.0" || options.address == "::";
  const std::string host = any ? "127.0.0.1"
                           : options.address.find(':') != std::string::npos
                               ? "[" + options.address + "]"
                               : options.address;
  return fmt::format("{}://{}:{}", options.tls ? "https" : "http", host, port());
}

std::string Sandbox::kubeconfig() const {
  std::string trust;
  if (impl_->options.tls) {
    trust =
        ", certificate-authority-data: " + base::base64_encode(impl_->options.tls->certificate_pem);
  }
  return fmt::format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "clusters: [{{name: sandbox, cluster: {{server: \"{}\"{}}}}}]\n"
      "users: [{{name: sandbox, user: {{}}}}]\n"
      "contexts: [{{name: sandbox, context: {{cluster: sandbox, user: sandbox}}}}]\n"
      "current-context: sandbox\n",
      url(), trust);
}

void Sandbox::stop() {
  impl_->server->stop(std::chrono::seconds(1));
}

// ---- loading

base::Result<> Sandbox::load(const Value& manifest) {
  const std::string_view kind = manifest.text("kind");
  const Value* items = manifest.find("items");
  if (kind.ends_with("List") && items != nullptr && items->is_array()) {
    for (const Value& item : items->as_array()) KL_TRY(load(item));
    return {};
  }
  const std::string_view type = manifest.text("apiVersion");
  const std::size_t slash = type.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : type.substr(0, slash);
  const std::string_view version = slash == std::string_view::npos ? type : type.substr(slash + 1);
  const ServedPtr served = impl_->api.registry().catalog()->find_kind(group, version, kind);
  if (!served || served->create_only) {
    return base::configuration(fmt::format("{} {}: this kind is not served", type, kind));
  }
  auto loaded = impl_->api.writer().load(*served, manifest);
  if (!loaded) return base::configuration(loaded.error().message);
  return {};
}

namespace {

base::Result<std::vector<std::filesystem::path>> files_of(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> out;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      out.emplace_back(path);
      continue;
    }
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      const std::string extension = entry.path().extension();
      if (extension == ".yaml" || extension == ".yml" || extension == ".json") {
        found.push_back(entry.path());
      }
    }
    if (error) return base::configuration(fmt::format("{}: {}", path, error.message()));
    std::ranges::sort(found);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

void flatten(const Value& manifest, std::vector<Value>& out) {
  const Value* items = manifest.find("items");
  if (manifest.text("kind").ends_with("List") && items != nullptr && items->is_array()) {
    for (const Value& item : items->as_array()) flatten(item, out);
  } else {
    out.push_back(manifest);
  }
}

}  // namespace

base::Result<Sandbox::Loaded> Sandbox::load_paths(const std::vector<std::string>& paths) {
  KL_ASSIGN(const auto files, files_of(paths));
  std::vector<Value> manifests;
  for (const auto& file : files) {
    KL_ASSIGN(const std::string text, base::read_file(file));
    base::yaml::Limits limits;
    limits.max_nodes = 50'000'000;
    limits.max_documents = 1'000'000;
    auto documents = base::yaml::read_all(text, limits);
    if (!documents) return documents.error().with_prefix(file.string());
    for (const auto& document : *documents) flatten(document.value, manifests);
  }
  std::ranges::stable_partition(manifests, [](const Value& manifest) {
    return manifest.text("kind") == "CustomResourceDefinition";
  });
  Loaded loaded;
  for (const Value& manifest : manifests) {
    if (auto one = load(manifest); one) {
      ++loaded.objects;
    } else {
      loaded.skipped.push_back(fmt::format("{} {}: {}", manifest.text("kind"),
                                           metadata_text(manifest, "name"), one.error().message));
    }
  }
  return loaded;
}

}  // namespace kollect::sandbox
