#include "http/server_connection.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace kollect::http {

namespace {

using ErrorCode = boost::system::error_code;

constexpr std::size_t kSlice = 256U << 10U;
/// Of a pipelining client's further requests while one is being answered.
constexpr std::size_t kMaxReadAhead = 64U << 10U;
/// After the last answer: time for the client to read it before the connection is gone.
constexpr auto kLingerTime = std::chrono::seconds(2);
constexpr auto kShortLingerTime = std::chrono::milliseconds(100);
constexpr int kServerError = 500;

std::string_view phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

/// A header cannot begin a new line.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  std::ranges::copy_if(value, std::back_inserter(out),
                       [](char c) { return c != '\r' && c != '\n' && c != '\0'; });
  out += "\r\n";
}

}  // namespace

/// Tells a stream's connection that its source has something; outlives both.
struct Connection::Wake {
  std::atomic<bool> woken = false;
  std::weak_ptr<ServerCore> core;
  std::weak_ptr<Connection> connection;

  void operator()() {
    if (woken.exchange(true)) return;
    if (const auto shared = core.lock()) {
      shared->post([weak = connection] {
        if (const auto self = weak.lock()) self->pump();
      });
    }
  }
};

Connection::Connection(std::shared_ptr<ServerCore> core, std::unique_ptr<Socket> socket,
                       std::string peer)
    : core_(std::move(core)),
      socket_(std::move(socket)),
      timer_(core_->io),
      peer_(std::move(peer)),
      reader_(core_->options.max_header_bytes, core_->options.max_body_bytes) {}

Connection::~Connection() = default;

void Connection::begin() {
  core_->open.insert(this);
  ++core_->connections;
  ++core_->accepted;
  arm(core_->options.header_timeout);
  socket_->handshake([self = shared_from_this()](const ErrorCode& error, std::size_t) {
    if (self->state_ != State::kHandshake) return;
    if (error) return self->close();
    self->client_name_ = self->socket_->client_name();
    self->go_on_reading();
  });
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  disarm();
  socket_->close();
  source_.reset();
  ready_.reset();
  core_->open.erase(this);
  --core_->connections;
  if (core_->on_closed) core_->on_closed();
}

void Connection::wind_up() {
  if (state_ == State::kHandshake || state_ == State::kReading) {
    close();
  } else if (state_ == State::kStreaming) {
    pump();
  }
}

// ---- requests in

void Connection::keep_reading() {
  if (reading_ || peer_gone_ || state_ == State::kClosed) return;
  if (state_ != State::kReading && in_.size() > kMaxReadAhead) return;
  reading_ = true;
  socket_->read_some(boost::asio::buffer(buffer_),
                     [self = shared_from_this()](const ErrorCode& error, std::size_t size) {
                       self->on_read(error, size);
                     });
}

void Connection::on_read(const ErrorCode& error, std::size_t size) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (error) {
    peer_gone_ = true;
    // A client that has only finished sending still gets the answer to what it sent.
    const bool half_closed = error == boost::asio::error::eof &&
                             (state_ == State::kHandling || state_ == State::kAnswering);
    if (!half_closed) close();
    return;
  }
  if (state_ != State::kLingering) in_.append(buffer_.data(), size);
  if (state_ == State::kReading) return parse();
  keep_reading();
}

void Connection::go_on_reading() {
  state_ = State::kReading;
  armed_for_ = RequestReader::State::kFailed;
  parse();
}

void Connection::parse() {
  in_.erase(0, reader_.feed(in_));
  const RequestReader::State now = reader_.state();
  switch (now) {
    case RequestReader::State::kDone:
      return dispatch();
    case RequestReader::State::kFailed:
      return refuse();
    case RequestReader::State::kEmpty:
      if (core_->stopping) return close();
      if (armed_for_ != now) arm(core_->options.idle_timeout);
      break;
    case RequestReader::State::kHead:
      if (armed_for_ != now) arm(core_->options.header_timeout);
      break;
    case RequestReader::State::kBody:
      if (armed_for_ != now) arm(core_->options.body_timeout);
      if (reader_.expects_continue() && !continue_sent_) {
        continue_sent_ = true;
        state_ = State::kAnswering;
        head_out_ = "HTTP/1.1 100 Continue\r\n\r\n";
        return write([this] { go_on_reading(); });
      }
      break;
  }
  armed_for_ = now;
  if (peer_gone_) return close();
  keep_reading();
}

