// A connected socket, with or without TLS, in the shape that libmongoc wants.
#pragma once

#include <mongoc/mongoc.h>
#include <openssl/ssl.h>

#include <memory>

#include "sinks/files/folder.h"

namespace kollect::sinks::mongo {

class Dialer;

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using Ssl = std::unique_ptr<SSL, FreeSsl>;

/// OpenSSL's session over a socket that never waits; no SIGPIPE. Null when OpenSSL has no memory.
Ssl make_session(SSL_CTX* context, int fd);

/// The stream owns socket and session; libmongoc destroys it. The dialer, which waits for it, must
/// outlive it. Null session: no TLS.
mongoc_stream_t* make_stream(Dialer& dialer, Fd socket, Ssl session);

}  // namespace kollect::sinks::mongo
