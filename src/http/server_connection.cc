#include "http/server_connection.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "http/answer_head.h"

namespace kollect::http {

namespace {

using ErrorCode = boost::system::error_code;

constexpr std::size_t kSlice = 256U << 10U;
/// What is read at once: little while heads come, more while bodies do.
constexpr std::size_t kSmallBuffer = 2U << 10U;
constexpr std::size_t kLargeBuffer = 64U << 10U;
/// Of a pipelining client's further requests while one is being answered.
constexpr std::size_t kMaxReadAhead = 64U << 10U;
/// After the last answer: time for the client to read it before the connection is gone.
constexpr auto kLingerTime = std::chrono::seconds(2);
constexpr auto kShortLingerTime = std::chrono::milliseconds(100);
constexpr int kServerError = 500;

}  // namespace

const std::string& ServerCore::date_line() {
  const std::time_t now = std::time(nullptr);
  if (now != date_of || date_text.empty()) {
    date_of = now;
    date_text = fmt::format("Date: {:%a, %d %b %Y %H:%M:%S} GMT\r\n", fmt::gmtime(now));
  }
  return date_text;
}

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
      reader_(core_->options.max_header_bytes, core_->options.max_body_bytes),
      buffer_(kSmallBuffer) {}

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
  leave_idle();
  disarm();
  timer_.cancel();
  socket_->close();
  source_.reset();
  ready_.reset();
  core_->open.erase(this);
  --core_->connections;
  if (core_->on_change) core_->on_change();
}

bool Connection::busy() const {
  switch (state_) {
    case State::kHandshake:
    case State::kClosed:
      return false;
    case State::kReading:
      return reader_.state() == RequestReader::State::kBody;
    default:
      return true;
  }
}

void Connection::wind_up() {
  if (state_ == State::kStreaming) return pump();
  if (!busy()) close();
}

void Connection::enter_idle() {
  if (std::exchange(idle_, true)) return;
  idle_before_ = std::exchange(core_->last_idle, this);
  (idle_before_ != nullptr ? idle_before_->idle_behind_ : core_->first_idle) = this;
  if (core_->on_change) core_->on_change();
}