void Connection::dispatch() {
  state_ = State::kHandling;
  disarm();
  ++core_->requests;
  keep_alive_ = reader_.keep_alive();
  old_protocol_ = reader_.old_protocol();
  continue_sent_ = false;
  auto request = std::make_shared<ServerRequest>(reader_.take());
  request->peer = peer_;
  request->client_name = client_name_;
  head_only_ = request->method == "HEAD";
  keep_reading();
  boost::asio::post(*core_->workers,
                    [self = shared_from_this(), turn = ++turn_, request = std::move(request)] {
                      self->handle(turn, request);
                    });
}

void Connection::handle(std::uint64_t turn, const std::shared_ptr<const ServerRequest>& request) {
  std::string problem;
  try {
    core_->handler(request, Reply(shared_from_this(), turn));
    return;
  } catch (const std::exception& error) {
    problem = error.what();
  } catch (...) {
    problem = "unknown exception";
  }
  if (core_->log != nullptr) {
    core_->log->error("request failed",
                      {{"method", request->method}, {"path", request->path}, {"error", problem}});
  }
  answer(turn, Answer::text(kServerError, "internal error\n"));
}

void Connection::refuse() {
  ++core_->refused;
  keep_alive_ = false;
  head_only_ = false;
  state_ = State::kHandling;
  on_answer(Answer::text(reader_.failure_status(), reader_.failure() + "\n"));
}

// ---- answers out

void Connection::answer(std::uint64_t turn, Answer answer) {
  auto held = std::make_shared<Answer>(std::move(answer));
  core_->post([self = shared_from_this(), turn, held = std::move(held)] {
    if (self->turn_ == turn) self->on_answer(std::move(*held));
  });
}

void Connection::abandon(std::uint64_t turn) {
  core_->post([self = shared_from_this(), turn] {
    if (self->turn_ == turn && self->state_ == State::kHandling) self->close();
  });
}

std::string Connection::head_of(const Answer& answer, bool chunked) const {
  const bool keep = keep_alive_;
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", answer.status,
                  phrase(answer.status), fmt::gmtime(std::chrono::system_clock::now()));
  for (const auto& [name, value] : answer.headers) append_header(head, name, value);
  if (chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (!answer.source && has_body(answer.status)) {
    head += fmt::format("Content-Length: {}\r\n", answer.body.size());
  }
  if (!keep) head += "Connection: close\r\n";
  return head + "\r\n";
}

void Connection::on_answer(Answer answer) {
  if (state_ != State::kHandling) return;
  keep_alive_ = keep_alive_ && !answer.close && !core_->stopping && !peer_gone_;
  // An HTTP/1.0 client knows the end of a stream by the end of the connection.
  if (answer.source && old_protocol_) keep_alive_ = false;
  head_out_ = head_of(answer, answer.source && !old_protocol_);
  if (answer.source && !head_only_) return begin_stream(std::move(answer.source));
  state_ = State::kAnswering;
  if (!head_only_ && has_body(answer.status)) out_ = std::move(answer.body);
  write([this] { finish_exchange(); });
}

void Connection::begin_stream(std::shared_ptr<BodySource> source) {
  if (peer_gone_) return close();
  state_ = State::kStreaming;
  source_ = std::move(source);
  wake_ = std::make_shared<Wake>();
  wake_->core = core_;
  wake_->connection = weak_from_this();
  started_ = false;
  current_ = {.next = BodySource::Next::kMore};
  pump();
}

void Connection::pull() {
  pulling_ = true;
  wake_->woken = false;
  boost::asio::post(*core_->workers, [self = shared_from_this(), source = source_, wake = wake_,
                                      first = !std::exchange(started_, true)]() mutable {
    auto pulled = std::make_shared<Pulled>();
    try {
      if (first) source->start([wake] { (*wake)(); });
      pulled->pull = source->pull(pulled->data);
    } catch (const std::exception& error) {
      pulled->pull.next = BodySource::Next::kCut;
      if (self->core_->log != nullptr) {
        self->core_->log->error("answer failed half way", {{"error", error.what()}});
      }
    }
    source.reset();
    ServerCore& core = *self->core_;
    core.post([self = std::move(self), pulled] {
      self->pulling_ = false;
      if (self->state_ != State::kStreaming) return;
      self->ready_ = std::move(*pulled);
      self->pump();
    });
  });
}

