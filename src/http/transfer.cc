#include "http/transfer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <charconv>

#include "base/strings.h"
#include "http/curl_error.h"

namespace kollect::http {

namespace {

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string url_part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

bool has_line_break(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

// curl keeps its own copy: connections outlive requests.
curl_blob blob_of(const std::string& text) {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};
}

long to_millis(base::Duration duration) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<long>(std::clamp<std::int64_t>(ms, 1, 86'400'000));
}

}  // namespace

Transfer::Transfer(base::Context context, Request request, StreamHandler handler)
    : context_(std::move(context)),
      request_(std::move(request)),
      handler_(std::move(handler)),
      last_progress_(context_.clock().steady_now()),
      easy_(curl_easy_init()) {}

template <class Value>
void Transfer::set(CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy_.get(), option, value);
  if (code != CURLE_OK && setup_error_ == CURLE_OK) setup_error_ = code;
}

base::Result<> Transfer::prepare() {
  if (!easy_) return base::terminal("out of memory for a request");
  KL_TRY(context_.check());
  set(CURLOPT_NOSIGNAL, 1L);
  // 7.88 can take a cut HTTP/2 stream for a complete one and stalls after pauses.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, 30L);
  set(CURLOPT_TCP_KEEPINTVL, 10L);
  set(CURLOPT_BUFFERSIZE, static_cast<long>(request_.read_buffer_bytes));
  set(CURLOPT_CONNECTTIMEOUT_MS, to_millis(request_.connect_timeout));
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  KL_TRY(prepare_method());
  KL_TRY(prepare_headers());
  KL_TRY(prepare_url());
  KL_TRY(prepare_tls());
  prepare_proxy();
  prepare_callbacks();
  if (setup_error_ != CURLE_OK) {
    return map_curl_error(setup_error_, label(), curl_easy_strerror(setup_error_));
  }
  return {};
}

base::Result<> Transfer::prepare_url() {
  std::unique_ptr<CURLU, UrlDeleter> url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, request_.url.c_str(), 0) != CURLUE_OK) {
    return base::configuration(fmt::format("not a usable URL: {}", redact_url(request_.url)));
  }
  if (request_.guard) {
    if (auto reason = request_.guard->refuse_url(request_.url)) {
      return base::denied(fmt::format("{}: {}", label(), *reason), "address-refused");
    }
  }
  const std::string host = url_part(url.get(), CURLUPART_HOST);
  const std::string port = url_part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  KL_TRY(prepare_addresses(host, port));
  if (!request_.tls || request_.tls->server_name.empty()) {
    set(CURLOPT_URL, request_.url.c_str());
    return {};
  }
  // curl takes the verified name and SNI from the URL; the name goes there and the connection
  // elsewhere.
  const std::string& name = request_.tls->server_name;
  const bool explicit_port = !url_part(url.get(), CURLUPART_PORT, CURLU_NO_DEFAULT_PORT).empty();
  KL_TRY(add_header("Host", explicit_port ? host + ":" + port : host));
  if (curl_url_set(url.get(), CURLUPART_HOST, name.c_str(), 0) != CURLUE_OK) {
    return base::configuration(fmt::format("not a usable TLS server name: \"{}\"", name));
  }
  connect_to_.reset(
      curl_slist_append(nullptr, fmt::format("{}:{}:{}:{}", name, port, host, port).c_str()));
  set(CURLOPT_CONNECT_TO, connect_to_.get());
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_URL, url_part(url.get(), CURLUPART_URL).c_str());
  return {};
}

base::Result<> Transfer::prepare_addresses(const std::string& host, const std::string& port) {
  if (request_.addresses.empty()) return {};
  // "+": the entry goes after a while, as one of the system's resolver.
  const auto entry = fmt::format("+{}:{}:{}", host, port, fmt::join(request_.addresses, ","));
  resolve_.reset(curl_slist_append(nullptr, entry.c_str()));
  if (!resolve_) return base::terminal("out of memory for a request");
  set(CURLOPT_RESOLVE, resolve_.get());
  return {};
}

