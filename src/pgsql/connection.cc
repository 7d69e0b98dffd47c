#include "pgsql/connection.h"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "pgsql/error.h"

namespace kollect::pgsql {

namespace {

/// How long one poll lasts at most; deadlines of injected clocks are seen then.
constexpr std::chrono::milliseconds kLongestPoll{1000};

/// Becomes readable when the context is cancelled.
class Alarm {
 public:
  explicit Alarm(const base::Context& context)
      : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), hook_(context.on_cancel([fd = fd_] {
          const std::uint64_t one = 1;
          (void)!::write(fd, &one, sizeof one);
        })) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() {
    hook_.reset();
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  std::shared_ptr<void> hook_;
};

/// Waits for the socket. False: nothing happened yet, look at the context again.
base::Result<> wait_for_socket(const base::Context& context, int socket, short events) {
  const Alarm alarm(context);
  while (true) {
    KL_TRY(context.check());
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::min<base::Duration>(context.remaining(), kLongestPoll));
    std::array<pollfd, 2> fds = {{{socket, events, 0}, {alarm.fd(), POLLIN, 0}}};
    const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno != EINTR) return base::terminal("postgres: poll failed");
    if (ready > 0 && fds[0].revents != 0) return {};
  }
}

void ignore_notice(void* /*unused*/, const PGresult* /*unused*/) {}

std::string_view diagnostic(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

bool is_good(const PGresult* result) {
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_COPY_IN:
    case PGRES_EMPTY_QUERY:
      return true;
    default:
      return false;
  }
}

base::Error error_of(const PGresult* result, std::string_view doing, std::string_view where) {
  // Names of the schema help and tell nothing about values.
  auto object = diagnostic(result, PG_DIAG_CONSTRAINT_NAME);
  if (object.empty()) object = diagnostic(result, PG_DIAG_COLUMN_NAME);
  return statement_error(doing, where, diagnostic(result, PG_DIAG_SQLSTATE), object);
}

}  // namespace

void Answer::Clear::operator()(pg_result* handle) const {
  PQclear(handle);
}

int Answer::rows() const {
  return PQntuples(handle_.get());
}

std::string_view Answer::field(int row, int column) const {
  return {PQgetvalue(handle_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(handle_.get(), row, column))};
}

bool Answer::is_null(int row, int column) const {
  return PQgetisnull(handle_.get(), row, column) != 0;
}

