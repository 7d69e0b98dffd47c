// One connection of the server: requests in, answers out, one after the other. Internal to the
// room.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

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

  // I/O thread only:
  bool stopping = false;
  std::unordered_set<Connection*> open;
  std::function<void()> on_closed;  ///< after a connection left `open`

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
  void on_read(const boost::system::error_code& error, std::size_t size);
  void parse();
  void go_on_reading();
  void dispatch();
  void refuse();
  void handle(std::uint64_t turn, const std::shared_ptr<const ServerRequest>& request);

  void on_answer(Answer answer);
  [[nodiscard]] std::string head_of(const Answer& answer, bool chunked) const;
  void begin_stream(std::shared_ptr<BodySource> source);
  void pull();
  void pump();
  void write_pulled();
  /// Writes `head_out_` and `out_` slice by slice, then calls `then`.
  void write(std::function<void()> then);
  void write_slice(std::size_t offset, std::function<void()> then);
  void finish_exchange();
  void linger();

  void arm(base::Duration limit);
  void disarm();
  void on_deadline();

  std::shared_ptr<ServerCore> core_;
  std::unique_ptr<Socket> socket_;
  boost::asio::steady_timer timer_;
  std::uint64_t timer_turn_ = 0;
  std::string peer_;
  std::string client_name_;

  State state_ = State::kHandshake;
  RequestReader reader_;
  RequestReader::State armed_for_ = RequestReader::State::kFailed;
  std::array<char, 8192> buffer_{};
  std::string in_;
  bool reading_ = false;
  bool peer_gone_ = false;
  bool continue_sent_ = false;

  std::uint64_t turn_ = 0;  ///< requests so far
  bool keep_alive_ = false;
  bool old_protocol_ = false;
  bool head_only_ = false;

  std::string head_out_;
  std::string out_;
  bool writing_ = false;

  std::shared_ptr<BodySource> source_;
  std::shared_ptr<Wake> wake_;
  bool started_ = false;
  bool pulling_ = false;
  BodySource::Pull current_;     ///< of what was written last or is being written
  std::optional<Pulled> ready_;  ///< pulled, not yet being written
};

}  // namespace kollect::http
