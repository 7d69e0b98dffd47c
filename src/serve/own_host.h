// Whom a request means to talk to.
#pragma once

#include <string_view>

#include "http/server.h"

namespace kollect::serve {

/// A server that anybody on this machine may read can be reached by pages of the web as well, when
/// a name of theirs is made to lead here (DNS rebinding): their browser then sends that name. True
/// for a Host header (RFC 9110 7.2) that names this machine, and where there is none: no browser.
bool is_for_this_machine(const http::ServerRequest& request);
/// The same for the header's value: localhost, names below it, loopback addresses; with any port.
bool names_this_machine(std::string_view host);

}  // namespace kollect::serve
