#include "sandbox/sandbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "base/json/write.h"
#include "base/yaml/read.h"
#include "sandbox/api.h"
#include "sandbox/changes.h"
#include "sandbox/faults.h"

namespace kollect::sandbox {

using base::json::Value;

struct Sandbox::Impl {
  Impl(const base::Clock& clock, SandboxOptions given)
      : options(std::move(given)),
        api(clock, {.history_events = options.history_events,
                    .seed = options.seed,
                    .reader = {.bookmark_interval = options.bookmark_interval}}),
        faults(clock, options.seed),
        changes(api.store(), api.writer(), options.seed) {}

  base::Result<> generate(const base::Clock& clock);
  void handle(const std::shared_ptr<const http::ServerRequest>& request, http::Reply reply);
  http::Answer administer(const http::ServerRequest& request);

  SandboxOptions options;
  Api api;
  Faults faults;
  Changes changes;
  Sandbox* self = nullptr;
  std::unique_ptr<http::Server> server;  // last: its threads use the rest
};

Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->self = this;
}

Sandbox::~Sandbox() {
  impl_->changes.stop();
  impl_->faults.clear();
  impl_->server.reset();
}

base::Result<> Sandbox::Impl::generate(const base::Clock& clock) {
  if (options.generate.empty()) return {};
  const auto catalog = api.registry().catalog();
  const ServedPtr namespaces = catalog->find("", "v1", "namespaces");
  for (std::uint32_t i = 0; i < options.namespaces; ++i) {
    base::json::Object metadata;
    metadata.set("name", GeneratedSet::namespace_name(i));
    base::json::Object object;
    object.set("metadata", std::move(metadata));
    (void)api.writer().load(*namespaces, std::move(object));
  }
  for (const SandboxOptions::Generate& one : options.generate) {
    const ServedPtr served = catalog->find_name(one.kind);
    if (!served || served->create_only) {
      return base::configuration(fmt::format("{}: this kind is not served", one.kind));
    }
    if (served->namespaced && options.namespaces == 0) {
      return base::configuration("generated objects need a namespace at least");
    }
    api.store().add_generated(served->resource(), ObjectTemplate::for_kind(served->kind),
                              served->singular, one.count,
                              served->namespaced ? options.namespaces : 0, options.seed);
    changes.add(served->resource(), one.count);
  }
  if (options.changes_per_second > 0) changes.start(clock, options.changes_per_second);
  return {};
}

void Sandbox::Impl::handle(const std::shared_ptr<const http::ServerRequest>& request,
                           http::Reply reply) {
  if (request->path.starts_with("/sandbox/")) return reply.send(administer(*request));
  const auto call = read_call(*request, *api.registry().catalog());
  faults.serve(call, std::move(reply), [&] { return api.answer(*request); });
}

base::Result<std::unique_ptr<Sandbox>> Sandbox::start(const base::Clock& clock,
                                                      SandboxOptions options,
                                                      const base::Logger* log) {
  auto impl = std::make_unique<Impl>(clock, std::move(options));
  http::ServerOptions server;
  server.address = impl->options.address;
  server.port = impl->options.port;
  server.tls = impl->options.tls;
  server.workers = impl->options.workers;
  KL_TRY(impl->generate(clock));
  auto sandbox = std::unique_ptr<Sandbox>(new Sandbox(std::move(impl)));
  Impl& parts = *sandbox->impl_;
  KL_ASSIGN(parts.server,
            http::Server::start(
                std::move(server),
                [&parts](const std::shared_ptr<const http::ServerRequest>& request,
                         http::Reply reply) { parts.handle(request, std::move(reply)); },
                log));
  return sandbox;
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
  impl_->changes.stop();
  impl_->faults.clear();
  impl_->server->stop(std::chrono::seconds(1));
}

// ---- faults and figures

base::Result<> Sandbox::set_faults(const Value& rules) {
  return impl_->faults.set(rules);
}

void Sandbox::restart(base::Duration down) {
  impl_->faults.go_down(down);
  impl_->api.store().forget_history();
}

void Sandbox::change(std::uint64_t count) {
  impl_->changes.make(count);
}

Sandbox::Counts Sandbox::counts() const {
  const Store::Counts store = impl_->api.store().counts();
  const http::ServerCounts server = impl_->server->counts();
  return {.objects = store.objects,
          .events = store.events,
          .watches = store.watches,
          .requests = server.requests,
          .bytes_sent = server.bytes_sent,
          .connections = server.connections};
}

namespace {

http::Answer json_answer(const Value& value) {
  return http::Answer::json(200, base::json::compact(value) + "\n");
}

std::uint64_t number_of(const http::ServerRequest& request, const std::string& name) {
  const auto parameters = request.parameters();
  const auto found = parameters.find(name);
  std::uint64_t value = 0;
  if (found != parameters.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  }
  return value;
}

}  // namespace

http::Answer Sandbox::Impl::administer(const http::ServerRequest& request) {
  const std::string what = request.method + " " + request.path;
  if (what == "GET /sandbox/faults") return json_answer(faults.describe());
  if (what == "DELETE /sandbox/faults") {
    faults.clear();
    return json_answer(faults.describe());
  }
  if (what == "PUT /sandbox/faults" || what == "POST /sandbox/faults") {
    const auto rules = base::yaml::read_one(request.body);
    auto set = rules ? faults.set(*rules) : base::Result<>(rules.error());
    if (!set) return http::Answer::text(400, set.error().message + "\n");
    return json_answer(faults.describe());
  }
  if (what == "PUT /sandbox/access") {
    const auto rules = base::yaml::read_one(request.body);
    auto set = rules ? api.access().set(*rules) : base::Result<>(rules.error());
    if (!set) return http::Answer::text(400, set.error().message + "\n");
    return json_answer(base::json::Object{});
  }
  if (what == "POST /sandbox/restart") {
    self->restart(std::chrono::milliseconds(number_of(request, "downMs")));
    return json_answer(base::json::Object{});
  }
  if (what == "POST /sandbox/change") {
    self->change(number_of(request, "count"));
    return json_answer(base::json::Object{});
  }
  if (what == "GET /sandbox/stats") {
    const Counts counts = self->counts();
    base::json::Object out;
    out.set("objects", counts.objects);
    out.set("events", counts.events);
    out.set("watches", counts.watches);
    out.set("requests", counts.requests);
    out.set("bytesSent", counts.bytes_sent);
    out.set("connections", counts.connections);
    out.set("resourceVersion", api.store().rv());
    return json_answer(out);
  }
  return http::Answer::text(404, "/sandbox has access, faults, restart, change and stats\n");
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