std::string_view Transfer::body() const {
  return request_.borrowed_body.empty() ? std::string_view(request_.body) : request_.borrowed_body;
}

base::Result<> Transfer::prepare_method() {
  const std::string& method = request_.method;
  if (method.empty() || has_line_break(method) || method.find(' ') != std::string::npos) {
    return base::configuration("not a usable request method");
  }
  if (method == "GET" && body().empty()) {
    set(CURLOPT_HTTPGET, 1L);
    return {};
  }
  if (method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
    return {};
  }
  const bool sends_body =
      !body().empty() || method == "POST" || method == "PUT" || method == "PATCH";
  if (sends_body) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body().size()));
    set(CURLOPT_POSTFIELDS, body().data());
  }
  set(CURLOPT_CUSTOMREQUEST, method.c_str());
  return {};
}

base::Result<> Transfer::add_header(const std::string& name, const std::string& value) {
  if (name.empty() || has_line_break(name) || has_line_break(value) ||
      name.find(':') != std::string::npos) {
    return base::configuration(fmt::format("{}: a header has a line break or no name", label()));
  }
  // "Name;" is curl's spelling of a header without a value.
  const std::string line = value.empty() ? name + ";" : name + ": " + value;
  curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
  if (longer == nullptr) return base::terminal("out of memory for a request");
  (void)headers_.release();
  headers_.reset(longer);
  return {};
}

base::Result<> Transfer::prepare_headers() {
  bool has_type = false;
  for (const auto& [name, value] : request_.headers) {
    has_type = has_type || base::iequals(name, "content-type");
    KL_TRY(add_header(name, value));
  }
  if (request_.bearer_token && !request_.bearer_token->empty()) {
    KL_TRY(add_header("Authorization", "Bearer " + request_.bearer_token->reveal()));
  } else if (request_.basic_auth) {
    set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    set(CURLOPT_USERNAME, request_.basic_auth->first.c_str());
    set(CURLOPT_PASSWORD, request_.basic_auth->second.reveal().c_str());
  }
  // Without a value behind the colon curl leaves its own header out.
  for (const char* unwanted : {"Expect:", has_type ? "" : "Content-Type:"}) {
    if (*unwanted == '\0') continue;
    curl_slist* longer = curl_slist_append(headers_.get(), unwanted);
    if (longer == nullptr) return base::terminal("out of memory for a request");
    (void)headers_.release();
    headers_.reset(longer);
  }
  set(CURLOPT_HTTPHEADER, headers_.get());
  return {};
}

base::Result<> Transfer::prepare_tls() {
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!request_.tls) return {};
  const TlsOptions& tls = *request_.tls;
  if (tls.insecure_skip_verify) {
    set(CURLOPT_SSL_VERIFYPEER, 0L);
    set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!tls.ca_pem.empty()) {
    curl_blob ca = blob_of(tls.ca_pem);
    set(CURLOPT_CAINFO_BLOB, &ca);
    // The built-in folder of the system's authorities would be trusted beside the given ones.
    set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  if (!tls.client_cert_pem.empty()) {
    if (tls.client_key_pem.empty()) {
      return base::configuration("a client certificate needs its key");
    }
    curl_blob cert = blob_of(tls.client_cert_pem);
    curl_blob key = blob_of(tls.client_key_pem.reveal());
    set(CURLOPT_SSLCERTTYPE, "PEM");
    set(CURLOPT_SSLCERT_BLOB, &cert);
    set(CURLOPT_SSLKEYTYPE, "PEM");
    set(CURLOPT_SSLKEY_BLOB, &key);
  }
  return {};
}

