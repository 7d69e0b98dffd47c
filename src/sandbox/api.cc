#include "sandbox/api.h"

#include <fmt/format.h>

#include "base/json/write.h"
#include "sandbox/discovery.h"
#include "sandbox/openapi.h"
#include "sandbox/reviews.h"
#include "sandbox/scale.h"

namespace kollect::sandbox {

using base::json::Object;
using base::json::Value;

namespace {

constexpr int kNotFound = 404;

/// Subresources that are kept as part of the object.
bool is_part(const Call& call) {
  return call.subresource.empty() || (call.subresource == "status" && call.served->has_status) ||
         (call.subresource == "finalize" && call.served->kind == "Namespace");
}

std::optional<http::Answer> health(const http::ServerRequest& request) {
  for (const std::string_view path : {"/healthz", "/livez", "/readyz"}) {
    if (request.path == path || request.path.starts_with(std::string(path) + "/")) {
      return http::Answer::text(200, "ok");
    }
  }
  return std::nullopt;
}

}  // namespace

Api::Api(const base::Clock& clock, ApiOptions options)
    : options_(options),
      clock_(clock),
      store_(options.history_events),
      writer_(store_, registry_, clock, options.seed),
      reader_(store_, clock, options.reader) {
  const ServedPtr namespaces = registry_.catalog()->find("", "v1", "namespaces");
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    Object metadata;
    metadata.set("name", name);
    Object object;
    object.set("metadata", std::move(metadata));
    (void)writer_.load(*namespaces, std::move(object));
  }
}

http::Answer Api::answer(const http::ServerRequest& request) {
  if (auto found = health(request)) return std::move(*found);
  const auto who = access_.identify(request);
  if (!who) return who.error().to_answer();
  const auto catalog = registry_.catalog();
  if (auto found = discover(request, *catalog)) return std::move(*found);
  if (auto found = open_api(request, *catalog)) return std::move(*found);
  auto call = read_call(request, *catalog);
  if (!call) return http::Answer::text(kNotFound, "404 page not found\n");
  if (const Action action = action_of(*call); !access_.allows(*who, action)) {
    return denied(*who, action).to_answer();
  }
  call->clock = &clock_;
  auto outcome = serve(*call, *who);
  return outcome ? std::move(*outcome) : outcome.error().to_answer();
}

Outcome<http::Answer> Api::serve(const Call& call, const Identity& who) {
  if (call.subresource == "scale" && call.served->has_scale) return scale(call, writer_, reader_);
  if (!is_part(call)) return std::unexpected(not_found("", call.served->plural, call.subresource));
  if (call.served->create_only && call.verb != Verb::kCreate) {
    return std::unexpected(method_not_allowed());
  }
  switch (call.verb) {
    case Verb::kGet:
      return call.flag("watch") ? reader_.watch(call) : reader_.get(call);
    case Verb::kList:
      return reader_.list(call);
    case Verb::kWatch:
      return reader_.watch(call);
    case Verb::kCreate:
      SB_TRY(check_write_options(call));
      return create(call, who);
    case Verb::kUpdate: {
      SB_TRY(check_write_options(call));
      if (call.name.empty()) return std::unexpected(method_not_allowed());
      SB_ASSIGN(Value object, read_manifest(*call.request));
      SB_ASSIGN(const auto result, writer_.update(call, std::move(object)));
      return written(call, result);
    }
    case Verb::kPatch: {
      SB_TRY(check_write_options(call));
      if (call.name.empty()) return std::unexpected(method_not_allowed());
      SB_ASSIGN(const auto result, writer_.patch(call));
      return written(call, result);
    }
    case Verb::kDelete:
      return remove(call);
    case Verb::kDeleteCollection:
      return remove_collection(call);
  }
  return std::unexpected(method_not_allowed());
}

http::Answer Api::written(const Call& call, const Writer::Written& result) const {
  std::string text;
  Renderer renderer(call);
  renderer.append_single(text, result.entry.rv, result.entry.body);
  http::Answer answer = http::Answer::json(result.created ? 201 : 200, text + "\n");
  for (const std::string& warning : result.warnings) {
    answer.headers.emplace_back("Warning", fmt::format("299 - \"{}\"", warning));
  }
  return answer;
}

Outcome<http::Answer> Api::create(const Call& call, const Identity& who) {
  if (!call.name.empty() || (call.served->namespaced && call.ns.empty())) {
    return std::unexpected(method_not_allowed());
  }
  SB_ASSIGN(Value object, read_manifest(*call.request));
  if (call.served->create_only) {
    SB_ASSIGN(const Value seen, review(call, who, access_, std::move(object)));
    return http::Answer::json(201, base::json::compact(seen) + "\n");
  }
  SB_ASSIGN(const auto result, writer_.create(call, std::move(object)));
  return written(call, result);
}

Outcome<http::Answer> Api::remove(Call call) {
  Value options;
  if (!call.request->body.empty()) {
    SB_ASSIGN(options, read_manifest(*call.request));
    take_delete_options(call, options);
  }
  SB_TRY(check_write_options(call));
  SB_ASSIGN(const auto deleted, writer_.remove(call, options));
  const Served& served = *call.served;
  // These answer with the object itself.
  const bool shows_object =
      !deleted.gone || (served.group.empty() && (served.kind == "Pod" || served.kind == "Service"));
  if (shows_object) {
    return http::Answer::json(200, manifest_text(served, deleted.last) + "\n");
  }
  Object details;
  details.set("name", call.name);
  if (!served.group.empty()) details.set("group", served.group);
  details.set("kind", served.plural);
  details.set("uid", metadata_text(to_manifest(served, deleted.last), "uid"));
  Object out;
  out.set("kind", "Status");
  out.set("apiVersion", "v1");
  out.set("metadata", Object{});
  out.set("status", "Success");
  out.set("details", std::move(details));
  return http::Answer::json(200, base::json::compact(Value(std::move(out))) + "\n");
}

Outcome<http::Answer> Api::remove_collection(Call call) {
  if (!call.request->body.empty()) {
    SB_ASSIGN(const Value options, read_manifest(*call.request));
    take_delete_options(call, options);
  }
  SB_TRY(check_write_options(call));
  if (call.served->namespaced && call.ns.empty()) return std::unexpected(method_not_allowed());
  SB_ASSIGN(const Filter filter, Filter::of(call));
  const auto page = store_.page(call.served->resource(), store_.rv(), "", filter.prefix,
                                std::numeric_limits<std::size_t>::max());
  std::string out;
  Renderer renderer(call);
  std::string items;
  for (const Entry& entry : page ? page->entries : std::vector<Entry>{}) {
    if (!filter.matches(entry.key, entry.rv, entry.body)) continue;
    Call one = call;
    one.name = entry.key.substr(filter.prefix.size());
    const auto deleted = writer_.remove(one, Value());
    if (!deleted) continue;
    if (!items.empty()) items += ',';
    renderer.append_item(items, deleted->last.rv, deleted->last.body);
  }
  renderer.append_list_head(out, store_.rv(), "", -1);
  out += items;
  renderer.append_list_end(out);
  return http::Answer::json(200, std::move(out));
}

}  // namespace kollect::sandbox
