#include "pgsql/dsn.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"

namespace kollect::pgsql {

namespace {

using Values = std::map<std::string, std::string>;

constexpr std::array<const char*, 3> kSystemTrust = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};

/// One place to dial.
struct Place {
  std::string host;
  std::string address;  ///< checked number; empty: libpq resolves the host
  std::string port;
};

base::Result<Values> parse(const base::Secret& dsn) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(dsn.reveal().c_str(), &message), &PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> owned(message, &PQfreemem);
  if (options == nullptr) {
    return base::configuration(
        "postgres: the connection string is neither a postgresql:// URL nor key=value pairs",
        "bad-dsn");
  }
  Values out;
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) out[option->keyword] = option->val;
  }
  return out;
}

std::string take(Values& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return {};
  std::string out = std::move(found->second);
  values.erase(found);
  return out;
}

bool is_local(const std::string& host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@');
}

base::Error refused(std::string_view what) {
  return base::configuration(fmt::format("postgres: {}", what), "address-refused");
}

/// hosts, addresses and ports of the string, entry by entry.
base::Result<std::vector<Place>> places_of(Values& values) {
  const std::string host = take(values, "host");
  const std::string address = take(values, "hostaddr");
  const std::string port = take(values, "port");
  const auto hosts = base::split(host, ',');
  const auto addresses = base::split(address, ',');
  const auto ports = base::split(port, ',');
  const std::size_t count = std::max(hosts.size(), addresses.size());
  const bool fits = (host.empty() || hosts.size() == count) &&
                    (address.empty() || addresses.size() == count) &&
                    (ports.size() == count || ports.size() == 1);
  if (!fits) {
    return base::configuration(
        "postgres: host, hostaddr and port of the connection string have different numbers of "
        "entries",
        "bad-dsn");
  }
  std::vector<Place> out;
  for (std::size_t i = 0; i < count; ++i) {
    Place place;
    if (!host.empty()) place.host = std::string(base::trim(hosts[i]));
    if (!address.empty()) place.address = std::string(base::trim(addresses[i]));
    place.port = std::string(ports.size() == 1 ? ports[0] : ports[i]);
    out.push_back(std::move(place));
  }
  return out;
}

base::Result<> check_place(const DsnOptions& options, const Place& place) {
  if (options.guard == nullptr) return {};
  if (place.address.empty() && is_local(place.host)) {
    if (options.allow_local) return {};
    return refused(
        "the connection string leads to a local socket: only an operator with --allow-local-sinks "
        "takes it");
  }
  const auto& guard = *options.guard;
  std::optional<std::string> reason;
  if (!place.host.empty() && !is_local(place.host)) reason = guard.refuse_secret_host(place.host);
  if (!reason && base::is_numeric_address(place.host)) {
    reason = guard.refuse_secret_address(place.host);
  }
  if (!reason && !place.address.empty()) reason = guard.refuse_secret_address(place.address);
  if (!reason) return {};
  return refused(fmt::format("a host of the connection string is not allowed, {}", *reason));
}

/// The addresses behind one place; the complete answer must be allowed.
base::Result<std::vector<Place>> resolved(const DsnOptions& options, const Place& place) {
  KL_TRY(check_place(options, place));
  const bool as_it_is = !place.address.empty() || is_local(place.host) ||
                        base::is_numeric_address(place.host) ||
                        (options.guard == nullptr && !options.resolver);
  if (as_it_is) return std::vector<Place>{place};
  const auto addresses =
      options.resolver ? options.resolver(place.host) : base::resolve_host(place.host);
  if (!addresses.has_value() || addresses->empty()) {
    return base::retryable("postgres: a host name of the connection string has no address",
                           "unreachable");
  }
  std::vector<Place> out;
  for (const std::string& address : *addresses) {
    Place pinned = place;
    pinned.address = address;
    KL_TRY(check_place(options, pinned));
    out.push_back(std::move(pinned));
  }
  return out;
}

bool verifies(std::string_view sslmode) {
  return sslmode == "verify-full" || sslmode == "verify-ca";
}

