#include "base/secret.h"

#include <openssl/crypto.h>

namespace kollect::base {

Secret::~Secret() {
  // capacity() rather than size(): an assignment of a shorter text leaves the tail of the older
  // one.
  text_.resize(text_.capacity());
  OPENSSL_cleanse(text_.data(), text_.size());
}

}  // namespace kollect::base
