#include "sinks/mongo/stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <vector>

#include "sinks/mongo/dialer.h"

namespace kollect::sinks::mongo {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kOwnType = 100;  // libmongoc's own kinds of streams stay below

/// OpenSSL's bytes in and out of the socket.
int descriptor_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int finish(BIO* bio, ssize_t size, int flag) {
  BIO_clear_retry_flags(bio);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    BIO_set_flags(bio, flag | BIO_FLAGS_SHOULD_RETRY);
  }
  return static_cast<int>(size);
}

int bio_read(BIO* bio, char* into, int size) {
  return finish(bio, ::recv(descriptor_of(bio), into, static_cast<std::size_t>(size), 0),
                BIO_FLAGS_READ);
}

int bio_write(BIO* bio, const char* from, int size) {
  return finish(bio, ::send(descriptor_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL),
                BIO_FLAGS_WRITE);
}

long bio_control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

using Method = std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)>;

Method make_method() {
  Method made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "database socket"),
              &BIO_meth_free);
  BIO_meth_set_read(made.get(), &bio_read);
  BIO_meth_set_write(made.get(), &bio_write);
  BIO_meth_set_ctrl(made.get(), &bio_control);
  return made;
}

/// When a call must be done; none: when the context says.
class Deadline {
 public:
  explicit Deadline(int milliseconds)
      : endless_(milliseconds < 0),
        at_(Clock::now() + std::chrono::milliseconds(std::max(milliseconds, 0))) {}
  [[nodiscard]] int left() const {
    if (endless_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }

 private:
  bool endless_;
  Clock::time_point at_;
};

struct Stream final : mongoc_stream_t {
  Dialer* dialer = nullptr;
  Fd socket;
  Ssl session;
  int error = 0;         ///< errno of the last call that failed
  short wants = POLLIN;  ///< of the last attempt

  /// One attempt; -1 with errno EAGAIN when it would wait for `wants`.
  ssize_t attempt(bool writing, char* bytes, std::size_t size) {
    if (session == nullptr) {
      wants = writing ? POLLOUT : POLLIN;
      return writing ? ::send(socket.get(), bytes, size, MSG_NOSIGNAL)
                     : ::recv(socket.get(), bytes, size, 0);
    }
    ERR_clear_error();
    errno = 0;
    std::size_t done = 0;
    const int result = writing ? SSL_write_ex(session.get(), bytes, size, &done)
                               : SSL_read_ex(session.get(), bytes, size, &done);
    if (result == 1) return static_cast<ssize_t>(done);
    switch (SSL_get_error(session.get(), result)) {
      case SSL_ERROR_WANT_READ:
        wants = POLLIN;
        break;
      case SSL_ERROR_WANT_WRITE:
        wants = POLLOUT;
        break;
      case SSL_ERROR_ZERO_RETURN:
        return 0;
      default:
        if (errno == 0 || errno == EAGAIN) errno = ECONNRESET;
        return -1;
    }
    errno = EAGAIN;
    return -1;
  }

  /// Attempts until something moved, or the time is over.
  ssize_t transfer(bool writing, char* bytes, std::size_t size, const Deadline& deadline) {
    while (true) {
      const ssize_t moved = attempt(writing, bytes, size);
      if (moved >= 0) return moved;
      if (errno == EINTR) continue;
      const int left = deadline.left();
      if ((errno != EAGAIN && errno != EWOULDBLOCK) || left == 0) {
        error = errno;
        return -1;
      }
      if (!dialer->wait(socket.get(), wants, left)) {
        error = errno;
        return -1;
      }
    }
  }

  void note_lost() {
    if (error == EAGAIN || error == EWOULDBLOCK) return;
    dialer->note_lost(base::retryable(
        error == ETIMEDOUT ? "mongodb: no answer from the server within the time limit"
                           : "mongodb: the connection to the server was lost",
        "unreachable"));
  }
};

Stream* self(mongoc_stream_t* stream) {
  return static_cast<Stream*>(stream);
}

ssize_t stream_writev(mongoc_stream_t* stream, mongoc_iovec_t* iov, std::size_t count,
                      std::int32_t timeout) {
  Stream& to = *self(stream);
  const Deadline deadline(timeout);
  ssize_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto* bytes = static_cast<char*>(iov[i].iov_base);
    std::size_t left = iov[i].iov_len;
    while (left > 0) {
      const ssize_t moved = to.transfer(true, bytes, left, deadline);
      if (moved <= 0) {
        to.note_lost();
        errno = to.error;
        return total > 0 ? total : -1;
      }
      bytes += moved;
      left -= static_cast<std::size_t>(moved);
      total += moved;
    }
  }
  return total;
}

