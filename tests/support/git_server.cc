#include "support/git_server.h"

namespace kollect::testing {

GitServer& GitServer::shared() {
  static GitServer server;
  return server;
}

GitServer::GitServer() : script_("git.sh", "shared") {}

std::filesystem::path GitServer::make_repository(const std::string& name) const {
  script_.run("repo", {name});
  return std::filesystem::path(script_.value("GIT_ROOT")) / (name + ".git");
}

}  // namespace kollect::testing
