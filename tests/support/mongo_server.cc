#include "support/mongo_server.h"

#include <fmt/format.h>

namespace kollect::testing {

MongoServer& MongoServer::shared() {
  static MongoServer server("shared");
  return server;
}

MongoServer::MongoServer(const std::string& name) : script_("mongo.sh", name) {}

std::string MongoServer::uri(const std::string& user, const std::string& password,
                             const std::string& host) const {
  return fmt::format("mongodb://{}:{}@{}:{}/?authSource=admin&tls=true", user, password, host,
                     port());
}

}  // namespace kollect::testing