/// Fills the pieces until `least` bytes are there; 0: as much as one read gives.
ssize_t stream_readv(mongoc_stream_t* stream, mongoc_iovec_t* iov, std::size_t count,
                     std::size_t least, std::int32_t timeout) {
  Stream& from = *self(stream);
  const Deadline deadline(timeout);
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto* bytes = static_cast<char*>(iov[i].iov_base);
    std::size_t left = iov[i].iov_len;
    while (left > 0) {
      const ssize_t moved = from.transfer(false, bytes, left, deadline);
      if (moved == 0) from.error = ECONNRESET;
      if (moved <= 0) {
        from.note_lost();
        errno = from.error;
        return total > 0 && total >= least ? static_cast<ssize_t>(total) : moved;
      }
      bytes += moved;
      left -= static_cast<std::size_t>(moved);
      total += static_cast<std::size_t>(moved);
      if (total >= least) return static_cast<ssize_t>(total);
    }
  }
  return static_cast<ssize_t>(total);
}

bool stream_check_closed(mongoc_stream_t* stream) {
  Stream& at = *self(stream);
  char byte = 0;
  const ssize_t size = ::recv(at.socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

ssize_t stream_poll(mongoc_stream_poll_t* streams, std::size_t count, std::int32_t timeout) {
  std::vector<pollfd> fds(count);
  ssize_t ready = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Stream& at = *self(streams[i].stream);
    fds[i] = {at.socket.get(), static_cast<short>(streams[i].events), 0};
    streams[i].revents = 0;
    // What OpenSSL has read already, the socket does not tell any more.
    if (at.session != nullptr && SSL_pending(at.session.get()) > 0 &&
        (streams[i].events & POLLIN) != 0) {
      streams[i].revents = POLLIN;
      ++ready;
    }
  }
  if (ready > 0) return ready;
  const int polled = static_cast<Stream*>(streams[0].stream)->dialer->poll(fds, timeout);
  if (polled <= 0) return polled;
  for (std::size_t i = 0; i < count; ++i) streams[i].revents = fds[i].revents;
  return polled;
}

void set_calls(Stream& stream) {
  stream.type = kOwnType;
  stream.destroy = [](mongoc_stream_t* at) { std::unique_ptr<Stream>(self(at)).reset(); };
  stream.failed = stream.destroy;
  stream.close = [](mongoc_stream_t* at) {
    ::shutdown(self(at)->socket.get(), SHUT_RDWR);
    return 0;
  };
  stream.flush = [](mongoc_stream_t*) { return 0; };
  stream.writev = &stream_writev;
  stream.readv = &stream_readv;
  stream.setsockopt = [](mongoc_stream_t* at, int level, int name, void* value,
                         mongoc_socklen_t size) {
    return ::setsockopt(self(at)->socket.get(), level, name, value, size);
  };
  stream.check_closed = &stream_check_closed;
  stream.poll = &stream_poll;
  stream.timed_out = [](mongoc_stream_t* at) { return self(at)->error == ETIMEDOUT; };
  stream.should_retry = [](mongoc_stream_t* at) {
    return self(at)->error == EAGAIN || self(at)->error == EWOULDBLOCK;
  };
}

}  // namespace

Ssl make_session(SSL_CTX* context, int fd) {
  static const Method kMethod = make_method();
  Ssl session(SSL_new(context));
  BIO* bio = session == nullptr ? nullptr : BIO_new(kMethod.get());
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
                        static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session.get(), bio, bio);
  SSL_set_mode(session.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return session;
}

mongoc_stream_t* make_stream(Dialer& dialer, Fd socket, Ssl session) {
  auto stream = std::make_unique<Stream>();
  set_calls(*stream);
  stream->dialer = &dialer;
  stream->socket = std::move(socket);
  stream->session = std::move(session);
  return stream.release();  // libmongoc owns it and calls destroy
}

}  // namespace kollect::sinks::mongo
