#include "support/azure_server.h"

namespace kollect::testing {

namespace {

std::map<std::string, std::string> settings(bool tls) {
  std::map<std::string, std::string> out;
  if (tls) out["TLS"] = "1";
  return out;
}

}  // namespace

AzureServer& AzureServer::shared() {
  static AzureServer server("shared");
  return server;
}

AzureServer& AzureServer::shared_tls() {
  static AzureServer server("shared-tls", true);
  return server;
}

AzureServer::AzureServer(const std::string& name, bool tls)
    : script_("azure.sh", name, settings(tls)) {}

}  // namespace kollect::testing
