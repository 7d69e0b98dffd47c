#include "sandbox/render.h"

#include <fmt/format.h>

#include "base/json/write.h"
#include "base/strings.h"

namespace kollect::sandbox {

using base::json::View;

namespace {

constexpr std::string_view kMetaVersion = "meta.k8s.io/v1";

bool names_parameter(std::string_view media, std::string_view parameter) {
  for (const auto part : base::split(media, ';')) {
    if (base::trim(part) == parameter) return true;
  }
  return false;
}

}  // namespace

Form form_of(const Call& call) {
  const std::string accept(call.request->header("accept").value_or(""));
  // The first kind of answer that can be made counts; protobuf and CBOR cannot.
  for (const auto media : base::split(accept, ',')) {
    const std::string_view type = base::trim(media.substr(0, media.find(';')));
    if (type != "application/json" && type != "*/*" && type != "application/*") continue;
    const bool current = names_parameter(media, "v=v1") && names_parameter(media, "g=meta.k8s.io");
    if (names_parameter(media, "as=Table") && current) return Form::kTable;
    if (current && (names_parameter(media, "as=PartialObjectMetadata") ||
                    names_parameter(media, "as=PartialObjectMetadataList"))) {
      return Form::kMetadata;
    }
    if (media.find("as=") == std::string_view::npos) return Form::kPlain;
  }
  return Form::kPlain;
}

Renderer::Renderer(const Call& call)
    : served_(call.served),
      form_(form_of(call)),
      clock_(call.clock),
      include_object_(call.parameter("includeObject")) {
  if (form_ == Form::kTable) columns_ = std::make_shared<const TableColumns>(*served_);
}

void Renderer::append_metadata(std::string& out, std::uint64_t rv, const Body& body) const {
  std::string text;
  append_manifest(text, *served_, rv, body);
  const auto document = base::json::Document::parse_borrowed(text);
  const auto metadata = document ? document->root().find("metadata") : std::nullopt;
  out += R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)";
  if (metadata) {
    base::json::append_compact(out, *metadata);
  } else {
    out += "{}";
  }
  out += '}';
}

void Renderer::append_row(std::string& out, std::uint64_t rv, const Body& body) const {
  std::string text;
  append_manifest(text, *served_, rv, body);
  const auto document = base::json::Document::parse_borrowed(text);
  out += '{';
  if (document) {
    columns_->append_cells(out, document->root(),
                           clock_ != nullptr ? clock_->now() : base::WallTime());
  } else {
    out += "\"cells\":[]";
  }
  out += ",\"object\":";
  if (include_object_ == "None") {
    out += "null";
  } else if (include_object_ == "Object") {
    append_manifest(out, *served_, rv, body);
  } else {
    append_metadata(out, rv, body);
  }
  out += '}';
}

void Renderer::append_single(std::string& out, std::uint64_t rv, const Body& body) {
  if (form_ == Form::kPlain) return append_manifest(out, *served_, rv, body);
  if (form_ == Form::kMetadata) return append_metadata(out, rv, body);
  fmt::format_to(std::back_inserter(out),
                 R"({{"kind":"Table","apiVersion":"{}","metadata":{{"resourceVersion":"{}"}},)",
                 kMetaVersion, rv);
  if (std::exchange(head_written_, true)) {
    out += "\"columnDefinitions\":null";
  } else {
    columns_->append_definitions(out);
  }
  out += ",\"rows\":[";
  append_row(out, rv, body);
  out += "]}";
}

void Renderer::append_mark(std::string& out, std::uint64_t rv, std::string_view annotations) const {
  const bool table = form_ == Form::kTable;
  const std::string kind = form_ == Form::kPlain ? served_->kind
                           : table               ? "Table"
                                                 : "PartialObjectMetadata";
  const std::string version =
      form_ == Form::kPlain ? served_->api_version() : std::string(kMetaVersion);
  fmt::format_to(std::back_inserter(out),
                 R"({{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}")", kind,
                 version, rv);
  if (!annotations.empty()) {
    out += ",\"annotations\":";
    out += annotations;
  }
  out += table ? R"(},"columnDefinitions":null,"rows":[]})" : "}}";
}

void Renderer::append_list_head(std::string& out, std::uint64_t rv,
                                const std::string& continue_token, std::int64_t remaining) const {
  const std::string kind = form_ == Form::kPlain   ? served_->list_kind
                           : form_ == Form::kTable ? "Table"
                                                   : "PartialObjectMetadataList";
  const std::string version =
      form_ == Form::kPlain ? served_->api_version() : std::string(kMetaVersion);
  fmt::format_to(std::back_inserter(out), R"({{"kind":"{}","apiVersion":"{}","metadata":{{)", kind,
                 version);
  fmt::format_to(std::back_inserter(out), R"("resourceVersion":"{}")", rv);
  if (!continue_token.empty()) {
    fmt::format_to(std::back_inserter(out), R"(,"continue":"{}")", continue_token);
  }
  if (remaining >= 0) {
    fmt::format_to(std::back_inserter(out), R"(,"remainingItemCount":{})", remaining);
  }
  out += "},";
  if (form_ == Form::kTable) {
    columns_->append_definitions(out);
    out += ",\"rows\":[";
  } else {
    out += "\"items\":[";
  }
}

void Renderer::append_item(std::string& out, std::uint64_t rv, const Body& body) {
  switch (form_) {
    case Form::kPlain:
      return append_manifest(out, *served_, rv, body, served_->custom);
    case Form::kTable:
      return append_row(out, rv, body);
    case Form::kMetadata:
      return append_metadata(out, rv, body);
  }
}

void Renderer::append_list_end(std::string& out) const {
  out += "]}\n";
}

}  // namespace kollect::sandbox
