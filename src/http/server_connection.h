// One connection of the server: requests in, answers out, one after the other. Internal to the
// room.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "http/quick_request.h"
#include "http/request_reader.h"
#include "http/server.h"
#include "http/server_socket.h"

namespace kollect::http {

/// What the connections of a server share. Outlives the server as long as a Reply does.
struct ServerCore {
  ServerCore(ServerOptions server_options, Handler server_handler, const base::Logger* logger)
      : options(std::move(server_options)), handler(std::move(server_handler)), log(logger) {}

  /// Runs `task` on the I/O thread; dropped once the server has ended.
  template <class Task>
  void post(Task task) {
    const std::scoped_lock lock(mutex);
    if (!ended) boost::asio::post(io, std::move(task));
  }

  ServerOptions options;
  Handler handler;
  const base::Logger* log;
  boost::asio::io_context io{1};
  boost::asio::thread_pool* workers = nullptr;  ///< while the I/O thread runs
  std::mutex mutex;
  bool ended = false;  ///< guarded by `mutex`

  /// "Date: ...", with its line end. I/O thread only.
  const std::string& date_line();

  // I/O thread only:
  bool stopping = false;
  std::unordered_set<Connection*> open;
  Connection* first_idle = nullptr;  ///< idle for the longest time
  Connection* last_idle = nullptr;
  std::function<void()> on_change;  ///< a connection has closed or become idle
  QuickRequest quick_request;
  std::time_t date_of = 0;
  std::string date_text;

  std::atomic<std::uint64_t> connections = 0;
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> slow = 0;
  std::atomic<std::uint64_t> bytes_sent = 0;
};

/// Lives as long as something is under way on it. All on the I/O thread unless said.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerCore> core, std::unique_ptr<Socket> socket, std::string peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void begin();
  void close();
  /// The server is stopping: ends at once what waits, and everything else behind its answer.
  void wind_up();
  /// A request is under way, its head at least.
  [[nodiscard]] bool busy() const;

  /// Any thread: the answer to request number `turn`; only the first counts.
  void answer(std::uint64_t turn, Answer answer);
  /// Any thread: there will be no answer.
  void abandon(std::uint64_t turn);

 private:
  enum class State { kHandshake, kReading, kHandling, kAnswering, kStreaming, kLingering, kClosed };
  struct Wake;
  struct Pulled {
    BodySource::Pull pull;
    std::string data;
  };

  void keep_reading();
  void resize_buffer(std::size_t got);
  void on_read(const boost::system::error_code& error, std::size_t size);
  /// Handles what was read; called again meanwhile it goes on behind the present request.
  void parse();
  void parse_next();
  /// Answers a plain request by the quick handler; false: it is not one, or has no such answer.
  bool answer_quickly();
  void go_on_reading();
  void enter_idle();
  void leave_idle();
  void dispatch();
  void refuse();
  void handle(std::uint64_t turn, const std::shared_ptr<const ServerRequest>& request);

  void on_answer(Answer answer);
  void on_prepared(PreparedAnswer prepared);
  void make_head(const Answer& answer, bool chunked);
  void end_head();
  /// Sends `head_out_` and `body_out_`, at once what goes at once.
  void send_answer();
  void end_write();
  void begin_stream(std::shared_ptr<BodySource> source);
  void pull();
  void pump();
  void write_pulled();
  /// Writes `head_out_` and `body_out_` slice by slice, then calls `then`.
  void write(std::function<void()> then);
  void write_slice(std::size_t offset, std::function<void()> then);
  void finish_exchange();
  void linger();

  void arm(base::Duration limit);
  void disarm() { deadline_ = kNever; }
  void wait_for_deadline();
  void on_deadline();

  std::shared_ptr<ServerCore> core_;
  std::unique_ptr<Socket> socket_;
  // Most deadlines are replaced long before they come: the timer is moved only to an earlier time,
  // and looks at the deadline when it fires.
  using Time = boost::asio::steady_timer::time_point;
  static constexpr Time kNever = Time::max();
  boost::asio::steady_timer timer_;
  Time deadline_ = kNever;
  Time timer_at_ = kNever;  ///< when the timer fires
  std::string peer_;
  std::string client_name_;

  State state_ = State::kHandshake;
  RequestReader reader_;
  RequestReader::State armed_for_ = RequestReader::State::kFailed;
  std::vector<char> buffer_;
  std::string in_;
  bool parsing_ = false;
  bool parse_again_ = false;
  Connection* idle_before_ = nullptr;
  Connection* idle_behind_ = nullptr;
  bool idle_ = false;
  bool reading_ = false;
  bool peer_gone_ = false;
  bool continue_sent_ = false;

  std::uint64_t turn_ = 0;  ///< requests so far
  bool keep_alive_ = false;
  bool old_protocol_ = false;
  bool head_only_ = false;

  std::string head_out_;
  std::string out_;
  PreparedAnswer prepared_;
  std::string_view body_out_;  ///< of `out_` or `prepared_`
  bool writing_ = false;

  std::shared_ptr<BodySource> source_;
  std::shared_ptr<Wake> wake_;
  bool started_ = false;
  bool pulling_ = false;
  BodySource::Pull current_;     ///< of what was written last or is being written
  std::optional<Pulled> ready_;  ///< pulled, not yet being written
};

}  // namespace kollect::http