void Transfer::prepare_proxy() {
  // Set even when empty: curl must not take a proxy from the environment.
  std::string proxy = request_.proxy_url;
  // As everywhere else in this trade the proxy resolves the name.
  if (proxy.starts_with("socks5://")) proxy.replace(0, 9, "socks5h://");
  set(CURLOPT_PROXY, proxy.c_str());
  set(CURLOPT_NOPROXY, "");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (proxy.empty()) return;
  set(CURLOPT_HTTPPROXYTUNNEL, request_.url.starts_with("https:") ? 1L : 0L);
  if (request_.tls && request_.tls->insecure_skip_verify) {
    set(CURLOPT_PROXY_SSL_VERIFYPEER, 0L);
    set(CURLOPT_PROXY_SSL_VERIFYHOST, 0L);
  }
  if (request_.tls && !request_.tls->ca_pem.empty()) {
    // A proxy of the cluster's own authority, or of the system's.
    curl_blob ca = blob_of(request_.tls->ca_pem);
    set(CURLOPT_PROXY_CAINFO_BLOB, &ca);
  }
}

void Transfer::prepare_callbacks() {
  set(CURLOPT_WRITEFUNCTION, &Transfer::write_callback);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_HEADERFUNCTION, &Transfer::header_callback);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_SOCKOPTFUNCTION, &Transfer::socket_options_callback);
  set(CURLOPT_SOCKOPTDATA, this);
  if (request_.guard) {
    set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket_callback);
    set(CURLOPT_OPENSOCKETDATA, this);
    // A kept connection may have been opened for a request without this guard.
    set(CURLOPT_PREREQFUNCTION, &Transfer::before_request_callback);
    set(CURLOPT_PREREQDATA, this);
  }
  if (!body().empty()) {
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::progress_callback);
    set(CURLOPT_XFERINFODATA, this);
  }
}

std::size_t Transfer::write_callback(char* data, std::size_t size, std::size_t count, void* self) {
  const std::size_t bytes = size * count;
  auto* transfer = static_cast<Transfer*>(self);
  if (transfer->request_.flow && transfer->request_.flow->paused()) {
    transfer->held_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  return transfer->receive({data, bytes}) ? bytes : 0;
}

bool Transfer::receive(std::string_view data) {
  note_progress();
  if (data.size() > request_.max_body_bytes - received_) {
    stop_reason_ = base::terminal(
        fmt::format("{}: the answer is longer than {} bytes", label(), request_.max_body_bytes),
        "too-large");
    return false;
  }
  received_ += data.size();
  if (handler_.on_data) {
    if (handler_.on_data(response_, data)) return true;
    stop_reason_ = base::cancelled(fmt::format("{}: stopped by the reader", label()), "cancelled");
    return false;
  }
  if (response_.body.empty()) {
    std::size_t expected = 0;
    const std::string length = response_.header("content-length").value_or("");
    std::from_chars(length.data(), length.data() + length.size(), expected);
    response_.body.reserve(std::min({expected, request_.max_body_bytes, std::size_t{256} << 20U}));
  }
  response_.body.append(data);
  return true;
}

std::size_t Transfer::header_callback(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<Transfer*>(self)->receive_header({data, size * count});
  return size * count;
}

void Transfer::receive_header(std::string_view line) {
  note_progress();
  line = base::trim(line);
  if (headed_) return;  // trailers
  if (line.empty()) {
    headed_ = response_.status >= 200;
    if (headed_ && handler_.on_head) handler_.on_head(response_);
    return;
  }
  if (line.starts_with("HTTP/")) {
    // A new head: that of an interim answer (100) is forgotten.
    response_.headers.clear();
    const auto blank = line.find(' ');
    if (blank != std::string_view::npos) {
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), response_.status);
    }
    return;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  response_.headers.emplace(base::to_lower(base::trim(line.substr(0, colon))),
                            base::trim(line.substr(colon + 1)));
}

bool Transfer::address_allowed(std::string_view address) {
  auto reason = request_.guard->refuse_address(address);
  if (!reason) return true;
  stop_reason_ = base::denied(fmt::format("{}: {}", label(), *reason), "address-refused");
  return false;
}

