// A real S3 server for tests of label "server" (scripts/servers/s3.sh).
#pragma once

#include <filesystem>
#include <string>

#include "support/server_script.h"

namespace kollect::testing {

/// Aborts the program when the server cannot be started: such tests must not be skipped.
class S3Server {
 public:
  /// One instance per test program and scheme, started at the first call and stopped at exit.
  static S3Server& shared();
  static S3Server& shared_tls();
  /// An instance of one's own, for tests that kill it.
  explicit S3Server(const std::string& name, bool tls = false);

  void kill() const { script_.run("kill"); }
  /// Starts again on the same data and port.
  void restart() const { script_.run("start"); }

  [[nodiscard]] std::string url() const { return script_.value("S3_ENDPOINT"); }
  [[nodiscard]] std::string key() const { return script_.value("AWS_ACCESS_KEY_ID"); }
  [[nodiscard]] std::string secret() const { return script_.value("AWS_SECRET_ACCESS_KEY"); }
  /// A user without rights on buckets of others.
  [[nodiscard]] std::string other_key() const { return script_.value("S3_OTHER_KEY"); }
  [[nodiscard]] std::string other_secret() const { return script_.value("S3_OTHER_SECRET"); }
  [[nodiscard]] std::filesystem::path ca_file() const { return script_.value("S3_CA"); }
  /// Objects as files: folder of the bucket, then the key.
  [[nodiscard]] std::filesystem::path data() const { return script_.value("S3_DATA"); }

 private:
  ServerScript script_;
};

}  // namespace kollect::testing