/// The spec's own settings over those of the string. `ca` must outlive the connecting.
base::Result<> apply_tls(const DsnOptions& options, Values& values,
                         std::optional<base::PrivateFile>& ca) {
  if (!options.sslmode.empty()) values["sslmode"] = options.sslmode;
  if (options.insecure_skip_verify) {
    values["sslmode"] = "require";
    // With a root certificate, "require" verifies after all; a name that leads nowhere also keeps
    // libpq from a file in the home folder.
    values["sslrootcert"] = "/dev/null/none";
    return {};
  }
  if (options.ca_pem) {
    KL_ASSIGN(auto file, base::PrivateFile::create(*options.ca_pem));
    ca.emplace(std::move(file));
    values["sslrootcert"] = ca->path();
    if (!verifies(values["sslmode"])) values["sslmode"] = "verify-full";
    return {};
  }
  const auto root = values.find("sslrootcert");
  const bool wants_system = root != values.end() && root->second == "system";
  if (wants_system || (verifies(values["sslmode"]) && root == values.end())) {
    for (const char* file : kSystemTrust) {
      std::error_code ignored;
      if (!std::filesystem::exists(file, ignored)) continue;
      values["sslrootcert"] = file;
      break;
    }
    if (wants_system) values["sslmode"] = "verify-full";
  }
  return {};
}

std::vector<Setting> settings_for(const Values& values, const Place& place) {
  std::vector<Setting> out;
  for (const auto& [name, value] : values) {
    if (!value.empty()) out.push_back({name, value});
  }
  if (!place.host.empty()) out.push_back({"host", place.host});
  if (!place.address.empty()) out.push_back({"hostaddr", place.address});
  if (!place.port.empty()) out.push_back({"port", place.port});
  return out;
}

void set_default(Values& values, const char* name, const std::string& value) {
  if (values[name].empty()) values[name] = value;
}

/// How long a place may take, so that each one gets its turn.
base::Duration share_of(const base::Context& context, std::size_t places_left) {
  constexpr base::Duration kLeast = std::chrono::seconds(3);
  const base::Duration left = context.remaining();
  if (left == base::Duration::max() || places_left <= 1) return left;
  return std::max(left / static_cast<std::int64_t>(places_left), kLeast);
}

}  // namespace

base::Result<> check_dsn(const DsnOptions& options) {
  KL_ASSIGN(Values values, parse(options.dsn));
  if (options.guard != nullptr && !values["service"].empty()) {
    return refused("\"service\" in the connection string is not allowed here; name host and port");
  }
  constexpr std::array<std::string_view, 6> kModes = {"disable", "allow",     "prefer",
                                                      "require", "verify-ca", "verify-full"};
  if (!options.sslmode.empty() &&
      std::find(kModes.begin(), kModes.end(), options.sslmode) == kModes.end()) {
    return base::configuration(
        "options.sslmode must be disable, allow, prefer, require, verify-ca or verify-full");
  }
  KL_ASSIGN(const auto places, places_of(values));
  for (const Place& place : places) KL_TRY(check_place(options, place));
  return {};
}

base::Result<Connection> connect(const base::Context& context, const DsnOptions& options) {
  KL_TRY(check_dsn(options));
  KL_ASSIGN(Values values, parse(options.dsn));
  KL_ASSIGN(const auto named, places_of(values));
  std::vector<Place> places;
  for (const Place& place : named) {
    KL_ASSIGN(auto found, resolved(options, place));
    places.insert(places.end(), found.begin(), found.end());
  }
  std::optional<base::PrivateFile> ca;
  KL_TRY(apply_tls(options, values, ca));
  set_default(values, "application_name", options.application_name);
  for (const auto& [name, value] : options.defaults) set_default(values, name.c_str(), value);
  values["client_encoding"] = "UTF8";
  // A peer that is gone is noticed within seconds, also while a statement is being cancelled.
  set_default(values, "keepalives_idle", "30");
  set_default(values, "keepalives_interval", "10");
  set_default(values, "tcp_user_timeout", "20000");
  const base::Context limited = context.with_timeout(options.connect_timeout);
  base::Error last = base::retryable("postgres: cannot connect", "unreachable");
  for (std::size_t i = 0; i < places.size(); ++i) {
    KL_TRY(context.check());
    auto connection = Connection::open(limited.with_timeout(share_of(limited, places.size() - i)),
                                       settings_for(values, places[i]));
    if (connection.has_value()) return connection;
    last = std::move(connection.error());
    if (last.kind == base::ErrorKind::kCancelled && context.check().has_value()) {
      last = base::retryable("postgres: cannot connect: no answer within the time limit",
                             "unreachable");
    }
    if (last.kind != base::ErrorKind::kRetryable) break;
  }
  KL_TRY(context.check());
  return last;
}

}  // namespace kollect::pgsql