std::uint64_t Answer::affected() const {
  const std::string_view text = PQcmdTuples(handle_.get());
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

void Connection::Finish::operator()(pg_conn* handle) const {
  PQfinish(handle);
}

base::Result<Connection> Connection::open(const base::Context& context,
                                          const std::vector<Setting>& settings) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const Setting& setting : settings) {
    names.push_back(setting.name.c_str());
    values.push_back(setting.value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  KL_TRY(context.check());
  Connection out(PQconnectStartParams(names.data(), values.data(), 0));
  PGconn* handle = out.handle_.get();
  if (handle == nullptr) return base::terminal("postgres: out of memory");
  PQsetNoticeReceiver(handle, ignore_notice, nullptr);
  // The server's messages shrink to their SQLSTATE: nothing else of them is wanted.
  PQsetErrorVerbosity(handle, PQERRORS_SQLSTATE);
  if (PQstatus(handle) == CONNECTION_BAD) return connect_error(PQerrorMessage(handle));
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (status != PGRES_POLLING_OK) {
    if (status == PGRES_POLLING_FAILED) return connect_error(PQerrorMessage(handle));
    const int socket = PQsocket(handle);
    if (socket < 0) return connect_error(PQerrorMessage(handle));
    KL_TRY(wait_for_socket(context, socket, status == PGRES_POLLING_READING ? POLLIN : POLLOUT));
    status = PQconnectPoll(handle);
  }
  if (PQsetnonblocking(handle, 1) != 0) return connect_error(PQerrorMessage(handle));
  return out;
}

int Connection::server_version() const {
  return PQserverVersion(handle_.get());
}

/// Tells the server to stop; its answer would come too late for anybody.
void Connection::give_up() {
  alive_ = false;
  if (!cancels_) return;
  const std::unique_ptr<PGcancel, decltype(&PQfreeCancel)> cancel(PQgetCancel(handle_.get()),
                                                                  &PQfreeCancel);
  std::array<char, 256> message{};
  if (cancel != nullptr) PQcancel(cancel.get(), message.data(), message.size());
}

base::Error Connection::lost(std::string_view doing) {
  alive_ = false;
  return lost_error(doing, where_);
}

base::Result<> Connection::wait(const base::Context& context, bool for_write) {
  const auto events = static_cast<short>(for_write ? POLLIN | POLLOUT : POLLIN);
  auto result = wait_for_socket(context, PQsocket(handle_.get()), events);
  if (!result.has_value()) give_up();
  return result;
}

base::Result<> Connection::flush(const base::Context& context) {
  while (true) {
    const int left = PQflush(handle_.get());
    if (left == 0) return {};
    if (left < 0) return lost("talking to");
    KL_TRY(wait(context, true));
    // The server may be waiting for us to read before it reads on.
    if (PQconsumeInput(handle_.get()) == 0) return lost("talking to");
  }
}

base::Result<Answer> Connection::next_answer(const base::Context& context, std::string_view doing) {
  while (PQisBusy(handle_.get()) != 0) {
    KL_TRY(wait(context, false));
    if (PQconsumeInput(handle_.get()) == 0) return lost(doing);
  }
  return Answer(PQgetResult(handle_.get()));
}

/// Reads all answers of a command; the first failure counts, else the last answer.
base::Result<Answer> Connection::last_answer(const base::Context& context, std::string_view doing) {
  Answer last;
  base::Result<> failure;
  while (true) {
    KL_ASSIGN(Answer answer, next_answer(context, doing));
    if (answer.handle() == nullptr) break;
    if (PQresultStatus(answer.handle()) == PGRES_COPY_IN) return answer;
    if (!is_good(answer.handle()) && failure.has_value()) {
      failure = error_of(answer.handle(), doing, where_);
    }
    last = std::move(answer);
  }
  if (PQstatus(handle_.get()) == CONNECTION_BAD) return lost(doing);
  if (!failure.has_value()) return failure.error();
  return last;
}

base::Result<Answer> Connection::run(const base::Context& context, std::string_view doing,
                                     const std::string& sql) {
  if (!alive_ || PQsendQuery(handle_.get(), sql.c_str()) == 0) return lost(doing);
  KL_TRY(flush(context));
  return last_answer(context, doing);
}

base::Result<Answer> Connection::query(const base::Context& context, std::string_view doing,
                                       const std::string& sql,
                                       const std::vector<std::string>& parameters, Format format) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  if (!alive_ ||
      PQsendQueryParams(handle_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                        values.data(), nullptr, nullptr, format == Format::kBinary ? 1 : 0) == 0) {
    return lost(doing);
  }
  KL_TRY(flush(context));
  return last_answer(context, doing);
}

base::Result<> Connection::copy_begin(const base::Context& context, std::string_view doing,
                                      const std::string& sql) {
  copying_ = doing;
  KL_TRY(run(context, doing, sql));
  in_copy_ = true;
  return {};
}

base::Result<> Connection::copy_data(const base::Context& context, std::string_view bytes) {
  while (true) {
    const int queued = PQputCopyData(handle_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (queued < 0) return lost(copying_);
    // What is queued goes out before more is taken, so that a slow server slows us down instead of
    // filling our memory.
    KL_TRY(flush(context));
    if (queued == 1) return {};
  }
}

base::Result<> Connection::copy_end(const base::Context& context) {
  while (true) {
    const int queued = PQputCopyEnd(handle_.get(), nullptr);
    if (queued < 0) return lost(copying_);
    KL_TRY(flush(context));
    if (queued == 1) break;
  }
  in_copy_ = false;
  KL_TRY(last_answer(context, copying_));
  return {};
}

void Connection::roll_back(const base::Context& context) {
  if (!alive_) return;
  if (in_copy_) {
    in_copy_ = false;
    const bool ended = PQputCopyEnd(handle_.get(), "given up") == 1 && flush(context).has_value();
    // The answer is the error that was asked for.
    const bool answered = ended && (last_answer(context, copying_).has_value() || alive_);
    if (!answered) {
      alive_ = false;
      return;
    }
  }
  if (!run(context, "rolling back", "ROLLBACK").has_value()) alive_ = false;
}

base::Result<std::size_t> Connection::take_notifications() {
  if (!alive_ || PQconsumeInput(handle_.get()) == 0) return lost("listening to");
  std::size_t count = 0;
  while (PGnotify* one = PQnotifies(handle_.get())) {
    PQfreemem(one);
    ++count;
  }
  return count;
}

std::string quote_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

}  // namespace kollect::pgsql
