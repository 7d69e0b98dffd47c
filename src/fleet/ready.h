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

  std::string_view body;
  bool dead;         ///< of a cluster that was deleted
  std::string etag;  ///< with its quotes; of the plain body

  /// The form that the client wants: plain, gzip, or 304 when it has that already.
  [[nodiscard]] http::PreparedAnswer form(const Wish& wish) const;
  /// The same; none when it would have to be made first.
  [[nodiscard]] http::PreparedAnswer form_at_hand(const Wish& wish) const;
  /// The whole answer in gzip; none when it is not made yet.
  [[nodiscard]] http::PreparedAnswer packed_at_hand() const;
  /// It is worth packing, and the client takes that.
  [[nodiscard]] bool wants_gzip(const Wish& wish) const;

 private:
  /// One coding of the body, and that the client has it.
  struct Form {
    http::PreparedAnswer whole;
    http::PreparedAnswer unchanged;
    std::string etag;
    Form(std::string tag, std::string bytes, bool packed);
  };
  [[nodiscard]] const Form& packed() const;
  [[nodiscard]] static http::PreparedAnswer pick(const Form& form, const Wish& wish);

  Form plain_;
  mutable std::once_flag packing_;
  mutable std::unique_ptr<const Form> packed_;
  mutable std::atomic<const Form*> packed_at_hand_ = nullptr;
};
using ReadyPtr = std::shared_ptr<const Ready>;

}  // namespace kollect::fleet
