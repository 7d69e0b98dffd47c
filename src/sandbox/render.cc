#include "sandbox/render.h"

#include <fmt/format.h>

#include "base/json/write.h"

namespace kollect::sandbox {

Renderer::Renderer(const Call& call) : served_(call.served) {}

void Renderer::append_single(std::string& out, std::uint64_t rv, const Body& body) {
  append_manifest(out, *served_, rv, body);
}

void Renderer::append_list_head(std::string& out, std::uint64_t rv,
                                const std::string& continue_token, std::int64_t remaining) const {
  fmt::format_to(std::back_inserter(out), R"({{"kind":"{}","apiVersion":"{}","metadata":{{)",
                 served_->list_kind, served_->api_version());
  fmt::format_to(std::back_inserter(out), R"("resourceVersion":"{}")", rv);
  if (!continue_token.empty()) {
    fmt::format_to(std::back_inserter(out), R"(,"continue":"{}")", continue_token);
  }
  if (remaining >= 0) {
    fmt::format_to(std::back_inserter(out), R"(,"remainingItemCount":{})", remaining);
  }
  out += R"(},"items":[)";
}

void Renderer::append_item(std::string& out, std::uint64_t rv, const Body& body) {
  append_manifest(out, *served_, rv, body, served_->custom);
}

void Renderer::append_list_end(std::string& out) const {
  out += "]}\n";
}

}  // namespace kollect::sandbox
