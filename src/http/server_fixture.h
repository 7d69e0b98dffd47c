// What the tests of the server share.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>

#include "http/client.h"
#include "http/server.h"
#include "support/socket_stream.h"

namespace kollect::http {

inline const base::Context kContext = base::Context::background();

inline std::unique_ptr<Server> serve(Handler handler, ServerOptions options = {}) {
  auto server = Server::start(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << server.error().message;
  return std::move(*server);
}

/// Answers every request with its method, path, query and body.
inline void echo(const std::shared_ptr<const ServerRequest>& request, Reply reply) {
  reply.send(Answer::text(
      200, request->method + " " + request->path + "?" + request->query + " " + request->body));
}

inline Request get(const Server& server, const std::string& path = "/") {
  Request request;
  request.url = fmt::format("http://127.0.0.1:{}{}", server.port(), path);
  return request;
}

/// Sends bytes as they are and reads to the end of the connection.
inline std::string talk(const Server& server, std::string_view bytes, bool finish = false) {
  testing::SocketStream stream(testing::connect_to(fmt::format("127.0.0.1:{}", server.port())));
  EXPECT_TRUE(stream.write_all(bytes));
  if (finish) ::shutdown(stream.socket(), SHUT_WR);
  std::string all;
  for (std::string part = stream.read_some(); !part.empty(); part = stream.read_some()) all += part;
  return all;
}

/// Reads until `text` was seen.
inline std::string read_until(testing::SocketStream& stream, std::string_view text) {
  std::string all;
  while (all.find(text) == std::string::npos) {
    const std::string part = stream.read_some();
    if (part.empty()) break;
    all += part;
  }
  return all;
}

}  // namespace kollect::http
