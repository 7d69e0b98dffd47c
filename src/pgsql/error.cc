#include "pgsql/error.h"

#include <array>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::pgsql {

namespace {

using base::ErrorKind;

struct Meaning {
  std::string_view prefix;  ///< class or whole SQLSTATE; the first that fits counts
  ErrorKind kind;
  std::string_view reason;
  std::string_view text;
};

constexpr std::array<Meaning, 33> kMeanings = {{
    {"57014", ErrorKind::kRetryable, "timeout", "a statement ran past statement_timeout"},
    {"40001", ErrorKind::kRetryable, "lock-conflict", "another writer was faster"},
    {"40P01", ErrorKind::kRetryable, "lock-conflict", "deadlock with another writer"},
    {"55P03", ErrorKind::kRetryable, "busy", "no lock within lock_timeout"},
    {"53100", ErrorKind::kRetryable, "disk-full", "the server's disk is full"},
    {"53300", ErrorKind::kRetryable, "unreachable", "the server has too many connections"},
    {"57P03", ErrorKind::kRetryable, "unreachable", "the server is starting or stopping"},
    {"57P", ErrorKind::kRetryable, "unreachable", "the server ended the session"},
    {"08", ErrorKind::kRetryable, "unreachable", "the connection failed"},
    {"40", ErrorKind::kRetryable, "", "the transaction was rolled back"},
    {"53", ErrorKind::kRetryable, "", "the server is out of resources"},
    {"55", ErrorKind::kRetryable, "busy", "an object is in use"},
    {"57", ErrorKind::kRetryable, "", "an operator of the server intervened"},
    {"58", ErrorKind::kRetryable, "", "the server met a system error"},
    {"XX", ErrorKind::kRetryable, "", "the server met an internal error"},
    {"25006", ErrorKind::kRetryable, "read-only",
     "the server only reads (a standby?); target_session_attrs=read-write in the connection string "
     "chooses the primary"},
    {"28", ErrorKind::kDenied, "auth", "the server refuses the user or the password"},
    {"42501", ErrorKind::kDenied, "forbidden", "the user lacks a privilege"},
    {"3D", ErrorKind::kConfiguration, "database-missing",
     "the database of the connection string does not exist"},
    {"3F", ErrorKind::kConfiguration, "schema-missing",
     "the schema does not exist; create it (sinks: options.createSchema)"},
    {"42P01", ErrorKind::kTerminal, "table-missing", "the table does not exist"},
    {"42P07", ErrorKind::kTerminal, "name-taken", "the name is taken by something else"},
    {"42703", ErrorKind::kTerminal, "table-shape", "a column is missing"},
    {"42", ErrorKind::kTerminal, "", "the server does not accept the statement"},
    {"21000", ErrorKind::kTerminal, "duplicate-key", "one key stands twice in a batch"},
    {"22P05", ErrorKind::kTerminal, "encoding",
     "a character does not exist in the database's encoding; it must be UTF8"},
    {"22", ErrorKind::kTerminal, "", "the server does not accept a value"},
    {"23502", ErrorKind::kTerminal, "table-shape",
     "a column of the table must not be null and has no default"},
    {"23", ErrorKind::kTerminal, "constraint", "a constraint of the table does not allow a row"},
    {"54", ErrorKind::kTerminal, "", "a limit of the server is exceeded"},
    {"0A", ErrorKind::kTerminal, "", "the server cannot do this"},
    {"P0", ErrorKind::kTerminal, "", "a trigger of the table raised an error"},
    {"", ErrorKind::kRetryable, "", "the server reported an error"},
}};

const Meaning& meaning_of(std::string_view sqlstate) {
  for (const Meaning& meaning : kMeanings) {
    if (sqlstate.starts_with(meaning.prefix)) return meaning;
  }
  return kMeanings.back();
}

/// "28P01" out of "FATAL:  28P01".
std::optional<std::string> sqlstate_in(std::string_view message) {
  for (const std::string_view severity : {"FATAL:", "PANIC:", "ERROR:"}) {
    const auto at = message.find(severity);
    if (at == std::string_view::npos) continue;
    const std::string_view code = base::trim(message.substr(at + severity.size())).substr(0, 5);
    bool good = code.size() == 5;
    for (const char c : code) good = good && (std::isdigit(c) != 0 || std::isupper(c) != 0);
    if (good) return std::string(code);
  }
  return std::nullopt;
}

struct Sign {
  std::string_view words;  ///< lower case
  ErrorKind kind;
  std::string_view reason;
  std::string_view text;
};

/// Words of libpq 12 to 17 and of the system.
constexpr std::array<Sign, 14> kSigns = {{
    {"certificate verify failed", ErrorKind::kConfiguration, "tls",
     "the server's certificate is not trusted; name its CA in sslrootcert (sinks: spec.tls)"},
    {"does not match host name", ErrorKind::kConfiguration, "tls",
     "the server's certificate is for another host name"},
    {"certificate", ErrorKind::kConfiguration, "tls", "a certificate cannot be used"},
    {"does not support ssl", ErrorKind::kConfiguration, "tls", "the server does not speak TLS"},
    {"ssl error", ErrorKind::kRetryable, "tls", "TLS failed"},
    {"no password supplied", ErrorKind::kDenied, "auth",
     "the server wants a password and the connection string has none"},
    {"authentication", ErrorKind::kDenied, "auth", "the server's way of authentication failed"},
    {"could not translate host name", ErrorKind::kRetryable, "unreachable",
     "a host name of the connection string has no address"},
    {"refused", ErrorKind::kRetryable, "unreachable", "the connection was refused"},
    {"timed out", ErrorKind::kRetryable, "unreachable", "no answer within the time limit"},
    {"no route to host", ErrorKind::kRetryable, "unreachable", "there is no route to the server"},
    {"session is read-only", ErrorKind::kRetryable, "read-only", "the server only reads"},
    {"session is not", ErrorKind::kRetryable, "read-only",
     "no server has the wanted target_session_attrs"},
    {"no such file", ErrorKind::kRetryable, "unreachable",
     "there is no server at the local socket"},
}};

}  // namespace

base::Error statement_error(std::string_view doing, std::string_view where,
                            std::string_view sqlstate, std::string_view object) {
  const Meaning& meaning = meaning_of(sqlstate);
  std::string text = fmt::format("postgres: {} {}: {}", doing, where, meaning.text);
  if (!object.empty()) text += fmt::format(" ({})", object);
  if (!sqlstate.empty()) text += fmt::format(" [SQLSTATE {}]", sqlstate);
  return {meaning.kind, std::string(meaning.reason), std::move(text)};
}

base::Error connect_error(std::string_view message) {
  if (const auto sqlstate = sqlstate_in(message)) {
    const Meaning& meaning = meaning_of(*sqlstate);
    return {meaning.kind, std::string(meaning.reason),
            fmt::format("postgres: cannot connect: {} [SQLSTATE {}]", meaning.text, *sqlstate)};
  }
  const std::string lower = base::to_lower(message);
  for (const Sign& sign : kSigns) {
    if (lower.find(sign.words) != std::string::npos) {
      return {sign.kind, std::string(sign.reason),
              fmt::format("postgres: cannot connect: {}", sign.text)};
    }
  }
  return base::retryable("postgres: cannot connect: the connection failed", "unreachable");
}

base::Error lost_error(std::string_view doing, std::string_view where) {
  return base::retryable(fmt::format("postgres: {} {}: the connection was lost", doing, where),
                         "unreachable");
}

}  // namespace kollect::pgsql
