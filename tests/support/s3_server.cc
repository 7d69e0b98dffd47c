#include "support/s3_server.h"

namespace kollect::testing {

S3Server& S3Server::shared() {
  static S3Server server("shared");
  return server;
}

S3Server& S3Server::shared_tls() {
  static S3Server server("tls", true);
  return server;
}

S3Server::S3Server(const std::string& name, bool tls)
    : script_("s3.sh", name,
              tls ? std::map<std::string, std::string>{{"TLS", "1"}}
                  : std::map<std::string, std::string>()) {}

}  // namespace kollect::testing
