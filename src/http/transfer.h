// One request on its way: the curl handle, its settings and the callbacks. Used by the engine
// alone.
#pragma once

#include <curl/curl.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/context.h"
#include "base/result.h"
#include "http/client.h"

namespace kollect::http {

struct EasyDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct SlistDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

class Transfer {
 public:
  Transfer(base::Context context, Request request, StreamHandler handler);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// Turns the request into curl options. Errors: configuration (URL, header values), denied
  /// (guard).
  base::Result<> prepare();
  /// Hands the result to the owner; once.
  void finish(base::Result<Response> result);
  /// The answer or the error for curl's verdict.
  base::Result<Response> conclude(CURLcode code);
  /// Why the transfer must stop now, if it must: cancelled, past its deadline, stalled.
  std::optional<base::Error> overdue() const;
  /// Time until overdue() may change its answer by time alone.
  base::Duration time_left() const;

  /// Goes on reading when the receiver has caught up. I/O thread.
  void resume_if_wanted();
  /// `wake` is called when the receiver has caught up.
  void bind_flow(std::function<void()> wake);

  [[nodiscard]] CURL* handle() const { return easy_.get(); }
  [[nodiscard]] const base::Context& context() const { return context_; }
  void hold_hook(std::shared_ptr<void> hook) { hook_ = std::move(hook); }

 private:
  static std::size_t write_callback(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t header_callback(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t open_socket_callback(void* self, curlsocktype purpose,
                                            curl_sockaddr* address);
  static int socket_options_callback(void* self, curl_socket_t socket, curlsocktype purpose);
  static int before_request_callback(void* self, char* remote_ip, char* local_ip, int remote_port,
                                     int local_port);
  static int progress_callback(void* self, curl_off_t down_total, curl_off_t down,
                               curl_off_t up_total, curl_off_t up);

  base::Result<> prepare_url();
  base::Result<> prepare_method();
  base::Result<> prepare_headers();
  base::Result<> prepare_addresses(const std::string& host, const std::string& port);
  base::Result<> prepare_tls();
  void prepare_proxy();
  void prepare_callbacks();
  base::Result<> add_header(const std::string& name, const std::string& value);
  bool receive(std::string_view data);
  void receive_header(std::string_view line);
  [[nodiscard]] base::Duration stall_timeout() const;
  [[nodiscard]] bool is_held_up() const;
  bool address_allowed(std::string_view address);
  void note_progress() { last_progress_ = context_.clock().steady_now(); }
  [[nodiscard]] std::string label() const;
  [[nodiscard]] std::string_view body() const;
  template <class Value>
  void set(CURLoption option, Value value);

  base::Context context_;
  Request request_;
  StreamHandler handler_;
  Response response_;
  std::unique_ptr<curl_slist, SlistDeleter> headers_;
  std::unique_ptr<curl_slist, SlistDeleter> connect_to_;
  std::unique_ptr<curl_slist, SlistDeleter> resolve_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
  std::size_t received_ = 0;
  curl_off_t uploaded_ = 0;
  base::SteadyTime last_progress_;
  bool headed_ = false;                     ///< the final head is there
  bool held_ = false;                       ///< curl was told to stop reading
  std::optional<base::Error> stop_reason_;  ///< set by a callback that made curl stop
  bool broken_ = false;                     ///< stopped while curl was not looking
  CURLcode setup_error_ = CURLE_OK;
  std::shared_ptr<void> hook_;
  // Last: the handle's end may still look at what stands above.
  std::unique_ptr<CURL, EasyDeleter> easy_;
};

}  // namespace kollect::http
