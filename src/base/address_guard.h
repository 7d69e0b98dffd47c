// Which network addresses a sink may be pointed at (spec: crds 4.9, sinks 16.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kollect::base {

/// Decides by literal host text and by resolved address. Pure; no name is resolved here.
class AddressGuard {
 public:
  /// `allow_loopback`: this machine's own addresses, and private ones with them. Metadata services
  /// and what else is link-local or reserved is refused always.
  explicit AddressGuard(bool allow_private, bool allow_loopback = false)
      : allow_private_(allow_private || allow_loopback), allow_loopback_(allow_loopback) {}

  /// Reason for refusal of a host as written (name or IP literal), none when it may be used. The
  /// reason names the range and the flag that allows it, never user information.
  [[nodiscard]] std::optional<std::string> refuse_host(std::string_view host) const;
  /// The same for one resolved address in textual form; IPv4-mapped and NAT64 forms are unwrapped.
  [[nodiscard]] std::optional<std::string> refuse_address(std::string_view address) const;
  /// As refuse_host() and refuse_address(), for hosts that are secret: the reason names the range
  /// alone.
  [[nodiscard]] std::optional<std::string> refuse_secret_host(std::string_view host) const;
  [[nodiscard]] std::optional<std::string> refuse_secret_address(std::string_view address) const;
  /// Host check of a URL; "file" is refused, text without a scheme or host passes.
  [[nodiscard]] std::optional<std::string> refuse_url(std::string_view url) const;

 private:
  bool allow_private_;
  bool allow_loopback_;
};

}  // namespace kollect::base