void Connection::pump() {
  using Next = BodySource::Next;
  if (state_ != State::kStreaming) return;
  if (ready_ && !writing_) write_pulled();
  if (state_ != State::kStreaming || pulling_ || ready_) return;
  if (current_.next == Next::kMore) return pull();
  if (writing_) return;
  switch (current_.next) {
    case Next::kMore:
    case Next::kEnd:
      return finish_exchange();
    case Next::kCut:
      return close();
    case Next::kWait:
      if (core_->stopping) {
        ready_ = Pulled{.pull = {.next = Next::kEnd}, .data = {}};
        return write_pulled();
      }
      if (wake_->woken) return pull();
      return arm(current_.at_most);
  }
}

void Connection::write_pulled() {
  Pulled pulled = std::move(*ready_);
  ready_.reset();
  current_ = pulled.pull;
  if (!pulled.data.empty()) {
    if (old_protocol_) {
      out_ = std::move(pulled.data);
    } else {
      head_out_ += fmt::format("{:x}\r\n", pulled.data.size());
      out_ = std::move(pulled.data);
      out_ += "\r\n";
    }
  }
  if (current_.next == BodySource::Next::kEnd && !old_protocol_) out_ += "0\r\n\r\n";
  if (head_out_.empty() && out_.empty()) return pump();
  write([this] { pump(); });
  // While this is on its way, the next piece is made.
  if (current_.next == BodySource::Next::kMore && !pulling_) pull();
}

void Connection::write(std::function<void()> then) {
  writing_ = true;
  write_slice(0, std::move(then));
}

void Connection::write_slice(std::size_t offset, std::function<void()> then) {
  const std::size_t size = std::min(kSlice, out_.size() - offset);
  std::vector<boost::asio::const_buffer> pieces;
  if (offset == 0 && !head_out_.empty()) pieces.emplace_back(boost::asio::buffer(head_out_));
  if (size > 0) pieces.emplace_back(out_.data() + offset, size);
  arm(core_->options.write_timeout);
  socket_->write(pieces, [self = shared_from_this(), end = offset + size, then = std::move(then)](
                             const ErrorCode& error, std::size_t sent) mutable {
    self->core_->bytes_sent += sent;
    if (self->state_ == State::kClosed) return;
    if (error) return self->close();
    if (end < self->out_.size()) return self->write_slice(end, std::move(then));
    self->disarm();
    self->writing_ = false;
    self->head_out_.clear();
    // A large body is given back at once, a small buffer serves again.
    if (self->out_.capacity() > kSlice) {
      self->out_ = {};
    } else {
      self->out_.clear();
    }
    then();
  });
}

void Connection::finish_exchange() {
  source_.reset();
  wake_.reset();
  if (!keep_alive_ || core_->stopping || peer_gone_) return linger();
  go_on_reading();
}

void Connection::linger() {
  if (peer_gone_) return close();
  state_ = State::kLingering;
  arm(core_->stopping ? kShortLingerTime : kLingerTime);
  // Closed while bytes are unread, the system would throw away what the client has not read yet.
  const bool all_read = in_.empty() && reader_.state() == RequestReader::State::kEmpty;
  in_.clear();
  socket_->finish_sending([self = shared_from_this(), all_read](const ErrorCode&, std::size_t) {
    if (all_read) self->close();
  });
  keep_reading();
}

// ---- deadlines

void Connection::arm(base::Duration limit) {
  disarm();
  if (limit == base::Duration::max()) return;
  timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::max(limit, base::Duration::zero())));
  timer_.async_wait([weak = weak_from_this(), turn = timer_turn_](const ErrorCode& error) {
    const auto self = weak.lock();
    if (!error && self && self->timer_turn_ == turn) self->on_deadline();
  });
}

void Connection::disarm() {
  ++timer_turn_;
  timer_.cancel();
}

void Connection::on_deadline() {
  if (state_ == State::kStreaming && !writing_) {
    if (!pulling_ && !ready_) pull();
    return;
  }
  if (writing_) ++core_->slow;
  if (state_ == State::kReading && reader_.state() != RequestReader::State::kEmpty) {
    ++core_->refused;
  }
  close();
}

}  // namespace kollect::http