curl_socket_t Transfer::open_socket_callback(void* self, curlsocktype /*purpose*/,
                                             curl_sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* raw = nullptr;
  if (address->family == AF_INET) {
    raw = &reinterpret_cast<const sockaddr_in*>(&address->addr)->sin_addr;
  } else if (address->family == AF_INET6) {
    raw = &reinterpret_cast<const sockaddr_in6*>(&address->addr)->sin6_addr;
  }
  if (raw == nullptr || inet_ntop(address->family, raw, text.data(), text.size()) == nullptr ||
      !static_cast<Transfer*>(self)->address_allowed(text.data())) {
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int Transfer::before_request_callback(void* self, char* remote_ip, char* /*local_ip*/,
                                      int /*remote_port*/, int /*local_port*/) {
  return static_cast<Transfer*>(self)->address_allowed(remote_ip) ? CURL_PREREQFUNC_OK
                                                                  : CURL_PREREQFUNC_ABORT;
}

int Transfer::socket_options_callback(void* self, curl_socket_t socket, curlsocktype /*purpose*/) {
  // A peer that vanished without a word is noticed by unacknowledged bytes, not after minutes.
  const auto millis =
      static_cast<unsigned>(to_millis(static_cast<Transfer*>(self)->request_.stall_timeout));
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &millis, sizeof millis);
  return CURL_SOCKOPT_OK;
}

int Transfer::progress_callback(void* self, curl_off_t /*down_total*/, curl_off_t /*down*/,
                                curl_off_t /*up_total*/, curl_off_t up) {
  auto* transfer = static_cast<Transfer*>(self);
  if (up > transfer->uploaded_) {
    transfer->uploaded_ = up;
    transfer->note_progress();
  }
  return 0;
}

void Transfer::bind_flow(std::function<void()> wake) {
  if (request_.flow) request_.flow->bind(std::move(wake));
}

void Transfer::resume_if_wanted() {
  if (!request_.flow || request_.flow->paused()) return;
  if (request_.flow->resumed_.exchange(false)) note_progress();
  if (!std::exchange(held_, false)) return;
  // Delivers what was kept back, from within this call: whoever takes it may hold it up again.
  const CURLcode code = curl_easy_pause(easy_.get(), CURLPAUSE_CONT);
  if (code == CURLE_OK) return;
  broken_ = true;
  if (!stop_reason_) stop_reason_ = map_curl_error(code, label(), curl_easy_strerror(code));
}

void Transfer::finish(base::Result<Response> result) {
  hook_.reset();
  bind_flow(nullptr);
  if (auto done = std::exchange(handler_.done, nullptr)) done(std::move(result));
}

base::Result<Response> Transfer::conclude(CURLcode code) {
  if (code == CURLE_OK) return std::move(response_);
  if (stop_reason_) return *stop_reason_;
  const char* text = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
  return map_curl_error(code, label(), text);
}

std::optional<base::Error> Transfer::overdue() const {
  if (auto state = context_.check(); !state) return state.error().with_prefix(label());
  if (broken_) return stop_reason_;
  const base::Duration limit = stall_timeout();
  if (!is_held_up() && context_.clock().steady_now() - last_progress_ >= limit) {
    return base::retryable(
        fmt::format("{}: no byte received for {}", label(), base::format_duration(limit)),
        "timeout");
  }
  return std::nullopt;
}

base::Duration Transfer::time_left() const {
  if (is_held_up()) return context_.remaining();
  const base::Duration idle = context_.clock().steady_now() - last_progress_;
  return std::min(context_.remaining(), std::max(base::Duration::zero(), stall_timeout() - idle));
}

bool Transfer::is_held_up() const {
  return held_ || (request_.flow && (request_.flow->paused() || request_.flow->resumed_));
}

base::Duration Transfer::stall_timeout() const {
  const base::Duration replaced(request_.flow ? request_.flow->stall_timeout_.load() : 0);
  return replaced > base::Duration::zero() ? replaced : request_.stall_timeout;
}

std::string Transfer::label() const {
  const std::string_view url = request_.url;
  // Queries hold continue tokens and signatures: they help nobody in a message.
  return fmt::format("{} {}", request_.method, redact_url(url.substr(0, url.find('?'))));
}

std::optional<std::string> Response::header(std::string_view lower_name) const {
  const auto it = headers.find(std::string(lower_name));
  if (it == headers.end()) return std::nullopt;
  return it->second;
}

}  // namespace kollect::http
