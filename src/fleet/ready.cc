#include "fleet/ready.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/gzip.h"
#include "base/hash.h"
#include "base/strings.h"

namespace kollect::fleet {

namespace {

/// Shorter ones fit into a packet anyway.
constexpr std::size_t kWorthPacking = 512;

http::Answer as_answer(int status, const std::string& etag, std::string body, bool packed) {
  http::Answer answer = http::Answer::json(status, std::move(body));
  answer.headers.emplace_back("ETag", etag);
  answer.headers.emplace_back("Vary", "Accept-Encoding");
  if (packed && status == 200) answer.headers.emplace_back("Content-Encoding", "gzip");
  return answer;
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  for (const std::string_view part : base::split(accept_encoding, ',')) {
    const std::size_t semicolon = part.find(';');
    if (!base::iequals(base::trim(part.substr(0, semicolon)), "gzip")) continue;
    if (semicolon == std::string_view::npos) return true;
    const std::string weight = base::to_lower(base::trim(part.substr(semicolon + 1)));
    return weight.find_first_not_of("q=0. ") != std::string::npos;
  }
  return false;
}

Ready::Form::Form(std::string tag, std::string bytes, bool packed)
    : whole(as_answer(200, tag, std::move(bytes), packed)),
      unchanged(as_answer(304, tag, "", packed)),
      etag(std::move(tag)) {}

Ready::Ready(std::string text, bool of_dead)
    : dead(of_dead),
      etag(fmt::format("\"{:016x}\"", base::xxh64(text))),
      plain_(etag, std::move(text), false) {
  body = plain_.whole.body();
}

ReadyPtr Ready::make(std::string body, bool dead) {
  return std::make_shared<const Ready>(std::move(body), dead);
}

const Ready::Form& Ready::packed() const {
  std::call_once(packing_, [this] {
    std::string tag = etag;
    tag.insert(tag.size() - 1, "-gzip");
    packed_ = std::make_unique<const Form>(std::move(tag), base::gzip(body), true);
    packed_at_hand_ = packed_.get();
  });
  return *packed_;
}

bool Ready::wants_gzip(const Wish& wish) const {
  return body.size() >= kWorthPacking && wish.accept_encoding &&
         accepts_gzip(*wish.accept_encoding);
}

http::PreparedAnswer Ready::pick(const Form& form, const Wish& wish) {
  if (!wish.if_none_match) return form.whole;
  for (const std::string_view part : base::split(*wish.if_none_match, ',')) {
    std::string_view tag = base::trim(part);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == form.etag || tag == "*") return form.unchanged;
  }
  return form.whole;
}

http::PreparedAnswer Ready::form(const Wish& wish) const {
  return pick(wants_gzip(wish) ? packed() : plain_, wish);
}

http::PreparedAnswer Ready::form_at_hand(const Wish& wish) const {
  const Form* form = wants_gzip(wish) ? packed_at_hand_.load() : &plain_;
  return form != nullptr ? pick(*form, wish) : http::PreparedAnswer();
}

http::PreparedAnswer Ready::packed_at_hand() const {
  const Form* form = packed_at_hand_.load();
  return form != nullptr ? form->whole : http::PreparedAnswer();
}

}  // namespace kollect::fleet