void Connection::leave_idle() {
  if (!std::exchange(idle_, false)) return;
  (idle_before_ != nullptr ? idle_before_->idle_behind_ : core_->first_idle) = idle_behind_;
  (idle_behind_ != nullptr ? idle_behind_->idle_before_ : core_->last_idle) = idle_before_;
  idle_before_ = idle_behind_ = nullptr;
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

void Connection::resize_buffer(std::size_t got) {
  if (got == buffer_.size() && got < kLargeBuffer) {
    buffer_.resize(got * 4);
  } else if (got < kSmallBuffer && buffer_.size() > kSmallBuffer &&
             reader_.state() == RequestReader::State::kEmpty) {
    buffer_ = std::vector<char>(kSmallBuffer);
  }
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
  leave_idle();
  if (state_ != State::kLingering) in_.append(buffer_.data(), size);
  resize_buffer(size);
  if (state_ == State::kReading) return parse();
  keep_reading();
}

void Connection::go_on_reading() {
  state_ = State::kReading;
  armed_for_ = RequestReader::State::kFailed;
  parse();
}

void Connection::parse() {
  parse_again_ = true;
  if (std::exchange(parsing_, true)) return;
  while (std::exchange(parse_again_, false) && state_ == State::kReading) parse_next();
  parsing_ = false;
}

bool Connection::answer_quickly() {
  if (!core_->options.quick || in_.empty() || core_->stopping ||
      reader_.state() != RequestReader::State::kEmpty) {
    return false;
  }
  RequestView view;
  const std::size_t size = core_->quick_request.read(in_, view);
  if (size == 0 || size > core_->options.max_header_bytes) return false;
  view.peer = peer_;
  view.client_name = client_name_;
  auto prepared = core_->options.quick(view);
  if (!prepared) return false;
  head_only_ = view.method.size() == 4;
  in_.erase(0, size);
  ++core_->requests;
  ++turn_;
  keep_alive_ = true;
  old_protocol_ = false;
  on_prepared(std::move(prepared));
  return true;
}

void Connection::parse_next() {
  if (answer_quickly()) return;
  in_.erase(0, reader_.feed(in_));
  const RequestReader::State now = reader_.state();
  switch (now) {
    case RequestReader::State::kDone:
      return dispatch();
    case RequestReader::State::kFailed:
      return refuse();
    case RequestReader::State::kEmpty:
      // One that came while others are still under way may ask once.
      if (core_->stopping && (turn_ > 0 || !core_->options.accept_while_stopping)) return close();
      if (armed_for_ != now) arm(core_->options.idle_timeout);
      enter_idle();
      if (state_ == State::kClosed) return;
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

void Connection::make_head(const Answer& answer, bool chunked) {
  if (prepared_) {
    head_out_ = prepared_.head();
  } else {
    head_out_ = start_of_head(answer.status);
  }
  for (const auto& [name, value] : answer.headers) append_header(head_out_, name, value);
  if (chunked) {
    head_out_ += "Transfer-Encoding: chunked\r\n";
  } else if (!answer.source && !prepared_ && has_body(answer.status)) {
    head_out_ += fmt::format("Content-Length: {}\r\n", answer.body.size());
  }
  end_head();
}

void Connection::end_head() {
  head_out_ += core_->date_line();
  if (!keep_alive_) head_out_ += "Connection: close\r\n";
  head_out_ += "\r\n";
}

void Connection::on_prepared(PreparedAnswer prepared) {
  keep_alive_ = keep_alive_ && !core_->stopping && !peer_gone_;
  prepared_ = std::move(prepared);
  head_out_ = prepared_.head();
  end_head();
  if (!head_only_) body_out_ = prepared_.body();
  send_answer();
}

void Connection::on_answer(Answer answer) {
  if (state_ != State::kHandling) return;
  keep_alive_ = keep_alive_ && !answer.close && !core_->stopping && !peer_gone_;
  prepared_ = std::move(answer.prepared);
  if (prepared_) answer.source.reset();
  // An HTTP/1.0 client knows the end of a stream by the end of the connection.
  if (answer.source && old_protocol_) keep_alive_ = false;
  make_head(answer, answer.source && !old_protocol_);
  if (answer.source && !head_only_) return begin_stream(std::move(answer.source));
  if (prepared_ && !head_only_) body_out_ = prepared_.body();
  if (!prepared_ && !head_only_ && has_body(answer.status)) {
    out_ = std::move(answer.body);
    body_out_ = out_;
  }
  send_answer();
}

void Connection::send_answer() {
  state_ = State::kAnswering;
  disarm();
  // A short body is copied: one piece costs the system less than two.
  if (body_out_.size() <= kSmallBuffer) {
    head_out_ += body_out_;
    body_out_ = {};
  }
  ErrorCode error;
  const std::size_t sent = socket_->write_now(head_out_, body_out_, error);
  core_->bytes_sent += sent;
  if (error) return close();
  const std::size_t of_head = std::min(sent, head_out_.size());
  if (sent == head_out_.size() + body_out_.size()) {
    end_write();
    return finish_exchange();
  }
  head_out_.erase(0, of_head);
  body_out_.remove_prefix(sent - of_head);
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
  body_out_ = out_;
  write([this] { pump(); });
  // While this is on its way, the next piece is made.
  if (current_.next == BodySource::Next::kMore && !pulling_) pull();
}

void Connection::write(std::function<void()> then) {
  writing_ = true;
  write_slice(0, std::move(then));
}

void Connection::write_slice(std::size_t offset, std::function<void()> then) {
  const std::size_t size = std::min(kSlice, body_out_.size() - offset);
  std::vector<boost::asio::const_buffer> pieces;
  if (offset == 0 && !head_out_.empty()) pieces.emplace_back(boost::asio::buffer(head_out_));
  if (size > 0) pieces.emplace_back(body_out_.data() + offset, size);
  arm(core_->options.write_timeout);
  socket_->write(pieces, [self = shared_from_this(), end = offset + size, then = std::move(then)](
                             const ErrorCode& error, std::size_t sent) mutable {
    self->core_->bytes_sent += sent;
    if (self->state_ == State::kClosed) return;
    if (error) return self->close();
    if (end < self->body_out_.size()) return self->write_slice(end, std::move(then));
    self->disarm();
    self->writing_ = false;
    self->end_write();
    then();
  });
}

void Connection::end_write() {
  head_out_.clear();
  body_out_ = {};
  prepared_ = {};
  // A large body is given back at once, a small buffer serves again.
  if (out_.capacity() > kSmallBuffer) {
    out_ = {};
  } else {
    out_.clear();
  }
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
  if (limit == base::Duration::max()) return disarm();
  deadline_ = std::chrono::steady_clock::now() +
              std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                  std::max(limit, base::Duration::zero()));
  if (deadline_ < timer_at_) wait_for_deadline();
}

void Connection::wait_for_deadline() {
  timer_at_ = deadline_;
  timer_.expires_at(timer_at_);
  timer_.async_wait([weak = weak_from_this()](const ErrorCode& error) {
    const auto self = weak.lock();
    if (error || !self || self->state_ == State::kClosed) return;
    self->timer_at_ = kNever;
    if (self->deadline_ == kNever) return;
    if (std::chrono::steady_clock::now() < self->deadline_) return self->wait_for_deadline();
    self->deadline_ = kNever;
    self->on_deadline();
  });
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
