// An answer to a poll in all its forms, ready to be sent.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "http/server.h"

namespace kollect::fleet {

/// What a client says about the form of an answer.
struct Wish {
  std::optional<std::string_view> accept_encoding = {};
  std::optional<std::string_view> if_none_match = {};
};

/// `Accept-Encoding` takes gzip (RFC 9110 12.5.3).
bool accepts_gzip(std::string_view accept_encoding);

/// Immutable, shared, thread-safe. The form in gzip is made when the first client wants it.
class Ready {
 public:
  static std::shared_ptr<const Ready> make(std::string body, bool dead = false);
  Ready(std::string text, bool of_dead);

  // What each poll looks at stands together: with many clusters little of this is in a cache.
  std::string_view body;
  bool dead;  ///< of a cluster that was deleted

 private:
  struct Form;
  mutable std::atomic<const Form*> packed_at_hand_ = nullptr;

 public:
  std::string etag;  ///< with its quotes; of the plain body

  /// The form that the client wants: plain, gzip, or 304 when it has that already. Lives as long
  /// as this.
  [[nodiscard]] const http::PreparedAnswer& form(const Wish& wish) const;
  /// The same; null when it would have to be made first.
  [[nodiscard]] const http::PreparedAnswer* form_at_hand(const Wish& wish) const;

 private:
  /// One coding of the body, and that the client has it.
  struct Form {
    http::PreparedAnswer whole;
    http::PreparedAnswer unchanged;
    std::string etag;
    Form(std::string tag, std::string bytes, bool packed);
  };
  [[nodiscard]] const Form& packed() const;
  [[nodiscard]] static const http::PreparedAnswer& pick(const Form& form, const Wish& wish);
  [[nodiscard]] bool wants_gzip(const Wish& wish) const;

  Form plain_;
  mutable std::once_flag packing_;
  mutable std::unique_ptr<const Form> packed_;
};
using ReadyPtr = std::shared_ptr<const Ready>;

}  // namespace kollect::fleet
