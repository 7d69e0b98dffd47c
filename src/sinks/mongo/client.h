// A connection to MongoDB by its URI (spec: sinks 12, 16).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sinks/mongo/access.h"
#include "sinks/mongo/dialer.h"
#include "sinks/mongo/handles.h"

namespace kollect::sinks::mongo {

/// libmongoc's client for one thread. The first use connects.
class Client {
 public:
  /// Looks SRV records up and checks the hosts.
  static base::Result<std::unique_ptr<Client>> open(const base::Context& context,
                                                    const Access& access);

  [[nodiscard]] mongoc_client_t* get() { return client_.get(); }
  /// What is done from now on ends with `context`.
  void begin(const base::Context& context);

  /// The error that libmongoc met while `doing` something with `where` (a namespace, empty for
  /// none). Nothing that a server said is repeated.
  [[nodiscard]] base::Error failed(std::string_view doing, std::string_view where,
                                   const bson_error_t& error) const;
  /// The same for an error code of the server.
  [[nodiscard]] static base::Error refused(std::string_view doing, std::string_view where,
                                           std::int64_t code);
  /// Runs a command of `database`; the reply is in `reply`.
  base::Result<> command(std::string_view doing, const std::string& database, const Bson& command,
                         Bson& reply);

 private:
  Client() = default;
  std::unique_ptr<Dialer> dialer_;
  base::Context context_ = base::Context::background();  ///< of the last begin()
  Handle<mongoc_client_t> client_;  // goes before the dialer that its streams use
};

}  // namespace kollect::sinks::mongo
